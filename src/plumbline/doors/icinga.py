"""Icinga 2: the same hosts, services and dependencies as for Nagios.

Every text is a quoted string; a dollar sign in a custom variable begins a macro and is doubled.
"""

from __future__ import annotations

import json
from typing import Iterator

from plumbline.doors.monitored import Monitored, ObjectOptions, templates
from plumbline.model.errors import DocumentError

_STATES = {"w": "Warning", "u": "Unknown", "c": "Critical", "r": "OK"}
"""Names of states by their letters in Nagios."""

_MACROS = {"$HOSTNAME$": "$host.name$", "$SERVICEDESC$": "$service.name$"}
"""Macros in notes URLs by their names in Nagios."""


def icinga_objects(watched: Monitored, options: ObjectOptions) -> dict[str, str]:
    """Return the text of each file by its name.

    Raises:
        DocumentError: a value has a line break or another control character.
    """
    environment = templates(string)
    environment.filters.update(literal=literal, macros=icinga_macros)
    text = environment.get_template("icinga.conf").render(
        watched=watched, options=options, notified=notified_states(options)
    )
    return {"plumbline.conf": text}


def string(value: object) -> str:
    """Return the inside of a quoted string; raise DocumentError for control characters."""
    text = str(value)
    if not text.isprintable():
        raise DocumentError(
            f"{text!r:.80} cannot be written for Icinga; remove line breaks and control characters"
        )
    return json.dumps(text, ensure_ascii=False)[1:-1]


def literal(text: str) -> str:
    """Return a text with dollar signs escaped, so Icinga finds no macro in it."""
    return text.replace("$", "$$")


def icinga_macros(address: str) -> str:
    """Return a notes URL with Icinga's macros instead of those of Nagios."""
    for macro, name in _MACROS.items():
        address = address.replace(macro, name)
    return address


def notified_states(options: ObjectOptions) -> Iterator[tuple[str, list[str]]]:
    """Yield each kind of service that notifies, with its notified states."""
    node_states = [_STATES[state] for state in options.node_notification_options]
    part_states = [_STATES[state] for state in options.notification_options]
    kinds = {
        "node": node_states,
        "probes": node_states,
        "component": part_states,
        "path": part_states,
        # another service notifies of Warning, none of Critical
        "file system": [state for state in part_states if state in ("Critical", "OK")],
    }
    return ((kind, states) for kind, states in kinds.items() if set(states) - {"OK"})
