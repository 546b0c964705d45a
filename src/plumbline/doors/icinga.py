"""Icinga 2: the same hosts, services and dependencies as for Nagios.

Every text is a quoted string; a dollar sign in a custom variable begins a macro and is doubled.
"""

from __future__ import annotations

import json
from typing import Iterator

from plumbline.doors.monitored import Monitored, ObjectOptions, templates
from plumbline.model.errors import DocumentError

_STATES = {"w": "Warning", "u": "Unknown", "c": "Critical", "r": "OK"}
"""Names of states, by their letters in Nagios."""

_MACROS = {"$HOSTNAME$": "$host.name$", "$SERVICEDESC$": "$service.name$"}
"""Macros in addresses of notes, by those of Nagios."""


def icinga_objects(watched: Monitored, options: ObjectOptions) -> dict[str, str]:
    """Return the text of each file by its name.

    Raises:
        DocumentError: a value holds a line break or another control character.
    """
    environment = templates(string)
    environment.filters.update(literal=literal, macros=icinga_macros)
    text = environment.get_template("icinga.conf").render(
        watched=watched, options=options, notified=notified_states(options)
    )
    return {"plumbline.conf": text}


def string(value: object) -> str:
    """Return a value as the inside of a quoted string; raise DocumentError for several lines."""
    text = str(value)
    if not text.isprintable():
        raise DocumentError(
            f"{text!r:.80} cannot be written for Icinga; remove line breaks and control characters"
        )
    return json.dumps(text, ensure_ascii=False)[1:-1]


def literal(text: str) -> str:
    """Return a text that stands for itself where Icinga looks for macros."""
    return text.replace("$", "$$")


def icinga_macros(address: str) -> str:
    """Return an address of notes with Icinga's macros in place of those of Nagios."""
    for macro, name in _MACROS.items():
        address = address.replace(macro, name)
    return address


def notified_states(options: ObjectOptions) -> Iterator[tuple[str, list[str]]]:
    """Yield each kind of service that notifies anybody, with the states that do."""
    of_nodes = [_STATES[state] for state in options.node_notification_options]
    of_parts = [_STATES[state] for state in options.notification_options]
    kinds = {
        "node": of_nodes,
        "probes": of_nodes,
        "component": of_parts,
        "path": of_parts,
        # Warning here has an alarm of its own; Critical is what no other service notifies of
        "file system": [state for state in of_parts if state in ("Critical", "OK")],
    }
    return ((kind, states) for kind, states in kinds.items() if set(states) - {"OK"})
