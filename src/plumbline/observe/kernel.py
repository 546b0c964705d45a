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
    match,
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
_PATH_STATE = re.compile(r"sd (?P<address>[\d:]+): alua: port group [0-9a-f]+ state (?P<state>\w)")
_PASSIVE = ("S", "U")
"""Standby and unavailable (drivers/scsi/device_handler/scsi_dh_alua.c)."""
_ORIGIN = re.compile(r"(?P<log>(?:LNet|Lustre)(?:Error)?): (?:\d+:\d+:\((?P<place>[^()]+\(\))\) )?")


class LogEntry(NamedTuple):
    """A message at seconds since the epoch; ``parsed`` is None for one of no known kind.

    ``skipped`` is how many messages of its kind were left out of the log next to it.
    """

    at: float
    text: str
    parsed: Optional[ParsedMessage] = None
    skipped: int = 0

    def tells(self, *kinds: str) -> str:
        """Return the name that a message of one of these kinds is about, else nothing."""
        return self.parsed.name if self.parsed and self.parsed.message.kind in kinds else ""

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
    for place, entry in enumerate(log):
        if entry.parsed and place not in routine:
            yield entry, _of_next_disk(log, place, entry.parsed)


def _log(messages: Iterable[LogEntry]) -> _Log:
    """Return messages with what they tell, and with those that were left out next to each."""
    log: list[LogEntry] = []
    # the last message of each line of the sources, or of those that do not tell theirs
    latest: dict[str, int] = {}
    for line in messages:
        entry = line._replace(parsed=understand(line.text))
        source, number = _left_out(line.text)
        before = latest.get(source)
        if number and before is not None:
            log[before] = log[before]._replace(skipped=log[before].skipped + number)
        elif origin := _ORIGIN.match(line.text):
            latest[origin["place"] or origin["log"]] = len(log)
        elif entry.parsed:
            latest[entry.parsed.message.kind] = len(log)
        log.append(entry)
    return log


def _left_out(text: str) -> tuple[str, int]:
    """Return the source of messages that were left out of the log, and how many of them."""
    skipped, suppressed = match("skipped", text), match("suppressed", text)
    if skipped:
        source, number = skipped["place"] or skipped["log"], skipped["number"]
    elif suppressed:
        source, number = _LIMITED.get(suppressed["function"], ""), suppressed["number"]
    else:
        return "", 0
    return source, whole(number, "messages that were left out")


def _of_next_disk(log: _Log, place: int, parsed: ParsedMessage) -> ParsedMessage:
    """Return what a message tells, about the disk that a following line names."""
    if parsed.message.about != "next disk":
        return parsed
    following = log[place + 1 : place + 1 + _NEXT_LINES]
    disks = (_named("disk", entry.text) for entry in following)
    return parsed._replace(name=next(filter(None, disks), parsed.name))


def _named(kind: str, text: str, group: str = "name") -> str:
    matched = match(kind, text)
    return matched[group] if matched else ""


def _probing(log: _Log) -> Iterator[int]:
    """Yield the resets of disks between their inquiry and their use: each begins with one."""
    probed: set[str] = set()
    for place, entry in enumerate(log):
        if name := entry.tells("command_reset"):
            if name in probed and "Power-on" in entry.text:
                yield place
        elif name := _named("disk_probed", entry.text):
            probed.add(name)
        else:
            probed.discard(_named("disk_attached", entry.text, "address"))


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
    for place, entry in enumerate(log):
        if name := entry.tells("io_error", "buffer_error"):
            # nvme0 is refused, its disk is nvme0n1
            at = max(refused.get(each, -_REFUSAL_S) for each in (name, name.rpartition("n")[0]))
            if name in passive or entry.at <= at + _REFUSAL_S:
                yield place
        elif name := entry.tells("path_failed"):
            if entry.at <= latest + _REFUSAL_S:
                failed[name] = place
        elif (name := _named("path_reinstated", entry.text)) in failed:
            yield failed.pop(name)
        elif attached := match("disk_attached", entry.text):
            disks[attached["address"]] = attached["name"]
            passive.discard(attached["name"])
        elif path := _PATH_STATE.match(entry.text):
            change = passive.add if path["state"] in _PASSIVE else passive.discard
            change(disks.get(path["address"], ""))
        elif name := _named("command_refused", entry.text):
            refused[name] = latest = entry.at
        else:
            refused.pop(_named("command_failed", entry.text), None)


def _plugged(log: _Log) -> Iterator[int]:
    """Yield the errors of ATA ports into which a disk is plugged, or from which one is taken.

    A port that tells of a change got a disk where one is identified next.  A disk that is taken out
    by hand stops before its port is disabled.
    """
    changed: dict[str, list[int]] = {}
    stopped = -_REFUSAL_S
    for place, entry in enumerate(log):
        port = entry.tells("ata_error", "disk_lost").partition(".")[0]
        if match("port_changed", entry.text):
            changed[port] = [place]
        elif port in changed and "resetting link" in entry.text:
            changed[port].append(place)
        elif port:
            changed.pop(port, None)
            if entry.tells("disk_lost") and entry.at <= stopped + _REFUSAL_S:
                stopped = -_REFUSAL_S
                yield place
        elif match("disk_stopped", entry.text):
            stopped = entry.at
        elif match("disk_stop_failed", entry.text):
            stopped = -_REFUSAL_S
        else:
            yield from changed.pop(_named("disk_identified", entry.text), ())


def _by_hand(log: _Log) -> Iterator[int]:
    """Yield what slots lose that were powered off by hand, and whom aborted recoveries evict."""
    announced: set[str] = set()
    for place, entry in enumerate(log):
        if entry.tells("slot_lost", "client_evicted") in announced:
            yield place
        announced.update(filter(None, [_named("announced", entry.text)]))
        announced -= {_named("slot_filled", entry.text), _named("recovered", entry.text)}


def _foreign(log: _Log) -> Iterator[int]:
    """Yield the errors of removable disks, and those of ports of optical drives."""
    names: set[str] = set()
    for place, entry in enumerate(log):
        name = entry.tells("ata_error", "disk_lost", "io_error", "buffer_error", "medium_error")
        if name.partition(".")[0] in names:
            yield place
        for kind in ("disk_identified", "disk_attached"):
            names.discard(_named(kind, entry.text))
        for kind in ("optical_identified", "removable_attached"):
            names.update(filter(None, [_named(kind, entry.text)]))


def _unsupported(log: _Log) -> Iterator[int]:
    """Yield the PCIe errors that tell of a request which a device does not support."""
    for place, entry in enumerate(log):
        if name := entry.tells("bus_error"):
            following = log[place + 1 : place + 1 + _ERROR_LINES]
            if name in (_named("unsupported_request", line.text) for line in following):
                yield place


def _links(log: _Log) -> Iterator[int]:
    """Yield the losses of links before a boot has brought them up, and while services stop."""
    down: dict[str, list[int]] = {}
    up: Optional[set[str]] = None
    for place, entry in enumerate(log):
        if name := entry.tells(*LOST_LINKS):
            down.setdefault(name, []).append(place)
            continue
        if match("boot", entry.text):
            down, up = {}, set()
        elif match("shutdown", entry.text):
            latest = [each for places in down.values() for each in places]
            yield from (each for each in latest if log[each].at >= entry.at - _SHUTDOWN_S)
        elif name := _named("link_up", entry.text):
            before = down.pop(name, [])
            if up is not None and name not in up:
                up.add(name)
                yield from before


def _targets(log: _Log) -> Iterator[int]:
    """Yield what follows from unmounting a target on this node: its clients here lose it.

    A local client takes no part in the recovery and is evicted when the target is back.  The
    unmounting itself is reported as long as the target is elsewhere.
    """
    stops: dict[str, list[int]] = {}
    gone: set[str] = set()
    served_at: dict[str, float] = {}
    for place, entry in enumerate(log):
        lost = entry.tells(*LOST_CONNECTIONS)
        if lost in stops and entry.at <= served_at.get(lost, entry.at) + _RECOVERY_S:
            yield place
        elif name := entry.tells("failover"):
            stops.setdefault(name, []).append(place)
            served_at.pop(name, None)
        elif name := _named("unmounted", entry.text):
            stops.setdefault(name, [])
            gone.add(name)
        elif (name := _named("served", entry.text)) in gone:
            gone.remove(name)
            served_at[name] = entry.at
            yield from stops[name]
            stops[name] = []


def _deactivated(log: _Log) -> Iterator[int]:
    """Yield what follows from an import that an administrator switched off here.

    When it is switched on again it connects like one that was lost, and is evicted: once for each.
    """
    off: dict[str, int] = {}
    for place, entry in enumerate(log):
        if name := _named("deactivated", entry.text):
            off[name] = off.get(name, 0) + 1
            continue
        name = entry.tells(*LOST_CONNECTIONS)
        if off.get(name):
            yield place
            off[name] -= bool(entry.tells("evicted"))


def _losses(
    log: _Log, routine: Collection[int], connected: Callable[[], Collection[str]]
) -> Iterator[int]:
    """Yield the losses of connections that came back and are no more than planned work has.

    Lustre leaves out losses of whichever target, so those count against all connections together.
    """
    lost: dict[str, list[int]] = {}
    restored: set[str] = set()
    for place, entry in enumerate(log):
        restored.add(_named("connection_restored", entry.text, "device"))
        device = entry.device if entry.tells(*LOST_CONNECTIONS) else ""
        if entry.tells("evicted"):
            # who is evicted has spoken with the target again
            restored.add(device)
        elif device and place not in routine:
            lost.setdefault(device, []).append(place)
            restored.discard(device)
    few = {name: places for name, places in lost.items() if len(places) <= _PLANNED_LOSSES}
    skipped = {name: sum(log[place].skipped for place in lost[name]) for name in lost}
    if any(skipped.values()) or not restored.issuperset(few):
        now = connected()
        restored.update(now)
        devices = len({*lost, *now})
        number = sum(map(len, lost.values())) + sum(skipped.values())
        if number > _PLANNED_LOSSES * devices:
            restored.difference_update(name for name in lost if skipped[name])
    for name in restored.intersection(few):
        yield from few[name]


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
