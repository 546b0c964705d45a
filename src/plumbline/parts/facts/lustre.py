"""Symptoms of a Lustre client's or server's connections to targets, from ``lctl get_param``.

Releases that keep imports in debugfs need CAP_DAC_READ_SEARCH.
"""

from __future__ import annotations

import re
from typing import Iterator, Optional, Sequence

from plumbline.model.command import Completed
from plumbline.model.errors import PlumblineError, PrivilegeError, SkipTarget, ToolError
from plumbline.model.symptom import Look, Symptom
from plumbline.model.validation import real
from plumbline.observe.lustre_output import Import, parameters, parse_import
from plumbline.observe.query import NEEDS_DEBUGFS, QUICK_S, complaint, debugfs_is_closed
from plumbline.parts.facts.node import Counters, Growth, Node
from plumbline.parts.facts.rules import rules

NAME = "lustre"

_IMPORTS = ("lctl", "get_param", "osc.*.import", "mdc.*.import")
_MODULE = "/sys/fs/lustre"
_TARGET = re.compile(r"(\S+-(?:OST|MDT)[0-9a-f]{4})-")
_STATE = re.compile(r"^ +state: (\w+)$", re.MULTILINE)
_ATTEMPTS = re.compile(r"\bconnects: (\d+), replied: (\d+)")
_TIMEOUTS = re.compile(r"^ *timeouts: (\d+)$", re.MULTILINE)
DISCONNECTED = "disconnected"
"""The kind of the symptom that a target has no connection."""

RULES = rules(
    NAME,
    f"""
    {DISCONNECTED} | critical | {{target}} is {{state}}
    inactive | warning lowers | {{target}} was set inactive on this node
    recovery | warning lowers | {{target}} is in recovery ({{state}})
    failed_over | warning lowers | {{target}} is failed over to {{server}}, which serves two \
        servers' targets
    reconnects | warning | {{number:.0f}} attempt{{s}} to connect to {{target}} without an answer
    timeouts | warning | {{number:.0f}} request{{s}} to {{target}} without an answer
    """,
)

OF_AN_OUTAGE = frozenset((NAME, kind) for kind in (DISCONNECTED, "reconnects", "timeouts"))
"""Collector and kind of each symptom caused by a target's outage."""

_CONNECTED = ("FULL", "IDLE")
_RECOVERING = ("REPLAY", "REPLAY_LOCKS", "REPLAY_WAIT", "RECOVER")


def look(node: Node) -> Look:
    """Look at all imports.

    Raises:
        ToolError: the node has no Lustre, or lctl gives no answer.
        PrivilegeError: only root may read them.
    """
    # lctl fails on a metadata server, which has no mdc, but still prints the others
    completed = node.system.run(_IMPORTS, QUICK_S)
    if any(_state_in(text) == "CONNECTING" for _, text in _imports(completed)):
        # an idle import reconnects within milliseconds
        completed = node.system.run(_IMPORTS, QUICK_S)
    imports = list(_imports(completed))
    if not imports or completed.timed_out or completed.hung:
        raise _trouble(node, completed)
    states: dict[Symptom, None] = {}
    unanswered: dict[tuple[str, str], list[Growth]] = {}
    for device, text in imports:
        target, connection = _parsed(node, device, text)
        states.update(dict.fromkeys(_import_symptoms(target, connection)))
        for kind, growth in _growths(node.counters, connection, text):
            unanswered.setdefault((target, kind), []).append(growth)
    # imports of client and metadata server to the same target give one symptom
    grown = (_unanswered(*place, growths) for place, growths in unanswered.items())
    return Look(NAME, len(imports), (*states, *grown))


def _imports(completed: Completed) -> Iterator[tuple[str, str]]:
    for name, text in parameters(completed.stdout, _IMPORTS[2:]):
        yield name.split(".", 1)[1].rpartition(".")[0], text


def _trouble(node: Node, completed: Completed) -> PlumblineError:
    """Return the error if lctl shows no import: no Lustre, no answer, or no privilege."""
    if completed.ok:
        return ToolError(f"lctl shows no import: {completed.stdout[:60]!r}")
    no_answer = completed.timed_out or completed.hung
    if not no_answer and node.system.names(_MODULE) and debugfs_is_closed(node.system.run):
        return PrivilegeError(f"{complaint(completed)}: {NEEDS_DEBUGFS}")
    return ToolError(complaint(completed))


def _parsed(node: Node, device: str, text: str) -> tuple[str, Import]:
    match = _TARGET.match(device)
    try:
        return match[1] if match else node.parts.node, parse_import(device, text)
    except SkipTarget as error:
        raise ToolError(str(error)) from error


def _import_symptoms(target: str, link: Import) -> Iterator[Symptom]:
    yield from _state(target, link)
    # without a connection the address is only one that was tried
    if link.is_failed_over and not _is_away(link):
        yield RULES["failed_over"].symptom(target, target=target, server=link.connection)


def _unanswered(target: str, kind: str, growths: Sequence[Growth]) -> Symptom:
    """Return the symptom of unanswered attempts or requests, over all imports of a target.

    Each import tries to connect by itself, for the same outage; requests are different ones.
    """
    amounts = [growth.amount for growth in growths]
    amount = max(amounts) if kind == "reconnects" else sum(amounts)
    since = min(growth.since for growth in growths)
    plural = "" if amount == 1 else "s"
    return RULES[kind].symptom(target, since, number=amount, s=plural, target=target)


def _growths(counters: Counters, connection: Import, text: str) -> Iterator[tuple[str, Growth]]:
    """Yield the growth of unanswered attempts and requests, by kind of symptom.

    Attempts count only while the target is away.  Afterwards they only show how long it was away,
    possibly on purpose; unexpected losses are in the kernel's log.
    """
    attempts = _attempts(counters, connection.device, text)
    if attempts and _is_away(connection):
        yield "reconnects", attempts
    match = _TIMEOUTS.search(text)
    timeouts = real(match[1], f"the timeouts of {connection.device}") if match else 0.0
    requests = match and counters.growth(f"{NAME}/{connection.device}/timeouts", timeouts)
    if requests:
        yield "timeouts", requests


def _attempts(counters: Counters, device: str, text: str) -> Optional[Growth]:
    """Return the growth of unanswered attempts to connect, None if there are none.

    Answered attempts are normal: a client disconnects from an idle target and reconnects later.
    """
    name = f"the attempts to connect of {device}"
    pairs = [tuple(real(count, name) for count in pair) for pair in _ATTEMPTS.findall(text)]
    if not pairs:
        return None
    connects, replied = (
        counters.growth(f"{NAME}/{device}/{name}", sum(counts))
        for name, counts in zip(("connects", "replied"), zip(*pairs))
    )
    amount = connects.amount - (replied.amount if replied else 0.0) if connects else 0.0
    return Growth(amount, connects.since) if connects and amount > 0 else None


def _state(target: str, connection: Import) -> Iterator[Symptom]:
    if "IMPF_DEACTIVE" in connection.flags:
        yield RULES["inactive"].symptom(target, target=target)
    elif connection.state in _RECOVERING:
        yield RULES["recovery"].symptom(target, target=target, state=connection.state)
    elif _is_away(connection):
        yield RULES[DISCONNECTED].symptom(target, target=target, state=connection.state)


def _is_away(connection: Import) -> bool:
    """Return whether a target has no connection and was not deactivated on this node."""
    present = connection.state in (*_CONNECTED, *_RECOVERING)
    return not present and "IMPF_DEACTIVE" not in connection.flags


def connected(node: Node) -> frozenset[str]:
    """Return the devices that are connected to their target, from the imports that lctl shows.

    Raises:
        ToolError: lctl is not installed.
    """
    imports = _imports(node.system.run(_IMPORTS, QUICK_S))
    return frozenset(device for device, text in imports if _state_in(text) in _CONNECTED)


_CONNECTIONS = ("lctl", "get_param", "osc.*.import", "mdc.*.import", "mgc.*.import")
_LOCAL = "0@lo"


def servers(node: Node) -> frozenset[str]:
    """Return the nids of the servers that this node uses or tries to reach, none without Lustre.

    Raises:
        PrivilegeError: only root may read the imports.
        ToolError: lctl gives no answer.
    """
    if not node.system.names(_MODULE):
        return frozenset()
    completed = node.system.run(_CONNECTIONS, QUICK_S)
    if completed.timed_out or completed.hung:
        raise ToolError(complaint(completed))
    found = [
        _parsed(node, name, text)[1]
        for name, text in parameters(completed.stdout, _CONNECTIONS[2:])
    ]
    if not found and debugfs_is_closed(node.system.run):
        raise PrivilegeError(f"LNet peers are not looked at: {NEEDS_DEBUGFS}")
    used = (connection for connection in found if "IMPF_DEACTIVE" not in connection.flags)
    nids = (connection.connection for connection in used)
    return frozenset(nid for nid in nids if "@" in nid and nid != _LOCAL)


def _state_in(text: str) -> str:
    """Return the state in the text of an import, empty without one."""
    state = _STATE.search(text)
    return state[1] if state else ""
