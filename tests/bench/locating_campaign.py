"""Random faults on the machines of the papers: is the faulty part suspected, and alone?

Uses a small model of its own, independent of the tested code: each part passes its remaining
capacity, a measurement is as fast as its narrowest part, less the cost of the file system, and
noise has the size of that in a year of scheduled benchmarks.
"""

from __future__ import annotations

import argparse
import sys
import time
from math import exp, hypot
from pathlib import Path
from random import Random
from statistics import median
from typing import Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.parts.locate.observation import Measurable, Observation, Site, Vote
from plumbline.parts.locate.suspects import locate
from plumbline.site.inventory import plan_of, read_inventory, topology_of

INVENTORIES = Path(__file__).parents[2] / "inventories"
SITES = ("edison", "redstorm")
LOSSES = (0.20, 0.90)
DAYS = 9
YIELD = {"raw": 0.98, "ost": 0.90, "net": 0.95}
"""Demonstrated / theoretical rate (Red Storm, sections III-B and V)."""

HOST, RUN, SYSTEM = 0.02, 0.05, 0.05
"""Noise of all parts of a host on a day, of one run, of a whole file system on a day."""
TAIL_SHARE, TAIL_LOSS = 0.02, 0.24
CONTENDED = 0.08
OF_THE_MIDDLE = 1.25
"""Standard error of a median / that of a mean."""
SLOW = 0.90
CERTAIN = 5.0
LASTING = 0.75
"""Share of days on which a slow measurement must be slow."""
VISIBLE = 0.80
"""A fault that slows nothing to this ratio need not be found."""
ALIKE = 0.10
"""Faults whose ratios differ by less than this cannot be distinguished."""


class Fault(NamedTuple):
    """A part with only the share ``left`` of its capacity."""

    component: str
    left: float


class Fleet:
    """Measurements of a site, their use of each part, and the capacities of parts."""

    def __init__(self, name: str) -> None:
        """Read the inventory of a site."""
        inventory = read_inventory(str(INVENTORIES / name))
        plan = plan_of(inventory)
        topology = topology_of(inventory)
        self.flows: list[Measurable] = []
        self.groups: list[tuple[str, str]] = []
        self.hosts: list[str] = []
        for placed in Site(plan.expectations).measurables():
            share = YIELD[placed.of.layer]
            self.flows.append(placed.of._replace(expected=share * placed.of.expected))
            ost = placed.of.layer == "ost"
            group = placed.expectation.group if ost else placed.of.layer
            self.groups.append((group, placed.of.operation.partition(" with ")[0]))
            self.hosts.append(placed.expectation.host)
        self.capacity: dict[str, float] = {}
        self.crossing: dict[str, list[tuple[int, int]]] = {}
        for index, flow in enumerate(self.flows):
            for part, _, count in flow.crossings():
                self.crossing.setdefault(part, []).append((index, count))
        for part, flows in self.crossing.items():
            component = topology.components.get(part)
            rated = component.read_Bps if component else None
            most = max(self._asked(index) * count for index, count in flows)
            self.capacity[part] = most if rated is None else rated
        self.parts = sorted(self.crossing)

    def _asked(self, index: int) -> float:
        """Return the rate of a flow through a part without losses."""
        flow = self.flows[index]
        return flow.expected / YIELD[flow.layer]

    def ratios(self, faults: Sequence[Fault]) -> dict[int, float]:
        """Return measured / expected of the slowed measurements, without noise."""
        ratios: dict[int, float] = {}
        for fault in faults:
            left = fault.left * self.capacity[fault.component]
            for index, count in self.crossing[fault.component]:
                ratio = left / count / self._asked(index)
                if ratio < 1:
                    ratios[index] = min(ratios.get(index, 1.0), ratio)
        return ratios

    def twins(self, fault: Fault) -> Iterator[str]:
        """Yield other parts whose fault would look the same within ``ALIKE``."""
        seen = self.ratios([fault])
        worst = min(seen, key=lambda index: seen[index])
        for part, _, count in self.flows[worst].crossings():
            left = seen[worst] * self._asked(worst) * count / self.capacity[part]
            if part == fault.component or left >= 1:
                continue
            other = self.ratios([Fault(part, left)])
            if all(
                abs(seen.get(index, 1.0) - other.get(index, 1.0)) <= ALIKE
                for index in {*seen, *other}
            ):
                yield part


def observations(fleet: Fleet, faults: Sequence[Fault], chance: Random) -> list[Observation]:
    """Return the observations of some days, compared with peers or baselines."""
    true = fleet.ratios(faults)
    days = [_day(fleet, true, chance) for _ in range(DAYS)]
    shared = _shared(fleet, days)
    result = []
    for index, flow in enumerate(fleet.flows):
        seen = [
            ratio / common
            for day, factors in zip(days, shared)
            if (ratio := day[index]) is not None
            for common in [factors[fleet.groups[index]]]
        ]
        if len(seen) < DAYS // 2:
            result.append(Observation(flow, Vote.NONE, 0.0, 0.0))
            continue
        # a comparison with the own past has the noise of the whole file system
        absolute = all(factors[fleet.groups[index]] == 1.0 for factors in shared)
        noise = hypot(HOST, RUN, SYSTEM) if absolute and flow.layer != "net" else hypot(HOST, RUN)
        ratio, error = median(seen), OF_THE_MIDDLE * noise / len(seen) ** 0.5
        vote = _vote(seen, ratio < min(SLOW, 1 - CERTAIN * error))
        result.append(Observation(flow, vote, ratio * flow.expected, error))
    return result


def _vote(seen: Sequence[float], low: bool) -> Vote:
    """Return bad if the median and most days are low, good if neither is."""
    lasting = sum(ratio < SLOW for ratio in seen) >= LASTING * len(seen)
    if low is lasting:
        return Vote.BAD if low else Vote.GOOD
    return Vote.NONE


def _day(fleet: Fleet, true: Mapping[int, float], chance: Random) -> list[Optional[float]]:
    """Return measured / expected of each measurement on a day, None if contended."""
    systems = {group: chance.gauss(0, SYSTEM) for group in sorted(set(fleet.groups))}
    hosts = {host: chance.gauss(0, HOST) for host in sorted(set(fleet.hosts))}
    ratios: list[Optional[float]] = []
    for index in range(len(fleet.flows)):
        if chance.random() < CONTENDED:
            ratios.append(None)
            continue
        # a network is not affected by the load of a file system
        system = 0.0 if fleet.flows[index].layer == "net" else systems[fleet.groups[index]]
        noise = system + hosts[fleet.hosts[index]] + chance.gauss(0, RUN)
        if chance.random() < TAIL_SHARE:
            noise -= 0.223 + chance.expovariate(1 / TAIL_LOSS)
        ratios.append(true.get(index, 1.0) * exp(noise))
    return ratios


def _shared(
    fleet: Fleet, days: Sequence[Sequence[Optional[float]]]
) -> list[dict[tuple[str, str], float]]:
    """Return the shared factor of each group by day, 1 if the group is really slow."""
    medians = []
    for day in days:
        members: dict[tuple[str, str], list[float]] = {}
        for group, ratio in zip(fleet.groups, day):
            if ratio is not None:
                members.setdefault(group, []).append(ratio)
        medians.append({group: median(ratios) for group, ratios in members.items()})
    lost = {
        group
        for group in set(fleet.groups)
        if group[0] == "net" or median([day.get(group, 1.0) for day in medians]) < SLOW
    }
    return [
        {group: 1.0 if group in lost else day.get(group, 1.0) for group in set(fleet.groups)}
        for day in medians
    ]


def draw(fleet: Fleet, count: int, chance: Random) -> tuple[Fault, ...]:
    """Return faults of different parts."""
    names = chance.sample(fleet.parts, count)
    return tuple(Fault(name, 1 - chance.uniform(*LOSSES)) for name in names)


def visible(fleet: Fleet, faults: Sequence[Fault]) -> bool:
    """Return whether each fault slows a measurement more than the others do."""
    for fault in faults:
        others = fleet.ratios([other for other in faults if other is not fault])
        own = fleet.ratios([fault])
        if not any(ratio < VISIBLE * others.get(index, 1.0) for index, ratio in own.items()):
            return False
    return True


class Score(NamedTuple):
    """Results of a number of runs; ``parts`` is the mean number of suspects."""

    runs: int
    hidden: int
    found: int
    inside: int
    identifiable: int
    alone: int
    parts: float
    seconds: float


def campaign(fleet: Fleet, count: int, faults: int, chance: Random, verbose: bool) -> Score:
    """Return the score of ``count`` runs with ``faults`` visible faults each."""
    hidden = found = inside = identifiable = alone = parts = 0
    seconds = 0.0
    runs = 0
    while runs < count:
        drawn = draw(fleet, faults, chance)
        if not visible(fleet, drawn):
            hidden += 1
            continue
        runs += 1
        seen = observations(fleet, drawn, chance)
        start = time.perf_counter()
        located = locate(seen)
        seconds = max(seconds, time.perf_counter() - start)
        named = {suspect.name for group in located.sets for suspect in group.suspects}
        true = {fault.component for fault in drawn}
        found += bool(located.sets)
        inside += true <= named
        parts += len(named)
        if verbose and not true <= named:
            print(
                "missed", drawn, [group.alternatives for group in located.sets], located.unexplained
            )
        if faults == 1 and not any(fleet.twins(drawn[0])):
            identifiable += 1
            alone += named == true
            if verbose and named != true:
                print("not alone", drawn, [group.alternatives for group in located.sets])
    return Score(count, hidden, found, inside, identifiable, alone, parts / count, seconds)


def false_suspects(fleet: Fleet, count: int, chance: Random) -> int:
    """Return the number of ``count`` faultless fleets with a suspect."""
    return sum(bool(locate(observations(fleet, (), chance)).sets) for _ in range(count))


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Print a line for each site and number of faults."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--single", type=int, default=500)
    parser.add_argument("--double", type=int, default=200)
    parser.add_argument("--free", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--site", action="append", help="an inventory; default edison, redstorm")
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args(argv)
    for name in arguments.site or SITES:
        fleet = Fleet(name)
        print(f"{name}: {len(fleet.parts)} parts, {len(fleet.flows)} measurements")
        for faults, count in ((1, arguments.single), (2, arguments.double)):
            chance = Random(f"{arguments.seed} {name} {faults}")
            score = campaign(fleet, count, faults, chance, arguments.verbose)
            print(
                f"  {faults} fault(s): {score.runs} runs ({score.hidden} more hidden by slack), "
                f"{score.found} seen, true part(s) in the set {score.inside} "
                f"({100 * score.inside / score.runs:.1f} %), exactly alone {score.alone} of "
                f"{score.identifiable} identifiable, {score.parts:.1f} suspects in the mean, "
                f"slowest {1e3 * score.seconds:.0f} ms"
            )
        chance = Random(f"{arguments.seed} {name} free")
        wrong = false_suspects(fleet, arguments.free, chance)
        print(f"  no fault: {wrong} of {arguments.free} runs name a suspect")
    return 0


if __name__ == "__main__":
    sys.exit(main())
