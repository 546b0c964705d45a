"""Which devices of a site are slow under the load that they have anyway, between the probes."""

from __future__ import annotations

from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Sequence

from plumbline.judge.latency import Latency, Load, compare
from plumbline.judge.peers import LEAST
from plumbline.layers import ON_DEVICES
from plumbline.model.evidence import MONTH_S, odds_within
from plumbline.model.expectation import Expectation
from plumbline.model.record import Operation
from plumbline.store.plan import SitePlan

_FALSE_SUSPICIONS = 1.0
"""A month, of the whole site: a suspicion wakes nobody, it says what to measure."""


class DeviceLatency(NamedTuple):
    """What the load says of a device of ``host`` in one operation; ``peers`` were compared."""

    host: str
    operation: Operation
    peers: int
    latency: Latency

    @property
    def sentence(self) -> str:
        """Return a suspicion in words."""
        name, ratio, recurrence = self.latency.device, self.latency.ratio, self.latency.recurrence
        return (
            f"{self.host} {name}: {self.operation.value} latency {ratio:.1f} times that of its "
            f"{self.peers} peers at equal throughput, {recurrence.words}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the document form; ``odds`` is the natural logarithm."""
        recurrence = self.latency.recurrence
        return {
            "host": self.host,
            "component": self.latency.device,
            "operation": self.operation.value,
            "slow": self.latency.slow,
            "latency_ratio": self.latency.ratio,
            "peers": self.peers,
            "windows": self.latency.windows,
            "slow_windows": recurrence.shown,
            "since": recurrence.since or None,
            "odds": recurrence.odds,
        }


class SiteLatencies(NamedTuple):
    """What is known of each device and operation, and the components of which nothing is."""

    known: tuple[DeviceLatency, ...]
    unknown: tuple[str, ...]

    @property
    def slow(self) -> tuple[DeviceLatency, ...]:
        """Return the suspects."""
        return tuple(one for one in self.known if one.latency.slow)


def latencies(
    plan: SitePlan, loads: Mapping[Operation, Sequence[Load]], window_s: float
) -> SiteLatencies:
    """Return what windows of so many seconds say of the devices of a site.

    Devices of one host are peers; of a host with few, all devices of the site that have the same
    ceiling.

    Raises:
        DocumentError: the plan is damaged.
    """
    devices = {
        one.component: one
        for found in plan.measured().values()
        for one in found
        if one.layer in ON_DEVICES
    }
    questions = len(devices) * len(loads) * MONTH_S / window_s
    odds = odds_within(_FALSE_SUSPICIONS, questions)
    groups = list(_groups(list(devices.values())))
    dealt = {operation: _dealt(found, groups) for operation, found in loads.items()}
    known = tuple(
        DeviceLatency(devices[one.device].host, operation, len(group) - 1, one)
        for number, group in enumerate(groups)
        for operation in loads
        for one in compare(dealt[operation][number], _limit(group), odds)
    )
    spoken = {one.latency.device for one in known}
    return SiteLatencies(known, tuple(name for name in devices if name not in spoken))


def _dealt(loads: Iterable[Load], groups: Sequence[Mapping[str, Expectation]]) -> list[list[Load]]:
    """Return the loads of each group; what is in none is left out."""
    place = {name: number for number, group in enumerate(groups) for name in group}
    found: list[list[Load]] = [[] for _ in groups]
    for load in loads:
        if load.device in place:
            found[place[load.device]].append(load)
    return found


def _limit(group: Mapping[str, Expectation]) -> float:
    return max(one.limits.peer_loss for one in group.values())


def _groups(devices: Sequence[Expectation]) -> Iterator[dict[str, Expectation]]:
    """Yield the devices that are compared with one another."""
    hosts: dict[str, dict[str, Expectation]] = {}
    for one in devices:
        hosts.setdefault(one.host, {})[one.component] = one
    rest: dict[object, dict[str, Expectation]] = {}
    for group in hosts.values():
        if len(group) >= LEAST:
            yield group
            continue
        for name, one in group.items():
            rest.setdefault(_ceiling(one), {})[name] = one
    yield from (group for group in rest.values() if len(group) >= LEAST)


def _ceiling(device: Expectation) -> tuple[float, ...]:
    """Return what the device gives alone by its hardware, of each operation."""
    return tuple(
        reference.ceiling.rate_Bps for reference in device.references.values() if reference.ceiling
    )
