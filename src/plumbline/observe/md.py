"""Arrays of the kernel: /proc/mdstat, which anybody may read (md(4))."""

from __future__ import annotations

import re
from typing import Iterator

from plumbline.model.errors import ToolError
from plumbline.model.validation import real, whole
from plumbline.model.verdict import State
from plumbline.observe.node import Node
from plumbline.observe.symptom import Direction, Look, Symptom

NAME = "md"

_ARRAY = re.compile(r"^(md\S*) : (\S+)(?: \((?:auto-)?read-only\))*(?: (raid\d+|linear))?(.*)$")
_MEMBER = re.compile(r"(?<!\S)([^\s\[]+)\[\d+\]((?:\([A-Z]\))*)")
_COUNTS = re.compile(r"\[(\d+)/(\d+)\] \[[U_]+\]")
_WORK = re.compile(
    r"(resync|recovery|reshape|check|repair) *= *(PENDING|DELAYED|[\d.]+%)"
    r"(?:.*?finish=([\d.]+)min)?"
)
_HARMLESS = ("check", "repair")


def look(node: Node) -> Look:
    """Look at all arrays; raise ToolError where the kernel has none loaded."""
    text = node.system.read("/proc/mdstat")
    if not text.startswith("Personalities"):
        raise ToolError("/proc/mdstat is not there: the kernel has no md arrays")
    arrays = re.split(r"\n(?=md\S* : )", text)[1:]
    symptoms = tuple(symptom for array in arrays for symptom in _of_array(node, array))
    return Look(NAME, len(arrays), symptoms)


def _of_array(node: Node, text: str) -> Iterator[Symptom]:
    head, _, rest = text.partition("\n")
    match = _ARRAY.match(head)
    if not match:
        raise ToolError(f"/proc/mdstat has a line that is not understood: {head!r}")
    name, state, _, listed = match.groups()
    members = _MEMBER.findall(listed)
    component = node.parts.of_block(name)
    if component == node.parts.node:
        component = node.parts.of_blocks([block for block, _ in members])
    if state != "active":
        yield _bad(component, "inactive", f"array {name} is {state}")
    for block, flags in members:
        if "(F)" in flags:
            yield _bad(
                node.parts.of_block(block), "member_failed", f"{block} has failed in array {name}"
            )
    counts, work = _COUNTS.search(rest), _WORK.search(rest)
    missing = _missing(name, counts) if counts else 0
    if counts and missing > 0:
        yield Symptom(
            NAME,
            component,
            "degraded",
            State.WARNING,
            Direction.LOWERS if work and _mends(work) else Direction.RAISES,
            f"array {name} is degraded, {missing} of {counts[1]} members missing",
        )
    if work:
        yield _work(component, name, work)


def _missing(name: str, counts: re.Match[str]) -> int:
    wanted, there = (whole(counts[place], f"the members of array {name}") for place in (1, 2))
    return wanted - there


def _mends(work: re.Match[str]) -> bool:
    """Return whether missing members are being made good now: they are missing until it is done."""
    return work[1] not in _HARMLESS and "%" in work[2]


def _work(component: str, name: str, work: re.Match[str]) -> Symptom:
    kind, done, left_min = work.groups()
    minutes = real(left_min, f"the minutes left of array {name}") if left_min else 0.0
    left = f", {minutes:.0f} min left" if left_min else ""
    progress = f"{done.replace('%', ' %')} done{left}" if "%" in done else done.lower()
    severity = State.OK if kind in _HARMLESS else State.WARNING
    sentence = f"{kind} of array {name} runs, {progress}; slower is expected"
    return Symptom(NAME, component, kind, severity, Direction.LOWERS, sentence)


def _bad(component: str, kind: str, sentence: str) -> Symptom:
    return Symptom(NAME, component, kind, State.CRITICAL, Direction.RAISES, sentence)
