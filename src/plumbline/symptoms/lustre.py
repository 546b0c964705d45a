"""The connections of a Lustre client or server to its targets: ``lctl get_param``.

On releases that keep imports in debugfs this needs CAP_DAC_READ_SEARCH.
"""

from __future__ import annotations

import re
from typing import Iterator

from plumbline.errors import SkipTarget, ToolError
from plumbline.model.state import State
from plumbline.symptoms.node import Node
from plumbline.symptoms.symptom import Direction, Look, Symptom
from plumbline.symptoms.system import QUICK_S
from plumbline.targets.ask import complaint
from plumbline.targets.lustre_output import Import, parse_import

NAME = "lustre"

_IMPORT = re.compile(r"^(?:osc|mdc|osp)\.(\S+)\.import=\n", re.MULTILINE)
_TARGET = re.compile(r"(\S+-(?:OST|MDT)[0-9a-f]{4})-")
_ATTEMPTS = re.compile(r"^ *connection_attempts: (\d+)$", re.MULTILINE)
_TIMEOUTS = re.compile(r"^ *timeouts: (\d+)$", re.MULTILINE)
_CONNECTED = ("FULL", "IDLE")
_RECOVERING = ("REPLAY", "REPLAY_LOCKS", "REPLAY_WAIT", "RECOVER")


def look(node: Node) -> Look:
    """Look at all imports; raise ToolError where there is no Lustre, or it keeps them to root."""
    # a metadata server has no mdc, which lctl takes for a failure and still shows the others
    shown = node.system.run(["lctl", "get_param", "osc.*.import", "mdc.*.import"], QUICK_S)
    text = shown.stdout
    heads = list(_IMPORT.finditer(text))
    if not heads or shown.timed_out or shown.hung:
        raise ToolError(f"lctl shows no import: {text[:60]!r}" if shown.ok else complaint(shown))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    found: list[Symptom] = []
    for head, end in zip(heads, ends):
        found += _of_import(node, head[1], text[head.end() : end])
    return Look(NAME, len(heads), tuple(found))


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
    for kind, pattern, words in (
        ("reconnects", _ATTEMPTS, "new attempts to connect to"),
        ("timeouts", _TIMEOUTS, "requests without an answer from"),
    ):
        count = pattern.search(text)
        grown = count and node.counters.growth(f"{NAME}/{device}/{kind}", float(count[1]))
        if grown:
            sentence = f"{grown.amount:.0f} {words} {target}"
            yield _bad(target, kind, State.WARNING, sentence)._replace(since=grown.since)


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
