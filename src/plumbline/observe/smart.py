"""What disks say of themselves: ``smartctl --json`` (smartctl(8)), which needs CAP_SYS_RAWIO.

ATA attributes are counted by the raw value of those few that go with failures (Pinheiro et al.,
"Failure Trends in a Large Disk Drive Population", FAST 2007): reallocated, pending, uncorrectable.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping

from plumbline.model.errors import ToolError
from plumbline.model.validation import counts
from plumbline.model.verdict import State
from plumbline.observe.node import Node, parse_json
from plumbline.observe.symptom import Direction, Look, Symptom

NAME = "smart"

_TIMEOUT_S = 30.0
_NOT_ASKED = 0b11
"""Bits of the exit status: the command line was refused, or the device could not be opened."""

_GROWING = {
    5: "reallocated sectors",
    187: "uncorrectable errors",
    199: "checksum errors on the cable",
}
_PRESENT = {197: "sectors waiting to be reallocated", 198: "uncorrectable sectors"}


def look(node: Node) -> Look:
    """Ask each disk of the node's targets; raise ToolError where none of them answers."""
    disks = _disks(node)
    if not disks:
        raise ToolError("the expectations of this node have no device; name it in the topology")
    looks = [_look_at(node, disk) for disk in disks]
    notes = tuple(note for one in looks for note in one.notes)
    if len(notes) == len(disks):
        raise ToolError(notes[0])
    symptoms = tuple(symptom for one in looks for symptom in one.symptoms)
    return Look(NAME, len(disks) - len(notes), symptoms, notes)


def _look_at(node: Node, disk: str) -> Look:
    if not node.system.names(f"/sys/class/block/{disk}"):
        return Look(NAME, 0, notes=(f"{disk} is not there; see the topology and the cables",))
    try:
        return Look(NAME, 1, tuple(_of_disk(node, disk, _ask(node, disk))))
    except ToolError as error:
        return Look(NAME, 0, notes=(str(error),))
    except (KeyError, TypeError, AttributeError) as error:
        return Look(NAME, 0, notes=(f"smartctl said of {disk} what is not understood: {error!r}",))


def _disks(node: Node) -> tuple[str, ...]:
    """Return the disks at the bottom of all targets: two paths to one disk are asked once."""
    bottoms = {}
    for block in node.parts.disks.values():
        lowest = [one for one in node.parts.below(block) if node.parts.below(one) == (one,)]
        serial = [node.system.read(f"/sys/class/block/{one}/device/wwid") for one in lowest]
        bottoms.update({(wwid or one): one for wwid, one in zip(serial, lowest)})
    return tuple(sorted(bottoms.values()))


def _ask(node: Node, disk: str) -> Mapping[str, Any]:
    # a sleeping disk is left asleep; the exit status has bits for failing disks, so it is no error
    argv = ["smartctl", "--json", "-n", "standby", "-H", "-A", "-l", "error", f"/dev/{disk}"]
    completed = node.system.run(argv, _TIMEOUT_S)
    if completed.exit_code is None or completed.timed_out:
        raise ToolError(f"smartctl gave no answer about {disk} in {completed.seconds:.0f} s")
    said = parse_json("smartctl", completed.stdout)
    if not isinstance(said, dict) or not isinstance(said.get("smartctl"), dict):
        raise ToolError(f"smartctl said of {disk} what is not understood")
    if completed.exit_code & _NOT_ASKED:
        given = said["smartctl"].get("messages", ())
        messages = [f"{one.get('string')!s:.200}" for one in given if isinstance(one, dict)]
        raise ToolError(f"{disk}: {'; '.join(messages) or 'smartctl could not ask it'}")
    return said


def _of_disk(node: Node, disk: str, said: Mapping[str, Any]) -> Iterator[Symptom]:
    component = node.parts.of_block(disk)
    if _at(said, "smart_status", "passed") is False:
        yield _symptom(component, "failing", State.CRITICAL, f"{disk} says that it is failing")
    warning = _at(said, "nvme_smart_health_information_log", "critical_warning")
    if type(warning) is int and warning:
        sentence = f"{disk} warns of itself (critical warning {warning:#04x})"
        yield _symptom(component, "failing", State.CRITICAL, sentence)
    for attribute in _at(said, "ata_smart_attributes", "table") or ():
        words = _PRESENT.get(attribute["id"])
        raw = attribute["raw"]["value"] if words else 0
        counts(raw=raw)
        if raw:
            sentence = f"{disk} has {raw} {words}"
            yield _symptom(component, f"ata_{attribute['id']}", State.WARNING, sentence)
    for name, words, value in _counters(said):
        counts(**{name: value})
        grown = node.counters.growth(f"{NAME}/{disk}/{name}", value)
        if grown:
            sentence = f"{disk} has {grown.amount:.0f} more {words}"
            yield _symptom(component, name, State.WARNING, sentence)._replace(since=grown.since)


def _counters(said: Mapping[str, Any]) -> Iterator[tuple[str, str, float]]:
    """Yield name, words and value of what only counts by its growth, in all three protocols."""
    for attribute in _at(said, "ata_smart_attributes", "table") or ():
        if attribute["id"] in _GROWING:
            yield f"ata_{attribute['id']}", _GROWING[attribute["id"]], attribute["raw"]["value"]
    defects = said.get("scsi_grown_defect_list")
    if type(defects) is int:
        yield "grown_defects", "grown defects", defects
    for operation in ("read", "write", "verify"):
        count = _at(said, "scsi_error_counter_log", operation, "total_uncorrected_errors")
        if type(count) is int:
            yield f"uncorrected_{operation}", f"uncorrected {operation} errors", count
    media = _at(said, "nvme_smart_health_information_log", "media_errors")
    if type(media) is int:
        yield "media_errors", "media errors", media


def _at(said: Any, *keys: str) -> Any:
    """Return what lies under some keys, None where a disk does not know it."""
    for key in keys:
        said = said.get(key) if isinstance(said, dict) else None
    return said


def _symptom(component: str, kind: str, severity: State, sentence: str) -> Symptom:
    return Symptom(NAME, component, kind, severity, Direction.RAISES, sentence)
