"""Exposure: in which measurements a loss of each part shows, by the rates of the topology.

A part that lost some of its rate slows only what asks it for more than it has left.  So a loss of a
third shows in one measurement, in all devices of a server read at once, in devices of several
servers read at once, in all pairs of hosts of a slot, or in nothing that is measured.

The flows of a set are limited by all other parts on their paths.  The sum that they reach without
the part in question must be larger than what is left of the part, by as much as the judge can tell.
"""

from __future__ import annotations

from enum import Enum
from functools import cached_property
from itertools import chain, zip_longest
from math import inf
from statistics import median
from typing import Iterable, Iterator, Mapping, NamedTuple, Sequence

from plumbline.model.layers import LAYERS
from plumbline.model.layers.raw import RAW
from plumbline.model.layers.shared import SHARED
from plumbline.model.names import several
from plumbline.model.record import Operation
from plumbline.model.rounds import cycle, pairs_in
from plumbline.model.units import DAY_S, LARGEST, format_duration, format_rate
from plumbline.plan.places import Assignment
from plumbline.plan.speeds import Speeds, speeds
from plumbline.topology.ceiling import Capacities, alone, together
from plumbline.topology.graph import Component, Topology, join

LOSS = 1 / 3
"""Loss of a part that must show."""

MIN_SHOWN_FALL = 0.1
"""Least fall of a rate that the judge tells from noise: the default of ``peer_loss``."""

_MIN_ASKED_SHARE = (1 - LOSS) / (1 - MIN_SHOWN_FALL)
"""Least share of a part's rate that flows must ask for, so that a loss of LOSS shows."""

_ROUNDING = 1 - 1e-9

_MAX_LEFT_OUT = 64
"""Reads that are tried to be left out: of more alike ones the first fill the part by turns."""

MAX_AT_ONCE = 16
"""Most targets at once: fio needs about 30 MiB for each, and the unit may use 1 GiB."""

_ROUNDS = 9
"""Rounds of pairs that are looked at, evenly spread over all: a large site has 63."""


_LOW_RUNS = 4
"""About the low runs that an alarm takes; 14 days are to suffice."""
_LOW_RUNS_ALONE = 9
"""The same for a part without peers: 6 to 9 nights for four losses of 40 % of Edison's login1."""
_SOON_S = 14 * DAY_S


class Way(str, Enum):
    """Measurements in which a loss of a part shows."""

    ALONE = "alone"
    """One measurement that crosses it."""
    SERVER = "server"
    """All devices of one server, read at once by the layer ``raw``."""
    TOGETHER = "together"
    """Devices of several servers, or targets, read at once by the layer ``shared``."""
    ROUNDS = "rounds"
    """All pairs of hosts of a slot, tested at once by the layer ``net``.  Each pair through it
    loses as much as their sum, so pairs are judged, and the sum is a figure of the report."""
    NOTHING = "nothing"


OF_ONE_NODE = (Way.ALONE, Way.SERVER)
"""Ways of layers that each node measures by itself."""


class Flow(NamedTuple):
    """A read of one device or target; ``free_Bps`` is its rate beside the others without the part.

    It is the read of ``layer`` that ``node`` measures anyway, one at a time.
    """

    node: str
    layer: str
    component: str
    free_Bps: float


class Exposure(NamedTuple):
    """The way in which a part shows a loss.

    ``capacity_Bps`` is its rate when read, ``sum_Bps`` what the measurements of the way reach
    without the part, inf if nothing else limits them.  ``flows`` are set for Way.TOGETHER, the
    ``reason`` for Way.NOTHING.
    """

    part: Component
    capacity_Bps: float
    way: Way
    sum_Bps: float
    flows: tuple[Flow, ...] = ()
    reason: str = ""

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return the nodes of the flows, each once."""
        return tuple(dict.fromkeys(flow.node for flow in self.flows))

    def to_json(self) -> dict[str, object]:
        """Return the document form; a sum without a limit is None."""
        return {
            "part": self.part.name,
            "kind": self.part.kind,
            "rate_Bps": self.capacity_Bps,
            "shown_by": self.way.value,
            "sum_Bps": None if self.sum_Bps == inf else self.sum_Bps,
            "flows": [(flow.node, flow.layer, flow.component) for flow in self.flows],
            "reason": self.reason,
        }


Members = Sequence["Assignment"]
Crossing = Mapping[str, Members]
"""Measurements by the parts that they cross."""


def exposures(topology: Topology, measured: Members) -> Iterator[Exposure]:
    """Yield the exposure of each part with a rate, in the order of the topology."""
    site = _Site(topology, measured)
    for part in topology.components.values():
        if part.read_Bps is not None:
            yield site.exposure(part, part.read_Bps)


class _Site:
    """The measurements of a site by the parts that they cross."""

    def __init__(self, topology: Topology, measured: Members) -> None:
        self._speeds = speeds(topology)
        self._devices = _crossing(item for item in measured if LAYERS[item.layer].on_devices)
        self._targets = _crossing(item for item in measured if LAYERS[item.layer].per_target)
        self._servers: dict[str, list[Assignment]] = {}
        for item in measured:
            if LAYERS[item.layer].on_devices:
                self._servers.setdefault(item.node, []).append(item)
        self._pairs = _Pairs(self._speeds, measured)

    def exposure(self, part: Component, capacity_Bps: float) -> Exposure:
        """Return the exposure of a part, by the first way that suffices."""
        least = _MIN_ASKED_SHARE * capacity_Bps * _ROUNDING
        alone_Bps = max(self._alone(part), self._pairs.best(part.name))
        if alone_Bps >= least:
            return Exposure(part, capacity_Bps, Way.ALONE, alone_Bps)
        server_Bps = max(self._of_servers(part), default=0.0)
        if server_Bps >= least:
            return Exposure(part, capacity_Bps, Way.SERVER, server_Bps)
        for crossing in (self._devices, self._targets):
            flows = self._fewest(crossing.get(part.name, ()), part, capacity_Bps)
            total_Bps = sum(flow.free_Bps for flow in flows)
            if total_Bps >= least:
                return Exposure(part, capacity_Bps, Way.TOGETHER, total_Bps, flows)
        rounds_Bps = self._pairs.at_once(part.name)
        if rounds_Bps >= least:
            return Exposure(part, capacity_Bps, Way.ROUNDS, rounds_Bps)
        reason = self._reason(part, capacity_Bps)
        return Exposure(part, capacity_Bps, Way.NOTHING, alone_Bps, reason=reason)

    def _alone(self, part: Component) -> float:
        """Return the highest rate of a single target or device without the part."""
        crossing = (*self._devices.get(part.name, ()), *self._targets.get(part.name, ()))
        rates = (self._free(item, step[0], part) for item in crossing for step in item.steps)
        return max(rates, default=0.0)

    def _free(self, item: Assignment, operation: Operation, part: Component) -> float:
        capacities = self._speeds.of(operation)
        if capacities.get(part.name) is None:
            return 0.0
        limit = alone(capacities, [name for name in item.path if name != part.name])
        return limit.ceiling.rate if limit else inf

    def _of_servers(self, part: Component) -> Iterator[float]:
        """Yield the sum through the part of all devices of each server behind it."""
        crossing = self._devices.get(part.name, ())
        behind = {item.component for item in crossing}
        for node in dict.fromkeys(item.node for item in crossing):
            flows = self._flows(self._servers.get(node, ()), part)
            yield sum(flow.free_Bps for flow in flows if flow.component in behind)

    def _fewest(self, crossing: Members, part: Component, capacity_Bps: float) -> tuple[Flow, ...]:
        """Return the fewest reads that ask the part for its rate, or as many as there are.

        The servers of the storage take turns, as each has adapters and ports of its own.
        """
        wanted_Bps = capacity_Bps * _ROUNDING
        members = _in_turns(crossing)[: _most(crossing)]
        if self._sum(members, part) < wanted_Bps:
            return self._flows(members, part)
        fewest, enough = 0, len(members)
        while enough - fewest > 1:
            middle = (fewest + enough) // 2
            if self._sum(members[:middle], part) < wanted_Bps:
                fewest = middle
            else:
                enough = middle
        chosen = members[:enough]
        for item in chosen[:_MAX_LEFT_OUT]:
            others = [member for member in chosen if member is not item]
            if self._sum(others, part) >= wanted_Bps:
                chosen = others
        return self._flows(chosen, part)

    def _sum(self, members: Members, part: Component) -> float:
        return sum(flow.free_Bps for flow in self._flows(members, part))

    def _flows(self, members: Members, part: Component) -> tuple[Flow, ...]:
        """Return the reads of some devices or targets at once, without the part."""
        paths = {
            item.component: [name for name in item.path if name != part.name] for item in members
        }
        limits = together(self._speeds.reads, paths)
        return tuple(
            Flow(item.node, item.layer, item.component, limit.ceiling.rate if limit else inf)
            for item in members
            for limit in (limits[item.component],)
        )

    def _reason(self, part: Component, capacity_Bps: float) -> str:
        """Return why no set of reads loads a part enough, with the largest sum."""
        sums = [
            (self._sum(members, part), len(members), len(crossing), noun)
            for crossing, noun in (
                (self._devices.get(part.name, ()), "device"),
                (self._targets.get(part.name, ()), "target"),
            )
            if (members := _in_turns(crossing)[: _most(crossing)])
        ]
        texts = [_too_little(*max(sums), capacity_Bps)] if sums else []
        if self._pairs.crosses(part.name):
            of_pairs = [
                (self._pairs.best(part.name), "a pair of hosts gives", ""),
                (self._pairs.at_once(part.name), "the pairs of a slot give", ", at once"),
            ]
            largest_Bps, who, how = max(of_pairs)
            share = 100 * largest_Bps / capacity_Bps
            texts.append(f"{who} {format_rate(largest_Bps)}, {share:.0f} % of its rate{how}")
        return "; ".join(texts) or "no measurement crosses it"


def _most(crossing: Members) -> int:
    """Return the most reads at once: targets as many as one client can measure at once."""
    by_target = any(LAYERS[item.layer].on_targets for item in crossing)
    return MAX_AT_ONCE if by_target else len(crossing)


def _too_little(total_Bps: float, number: int, of: int, noun: str, capacity_Bps: float) -> str:
    share = f"{format_rate(total_Bps)}, {100 * total_Bps / capacity_Bps:.0f} % of its rate"
    if of == 1:
        return f"its only {noun} gives {share}"
    all_of = f"its {of} {noun}s give" if number == of else f"{number} of its {of} {noun}s give"
    return f"{all_of} {share}, at once"


class _Pairs:
    """Pairs of hosts or adapters, for each part the best of some that cross it."""

    def __init__(self, capacities: Speeds, measured: Sequence[Assignment]) -> None:
        self._slower: Capacities = {
            name: min(read, write)
            for name, read in capacities.reads.items()
            if read is not None and (write := capacities.writes[name]) is not None
        }
        hosts = [item for item in measured if LAYERS[item.layer].paired]
        self._hosts = _crossing(hosts)
        self._networks = {item.component: item.target["hosts"] for item in hosts}
        self._paths = {item.component: item.path for item in hosts}
        self._rounds = {
            tuple(item.target["hosts"]) for item in hosts if LAYERS[item.layer].of_hosts
        }

    def crosses(self, name: str) -> bool:
        return name in self._hosts

    def best(self, name: str) -> float:
        """Return the highest rate of a pair through a part without it, 0 if no pair crosses it.

        One partner is looked at on each side of the part: hosts of a side are mostly alike.
        """
        if name not in self._hosts:
            return 0.0
        own, *near = (item.component for item in self._hosts[name])
        behind = {own, *near}
        far = next((other for other in self._networks[own] if other not in behind), None)
        partners = [other for other in (*near[:1], far) if other is not None]
        return max((self._free(name, own, other) for other in partners), default=0.0)

    def at_once(self, name: str) -> float:
        """Return what all pairs of a usual slot move through a part, 0 if none crosses it."""
        return self._sums.get(name, 0.0)

    @cached_property
    def _sums(self) -> Mapping[str, float]:
        """Medians over some rounds, by part; both slots of a round have the same pairs."""
        sums: dict[str, float] = {}
        for hosts in self._rounds:
            rounds = cycle(len(hosts)) // 2
            step = max(1, rounds // _ROUNDS)
            moved = [self._moved(hosts, 2 * place) for place in range(0, rounds, step)]
            for name in set(chain(*moved)):
                middle = median(of_round.get(name, 0.0) for of_round in moved)
                sums[name] = max(sums.get(name, 0.0), middle)
        return sums

    def _moved(self, hosts: Sequence[str], slot: int) -> Mapping[str, float]:
        """Return what the pairs of a slot move through each part with a rate."""
        paths = {
            host: join([self._paths[host]], [self._paths[partner]])
            for host, partner in pairs_in(hosts, slot)
        }
        moved: dict[str, float] = {}
        for host, limit in together(self._slower, paths).items():
            for name in paths[host]:
                if limit and name in self._slower:
                    moved[name] = moved.get(name, 0.0) + limit.ceiling.rate
        return moved

    def _free(self, name: str, own: str, other: str) -> float:
        path = join([self._paths[own]], [self._paths[other]])
        if name not in path:
            return 0.0
        limit = alone(self._slower, [part for part in path if part != name])
        return limit.ceiling.rate if limit else inf


def _crossing(measured: Iterable[Assignment]) -> Crossing:
    crossing: dict[str, list[Assignment]] = {}
    for item in measured:
        for name in item.path:
            crossing.setdefault(name, []).append(item)
    return crossing


def _in_turns(members: Members) -> list[Assignment]:
    by_host: dict[str, list[Assignment]] = {}
    for item in members:
        by_host.setdefault(item.host, []).append(item)
    return [item for item in chain(*zip_longest(*by_host.values())) if item is not None]


class Exposed(NamedTuple):
    """Parts of one range of the topology with equal exposures; ``number`` is their count."""

    among: str
    number: int
    example: Exposure


def folded(found: Iterable[Exposure]) -> Iterator[Exposed]:
    """Yield exposures, those of one range that differ only in names as one."""
    groups: dict[tuple[object, ...], list[Exposure]] = {}
    for item in found:
        size = len(item.flows), len(item.nodes), format_rate(min(item.sum_Bps, LARGEST))
        key = item.part.among, item.capacity_Bps, item.way, item.reason, *size
        groups.setdefault(key, []).append(item)
    for members in groups.values():
        yield Exposed(members[0].part.among, len(members), members[0])


def seldom_shown(found: Iterable[Exposure], periods_s: Mapping[str, float]) -> Iterator[str]:
    """Yield notes on losses that an alarm follows after more than two weeks.

    Only all devices of a server at once show them, or the reads of one part that no other of its
    kind and rate tells from a busy hour.  ``periods_s`` are the seconds between two runs of each
    measured layer.
    """
    parts = list(found)
    raw_s = periods_s.get(RAW.name, 0.0)
    of_servers = [item.part.name for item in parts if item.way is Way.SERVER]
    if of_servers and _LOW_RUNS * raw_s > _SOON_S:
        yield (
            f"raw reads all devices of a server at once every {format_duration(raw_s)}, and only "
            f"that shows a loss of {several(of_servers, 1)}: an alarm takes about {_LOW_RUNS} low "
            f"runs, {format_duration(_LOW_RUNS * raw_s)}; read them every 3 days to have it within "
            "two weeks"
        )
    shared_s = periods_s.get(SHARED.name, 0.0)
    lone = _lone(item for item in parts if item.way is Way.TOGETHER)
    if lone and _LOW_RUNS_ALONE * shared_s > _SOON_S:
        yield (
            f"shared reads {several(lone, 1)} every {format_duration(shared_s)}, and no other part "
            "of its kind and rate shows whether a night is busy: an alarm may take about "
            f"{_LOW_RUNS_ALONE} low runs, {format_duration(_LOW_RUNS_ALONE * shared_s)}; read "
            "every night to have it within two weeks"
        )


def _lone(found: Iterable[Exposure]) -> list[str]:
    """Return the parts without another one of their kind and rate."""
    alike: dict[tuple[str, float], list[str]] = {}
    for item in found:
        alike.setdefault((item.part.kind, item.capacity_Bps), []).append(item.part.name)
    return [names[0] for names in alike.values() if len(names) == 1]
