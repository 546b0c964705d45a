"""Symptoms from kernel messages about slow or failing I/O, without those caused by routine work.

The patterns of single messages are in kernel_messages.  Routine events print messages that look
like faults: a disk is probed, plugged in or removed, a path is passive, a link comes up after a
boot, a Lustre target is unmounted, a connection is restored or deactivated.  The order of messages
shows the difference.

The groups systemd-journal and adm may read the journal; the kernel's buffer may need CAP_SYSLOG.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import partial
from typing import Callable, Collection, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.errors import ToolError
from plumbline.model.symptom import Look, Symptom
from plumbline.model.units import DAY_S
from plumbline.model.validation import read_json, times, whole
from plumbline.parts.facts import lustre
from plumbline.parts.facts.kernel_matching import find_context, parse_fault
from plumbline.parts.facts.kernel_messages import LOST_CONNECTIONS, LOST_LINKS, Message
from plumbline.parts.facts.node import Node, Parts, ask

_RECOVERY_S = 900.0
"""Longest recovery of a Lustre target; then its clients are back or evicted."""
_SHUTDOWN_S = 300.0
"""Longest stop of all services, three times systemd's limit for one."""
_PLANNED_LOSSES = 2
"""A failover and its failback lose a connection once each."""
_REFUSAL_S = 5.0
"""Longest time from sense data to the I/O error that they explain."""
_ANY = "any"
"""Any disk, beside the names of disks."""
_NEXT_LINES = 2
"""Lines within which a driver that aborts a command names the disk."""
_ERROR_LINES = 3
"""Lines within which the kernel prints the kind of a PCIe error."""
_RECORD_LINES = 20
"""The same in a record of the firmware."""

_LIMITED = {
    **dict.fromkeys(("blk_print_req_error", "print_req_error", "blk_update_request"), "io_error"),
    **dict.fromkeys(("buffer_io_error", "quiet_error"), "buffer_error"),
}
"""Kinds of messages whose repeats the kernel leaves out, by the printing function."""

_DEVICE = re.compile(r"(?P<name>\S+): (?:Connection to|This client was evicted by) ")
_PASSIVE = ("S", "U")
"""Standby and unavailable (drivers/scsi/device_handler/scsi_dh_alua.c)."""
_SATA = re.compile(r"/ata\d+/")
_ORIGIN = re.compile(r"(?P<log>(?:LNet|Lustre)(?:Error)?): (?:\d+:\d+:\((?P<place>[^()]+\(\))\) )?")


class LogEntry(NamedTuple):
    """A message at seconds since the epoch, and its line number in the log.

    ``fault`` is the reported fault, ``name`` what it is about, ``context`` the matches by kind of
    CONTEXT, ``skipped`` the number of messages of its kind that were left out of the log after it.
    """

    at: float
    text: str
    line: int = 0
    fault: Optional[Message] = None
    name: str = ""
    context: Mapping[str, re.Match[str]] = {}
    skipped: int = 0

    def subject(self, *kinds: str, group: str = "name") -> str:
        """Return the name in a message of one of these kinds, else empty."""
        if self.fault and self.fault.kind in kinds:
            return self.name
        for kind in kinds:
            if kind in self.context:
                return self.context[kind][group] or ""
        return ""

    @property
    def device(self) -> str:
        """Return the Lustre device that lost its target, empty if none did."""
        matched = _DEVICE.search(self.text)
        return matched["name"] if matched else ""


_Log = Sequence[LogEntry]


def faults(
    messages: Iterable[LogEntry],
    connected: Callable[[], Collection[str]],
    is_removable: Callable[[str], Optional[bool]] = lambda _: None,
) -> Iterator[LogEntry]:
    """Yield the messages about faults that routine work does not explain.

    ``connected`` returns the Lustre devices with a connection now; it is called only if the log
    does not show that a lost connection was restored, or leaves out losses.  ``is_removable``
    returns whether a disk is removable, None if only the log may show it.
    """
    log = _log(messages)
    routine = {*_probing(log), *_refused(log), *_hot_plugged(log), *_manual(log)}
    routine |= {*_foreign(log, is_removable), *_unsupported(log), *_links(log)}
    routine |= {*_targets(log), *_deactivated(log), *_results(log), *_waits(log)}
    routine |= set(_losses(log, routine, connected))
    for number, entry in enumerate(log):
        if entry.fault and entry.line not in routine:
            following = log[number + 1 : number + 1 + _NEXT_LINES]
            yield _of_next_disk(entry, following) if entry.fault.about == "next disk" else entry


def _log(messages: Iterable[LogEntry]) -> _Log:
    """Return the messages of known kinds, with the numbers of those left out after each."""
    log: list[LogEntry] = []
    # the last message by source line, or by kind if the source line is unknown
    latest: dict[str, int] = {}
    for line, message in enumerate(messages):
        fault, name = parse_fault(message.text)
        context = find_context(message.text)
        entry = message._replace(line=line, fault=fault, name=name, context=context)
        source, number = _left_out(entry)
        before = latest.get(source)
        if number and before is not None:
            log[before] = log[before]._replace(skipped=log[before].skipped + number)
        elif origin := _ORIGIN.match(message.text):
            latest[origin["place"] or origin["log"]] = len(log)
        elif fault:
            latest[fault.kind] = len(log)
        log.append(entry)
    return [entry for entry in log if entry.fault or entry.context]


def _left_out(entry: LogEntry) -> tuple[str, int]:
    """Return the source and the number of messages left out of the log."""
    if skipped := entry.context.get("skipped"):
        source, number = skipped["place"] or skipped["log"], skipped["number"]
    elif suppressed := entry.context.get("suppressed"):
        source, number = _LIMITED.get(suppressed["function"], ""), suppressed["number"]
    else:
        return "", 0
    return source, whole(number, "messages that were left out")


def _of_next_disk(fault: LogEntry, following: _Log) -> LogEntry:
    disks = (entry.subject("disk") for entry in following if entry.line <= fault.line + _NEXT_LINES)
    return fault._replace(name=next(filter(None, disks), fault.name))


def _probing(log: _Log) -> Iterator[int]:
    """Yield the reset of each disk while it is probed, which is normal."""
    probed: set[str] = set()
    for entry in log:
        if name := entry.subject("command_reset"):
            if name in probed and "Power-on" in entry.text:
                yield entry.line
        elif name := entry.subject("disk_probed"):
            probed.add(name)
        else:
            probed.discard(entry.subject("disk_attached", group="address"))


_POWER_ON = "Power-on or device reset"
"""Report of a disk itself after a reset."""


def _results(log: _Log) -> Iterator[int]:
    """Yield the results of aborts and resets whose start is in the log: each counts once."""
    begun: set[tuple[str, str]] = set()
    for entry in log:
        if name := entry.subject("reset_begun"):
            begun.add((name, entry.subject("reset_begun", group="step")))
        elif name := entry.subject("reset_ended"):
            step = entry.subject("reset_ended", group="step")
            if (name, step) in begun:
                begun.remove((name, step))
                yield entry.line
                if step.endswith(" reset") and step != _POWER_ON:
                    begun.add((name, _POWER_ON))


def _waits(log: _Log) -> Iterator[int]:
    """Yield the waits for NFS servers that answered later."""
    waits: dict[str, list[int]] = {}
    for entry in log:
        if name := entry.subject("nfs_timeout"):
            waits.setdefault(name, []).append(entry.line)
        else:
            yield from waits.pop(entry.subject("nfs_served"), ())


def _refused(log: _Log) -> Iterator[int]:
    """Yield the errors of commands that a path or disk refuses, according to its sense data.

    A passive path of ALUA has no sense data: the kernel itself refuses the commands.  A path that
    fails after such a refusal is only passive, and is reinstated later.
    """
    refused: dict[str, float] = {}
    disks: dict[str, str] = {}
    passive: set[str] = set()
    failed: dict[str, int] = {}
    for entry in log:
        if name := entry.subject("io_error", "buffer_error"):
            # nvme0 is refused, its disk is nvme0n1; a device above a disk hands the refusal on
            above = _ANY if "critical target error, dev dm-" in entry.text else name
            disks_of = (name, name.rpartition("n")[0], above)
            at = max(refused.get(disk, -_REFUSAL_S) for disk in disks_of)
            if name in passive or entry.at <= at + _REFUSAL_S:
                yield entry.line
        elif name := entry.subject("path_failed"):
            if entry.at <= refused.get(_ANY, -_REFUSAL_S) + _REFUSAL_S:
                failed[name] = entry.line
        elif (name := entry.subject("path_reinstated")) in failed:
            yield failed.pop(name)
        elif name := entry.subject("disk_attached"):
            disks[entry.subject("disk_attached", group="address")] = name
            passive.discard(name)
        elif address := entry.subject("path_state", group="address"):
            state = entry.subject("path_state", group="state")
            change = passive.add if state in _PASSIVE else passive.discard
            change(disks.get(address, ""))
        elif name := entry.subject("command_refused"):
            refused[name] = refused[_ANY] = entry.at
        else:
            refused.pop(entry.subject("command_failed"), None)


def _hot_plugged(log: _Log) -> Iterator[int]:
    """Yield the errors of ATA ports while a disk is plugged in or removed.

    A port that reports a change got a disk if one is identified next.  A disk that is removed
    properly stops before its port is disabled.
    """
    changed: dict[str, list[int]] = {}
    stopped = -_REFUSAL_S
    for entry in log:
        port = entry.subject("ata_error", "disk_lost").partition(".")[0]
        if "port_changed" in entry.context:
            changed[port] = [entry.line]
        elif port in changed and "resetting link" in entry.text:
            changed[port].append(entry.line)
        elif port:
            changed.pop(port, None)
            if entry.subject("disk_lost") and entry.at <= stopped + _REFUSAL_S:
                stopped = -_REFUSAL_S
                yield entry.line
        elif "disk_stopped" in entry.context:
            stopped = entry.at
        elif "disk_stop_failed" in entry.context:
            stopped = -_REFUSAL_S
        else:
            yield from changed.pop(entry.subject("disk_identified"), ())


def _manual(log: _Log) -> Iterator[int]:
    """Yield losses of slots that were powered off by hand, and evictions by aborted recoveries."""
    announced: set[str] = set()
    for entry in log:
        if entry.subject("slot_lost", "client_evicted") in announced:
            yield entry.line
        announced.add(entry.subject("announced"))
        announced -= {"", entry.subject("slot_filled"), entry.subject("recovered")}


def _foreign(log: _Log, is_removable: Callable[[str], Optional[bool]]) -> Iterator[int]:
    """Yield the errors of removable disks, and those of ports of optical drives."""
    names: set[str] = set()
    for entry in log:
        name = entry.subject("ata_error", "disk_lost", "io_error", "buffer_error", "medium_error")
        removable = is_removable(name) if name else False
        seen = {name.partition(".")[0], name.rstrip("0123456789")}
        if removable or (removable is None and not names.isdisjoint(seen)):
            yield entry.line
        names.discard(entry.subject("disk_identified", "disk_attached"))
        names.add(entry.subject("optical_identified", "removable_attached"))
        names.discard("")


def _unsupported(log: _Log) -> Iterator[int]:
    """Yield the PCIe errors about requests that a device does not support."""
    errors: dict[str, list[int]] = {}
    for entry in log:
        if entry.fault and entry.fault.kind in ("bus_error", "hardware_error"):
            errors.setdefault(entry.name, []).append(entry.line)
        if "unsupported_request" in entry.context:
            # records of the firmware name the device in another line
            name = entry.subject("unsupported_request")
            for line in errors.pop(name, ()):
                if entry.line <= line + (_ERROR_LINES if name else _RECORD_LINES):
                    yield line


def _links(log: _Log) -> Iterator[int]:
    """Yield the losses of links before they first come up after a boot, and during a shutdown.

    After a boot drivers also report ports without a cable, which were never up.
    """
    down: dict[str, list[LogEntry]] = {}
    up: Optional[set[str]] = None
    ever_up: set[str] = set()
    for entry in log:
        if name := entry.subject(*LOST_LINKS):
            if up is None or name in ever_up or entry.subject("remote_port_lost"):
                down.setdefault(name, []).append(entry)
            else:
                yield entry.line
        elif "boot" in entry.context:
            down, up = {}, set()
        elif "shutdown" in entry.context:
            latest = [loss for losses in down.values() for loss in losses]
            yield from (loss.line for loss in latest if loss.at >= entry.at - _SHUTDOWN_S)
        elif name := entry.subject("link_up"):
            before = down.pop(name, [])
            ever_up.add(name)
            if up is not None and name not in up:
                up.add(name)
                yield from (loss.line for loss in before)


def _targets(log: _Log) -> Iterator[int]:
    """Yield the losses of local clients after a target is unmounted on this node.

    A local client does not take part in the recovery and is evicted when the target is back.  The
    unmount itself is reported until the target returns.
    """
    stops: dict[str, list[int]] = {}
    unmounted: set[str] = set()
    served_at: dict[str, float] = {}
    for entry in log:
        lost = entry.subject(*LOST_CONNECTIONS)
        if lost in stops and entry.at <= served_at.get(lost, entry.at) + _RECOVERY_S:
            yield entry.line
        elif name := entry.subject("failover"):
            stops.setdefault(name, []).append(entry.line)
            served_at.pop(name, None)
        elif name := entry.subject("unmounted"):
            stops.setdefault(name, [])
            unmounted.add(name)
        elif (name := entry.subject("served")) in unmounted:
            unmounted.remove(name)
            served_at[name] = entry.at
            yield from stops[name]
            stops[name] = []


def _deactivated(log: _Log) -> Iterator[int]:
    """Yield the losses of an import that an administrator deactivated on this node.

    After activation it reconnects like a lost one, and is evicted once per deactivation.
    """
    off: dict[str, int] = {}
    for entry in log:
        if name := entry.subject("deactivated"):
            off[name] = off.get(name, 0) + 1
        elif off.get(name := entry.subject(*LOST_CONNECTIONS)):
            yield entry.line
            off[name] -= bool(entry.subject("evicted"))


def _losses(
    log: _Log, routine: Collection[int], connected: Callable[[], Collection[str]]
) -> Iterator[int]:
    """Yield the losses of restored connections, if they are as few as during planned work.

    Lustre leaves out repeated losses of any target, so these count for all connections together.
    """
    lost: dict[str, list[LogEntry]] = {}
    restored: set[str] = set()
    for entry in log:
        restored.add(entry.subject("connection_restored", group="device"))
        device = entry.device if entry.subject(*LOST_CONNECTIONS) else ""
        if entry.subject("evicted"):
            # an evicted client has reached the target again
            restored.add(device)
        elif device and entry.line not in routine:
            lost.setdefault(device, []).append(entry)
            restored.discard(device)
    few = {name: losses for name, losses in lost.items() if len(losses) <= _PLANNED_LOSSES}
    skipped = {name: sum(loss.skipped for loss in losses) for name, losses in lost.items()}
    if any(skipped.values()) or not restored.issuperset(few):
        now = connected()
        restored.update(now)
        devices = len({*lost, *now})
        number = sum(map(len, lost.values())) + sum(skipped.values())
        if number > _PLANNED_LOSSES * devices:
            restored.difference_update(name for name in lost if skipped[name])
    for name in restored.intersection(few):
        yield from (loss.line for loss in few[name])


NAME = "kernel"

_TIMEOUT_S = 20.0
_MAX_LINES = 20_000


def look(node: Node) -> Look:
    """Read the messages of a day; raise ToolError if neither source may be read."""
    lines = _messages(node)
    grouped: dict[tuple[str, str], list[LogEntry]] = {}
    for entry in faults(lines, partial(_connected, node), partial(_is_removable, node)):
        if entry.fault:
            grouped.setdefault((entry.fault.kind, entry.name), []).append(entry)
    symptoms = tuple(_symptom(node, entries) for entries in grouped.values())
    return Look(NAME, len(lines), symptoms)


def _connected(node: Node) -> Collection[str]:
    """Return the connected Lustre devices, empty without lctl."""
    try:
        return lustre.connected(node)
    except ToolError:
        return ()


def _is_removable(node: Node, disk: str) -> Optional[bool]:
    """Return whether a disk is removable, None if the kernel does not know it (any more).

    Linux before 6.10 calls disks of hot-plug SATA ports removable (drivers/ata/libata-scsi.c).
    """
    folder = f"/sys/class/block/{disk}"
    if node.parts.of_block(disk) != node.parts.node or _SATA.search(node.system.real(folder)):
        return False
    flags = [node.system.read(f"{folder}/{place}") for place in ("removable", "../removable")]
    return "1" in flags if any(flags) else None


def _messages(node: Node) -> list[LogEntry]:
    try:
        return list(_journal(node))
    except ToolError as journal:
        try:
            return list(_buffer(node))
        except ToolError as error:
            raise ToolError(f"{journal}; and {error}") from error


def _journal(node: Node) -> Iterator[LogEntry]:
    text = ask(
        node.system,
        [
            *("journalctl", "--dmesg", "--boot=all", "--no-pager", "--output=json"),
            *("--output-fields=MESSAGE", f"--lines={_MAX_LINES}"),
            f"--since=@{node.now - DAY_S:.0f}",
        ],
        _TIMEOUT_S,
    )
    # without permission, journalctl prints nothing and succeeds
    if not text.strip():
        raise ToolError("journalctl shows no message of the kernel; see its groups")
    # a message may have other ends of lines, such as U+2028
    for line in filter(None, text.split("\n")):
        yield _entry(line)


def _entry(line: str) -> LogEntry:
    try:
        entry = read_json(line)
        at = whole(str(entry["__REALTIME_TIMESTAMP"]), "the time of a message") / 1e6
        times(at=at)
        return LogEntry(at, _text(entry["MESSAGE"]))
    except (ValueError, KeyError, TypeError) as error:
        raise ToolError(
            f"journalctl printed output that is not understood: {line[:50]!r}"
        ) from error


def _text(message: object) -> str:
    """Return a message; one that is not UTF-8 is a list of bytes (systemd: JSON format)."""
    return bytes(message).decode("utf-8", "replace") if isinstance(message, list) else str(message)


def _buffer(node: Node) -> Iterator[LogEntry]:
    text = ask(node.system, ["dmesg", "--time-format=iso", "--nopager"], _TIMEOUT_S)
    at = 0.0
    for line in text.rstrip("\n").split("\n")[-_MAX_LINES:]:
        # dmesg indents the further lines of a message by the width of its time
        parsed = _line(line) if line[:1].strip() else LogEntry(at, line.strip())
        at = parsed.at
        if at >= node.now - DAY_S:
            yield parsed


def _line(line: str) -> LogEntry:
    stamp, _, message = line.partition(" ")
    try:
        # fromisoformat of Python 3.9 does not accept a comma
        at = datetime.fromisoformat(stamp.replace(",", ".")).timestamp()
        times(at=at)
        return LogEntry(at, message)
    except (ValueError, TypeError, OverflowError) as error:
        raise ToolError(f"dmesg printed output that is not understood: {line[:60]!r}") from error


def _symptom(node: Node, entries: _Log) -> Symptom:
    """Return the symptom of messages about the same fault."""
    message, name = entries[0].fault, entries[0].name
    assert message is not None
    number = len(entries) + sum(entry.skipped for entry in entries)
    often = f" ({number} times)" if number > 1 else ""
    if message.about in _DEVICE_FOLDERS:
        name = node.parts.block_name(_DEVICE_FOLDERS[message.about] + name)
    sentence = f"kernel: {message.words.format(name=name)}{often}"
    return Symptom(
        NAME,
        _COMPONENTS[message.about](node.parts, name),
        message.kind,
        message.severity,
        message.direction,
        sentence,
        min(entry.at for entry in entries),
    )


_DEVICE_FOLDERS = {"path": "", "number": "/sys/dev/block/"}
"""Folders of links to block devices, by the kind of name in a message."""

_COMPONENTS: Mapping[str, Callable[[Parts, str], str]] = {
    "target": lambda _, name: name,
    "node": lambda parts, _: parts.node,
    "link": lambda parts, _: parts.of_kind("nic", "link")[0],
    "hba": lambda parts, _: parts.of_kind("hba")[0],
    "path": Parts.of_block,
    "number": Parts.of_block,
    "block": Parts.of_block,
    "next disk": Parts.of_block,
    "scsi": Parts.of_scsi,
    "nvme": Parts.of_nvme,
    "interface": Parts.of_interface,
    "nic": Parts.of_nic,
    "pci": Parts.of_pci,
}
"""Function from the name in a message to its component, by the kind of name."""
