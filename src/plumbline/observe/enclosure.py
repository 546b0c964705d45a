"""Enclosures: slots as the kernel shows them to anybody, fans and power through sg_ses (sg_ses(8)).

sg_ses opens the enclosure's generic device and so needs the group that owns it.
"""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple, Optional

from plumbline.model.errors import ToolError
from plumbline.model.verdict import State
from plumbline.observe.node import Node, ask
from plumbline.observe.symptom import Direction, Look, Symptom

NAME = "enclosure"

_ROOT = "/sys/class/enclosure"
_TIMEOUT_S = 30.0
_LONGEST = 500
"""Characters of a line; those of sg_ses have a hundred."""
_HEAD = re.compile(r" *(\S.*?|) \[\d+,(-?\d+)\] +Element type: ([^,\n]+)")
_STATUS = re.compile(r" .*\bstatus: ([A-Za-z ]+)$")
_SEVERITY = {
    "Critical": State.CRITICAL,
    "Unrecoverable": State.CRITICAL,
    "Noncritical": State.WARNING,
    "Non-critical": State.WARNING,
}
"""Element status codes of SES-3, table 68; the others say nothing of a fault."""
_SLOTS = ("array device slot", "device slot")


def look(node: Node) -> Look:
    """Look at all enclosures; raise ToolError where the kernel knows none."""
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
        severity = _SEVERITY.get(status.capitalize(), State.WARNING if fault == "1" else State.OK)
        if severity is State.OK:
            continue
        blocks = node.system.names(f"{folder}/device/block")
        component = node.parts.of_block(blocks[0]) if blocks else _enclosure(node)
        disk = f" with {blocks[0]}" if blocks else ""
        words = "fault" if fault == "1" else status
        sentence = f"slot {slot}{disk} of enclosure {enclosure} shows {words}"
        yield Symptom(NAME, component, "slot", severity, Direction.RAISES, sentence)


def _elements(node: Node, enclosure: str) -> Iterator[Symptom]:
    """Yield fans, supplies and sensors at fault; slots come from /sys."""
    devices = node.system.names(f"{_ROOT}/{enclosure}/device/scsi_generic")
    if not devices:
        raise ToolError("it has no generic SCSI device; load the module sg")
    text = ask(node.system, ["sg_ses", "--join", f"/dev/{devices[0]}"], _TIMEOUT_S)
    elements = list(_parsed(text))
    if not elements:
        raise ToolError(f"sg_ses printed what is not understood: {text[:60]!r}")
    for element in elements:
        kind = element.kind.lower()
        severity = _SEVERITY.get(element.status)
        # element -1 sums up all others of its type
        if severity is None or element.number == "-1" or kind in _SLOTS:
            continue
        name = element.name or f"number {element.number}"
        sentence = f"{kind} {name} of enclosure {enclosure} is {element.status.lower()}"
        yield Symptom(
            NAME, _enclosure(node), kind.replace(" ", "_"), severity, Direction.RAISES, sentence
        )


class _Element(NamedTuple):
    name: str
    number: str
    kind: str
    status: str


def _parsed(text: str) -> Iterator[_Element]:
    """Yield the elements that have a status: it stands in a line below the element's first."""
    head: Optional[re.Match[str]] = None
    for line in text.splitlines():
        status = _STATUS.match(line[:_LONGEST]) if head else None
        if "Element type:" in line:
            head = _HEAD.match(line[:_LONGEST])
        elif head and status:
            name, index, kind = (word.strip() for word in head.groups())
            yield _Element(name, index, kind, status[1].strip())
            head = None
        elif not line.startswith(" "):
            head = None


def _enclosure(node: Node) -> str:
    return node.parts.of_kind("enclosure", "array")[0]
