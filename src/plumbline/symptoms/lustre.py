"""The connections of a Lustre client or server to its targets: ``lctl get_param``.

On releases that keep imports in debugfs this needs CAP_DAC_READ_SEARCH.
"""

from __future__ import annotations

import re
from typing import Iterator, Optional

from plumbline.errors import PlumblineError, PrivilegeError, SkipTarget, ToolError
from plumbline.model.command import Completed
from plumbline.model.printed import real
from plumbline.model.state import State
from plumbline.symptoms.counters import Counters, Growth
from plumbline.symptoms.node import Node
from plumbline.symptoms.symptom import Direction, Look, Symptom
from plumbline.symptoms.system import QUICK_S
from plumbline.targets.debugfs import NEEDS_DEBUGFS, debugfs_is_closed
from plumbline.targets.lustre_output import Import, parse_import
from plumbline.targets.query import complaint

NAME = "lustre"

_IMPORTS = ("lctl", "get_param", "osc.*.import", "mdc.*.import")
_MODULE = "/sys/fs/lustre"
_IMPORT = re.compile(r"^(?:osc|mdc|osp)\.(\S+)\.import=\n", re.MULTILINE)
_TARGET = re.compile(r"(\S+-(?:OST|MDT)[0-9a-f]{4})-")
_STATE = re.compile(
    r"^(?:osc|mdc|osp)\.(\S+)\.import=\n(?:[ i].*\n)*? +state: (\w+)$", re.MULTILINE
)
_ATTEMPTS = re.compile(r"\bconnects: (\d+), replied: (\d+)")
_TIMEOUTS = re.compile(r"^ *timeouts: (\d+)$", re.MULTILINE)
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
    text = shown.stdout
    heads = list(_IMPORT.finditer(text))
    if not heads or shown.timed_out or shown.hung:
        raise _trouble(node, shown)
    ends = [head.start() for head in heads[1:]] + [len(text)]
    found: list[Symptom] = []
    for head, end in zip(heads, ends):
        found += _of_import(node, head[1], text[head.end() : end])
    return Look(NAME, len(heads), tuple(found))


def _trouble(node: Node, shown: Completed) -> PlumblineError:
    """Return why lctl showed no import: no Lustre, no answer, or no privilege."""
    if shown.ok:
        return ToolError(f"lctl shows no import: {shown.stdout[:60]!r}")
    lost = shown.timed_out or shown.hung
    if not lost and node.system.names(_MODULE) and debugfs_is_closed(node.system.run):
        return PrivilegeError(f"{complaint(shown)}: {NEEDS_DEBUGFS}")
    return ToolError(complaint(shown))


def _of_import(node: Node, device: str, text: str) -> Iterator[Symptom]:
    match = _TARGET.match(device)
    try:
        seen = parse_import(device, text)
    except SkipTarget as error:
        raise ToolError(str(error)) from error
    target = match[1] if match else node.parts.node
    yield from _state(target, seen)
    if seen.nids and seen.connection and seen.connection != seen.nids[0]:
        sentence = (
            f"{target} is failed over to {seen.connection}, which serves two servers' targets"
        )
        yield Symptom(NAME, target, "failed_over", State.WARNING, Direction.LOWERS, sentence)
    lost = _TIMEOUTS.search(text)
    timeouts = real(lost[1], f"the timeouts of {device}") if lost else 0.0
    for kind, words, grown in (
        ("reconnects", "attempts to connect to", _unanswered(node.counters, device, text)),
        (
            "timeouts",
            "requests to",
            lost and node.counters.growth(f"{NAME}/{device}/timeouts", timeouts),
        ),
    ):
        if grown:
            sentence = f"{grown.amount:.0f} {words} {target} without an answer"
            yield _bad(target, kind, State.WARNING, sentence)._replace(since=grown.since)


def _unanswered(counters: Counters, device: str, text: str) -> Optional[Growth]:
    """Return the growth of attempts to connect that no server has answered, None without any.

    One that was answered is no trouble: a client lets go of a target that it does not use and comes
    back when it does.
    """
    where = f"the attempts to connect of {device}"
    tried = [tuple(real(each, where) for each in one) for one in _ATTEMPTS.findall(text)]
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
        sentence = f"{target} was set inactive on this node"
        yield Symptom(NAME, target, "inactive", State.WARNING, Direction.LOWERS, sentence)
    elif seen.state in _RECOVERING:
        sentence = f"{target} is in recovery ({seen.state})"
        yield Symptom(NAME, target, "recovery", State.WARNING, Direction.LOWERS, sentence)
    elif seen.state not in _CONNECTED:
        yield _bad(target, "disconnected", State.CRITICAL, f"{target} is {seen.state}")


def _bad(target: str, kind: str, severity: State, sentence: str) -> Symptom:
    return Symptom(NAME, target, kind, severity, Direction.RAISES, sentence)


def connected(node: Node) -> frozenset[str]:
    """Return the devices that have their target now, as far as lctl shows imports.

    Raises:
        ToolError: lctl is not installed.
    """
    shown = node.system.run(_IMPORTS, QUICK_S)
    states = _STATE.findall(shown.stdout)
    return frozenset(device for device, state in states if state in _CONNECTED)
