"""Symptoms of disk enclosures: slots from /sys, fans and power supplies from sg_ses(8).

/sys is open to all users; sg_ses needs the group that owns the enclosure's generic device.
"""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple, Optional, Sequence

from plumbline.model.errors import ToolError
from plumbline.model.symptom import ORDER, Direction, Look, Symptom
from plumbline.model.verdict import State
from plumbline.parts.facts.node import Node, ask
from plumbline.parts.facts.rules import Rule

NAME = "enclosure"

_ROOT = "/sys/class/enclosure"
_TIMEOUT_S = 30.0
_MAX_LINE = 500
"""Limit of a line in characters; those of sg_ses have a hundred."""
_HEAD = re.compile(r" *(?:(\S.*?) +)?\[\d+,(-?\d+)\] +Element type: ([^,\n]+)")
_FLAG = re.compile(r"(?:^ +|, +)([A-Za-z][A-Za-z ]*)=1(?=,|$)")
_SPEED = re.compile(r"\bActual speed=(\d{1,6}) rpm\b")
_STATUS = re.compile(r" .*\bstatus: ([A-Za-z ]+)$")
_SEVERITY = {
    "Critical": State.CRITICAL,
    "Unrecoverable": State.CRITICAL,
    "Noncritical": State.WARNING,
    "Non-critical": State.WARNING,
}
"""Element status codes of SES-3, table 68; the others are no faults."""
_SLOTS = ("array device slot", "device slot")
_FLAGS = {
    **dict.fromkeys(
        ("fail", "failure indication", "dc fail", "ot failure", "crit over", "crit under")
        # sg_ses prints the first one, other tools the second
        + ("overtmp fail", "overtemperature fail", "ut failure", "ups fail"),
        State.CRITICAL,
    ),
    **dict.fromkeys(
        ("predicted failure", "ac fail", "temperature warn", "ot warning", "ut warning")
        + ("warn over", "warn under", "dc overvoltage", "dc undervoltage", "dc overcurrent")
        + ("warning indication", "batt fail", "bpf", "intf fail", "warn", "oc", "xmit fail"),
        State.WARNING,
    ),
}
"""Bits that mean a fault at any status (SES-3, section 7.3)."""
_WITHOUT_FLAGS = ("Unsupported", "Not available")
# a removed power supply costs the redundancy; its other bits are no further faults
_NOT_INSTALLED = "Not installed"
_ON, _OFF = "Requested on", "Off"

_STATUS_WORDS = "{kind} {name} of enclosure {enclosure} is {status}"
_SLOT_WORDS = "slot {slot}{disk} of enclosure {enclosure} shows {status}"
_FLAG_WORDS = "{kind} {name} of enclosure {enclosure} shows {status}"
RULES = {
    (words, severity): Rule(NAME, kind, severity, Direction.RAISES, words)
    for kind, words in (("slot", _SLOT_WORDS), ("element", _STATUS_WORDS), ("element", _FLAG_WORDS))
    for severity in (State.CRITICAL, State.WARNING)
}
"""The kind of an element is its type: ``power_supply``, ``cooling``."""


def look(node: Node) -> Look:
    """Look at all enclosures; raise ToolError if the kernel has none."""
    enclosures = node.system.names(_ROOT)
    if not enclosures:
        raise ToolError(f"{_ROOT} is empty: no enclosure, or the module ses is not loaded")
    symptoms: list[Symptom] = []
    notes = []
    for enclosure in enclosures:
        symptoms += _slots(node, enclosure)
        try:
            symptoms += _elements(node, enclosure)
        except ToolError as error:
            notes.append(f"fans and power of enclosure {enclosure}: {error}")
    return Look(NAME, len(enclosures), tuple(symptoms), tuple(notes))


def _slots(node: Node, enclosure: str) -> Iterator[Symptom]:
    for slot in node.system.names(f"{_ROOT}/{enclosure}"):
        folder = f"{_ROOT}/{enclosure}/{slot}"
        fault, status = node.system.read(f"{folder}/fault"), node.system.read(f"{folder}/status")
        # the kernel adds 2 for a requested fault and 4 for a sensed one
        is_fault = fault not in ("", "0")
        severity = _SEVERITY.get(status.capitalize(), State.WARNING if is_fault else State.OK)
        if severity is State.OK:
            continue
        blocks, component = _slot(node, enclosure, slot)
        disk = f" with {blocks[0]}" if blocks else ""
        words = "fault" if is_fault else status
        yield RULES[_SLOT_WORDS, severity].symptom(
            component, slot=slot, disk=disk, enclosure=enclosure, status=words
        )


def _elements(node: Node, enclosure: str) -> Iterator[Symptom]:
    """Yield faults of fans, supplies and sensors; the status of slots comes from /sys."""
    devices = node.system.names(f"{_ROOT}/{enclosure}/device/scsi_generic")
    if not devices:
        raise ToolError("it has no generic SCSI device; load the module sg")
    text = ask(node.system, ["sg_ses", "--join", f"/dev/{devices[0]}"], _TIMEOUT_S)
    elements = list(_parsed(text))
    if not elements:
        raise ToolError(f"sg_ses printed output that is not understood: {text[:60]!r}")
    for element in elements:
        kind = element.kind.lower()
        words, severity, status = _fault(element)
        if severity is State.OK and element.stands and any(other.turns for other in elements):
            severity, status = State.WARNING, "0 rpm, and is requested on"
        # element -1 summarizes all others of its type
        if severity is State.OK or element.number == "-1":
            continue
        is_slot = kind in _SLOTS
        if is_slot and words == _STATUS_WORDS:
            continue
        component = _slot(node, enclosure, element.name)[1] if is_slot else _enclosure(node)
        name = element.name or f"number {element.number}"
        rule = RULES[words, severity]._replace(kind=kind.replace(" ", "_"))
        yield rule.symptom(component, kind=kind, name=name, enclosure=enclosure, status=status)


def _fault(element: _Element) -> tuple[str, State, str]:
    """Return words, severity and status of an element; severity OK without a fault."""
    severity = _SEVERITY.get(element.status)
    if severity:
        return _STATUS_WORDS, severity, element.status.lower()
    flags = [flag for flag in element.flags if flag.lower() in _FLAGS]
    if not flags or element.status in _WITHOUT_FLAGS:
        return _FLAG_WORDS, State.OK, ""
    severest = min((_FLAGS[flag.lower()] for flag in flags), key=ORDER.index)
    is_absent = element.status == _NOT_INSTALLED
    shown = ", ".join([element.status.lower()] * is_absent + flags)
    return _FLAG_WORDS, State.WARNING if is_absent else severest, shown


class _Element(NamedTuple):
    """An element of an enclosure.

    ``flags`` are the bits that are set; ``rpm`` is the speed of a fan, empty for other elements.
    """

    name: str
    number: str
    kind: str
    status: str
    flags: tuple[str, ...]
    rpm: str

    @property
    def turns(self) -> bool:
        return int(self.rpm or 0) > 0

    @property
    def stands(self) -> bool:
        """Return whether it is a fan that ought to turn, and does not.

        Enclosures without speeds show 0 rpm for each of them.
        """
        ought = self.status == "OK" and _ON in self.flags and _OFF not in self.flags
        return ought and bool(self.rpm) and not self.turns


def _parsed(text: str) -> Iterator[_Element]:
    """Yield the elements with a status; status and flags are in the lines below the head."""
    head: Optional[re.Match[str]] = None
    body: list[str] = []
    for line in [*text.splitlines(), ""]:
        if "Element type:" in line or not line.startswith(" "):
            yield from _element(head, body)
            head, body = _HEAD.match(line[:_MAX_LINE]), []
        else:
            body.append(line[:_MAX_LINE])


def _element(head: Optional[re.Match[str]], body: Sequence[str]) -> Iterator[_Element]:
    status = next(filter(None, map(_STATUS.match, body)), None)
    if head and status:
        name, index, kind = ((word or "").strip() for word in head.groups())
        flags = [flag for line in body for flag in _FLAG.findall(line)]
        speed = next(filter(None, map(_SPEED.search, body)), None)
        rpm = speed[1] if speed else ""
        yield _Element(name, index, kind, status[1].strip(), tuple(flags), rpm)


def _slot(node: Node, enclosure: str, slot: str) -> tuple[Sequence[str], str]:
    """Return the disk in a slot, if any, and the component."""
    blocks = node.system.names(f"{_ROOT}/{enclosure}/{slot}/device/block")
    return blocks, node.parts.of_block(blocks[0]) if blocks else _enclosure(node)


def _enclosure(node: Node) -> str:
    return node.parts.of_kind("enclosure", "array")[0]
