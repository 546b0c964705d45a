"""Symptoms of the kernel's RAID arrays, from /proc/mdstat (md(4)), which all users may read."""

from __future__ import annotations

import re
from typing import Iterator

from plumbline.model.errors import ToolError
from plumbline.model.symptom import Look, Symptom
from plumbline.model.validation import real, whole
from plumbline.parts.facts.node import Node
from plumbline.parts.facts.rules import rules

NAME = "md"

_ARRAY = re.compile(r"^(md\S*) : (\S+)(?: \((?:auto-)?read-only\))*(?: (raid\d+|linear))?(.*)$")
_MEMBER = re.compile(r"(?<!\S)([^\s\[]+)\[\d+\]((?:\([A-Z]\))*)")
_COUNTS = re.compile(r"\[(\d+)/(\d+)\] \[[U_]+\]")
_WORK = re.compile(
    r"(resync|recovery|reshape|check|repair) *= *(PENDING|DELAYED|REMOTE|[\d.]+%)"
    r"(?:.*?finish=([\d.]+)min)?"
)
_HARMLESS = ("check", "repair")
# containers of IMSM and DDF metadata are always inactive
_CONTAINER = re.compile(r"\bsuper external:(?:imsm|ddf)\b")
_VOLUME = re.compile(r"^md\S* : active .*\n.*\bsuper external:[/-](md[^\s/]+)/", re.MULTILINE)

RULES = rules(
    NAME,
    """
    inactive | critical | array {array} is {state}
    member_failed | critical | {block} has failed in array {array}
    degraded | warning | array {array} is degraded, {missing} of {members} members missing
    degraded rebuilt | warning lowers | array {array} is degraded, {missing} of {members} members \
        missing
    resync, recovery, reshape | warning lowers | {kind} of array {array} runs, {progress}; slower \
        is expected
    check, repair | ok lowers | {kind} of array {array} runs, {progress}; slower is expected
    """,
)
"""An array stays degraded until it is rebuilt."""


def look(node: Node) -> Look:
    """Look at all arrays; raise ToolError without the module md."""
    text = node.system.read("/proc/mdstat")
    if not text.startswith("Personalities"):
        raise ToolError("/proc/mdstat is not there: the kernel has no md arrays")
    arrays = re.split(r"\n(?=md\S* : )", text)[1:]
    containers = frozenset(_VOLUME.findall(text))
    symptoms = tuple(symptom for array in arrays for symptom in _look_at(node, array, containers))
    return Look(NAME, len(arrays), symptoms)


def _look_at(node: Node, text: str, containers: frozenset[str]) -> Iterator[Symptom]:
    head, _, rest = text.partition("\n")
    match = _ARRAY.match(head)
    if not match:
        raise ToolError(f"/proc/mdstat has a line that is not understood: {head!r}")
    name, state, _, listed = match.groups()
    members = _MEMBER.findall(listed)
    counts, work = _COUNTS.search(rest), _WORK.search(rest)
    missing = _missing(name, counts) if counts else 0
    component = node.parts.of_block(name)
    # remaining members are not at fault
    if component == node.parts.node and state == "active" and missing <= 0:
        component = node.parts.of_blocks([block for block, _ in members])
    if state != "active" and not (name in containers and _CONTAINER.search(rest)):
        yield RULES["inactive"].symptom(component, array=name, state=state)
    for block, flags in members:
        if "(F)" in flags:
            disk = node.parts.of_block(block)
            yield RULES["member_failed"].symptom(disk, block=block, array=name)
    if counts and missing > 0:
        rule = RULES["rebuilt" if work and _rebuilds(work) else "degraded"]
        yield rule.symptom(component, array=name, missing=missing, members=counts[1])
    if work:
        yield _work_symptom(component, name, work)


def _missing(name: str, counts: re.Match[str]) -> int:
    expected, present = (whole(counts[place], f"the members of array {name}") for place in (1, 2))
    return expected - present


def _rebuilds(work: re.Match[str]) -> bool:
    """Return whether missing members are being rebuilt; they count as missing until the end."""
    return work[1] not in _HARMLESS and "%" in work[2]


def _work_symptom(component: str, name: str, work: re.Match[str]) -> Symptom:
    kind, done, minutes_text = work.groups()
    minutes = real(minutes_text, f"the minutes left of array {name}") if minutes_text else 0.0
    remaining = f", {minutes:.0f} min left" if minutes_text else ""
    progress = f"{done.replace('%', ' %')} done{remaining}" if "%" in done else done.lower()
    return RULES[kind].symptom(component, array=name, progress=progress)
