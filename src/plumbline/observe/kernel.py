"""Kernel messages about slow or failing I/O, less those that routine work explains.

The patterns serve the symptoms and, through the role events, the Simple Event Correlator, so they
are written in what Python and Perl have in common.  Each matches from the
beginning of a message.  The texts are those of Linux 3.10 to 6.12 and Lustre 2.12 to 2.17.

A disk that is probed, a link that comes up after a boot, a Lustre target that is unmounted, a
connection that came back and one that was switched off print messages which alone look like
faults.  Their order tells.

The journal is open to the groups systemd-journal and adm; the buffer may need CAP_SYSLOG.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Callable, Collection, Iterable, Iterator, NamedTuple, Optional, Sequence

from plumbline.model.errors import ToolError
from plumbline.model.units import DAY_S
from plumbline.model.validation import read_json, times, whole
from plumbline.model.verdict import State
from plumbline.observe import lustre
from plumbline.observe.node import Node, ask
from plumbline.observe.symptom import Direction, Look, Symptom

_BLOCK = r"(?P<name>[a-z][a-z0-9]*(?:-[0-9]+)?)"
_ARRAY = r"(?P<array>md[A-Za-z0-9_.-]*)"
_TARGET = r"(?P<name>[A-Za-z0-9_.-]+-(?:OST|MDT)[0-9a-f]{4})"
# the last word before the colon, or the one before that: "ens1f0 NIC:"
_LINK = r"(?:.*? )??(?P<name>[A-Za-z][A-Za-z0-9_.-]*)(?: \w+)?: (?:NIC )?[Ll]ink (?:is )?"

_TEXTS = {
    # --- the host
    "boot": r"Linux version \d",
    # the journal keeps what systemd writes into the kernel's log without its name
    "shutdown": r"(?:systemd-shutdown\[1\]: )?"
    r"(?:Syncing filesystems and block devices|Sending SIGTERM to remaining processes)",
    "hung_task": r"INFO: task (?P<name>\S+):\d+ blocked for more than \d+ seconds",
    # --- disks, arrays and paths
    "io_error": r".*?(?:I/O|critical (?:medium|target|nexus)|protection|timeout|transport) error, "
    rf"dev {_BLOCK},",
    "medium_error": rf"sd [\d:]+: \[{_BLOCK}\] .*Sense Key : (?:Medium|Hardware) Error",
    "command_reset": r"sd (?P<name>\d+:\d+:\d+:\d+): (?:\[\w+\] )?(?:attempting "
    r"(?:task abort|device reset)|(?:task abort|device reset): |Power-on or device reset occurred)",
    "command_timeout": r"nvme (?P<name>nvme\d+): (?:I/O (?:tag )?\d+ .*timeout|controller is down)",
    "ata_error": r"(?P<name>ata\d+)(?:\.\d+)?: (?:exception Emask|(?:hard|soft) resetting link)",
    "disk_probed": r"scsi (?P<name>\d+:\d+:\d+:\d+): .*\bPQ: \d+ ANSI: \d",
    "disk_attached": rf"sd (?P<address>\d+:\d+:\d+:\d+): \[{_BLOCK}\] Attached SCSI\b",
    "disk_detached": rf"sd [\d:]+: \[{_BLOCK}\] Synchronizing SCSI cache",
    "nvme_attached": r"nvme (?P<name>nvme\d+): \d+/\d+/\d+ default/read/poll queues",
    "nvme_detached": r"nvme (?P<name>nvme\d+): (?:controller is down|Removing after probe failure|"
    r"Disabling device after reset failure)",
    "member_failed": rf"md/[^\s:]+:{_ARRAY}: Disk failure on {_BLOCK}, disabling device",
    "array_recovered": rf"md: {_ARRAY}: (?:recovery|resync) done",
    "path_failed": r"device-mapper: multipath: (?:\S+ )?Failing path (?P<name>\d+:\d+)",
    "path_reinstated": r"device-mapper: multipath: (?:\S+ )?Reinstating path (?P<name>\d+:\d+)",
    # --- targets of Lustre
    # what any unmount says
    "failover": rf"Lustre: Failing over {_TARGET}\b",
    "unmounted": rf"Lustre: server umount {_TARGET} complete",
    "in_recovery": rf"Lustre: {_TARGET}: (?:Will be in recovery|in recovery but waiting)",
    "recovered": rf"Lustre: {_TARGET}: Recovery over after",
    # while a target is being stopped it says to its clients that it is not available
    "served": rf"Lustre: {_TARGET}: (?![Nn]ot available)",
    "slow_operation": rf"Lustre: {_TARGET}: slow [a-z_ ]+ \d+s",
    # --- connections to them
    "request_timeout": r".*?Request sent has "
    rf"(?:timed out for (?:slow reply|sent delay)|failed due to network error).*[ >]{_TARGET}-",
    "connection_lost": rf".*?Connection to {_TARGET} \(at \S+\) was lost",
    "connection_restored": rf"Lustre: (?P<device>{_TARGET}-\S+): Connection restored to\b",
    "evicted": rf".*?This client was evicted by {_TARGET};",
    "deactivated": rf"Lustre: setting import {_TARGET}_UUID INACTIVE by administrator req",
    # --- threads and locks of servers
    "slow_thread": r".*?[Ss]ervice thread pid (?P<pid>\d+) was inactive for [\d.]+ ?s",
    "thread_completed": r".*?[Ss]ervice thread pid (?P<pid>\d+) completed after [\d.]+",
    "lock_timeout": r"LustreError: .*?lock (?:callback timer expired|timed out)",
    # --- links
    "link_down": rf"{_LINK}[Dd]own",
    "link_up": rf"{_LINK}[Uu]p",
    "transmit_timeout": r"NETDEV WATCHDOG: (?P<name>[A-Za-z][A-Za-z0-9_.-]*) "
    r".*transmit queue \d+ timed out",
}

PATTERNS = {kind: re.compile(text) for kind, text in _TEXTS.items()}

_LONGEST = 1024
"""Characters of a message, LOG_LINE_MAX of the kernel (kernel/printk/printk.c)."""


def match(kind: str, text: str) -> Optional[re.Match[str]]:
    """Return what a message of this kind says, None if it is of another; none is longer."""
    return PATTERNS[kind].match(text, 0, _LONGEST)


UNMOUNTED = "failover"
"""The kind of message with which a server unmounts a target."""


class Message(NamedTuple):
    """One kind of message: ``about`` says what the group ``name`` of its pattern names.

    ``words`` are for one or many: ``I/O errors of {name}``.
    """

    kind: str
    severity: State
    about: str
    words: str
    direction: Direction = Direction.RAISES


class ParsedMessage(NamedTuple):
    """A message that was understood; ``name`` is empty where it is about the node."""

    message: Message
    name: str


MESSAGES = (
    Message("io_error", State.CRITICAL, "block", "I/O errors of {name}"),
    Message("medium_error", State.CRITICAL, "block", "medium or hardware errors of {name}"),
    Message("command_reset", State.WARNING, "scsi", "aborted commands or resets of {name}"),
    Message("command_timeout", State.WARNING, "nvme", "commands of {name} without an answer"),
    Message("ata_error", State.WARNING, "node", "errors or resets of port {name}"),
    Message("member_failed", State.CRITICAL, "block", "failures of {name} in its array"),
    Message("path_failed", State.WARNING, "node", "failures of path {name}"),
    Message("hung_task", State.WARNING, "node", "reports of a hung task {name}"),
    Message("slow_thread", State.WARNING, "node", "slow or hung service threads"),
    Message("slow_operation", State.WARNING, "target", "slow operations on {name}"),
    Message(
        "request_timeout", State.WARNING, "target", "requests to {name} without an answer in time"
    ),
    Message("connection_lost", State.WARNING, "target", "lost connections to {name}"),
    Message("evicted", State.WARNING, "target", "evictions of this client by {name}"),
    Message("lock_timeout", State.WARNING, "node", "expired locks"),
    Message(
        UNMOUNTED,
        State.WARNING,
        "target",
        "unmounts of {name}, for a failover or by hand",
        Direction.LOWERS,
    ),
    Message("link_down", State.WARNING, "interface", "losses of link {name}"),
    Message("transmit_timeout", State.WARNING, "interface", "stuck transmit queues of {name}"),
)


def understand(text: str) -> Optional[ParsedMessage]:
    """Return what a message tells, None if it is none of these."""
    for message in MESSAGES:
        matched = match(message.kind, text)
        if matched:
            return ParsedMessage(message, matched.groupdict().get("name", ""))
    return None


_RECOVERY_S = 900.0
"""The longest recovery of a Lustre target: its clients are back by then, or evicted."""
_SHUTDOWN_S = 300.0
"""Services take no longer to stop: three times the limit that systemd has for each."""
_PLANNED_LOSSES = 2
"""A failover and its failback take a connection once each."""

_DEVICE = re.compile(r"(?P<name>\S+): (?:Connection to|This client was evicted by) ")


class Said(NamedTuple):
    """A message of the kernel, at seconds since the epoch."""

    at: float
    text: str


class Heard(NamedTuple):
    """A message with what it tells, None where it is of no kind that is known."""

    at: float
    text: str
    told: Optional[ParsedMessage]

    def tells(self, *kinds: str) -> str:
        """Return the name that a message of one of these kinds is about, else nothing."""
        return self.told.name if self.told and self.told.message.kind in kinds else ""

    @property
    def device(self) -> str:
        """Return the device of Lustre that lost its target, empty where none did."""
        matched = _DEVICE.search(self.text)
        return matched["name"] if matched else ""


_Log = Sequence[Heard]


def faults(
    messages: Iterable[Said], connected: Callable[[], Collection[str]]
) -> Iterator[tuple[float, ParsedMessage]]:
    """Yield when and what no routine work explains.

    ``connected`` returns Lustre's devices that have their target now; it is asked only where the
    log does not say that a lost connection came back.
    """
    log = [Heard(one.at, one.text, understand(one.text)) for one in messages]
    routine = {*_probing(log), *_links(log), *_targets(log), *_deactivated(log)}
    routine |= set(_losses(log, routine, connected))
    for place, one in enumerate(log):
        if one.told and place not in routine:
            yield one.at, one.told


def _named(kind: str, text: str, group: str = "name") -> str:
    matched = match(kind, text)
    return matched[group] if matched else ""


def _probing(log: _Log) -> Iterator[int]:
    """Yield the resets of disks between their inquiry and their use: each begins with one."""
    probed: set[str] = set()
    for place, one in enumerate(log):
        if name := one.tells("command_reset"):
            if name in probed and "Power-on" in one.text:
                yield place
        elif name := _named("disk_probed", one.text):
            probed.add(name)
        else:
            probed.discard(_named("disk_attached", one.text, "address"))


def _links(log: _Log) -> Iterator[int]:
    """Yield the losses of links before a boot has brought them up, and while services stop."""
    down: dict[str, list[int]] = {}
    up: Optional[set[str]] = None
    for place, one in enumerate(log):
        name = one.tells("link_down")
        if name:
            down.setdefault(name, []).append(place)
            continue
        if match("boot", one.text):
            down, up = {}, set()
        elif match("shutdown", one.text):
            latest = [each for places in down.values() for each in places]
            yield from (each for each in latest if log[each].at >= one.at - _SHUTDOWN_S)
        elif name := _named("link_up", one.text):
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
    for place, one in enumerate(log):
        lost = one.tells("connection_lost", "evicted")
        if lost in stops and one.at <= served_at.get(lost, one.at) + _RECOVERY_S:
            yield place
        elif name := one.tells("failover"):
            stops.setdefault(name, []).append(place)
            served_at.pop(name, None)
        elif name := _named("unmounted", one.text):
            stops.setdefault(name, [])
            gone.add(name)
        elif (name := _named("served", one.text)) in gone:
            gone.remove(name)
            served_at[name] = one.at
            yield from stops[name]
            stops[name] = []


def _deactivated(log: _Log) -> Iterator[int]:
    """Yield what follows from an import that an administrator switched off here.

    When it is switched on again it connects like one that was lost, and is evicted: once for each.
    """
    off: dict[str, int] = {}
    for place, one in enumerate(log):
        if name := _named("deactivated", one.text):
            off[name] = off.get(name, 0) + 1
            continue
        name = one.tells("connection_lost", "evicted")
        if off.get(name):
            yield place
            off[name] -= bool(one.tells("evicted"))


def _losses(
    log: _Log, routine: Collection[int], connected: Callable[[], Collection[str]]
) -> Iterator[int]:
    """Yield the losses of connections that came back and are no more than planned work has."""
    lost: dict[str, list[int]] = {}
    restored: set[str] = set()
    for place, one in enumerate(log):
        restored.add(_named("connection_restored", one.text, "device"))
        device = one.device if one.tells("connection_lost", "evicted") else ""
        if one.tells("evicted"):
            # who is evicted has spoken with the target again
            restored.add(device)
        elif device and place not in routine:
            lost.setdefault(device, []).append(place)
            restored.discard(device)
    few = {name: places for name, places in lost.items() if len(places) <= _PLANNED_LOSSES}
    if not restored.issuperset(few):
        restored.update(connected())
    for name in restored.intersection(few):
        yield from few[name]


NAME = "kernel"

_TIMEOUT_S = 20.0
_MOST = 20_000


def look(node: Node) -> Look:
    """Read the messages of a day; raise ToolError where neither source may be read."""
    said = _messages(node)
    grouped: dict[tuple[str, str], tuple[ParsedMessage, list[float]]] = {}
    for at, message in faults(said, lambda: _connected(node)):
        key = message.message.kind, message.name
        grouped.setdefault(key, (message, []))[1].append(at)
    symptoms = tuple(_symptom(node, told, times) for told, times in grouped.values())
    return Look(NAME, len(said), symptoms)


def _connected(node: Node) -> Collection[str]:
    """Return the devices of Lustre that have their target; without lctl the log stands alone."""
    try:
        return lustre.connected(node)
    except ToolError:
        return ()


def _messages(node: Node) -> list[Said]:
    try:
        return list(_journal(node))
    except ToolError as journal:
        try:
            return list(_buffer(node))
        except ToolError as error:
            raise ToolError(f"{journal}; and {error}") from error


def _journal(node: Node) -> Iterator[Said]:
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


def _entry(line: str) -> Said:
    try:
        entry = read_json(line)
        at = whole(str(entry["__REALTIME_TIMESTAMP"]), "the time of a message") / 1e6
        times(at=at)
        return Said(at, _text(entry["MESSAGE"]))
    except (ValueError, KeyError, TypeError) as error:
        raise ToolError(f"journalctl printed what is not understood: {line[:60]!r}") from error


def _text(message: object) -> str:
    """Return a message; what is not UTF-8 comes as a list of bytes (systemd: JSON format)."""
    return bytes(message).decode("utf-8", "replace") if isinstance(message, list) else str(message)


def _buffer(node: Node) -> Iterator[Said]:
    text = ask(node.system, ["dmesg", "--time-format=iso", "--nopager"], _TIMEOUT_S)
    for line in text.splitlines()[-_MOST:]:
        said = _line(line)
        if said.at >= node.now - DAY_S:
            yield said


def _line(line: str) -> Said:
    stamp, _, message = line.partition(" ")
    try:
        # fromisoformat of Python 3.9 takes no comma
        at = datetime.fromisoformat(stamp.replace(",", ".")).timestamp()
        times(at=at)
        return Said(at, message)
    except (ValueError, TypeError, OverflowError) as error:
        raise ToolError(f"dmesg printed what is not understood: {line[:60]!r}") from error


def _symptom(node: Node, told: ParsedMessage, times: Sequence[float]) -> Symptom:
    message = told.message
    often = f" ({len(times)} times)" if len(times) > 1 else ""
    sentence = f"kernel: {message.words.format(name=told.name)}{often}"
    return Symptom(
        NAME,
        _component(node, message.about, told.name),
        message.kind,
        message.severity,
        message.direction,
        sentence,
        min(times),
    )


def _component(node: Node, about: str, name: str) -> str:
    if about == "target":
        return name
    if about == "scsi":
        blocks = node.system.names(f"/sys/class/scsi_device/{name}/device/block")
        return node.parts.of_blocks(blocks) if blocks else node.parts.node
    if about == "nvme":
        blocks = tuple(
            one for one in node.system.names("/sys/class/block") if one.startswith(f"{name}n")
        )
        return node.parts.of_blocks(blocks) if blocks else node.parts.node
    if about == "interface" and name in node.parts.storage_interfaces():
        return node.parts.of_kind("nic", "link")[0]
    return node.parts.of_block(name) if about == "block" else node.parts.node
