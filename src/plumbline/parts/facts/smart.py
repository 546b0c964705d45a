"""Symptoms from disks' self-assessment: ``smartctl --json`` (smartctl(8)); needs CAP_SYS_RAWIO.

Raw values are read only of the ATA attributes that correlate with failures (Pinheiro et al.,
"Failure Trends in a Large Disk Drive Population", FAST 2007): reallocated, pending, uncorrectable.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import Any, Iterator, Mapping, Union

from plumbline.model.errors import ToolError
from plumbline.model.names import several
from plumbline.model.symptom import Look, Symptom
from plumbline.model.validation import counts, whole
from plumbline.parts.facts.node import Node, parse_json
from plumbline.parts.facts.rules import rules

NAME = "smart"

_TIMEOUT_S = 30.0
_NO_ANSWER = 0b11
"""Bits of the exit status: the command line was refused, or the device could not be opened."""

_NOT_A_DISK = re.compile("please try adding '-d |Unable to detect device type")
"""Reasons why smartctl opens no volume of a RAID controller, and no virtual disk (os_linux.cpp)."""
_NO_LOG_PAGE = re.compile(r"(?:NVMe Status |\()0x[0246]?(?:00[12]|109)\b")
"""Invalid opcode, field or log page (NVM Express base specification): an NVMe device without it."""

_VENDORS_TOOL = "for a RAID controller name its vendor's tool in symptoms_commands"

_ATTRIBUTES = {
    "ata_5": re.compile(r"re(?:al|tire|tried)|bad", re.IGNORECASE),
    "ata_187": re.compile(r"unc|_ue_|fail", re.IGNORECASE),
    "ata_197": re.compile("pending", re.IGNORECASE),
    "ata_198": re.compile(r"unc|uerr", re.IGNORECASE),
    "ata_199": re.compile("crc", re.IGNORECASE),
}
"""Expected names of the attributes, by number.

Flash disks use the same numbers for other values too, such as the bytes read; smartctl prints the
names (drivedb.h).
"""

_PACKED = re.compile(r"([0-9]{1,18})[ /(]")
"""Raw values of several numbers as printed by smartctl: ``8 (0 5)``, ``2/11820``."""

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
"""Paths of each counter that is no attribute; the first existing one is used."""

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

_STATES = rules(
    NAME,
    """
    failing | critical | {disk} says that it is failing
    failing warns | critical | {disk} warns of itself (critical warning {warning:#04x})
    attribute | warning | {disk} has attribute {id} ({name}) at or below its threshold, {value} of \
        {threshold}
    spare | warning | {disk} has {left} % of its spare left, below {least} %
    worn | warning | {disk} is worn out, {used} % of its life used
    hot | warning | {disk} has {now} C, its limit is {most} C
    """,
)
_PRESENT = rules(
    NAME,
    """
    ata_197 | warning | {disk} has {number} sectors waiting to be reallocated
    ata_198 | warning | {disk} has {number} uncorrectable sectors
    """,
)
"""Counters that are a symptom unless 0."""

_GROWING = rules(
    NAME,
    """
    ata_5 | warning | {disk} has {number:.0f} more reallocated sectors
    ata_187 | warning | {disk} has {number:.0f} more uncorrectable errors
    ata_199 | warning | {disk} has {number:.0f} more checksum errors on the cable
    ata_errors | warning | {disk} has {number:.0f} more errors in its log
    grown_defects | warning | {disk} has {number:.0f} more {kind}
    uncorrected_read, uncorrected_write, uncorrected_verify | warning | {disk} has {number:.0f} \
        more {kind} errors
    media_errors | warning | {disk} has {number:.0f} more {kind}
    heat | warning | {disk} has {number:.0f} more minutes above its critical temperature
    """,
)
"""Counters whose growth is a symptom."""

_COUNTED = rules(
    NAME,
    """
    ata_187 | ok | {disk} has {number} uncorrectable errors, which may be years old
    media_errors | ok | {disk} has {number} {kind}, which may be years old
    grown_defects | ok | {disk} has {number} {kind}, which may be years old
    uncorrected_read, uncorrected_write, uncorrected_verify | ok | {disk} has {number} {kind} \
        errors, which may be years old
    """,
)
"""Counters that are worth a note unless 0; only their growth is a fault."""

RULES = {**_STATES, **_PRESENT, **{f"{kind} noted": rule for kind, rule in _COUNTED.items()}}
RULES.update(_GROWING)


class _HealthlessDisk(ToolError):
    """A disk that smartctl cannot ask for its health, such as a volume of a RAID controller."""


def look(node: Node) -> Look:
    """Look at each disk of the node's targets.

    Raises:
        ToolError: no disk answers, and at least one of them could tell its health.
    """
    disks = _disks(node)
    if not disks:
        raise ToolError("the expectations of this node have no device; name it in the topology")
    results = [_symptoms_or_error(node, disk) for disk in disks]
    errors = [error for error in results if isinstance(error, ToolError)]
    notes = tuple(map(str, errors))
    if len(errors) == len(disks):
        failed = [error for error in errors if not isinstance(error, _HealthlessDisk)]
        if failed:
            raise failed[0]
        likewise = f"; likewise {several(disks[1:])}" if disks[1:] else ""
        notes = (f"no disk tells its health: {notes[0]}{likewise}; {_VENDORS_TOOL}",)
    symptoms = chain.from_iterable(part for part in results if not isinstance(part, ToolError))
    return Look(NAME, len(disks) - len(errors), tuple(symptoms), notes)


def _symptoms_or_error(node: Node, disk: str) -> Union[list[Symptom], ToolError]:
    """Return the symptoms of a disk, or why it could not be queried."""
    try:
        return list(_disk_symptoms(node, disk, _ask(node, disk)))
    except ToolError as error:
        return error
    except (KeyError, TypeError, AttributeError) as error:
        return ToolError(f"output of smartctl on {disk} is not understood: {error!r}")


def _disks(node: Node) -> tuple[str, ...]:
    """Return the disks below all targets, one path for each disk."""
    bottoms = {}
    for block in node.parts.disks.values():
        lowest = [
            device for device in node.parts.below(block) if node.parts.below(device) == (device,)
        ]
        serial = [node.system.read(f"/sys/class/block/{device}/device/wwid") for device in lowest]
        bottoms.update({(wwid or device): device for wwid, device in zip(serial, lowest)})
    return tuple(sorted(bottoms.values()))


def _ask(node: Node, disk: str) -> Mapping[str, Any]:
    if not node.system.names(f"/sys/class/block/{disk}"):
        raise ToolError(f"{disk} is not there; see the topology and the cables")
    # -n: leave a disk in standby; a non-zero exit status also marks failing disks
    argv = ["smartctl", "--json", "-n", "standby", "-H", "-A", "-l", "error", f"/dev/{disk}"]
    completed = node.system.run(argv, _TIMEOUT_S)
    if completed.exit_code is None or completed.timed_out:
        raise ToolError(f"smartctl gave no answer about {disk} in {completed.seconds:.0f} s")
    report = parse_json("smartctl", completed.stdout)
    if not isinstance(report, dict) or not isinstance(report.get("smartctl"), dict):
        raise ToolError(f"output of smartctl on {disk} is not understood")
    entries = report["smartctl"].get("messages", ())
    messages = "; ".join(
        f"{message.get('string')!s:.200}" for message in entries if isinstance(message, dict)
    )
    if completed.exit_code & _NO_ANSWER:
        kind = _HealthlessDisk if _NOT_A_DISK.search(messages) else ToolError
        raise kind(f"{disk}: {messages or 'smartctl could not ask it'}")
    if not _tells_health(report):
        # an NVMe device without the log page, a virtual disk, or one behind a RAID controller
        has_it = _get(report, "smart_support", "available") is True
        lacks_it = not (messages or has_it) or _NO_LOG_PAGE.search(messages)
        kind = _HealthlessDisk if lacks_it else ToolError
        raise kind(f"{disk} does not tell its health: {messages or 'it has no SMART data'}")
    return report


def _tells_health(report: Mapping[str, Any]) -> bool:
    """Return whether a report has a state or a counter that a fault would change."""
    states = (("smart_status", "passed"), (_NVME,), ("ata_smart_attributes", "table"), *_WEAR)
    return any(_get(report, *place) is not None for place in states) or any(_counters(report))


def _disk_symptoms(node: Node, disk: str, report: Mapping[str, Any]) -> Iterator[Symptom]:
    component = node.parts.of_block(disk)
    for kind, values in _states(report):
        yield _STATES[kind].symptom(component, disk=disk, **values)
    counters = dict(_counters(report))
    counts(**counters)
    for kind in filter(counters.get, _PRESENT):
        yield _PRESENT[kind].symptom(component, disk=disk, number=counters[kind])
    for kind in filter(counters.__contains__, _GROWING):
        grown = node.counters.growth(f"{NAME}/{disk}/{kind}", counters[kind])
        if grown:
            yield _GROWING[kind].symptom(component, grown.since, disk=disk, number=grown.amount)
        elif kind in _COUNTED and counters[kind]:
            yield _COUNTED[kind].symptom(component, disk=disk, number=counters[kind])


def _states(report: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield rule and figures of each current fault that a disk reports."""
    if _get(report, "smart_status", "passed") is False:
        yield "failing", {}
    warning = _get(report, _NVME, "critical_warning")
    if type(warning) is int and warning:
        yield "warns", {"warning": warning}
    for attribute in _get(report, "ata_smart_attributes", "table") or ():
        # past failures, such as a high temperature, are over
        if attribute.get("when_failed") == "now":
            identity = {"id": attribute["id"], "name": f"{attribute.get('name')!s:.40}"}
            figures = {"value": attribute["value"], "threshold": attribute["thresh"]}
            counts(**figures)
            yield "attribute", {**identity, **figures}
    for place, limit in _SPARE:
        spare, least = _get(report, *place), _get(report, *limit)
        if type(spare) is int and type(least) is int and spare < least:
            yield "spare", {"left": spare, "least": least}
    used = max(
        (value for value in (_get(report, *place) for place in _WEAR) if type(value) is int),
        default=0,
    )
    if used >= _WORN_PERCENT:
        yield "worn", {"used": used}
    now, most = _get(report, "temperature", "current"), _get(report, "temperature", "drive_trip")
    if type(now) is int and type(most) is int and now >= most > 0:
        yield "hot", {"now": now, "most": most}


def _counters(report: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for attribute in _get(report, "ata_smart_attributes", "table") or ():
        kind = f"ata_{attribute['id']}"
        name = attribute.get("name")
        if kind in _ATTRIBUTES and (not name or _ATTRIBUTES[kind].search(str(name))):
            yield kind, _raw(attribute["raw"])
    for kind, places in _COUNTERS.items():
        values = (_get(report, *place) for place in places)
        value = next((value for value in values if type(value) is int), None)
        if value is not None:
            yield kind, value


def _raw(raw: Mapping[str, Any]) -> Any:
    """Return the first number of a raw value; some disks pack several numbers into one."""
    packed = _PACKED.match(str(raw.get("string")))
    return whole(packed[1], "a raw value") if packed else raw["value"]


def _get(report: Any, *keys: str) -> Any:
    """Return the value at a path of keys, None if the disk has none."""
    for key in keys:
        report = report.get(key) if isinstance(report, dict) else None
    return report
