"""The connections of a Lustre client or server to its targets: ``lctl get_param``.

On releases that keep imports in debugfs this needs CAP_DAC_READ_SEARCH.
"""

from __future__ import annotations

import re
from typing import Iterator, Optional, Sequence

from plumbline.model.command import Completed
from plumbline.model.errors import PlumblineError, PrivilegeError, SkipTarget, ToolError
from plumbline.model.validation import real
from plumbline.model.verdict import State
from plumbline.observe.lustre_output import Import, parameters, parse_import
from plumbline.observe.node import QUICK_S, Counters, Growth, Node
from plumbline.observe.query import NEEDS_DEBUGFS, complaint, debugfs_is_closed
from plumbline.observe.symptom import Direction, Look, Rule, Symptom

NAME = "lustre"

_IMPORTS = ("lctl", "get_param", "osc.*.import", "mdc.*.import")
_MODULE = "/sys/fs/lustre"
_TARGET = re.compile(r"(\S+-(?:OST|MDT)[0-9a-f]{4})-")
_STATE = re.compile(r"^ +state: (\w+)$", re.MULTILINE)
_ATTEMPTS = re.compile(r"\bconnects: (\d+), replied: (\d+)")
_TIMEOUTS = re.compile(r"^ *timeouts: (\d+)$", re.MULTILINE)
DISCONNECTED = "disconnected"
"""The kind of symptom of a target without a connection."""

RULES = {
    "away": Rule(DISCONNECTED, State.CRITICAL, "{target} is {state}"),
    "inactive": Rule(
        "inactive", State.WARNING, "{target} was set inactive on this node", Direction.LOWERS
    ),
    "recovery": Rule(
        "recovery", State.WARNING, "{target} is in recovery ({state})", Direction.LOWERS
    ),
    "failed_over": Rule(
        "failed_over",
        State.WARNING,
        "{target} is failed over to {server}, which serves two servers' targets",
        Direction.LOWERS,
    ),
    "reconnects": Rule(
        "reconnects",
        State.WARNING,
        "{number:.0f} attempt{s} to connect to {target} without an answer",
    ),
    "timeouts": Rule(
        "timeouts", State.WARNING, "{number:.0f} request{s} to {target} without an answer"
    ),
}

OF_AN_OUTAGE = frozenset((NAME, kind) for kind in (DISCONNECTED, "reconnects", "timeouts"))
"""Collector and kinds of the symptoms that a target has because it is away."""

_CONNECTED = ("FULL", "IDLE")
_RECOVERING = ("REPLAY", "REPLAY_LOCKS", "REPLAY_WAIT", "RECOVER")


def look(node: Node) -> Look:
    """Look at all imports.

    Raises:
        ToolError: there is no Lustre, or it gives no answer.
        PrivilegeError: it keeps them to root.
    """
    # a metadata server has no mdc, which lctl takes for a failure and still shows the others
    shown = node.system.run(_IMPORTS, QUICK_S)
    imports = list(_imports(shown))
    if not imports or shown.timed_out or shown.hung:
        raise _trouble(node, shown)
    states: dict[Symptom, None] = {}
    unanswered: dict[tuple[str, str], list[Growth]] = {}
    for device, text in imports:
        target, seen = _parsed(node, device, text)
        states.update(dict.fromkeys(_of_import(target, seen)))
        for kind, growth in _growths(node.counters, seen, text):
            unanswered.setdefault((target, kind), []).append(growth)
    # a target's imports of client and metadata server tell one thing
    grown = (_unanswered(*place, growths) for place, growths in unanswered.items())
    return Look(NAME, len(imports), (*states, *grown))


def _imports(shown: Completed) -> Iterator[tuple[str, str]]:
    """Yield device and text of each import."""
    for name, text in parameters(shown.stdout, _IMPORTS[2:]):
        yield name.split(".", 1)[1].rpartition(".")[0], text


def _trouble(node: Node, shown: Completed) -> PlumblineError:
    """Return why lctl showed no import: no Lustre, no answer, or no privilege."""
    if shown.ok:
        return ToolError(f"lctl shows no import: {shown.stdout[:60]!r}")
    lost = shown.timed_out or shown.hung
    if not lost and node.system.names(_MODULE) and debugfs_is_closed(node.system.run):
        return PrivilegeError(f"{complaint(shown)}: {NEEDS_DEBUGFS}")
    return ToolError(complaint(shown))


def _parsed(node: Node, device: str, text: str) -> tuple[str, Import]:
    """Return the target of an import, and what lctl shows of it."""
    match = _TARGET.match(device)
    try:
        return match[1] if match else node.parts.node, parse_import(device, text)
    except SkipTarget as error:
        raise ToolError(str(error)) from error


def _of_import(target: str, seen: Import) -> Iterator[Symptom]:
    yield from _state(target, seen)
    if seen.is_failed_over:
        yield RULES["failed_over"].symptom(NAME, target, target=target, server=seen.connection)


def _unanswered(target: str, kind: str, growths: Sequence[Growth]) -> Symptom:
    """Return the symptom of what all imports of a target have sent without an answer."""
    amount = sum(growth.amount for growth in growths)
    since = min(growth.since for growth in growths)
    plural = "" if amount == 1 else "s"
    return RULES[kind].symptom(NAME, target, since, number=amount, s=plural, target=target)


def _growths(counters: Counters, seen: Import, text: str) -> Iterator[tuple[str, Growth]]:
    """Yield what has grown without an answer, by the kind of symptom.

    Attempts count only while the target is away.  Once it is back they only tell how long it was
    away, by hand or not, and losses that no routine explains are in the kernel's log.
    """
    attempts = _attempts(counters, seen.device, text)
    if attempts and _is_away(seen):
        yield "reconnects", attempts
    lost = _TIMEOUTS.search(text)
    timeouts = real(lost[1], f"the timeouts of {seen.device}") if lost else 0.0
    requests = lost and counters.growth(f"{NAME}/{seen.device}/timeouts", timeouts)
    if requests:
        yield "timeouts", requests


def _attempts(counters: Counters, device: str, text: str) -> Optional[Growth]:
    """Return the growth of attempts to connect that no server has answered, None without any.

    One that was answered is no trouble: a client lets go of a target that it does not use and comes
    back when it does.
    """
    where = f"the attempts to connect of {device}"
    tried = [tuple(real(each, where) for each in pair) for pair in _ATTEMPTS.findall(text)]
    if not tried:
        return None
    connects, replied = (
        counters.growth(f"{NAME}/{device}/{name}", sum(counts))
        for name, counts in zip(("connects", "replied"), zip(*tried))
    )
    amount = connects.amount - (replied.amount if replied else 0.0) if connects else 0.0
    return Growth(amount, connects.since) if connects and amount > 0 else None


def _state(target: str, seen: Import) -> Iterator[Symptom]:
    if "IMPF_DEACTIVE" in seen.flags:
        yield RULES["inactive"].symptom(NAME, target, target=target)
    elif seen.state in _RECOVERING:
        yield RULES["recovery"].symptom(NAME, target, target=target, state=seen.state)
    elif _is_away(seen):
        yield RULES["away"].symptom(NAME, target, target=target, state=seen.state)


def _is_away(seen: Import) -> bool:
    """Return whether a target has no connection, which nobody switched off on this node."""
    present = seen.state in (*_CONNECTED, *_RECOVERING)
    return not present and "IMPF_DEACTIVE" not in seen.flags


def connected(node: Node) -> frozenset[str]:
    """Return the devices that have their target now, as far as lctl shows imports.

    Raises:
        ToolError: lctl is not installed.
    """
    imports = _imports(node.system.run(_IMPORTS, QUICK_S))
    states = ((device, _STATE.search(text)) for device, text in imports)
    return frozenset(device for device, state in states if state and state[1] in _CONNECTED)
