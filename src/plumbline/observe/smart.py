"""Self-assessment of disks: ``smartctl --json`` (smartctl(8)), which needs CAP_SYS_RAWIO.

ATA attributes are counted by the raw value of those few that go with failures (Pinheiro et al.,
"Failure Trends in a Large Disk Drive Population", FAST 2007): reallocated, pending, uncorrectable.
"""

from __future__ import annotations

import re
from typing import Any, Iterator, Mapping

from plumbline.model.errors import ToolError
from plumbline.model.validation import counts, whole
from plumbline.model.verdict import State
from plumbline.observe.node import Node, parse_json
from plumbline.observe.symptom import Look, Rule, Symptom

NAME = "smart"

_TIMEOUT_S = 30.0
_NOT_ASKED = 0b11
"""Bits of the exit status: the command line was refused, or the device could not be opened."""

_GROWING = {
    "ata_5": "reallocated sectors",
    "ata_187": "uncorrectable errors",
    "ata_199": "checksum errors on the cable",
    "ata_errors": "errors in its log",
    "grown_defects": "grown defects",
    "uncorrected_read": "uncorrected read errors",
    "uncorrected_write": "uncorrected write errors",
    "uncorrected_verify": "uncorrected verify errors",
    "media_errors": "media errors",
    "heat": "minutes above its critical temperature",
}
"""Counters that tell of a fault by their growth."""

_ATTRIBUTES = {
    "ata_5": re.compile(r"re(?:al|tire|tried)|bad", re.IGNORECASE),
    "ata_187": re.compile(r"unc|_ue_|fail", re.IGNORECASE),
    "ata_197": re.compile("pending", re.IGNORECASE),
    "ata_198": re.compile(r"unc|uerr", re.IGNORECASE),
    "ata_199": re.compile("crc", re.IGNORECASE),
}
"""Names of attributes that are counted, by their number.

Flash disks use the numbers for other things too, such as the amount that was read; smartctl knows
their names (drivedb.h).
"""

_PACKED = re.compile(r"([0-9]{1,18})[ /(]")
"""The words of smartctl for a raw value of several numbers: ``8 (0 5)``, ``2/11820``."""

_PRESENT = {"ata_197": "sectors waiting to be reallocated", "ata_198": "uncorrectable sectors"}
"""Counters that tell of a fault when they are not 0."""

_COUNTERS = {
    "ata_errors": (
        ("ata_smart_error_log", "extended", "count"),
        ("ata_smart_error_log", "summary", "count"),
    ),
    "grown_defects": (("scsi_grown_defect_list",),),
    **{
        f"uncorrected_{operation}": (
            ("scsi_error_counter_log", operation, "total_uncorrected_errors"),
        )
        for operation in ("read", "write", "verify")
    },
    "media_errors": (("nvme_smart_health_information_log", "media_errors"),),
    "heat": (("nvme_smart_health_information_log", "critical_comp_time"),),
}
"""Places of a counter that is no attribute: the first that a disk knows counts."""

_NVME = "nvme_smart_health_information_log"
_WORN_PERCENT = 100
_WEAR = (
    (_NVME, "percentage_used"),
    ("scsi_percentage_used_endurance_indicator",),
    ("endurance_used", "current_percent"),
)
_SPARE = (
    ((_NVME, "available_spare"), (_NVME, "available_spare_threshold")),
    (("spare_available", "current_percent"), ("spare_available", "threshold_percent")),
)

RULES = {
    "failing": Rule("failing", State.CRITICAL, "{disk} says that it is failing"),
    "warns": Rule(
        "failing", State.CRITICAL, "{disk} warns of itself (critical warning {warning:#04x})"
    ),
    "attribute": Rule(
        "attribute",
        State.WARNING,
        "{disk} has attribute {id} ({name}) below its threshold, {value} of {threshold}",
    ),
    "spare": Rule("spare", State.WARNING, "{disk} has {left} % of its spare left, below {least} %"),
    "worn": Rule("worn", State.WARNING, "{disk} is worn out, {used} % of its life used"),
    "hot": Rule("hot", State.WARNING, "{disk} has {now} C, its limit is {most} C"),
    **{
        kind: Rule(kind, State.WARNING, f"{{disk}} has {{number}} {words}")
        for kind, words in _PRESENT.items()
    },
    **{
        kind: Rule(kind, State.WARNING, f"{{disk}} has {{number:.0f}} more {words}")
        for kind, words in _GROWING.items()
    },
}


def look(node: Node) -> Look:
    """Ask each disk of the node's targets; raise ToolError where none of them answers."""
    disks = _disks(node)
    if not disks:
        raise ToolError("the expectations of this node have no device; name it in the topology")
    looks = [_look_at(node, disk) for disk in disks]
    notes = tuple(note for part in looks for note in part.notes)
    if len(notes) == len(disks):
        raise ToolError(notes[0])
    symptoms = tuple(symptom for part in looks for symptom in part.symptoms)
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
        lowest = [
            device for device in node.parts.below(block) if node.parts.below(device) == (device,)
        ]
        serial = [node.system.read(f"/sys/class/block/{device}/device/wwid") for device in lowest]
        bottoms.update({(wwid or device): device for wwid, device in zip(serial, lowest)})
    return tuple(sorted(bottoms.values()))


def _ask(node: Node, disk: str) -> Mapping[str, Any]:
    # a sleeping disk is left asleep; the exit status has bits for failing disks, so it is no error
    argv = ["smartctl", "--json", "-n", "standby", "-H", "-A", "-l", "error", f"/dev/{disk}"]
    completed = node.system.run(argv, _TIMEOUT_S)
    if completed.exit_code is None or completed.timed_out:
        raise ToolError(f"smartctl gave no answer about {disk} in {completed.seconds:.0f} s")
    report = parse_json("smartctl", completed.stdout)
    if not isinstance(report, dict) or not isinstance(report.get("smartctl"), dict):
        raise ToolError(f"smartctl said of {disk} what is not understood")
    if completed.exit_code & _NOT_ASKED:
        given = report["smartctl"].get("messages", ())
        messages = [
            f"{message.get('string')!s:.200}" for message in given if isinstance(message, dict)
        ]
        raise ToolError(f"{disk}: {'; '.join(messages) or 'smartctl could not ask it'}")
    return report


def _of_disk(node: Node, disk: str, report: Mapping[str, Any]) -> Iterator[Symptom]:
    component = node.parts.of_block(disk)
    for kind, values in _states(report):
        yield RULES[kind].symptom(NAME, component, disk=disk, **values)
    counted = dict(_counters(report))
    counts(**counted)
    for kind in filter(counted.get, _PRESENT):
        yield RULES[kind].symptom(NAME, component, disk=disk, number=counted[kind])
    for kind in filter(counted.__contains__, _GROWING):
        grown = node.counters.growth(f"{NAME}/{disk}/{kind}", counted[kind])
        if grown:
            yield RULES[kind].symptom(NAME, component, grown.since, disk=disk, number=grown.amount)


def _states(report: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the rule and the figures of what a disk tells at any look."""
    if _at(report, "smart_status", "passed") is False:
        yield "failing", {}
    warning = _at(report, _NVME, "critical_warning")
    if type(warning) is int and warning:
        yield "warns", {"warning": warning}
    for attribute in _at(report, "ata_smart_attributes", "table") or ():
        # what failed in the past, such as a temperature, is over
        if attribute.get("when_failed") == "now":
            named = {"id": attribute["id"], "name": f"{attribute.get('name')!s:.40}"}
            figures = {"value": attribute["value"], "threshold": attribute["thresh"]}
            counts(**figures)
            yield "attribute", {**named, **figures}
    for place, limit in _SPARE:
        spare, least = _at(report, *place), _at(report, *limit)
        if type(spare) is int and type(least) is int and spare < least:
            yield "spare", {"left": spare, "least": least}
    used = max(
        (value for value in (_at(report, *place) for place in _WEAR) if type(value) is int),
        default=0,
    )
    if used >= _WORN_PERCENT:
        yield "worn", {"used": used}
    now, most = _at(report, "temperature", "current"), _at(report, "temperature", "drive_trip")
    if type(now) is int and type(most) is int and now >= most > 0:
        yield "hot", {"now": now, "most": most}


def _counters(report: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield kind and value of what is counted, in all three protocols."""
    for attribute in _at(report, "ata_smart_attributes", "table") or ():
        kind = f"ata_{attribute['id']}"
        name = attribute.get("name")
        if kind in _ATTRIBUTES and (not name or _ATTRIBUTES[kind].search(str(name))):
            yield kind, _raw(attribute["raw"])
    for kind, places in _COUNTERS.items():
        values = (_at(report, *place) for place in places)
        value = next((one for one in values if type(one) is int), None)
        if value is not None:
            yield kind, value


def _raw(raw: Mapping[str, Any]) -> Any:
    """Return the first number of a raw value, of which some disks pack several into one."""
    packed = _PACKED.match(str(raw.get("string")))
    return whole(packed[1], "a raw value") if packed else raw["value"]


def _at(report: Any, *keys: str) -> Any:
    """Return what lies under some keys, None where a disk does not know it."""
    for key in keys:
        report = report.get(key) if isinstance(report, dict) else None
    return report
