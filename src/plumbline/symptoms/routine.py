"""The log of a kernel -> what of it no routine work explains.

A disk that is probed, a link that comes up after a boot, a Lustre target that is unmounted, a
connection that came back and one that was switched off print messages which alone look like
faults.  Their order tells.
"""

from __future__ import annotations

import re
from typing import Callable, Collection, Iterable, Iterator, NamedTuple, Optional, Sequence

from plumbline.symptoms.messages import ParsedMessage, understand
from plumbline.symptoms.patterns import match

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
