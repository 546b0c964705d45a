"""Kernel messages about slow or failing I/O, less those that routine work explains.

What single messages tell is in kernel_messages.  A disk that is probed, plugged in or taken out, a
path that is not the active one, a link that comes up after a boot, a Lustre target that is
unmounted, a connection that came back and one that was switched off print messages which alone look
like faults.  Their order tells.

The journal is open to the groups systemd-journal and adm; the buffer may need CAP_SYSLOG.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Callable, Collection, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.errors import ToolError
from plumbline.model.units import DAY_S
from plumbline.model.validation import read_json, times, whole
from plumbline.observe import lustre
from plumbline.observe.kernel_messages import (
    LOST_CONNECTIONS,
    LOST_LINKS,
    ParsedMessage,
    turns,
    understand,
)
from plumbline.observe.node import Node, Parts, ask
from plumbline.observe.symptom import Look, Symptom

_RECOVERY_S = 900.0
"""The longest recovery of a Lustre target: its clients are back by then, or evicted."""
_SHUTDOWN_S = 300.0
"""Services take no longer to stop: three times the limit that systemd has for each."""
_PLANNED_LOSSES = 2
"""A failover and its failback take a connection once each."""
_REFUSAL_S = 5.0
"""An I/O error follows the sense data that explain it within this."""
_NEXT_LINES = 2
"""A driver that aborts a command names its disk within as many lines."""
_ERROR_LINES = 3
"""The kernel shows which error a PCIe device had within as many lines."""

_LIMITED = {
    **dict.fromkeys(("blk_print_req_error", "print_req_error", "blk_update_request"), "io_error"),
    **dict.fromkeys(("buffer_io_error", "quiet_error"), "buffer_error"),
}
"""Kinds of messages of which the kernel leaves out repeats, by the function that prints them."""

_DEVICE = re.compile(r"(?P<name>\S+): (?:Connection to|This client was evicted by) ")
_PASSIVE = ("S", "U")
"""Standby and unavailable (drivers/scsi/device_handler/scsi_dh_alua.c)."""
_ORIGIN = re.compile(r"(?P<log>(?:LNet|Lustre)(?:Error)?): (?:\d+:\d+:\((?P<place>[^()]+\(\))\) )?")


class LogEntry(NamedTuple):
    """A message at seconds since the epoch, and its number in the log.

    ``parsed`` is the fault that it tells of, ``turns`` what else it says by kinds of TURNS, and
    ``skipped`` how many messages of its kind were left out of the log next to it.
    """

    at: float
    text: str
    place: int = 0
    parsed: Optional[ParsedMessage] = None
    turns: Mapping[str, re.Match[str]] = {}
    skipped: int = 0

    def tells(self, *kinds: str, group: str = "name") -> str:
        """Return the name that a message of one of these kinds is about, else nothing."""
        if self.parsed and self.parsed.message.kind in kinds:
            return self.parsed.name
        for kind in kinds:
            if kind in self.turns:
                return self.turns[kind][group]
        return ""

    @property
    def device(self) -> str:
        """Return the device of Lustre that lost its target, empty where none did."""
        matched = _DEVICE.search(self.text)
        return matched["name"] if matched else ""


_Log = Sequence[LogEntry]


def faults(
    messages: Iterable[LogEntry], connected: Callable[[], Collection[str]]
) -> Iterator[tuple[LogEntry, ParsedMessage]]:
    """Yield the messages that tell of a fault which no routine work explains, and what they tell.

    ``connected`` returns Lustre's devices that have their target now; it is asked only where the
    log does not say that a lost connection came back, or leaves out losses.
    """
    log = _log(messages)
    routine = {*_probing(log), *_refused(log), *_plugged(log), *_by_hand(log)}
    routine |= {*_foreign(log), *_unsupported(log), *_links(log)}
    routine |= {*_targets(log), *_deactivated(log)}
    routine |= set(_losses(log, routine, connected))
    for number, entry in enumerate(log):
        if entry.parsed and entry.place not in routine:
            yield entry, _of_next_disk(entry.parsed, entry.place, log[number + 1 :][:_NEXT_LINES])


def _log(messages: Iterable[LogEntry]) -> _Log:
    """Return the messages that tell anything, with those that were left out next to each."""
    log: list[LogEntry] = []
    # the last message of each line of the sources, or of those that do not tell theirs
    latest: dict[str, int] = {}
    for place, line in enumerate(messages):
        entry = line._replace(place=place, parsed=understand(line.text), turns=turns(line.text))
        source, number = _left_out(entry)
        before = latest.get(source)
        if number and before is not None:
            log[before] = log[before]._replace(skipped=log[before].skipped + number)
        elif origin := _ORIGIN.match(line.text):
            latest[origin["place"] or origin["log"]] = len(log)
        elif entry.parsed:
            latest[entry.parsed.message.kind] = len(log)
        log.append(entry)
    return [entry for entry in log if entry.parsed or entry.turns]


def _left_out(entry: LogEntry) -> tuple[str, int]:
    """Return the source of messages that were left out of the log, and how many of them."""
    if skipped := entry.turns.get("skipped"):
        source, number = skipped["place"] or skipped["log"], skipped["number"]
    elif suppressed := entry.turns.get("suppressed"):
        source, number = _LIMITED.get(suppressed["function"], ""), suppressed["number"]
    else:
        return "", 0
    return source, whole(number, "messages that were left out")


def _of_next_disk(parsed: ParsedMessage, place: int, following: _Log) -> ParsedMessage:
    """Return what a message tells, about the disk that a following line names."""
    if parsed.message.about != "next disk":
        return parsed
    disks = (entry.tells("disk") for entry in following if entry.place <= place + _NEXT_LINES)
    return parsed._replace(name=next(filter(None, disks), parsed.name))


def _probing(log: _Log) -> Iterator[int]:
    """Yield the resets of disks between their inquiry and their use: each begins with one."""
    probed: set[str] = set()
    for entry in log:
        if name := entry.tells("command_reset"):
            if name in probed and "Power-on" in entry.text:
                yield entry.place
        elif name := entry.tells("disk_probed"):
            probed.add(name)
        else:
            probed.discard(entry.tells("disk_attached", group="address"))


def _refused(log: _Log) -> Iterator[int]:
    """Yield the errors of commands that a path or disk does not take, as its sense data tell.

    A passive path of ALUA gives none: the kernel itself refuses what is sent to it.  A path that
    fails for such a refusal is passive for the time, and comes back.
    """
    refused: dict[str, float] = {}
    disks: dict[str, str] = {}
    passive: set[str] = set()
    latest = -_REFUSAL_S
    failed: dict[str, int] = {}
    for entry in log:
        if name := entry.tells("io_error", "buffer_error"):
            # nvme0 is refused, its disk is nvme0n1
            at = max(refused.get(each, -_REFUSAL_S) for each in (name, name.rpartition("n")[0]))
            if name in passive or entry.at <= at + _REFUSAL_S:
                yield entry.place
        elif name := entry.tells("path_failed"):
            if entry.at <= latest + _REFUSAL_S:
                failed[name] = entry.place
        elif (name := entry.tells("path_reinstated")) in failed:
            yield failed.pop(name)
        elif name := entry.tells("disk_attached"):
            disks[entry.tells("disk_attached", group="address")] = name
            passive.discard(name)
        elif address := entry.tells("path_state", group="address"):
            state = entry.tells("path_state", group="state")
            change = passive.add if state in _PASSIVE else passive.discard
            change(disks.get(address, ""))
        elif name := entry.tells("command_refused"):
            refused[name] = latest = entry.at
        else:
            refused.pop(entry.tells("command_failed"), None)


def _plugged(log: _Log) -> Iterator[int]:
    """Yield the errors of ATA ports into which a disk is plugged, or from which one is taken.

    A port that tells of a change got a disk where one is identified next.  A disk that is taken out
    by hand stops before its port is disabled.
    """
    changed: dict[str, list[int]] = {}
    stopped = -_REFUSAL_S
    for entry in log:
        port = entry.tells("ata_error", "disk_lost").partition(".")[0]
        if "port_changed" in entry.turns:
            changed[port] = [entry.place]
        elif port in changed and "resetting link" in entry.text:
            changed[port].append(entry.place)
        elif port:
            changed.pop(port, None)
            if entry.tells("disk_lost") and entry.at <= stopped + _REFUSAL_S:
                stopped = -_REFUSAL_S
                yield entry.place
        elif "disk_stopped" in entry.turns:
            stopped = entry.at
        elif "disk_stop_failed" in entry.turns:
            stopped = -_REFUSAL_S
        else:
            yield from changed.pop(entry.tells("disk_identified"), ())


def _by_hand(log: _Log) -> Iterator[int]:
    """Yield what slots lose that were powered off by hand, and whom aborted recoveries evict."""
    announced: set[str] = set()
    for entry in log:
        if entry.tells("slot_lost", "client_evicted") in announced:
            yield entry.place
        announced.add(entry.tells("announced"))
        announced -= {"", entry.tells("slot_filled"), entry.tells("recovered")}


def _foreign(log: _Log) -> Iterator[int]:
    """Yield the errors of removable disks, and those of ports of optical drives."""
    names: set[str] = set()
    for entry in log:
        name = entry.tells("ata_error", "disk_lost", "io_error", "buffer_error", "medium_error")
        if name.partition(".")[0] in names:
            yield entry.place
        names.discard(entry.tells("disk_identified", "disk_attached"))
        names.add(entry.tells("optical_identified", "removable_attached"))
        names.discard("")


def _unsupported(log: _Log) -> Iterator[int]:
    """Yield the PCIe errors that tell of a request which a device does not support."""
    errors: dict[str, list[int]] = {}
    for entry in log:
        if name := entry.tells("bus_error"):
            errors.setdefault(name, []).append(entry.place)
        for place in errors.pop(entry.tells("unsupported_request"), ()):
            if entry.place <= place + _ERROR_LINES:
                yield place


def _links(log: _Log) -> Iterator[int]:
    """Yield the losses of links before a boot has brought them up, and while services stop."""
    down: dict[str, list[LogEntry]] = {}
    up: Optional[set[str]] = None
    for entry in log:
        if name := entry.tells(*LOST_LINKS):
            down.setdefault(name, []).append(entry)
        elif "boot" in entry.turns:
            down, up = {}, set()
        elif "shutdown" in entry.turns:
            latest = [loss for losses in down.values() for loss in losses]
            yield from (loss.place for loss in latest if loss.at >= entry.at - _SHUTDOWN_S)
        elif name := entry.tells("link_up"):
            before = down.pop(name, [])
            if up is not None and name not in up:
                up.add(name)
                yield from (loss.place for loss in before)


def _targets(log: _Log) -> Iterator[int]:
    """Yield what follows from unmounting a target on this node: its clients here lose it.

    A local client takes no part in the recovery and is evicted when the target is back.  The
    unmounting itself is reported as long as the target is elsewhere.
    """
    stops: dict[str, list[int]] = {}
    gone: set[str] = set()
    served_at: dict[str, float] = {}
    for entry in log:
        lost = entry.tells(*LOST_CONNECTIONS)
        if lost in stops and entry.at <= served_at.get(lost, entry.at) + _RECOVERY_S:
            yield entry.place
        elif name := entry.tells("failover"):
            stops.setdefault(name, []).append(entry.place)
            served_at.pop(name, None)
        elif name := entry.tells("unmounted"):
            stops.setdefault(name, [])
            gone.add(name)
        elif (name := entry.tells("served")) in gone:
            gone.remove(name)
            served_at[name] = entry.at
            yield from stops[name]
            stops[name] = []


def _deactivated(log: _Log) -> Iterator[int]:
    """Yield what follows from an import that an administrator switched off here.

    When it is switched on again it connects like one that was lost, and is evicted: once for each.
    """
    off: dict[str, int] = {}
    for entry in log:
        if name := entry.tells("deactivated"):
            off[name] = off.get(name, 0) + 1
        elif off.get(name := entry.tells(*LOST_CONNECTIONS)):
            yield entry.place
            off[name] -= bool(entry.tells("evicted"))


def _losses(
    log: _Log, routine: Collection[int], connected: Callable[[], Collection[str]]
) -> Iterator[int]:
    """Yield the losses of connections that came back and are no more than planned work has.

    Lustre leaves out losses of whichever target, so those count against all connections together.
    """
    lost: dict[str, list[LogEntry]] = {}
    restored: set[str] = set()
    for entry in log:
        restored.add(entry.tells("connection_restored", group="device"))
        device = entry.device if entry.tells(*LOST_CONNECTIONS) else ""
        if entry.tells("evicted"):
            # who is evicted has spoken with the target again
            restored.add(device)
        elif device and entry.place not in routine:
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
        yield from (loss.place for loss in few[name])


NAME = "kernel"

_TIMEOUT_S = 20.0
_MOST = 20_000


def look(node: Node) -> Look:
    """Read the messages of a day; raise ToolError where neither source may be read."""
    lines = _messages(node)
    grouped: dict[tuple[str, str], tuple[ParsedMessage, list[LogEntry]]] = {}
    for entry, parsed in faults(lines, lambda: _connected(node)):
        key = parsed.message.kind, parsed.name
        grouped.setdefault(key, (parsed, []))[1].append(entry)
    symptoms = tuple(_symptom(node, *fault) for fault in grouped.values())
    return Look(NAME, len(lines), symptoms)


def _connected(node: Node) -> Collection[str]:
    """Return the devices of Lustre that have their target; without lctl the log stands alone."""
    try:
        return lustre.connected(node)
    except ToolError:
        return ()


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
            *("--output-fields=MESSAGE", f"--lines={_MOST}"),
            f"--since=@{node.now - DAY_S:.0f}",
        ],
        _TIMEOUT_S,
    )
    # without the right to read it, journalctl shows nothing and ends well
    if not text.strip():
        raise ToolError("journalctl shows no message of the kernel; see its groups")
    for line in text.splitlines():
        yield _entry(line)


def _entry(line: str) -> LogEntry:
    try:
        entry = read_json(line)
        at = whole(str(entry["__REALTIME_TIMESTAMP"]), "the time of a message") / 1e6
        times(at=at)
        return LogEntry(at, _text(entry["MESSAGE"]))
    except (ValueError, KeyError, TypeError) as error:
        raise ToolError(f"journalctl printed what is not understood: {line[:60]!r}") from error


def _text(message: object) -> str:
    """Return a message; what is not UTF-8 comes as a list of bytes (systemd: JSON format)."""
    return bytes(message).decode("utf-8", "replace") if isinstance(message, list) else str(message)


def _buffer(node: Node) -> Iterator[LogEntry]:
    text = ask(node.system, ["dmesg", "--time-format=iso", "--nopager"], _TIMEOUT_S)
    for line in text.splitlines()[-_MOST:]:
        parsed = _line(line)
        if parsed.at >= node.now - DAY_S:
            yield parsed


def _line(line: str) -> LogEntry:
    stamp, _, message = line.partition(" ")
    try:
        # fromisoformat of Python 3.9 takes no comma
        at = datetime.fromisoformat(stamp.replace(",", ".")).timestamp()
        times(at=at)
        return LogEntry(at, message)
    except (ValueError, TypeError, OverflowError) as error:
        raise ToolError(f"dmesg printed what is not understood: {line[:60]!r}") from error


def _symptom(node: Node, parsed: ParsedMessage, messages: Sequence[LogEntry]) -> Symptom:
    """Return the symptom of messages that tell the same."""
    message, name = parsed
    number = len(messages) + sum(entry.skipped for entry in messages)
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
        min(entry.at for entry in messages),
    )


_DEVICE_FOLDERS = {"path": "", "number": "/sys/dev/block/"}
"""Folders of what leads to a block device, by what a message names."""

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
"""Ways from the name in a message to its component."""
