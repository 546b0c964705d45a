"""Random faults and whether they are located; faults that no measurement can tell apart.

Measurements, verdicts and locating are those of a console; only the rates are drawn.
"""

from __future__ import annotations

from math import ceil
from random import Random
from typing import Iterator, Mapping, NamedTuple, Sequence

from plumbline.judge.component import Detail
from plumbline.judge.judging import Judging, judge_day
from plumbline.model import parts
from plumbline.model.errors import UsageError
from plumbline.model.layers import LAYERS
from plumbline.model.rounds import cycle
from plumbline.model.suspects import Named
from plumbline.model.units import DAY_S
from plumbline.parts.simulate.course import prepare, weigh
from plumbline.parts.simulate.days import end_of
from plumbline.parts.simulate.fleet import Fault, Fleet, Flow, Losses, Noise
from plumbline.parts.simulate.weather import ROUNDING, Capacity, Weather

VISIBLE = 0.2
"""A fault that takes less than this of every measurement is hidden: within a part's slack, or
within the spread of healthy measurements (WARNING is at 80 % by default)."""
ALIKE = 0.1
"""Faults whose rates differ by less than this cannot be told apart."""
_HALVINGS = 20


def visible(capacity: Capacity, faults: Sequence[Fault]) -> bool:
    """Return whether each fault takes ``VISIBLE`` of a measurement, given the others."""
    for fault in faults:
        without = capacity.under([other for other in faults if other is not fault])
        rates = {
            flow: rate / min(capacity.healthy_Bps[flow], without.get(flow, rate / (1 - VISIBLE)))
            for flow, rate in capacity.under([fault]).items()
        }
        if not any(ratio <= 1 - VISIBLE + ROUNDING for ratio in rates.values()):
            return False
    return True


def twins(capacity: Capacity, fault: Fault) -> Iterator[str]:
    """Yield the other parts that could give the same rates within ``ALIKE`` by some loss.

    The fault must slow something.
    """
    ratios = _ratios(capacity, [fault])
    worst = min(ratios, key=lambda flow: ratios[flow])
    for name in capacity.path(worst):
        if name == fault.component:
            continue
        other = _ratios(capacity, [_equivalent(capacity, worst, ratios[worst], name)])
        if all(
            abs(ratios.get(flow, 1.0) - other.get(flow, 1.0)) <= ALIKE for flow in {*ratios, *other}
        ):
            yield name


def _ratios(capacity: Capacity, faults: Sequence[Fault]) -> Mapping[Flow, float]:
    rates = capacity.under(faults)
    return {flow: rate / capacity.healthy_Bps[flow] for flow, rate in rates.items()}


def _equivalent(capacity: Capacity, flow: Flow, ratio: float, name: str) -> Fault:
    """Return the fault of a part that leaves this share of a flow, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        remaining = capacity.rate_under(flow, Fault(name, middle)) / capacity.healthy_Bps[flow]
        low, high = (middle, high) if remaining > ratio else (low, middle)
    return Fault(name, (low + high) / 2)


_FURTHER = 1.5
"""Days for each needed run, as some are contended."""
_RUNS, _DAYS = 3, 9
"""Runs of each measurement that show a loss of a fifth, given the other measurements; and days, for
nightly measurements."""
_MAX_HIDDEN = 1000
"""Draws in a row that nothing sees: the site then measures too little for a campaign."""


class Terms(NamedTuple):
    """One trial: its number of simultaneous faults, losses, noise and days."""

    faults: int
    losses: Losses
    noise: Noise
    days: int


class Attempt(NamedTuple):
    """Result of one trial.

    ``hidden`` counts the draws before it that no measurement could see; ``named`` are all suspects;
    ``twins`` are other parts whose loss would look the same, for a single fault.  ``alarms`` counts
    the slowed components with an alarm, ``beside`` those of them that no suspect explains;
    ``unexplained`` are slow measurements that no part explains.
    """

    faults: tuple[Fault, ...]
    hidden: int
    named: frozenset[str]
    twins: tuple[str, ...]
    sets: tuple[tuple[tuple[str, ...], ...], ...]
    unexplained: tuple[str, ...]
    alarms: int
    beside: int

    @property
    def true(self) -> frozenset[str]:
        """Return the parts at fault."""
        return frozenset(fault.component for fault in self.faults)

    @property
    def inside(self) -> bool:
        """Return whether all parts at fault are suspected."""
        return self.true <= self.named


def days_for(fleet: Fleet) -> int:
    """Return the days until each target, and each pair, has had enough runs."""
    hosts: dict[str, set[str]] = {}
    for member in fleet.members:
        hosts.setdefault(member.key[0], set()).add(member.node)
    periods = [
        fleet.periods_s[layer] * (cycle(len(nodes)) if LAYERS[layer].paired else 1)
        for layer, nodes in hosts.items()
    ]
    longest = max(_DAYS * DAY_S, _RUNS * max(periods))
    return ceil(_FURTHER * longest / DAY_S)


def campaign(fleet: Fleet, capacity: Capacity, terms: Terms, seed: str) -> Iterator[Attempt]:
    """Yield endless attempts on one fleet, each from the day of its baselines on.

    Equal seeds give equal attempts.

    Raises:
        UsageError: no measurement sees faults of such a size.
        ToolError: the part that locates is not installed.
    """
    locate = parts.load("locate", "contract")
    weather = Weather(terms.noise, Random(seed))
    chance = Random(f"{seed}/faults")
    measuring, nodes = prepare(fleet, capacity, weather)
    initial, now = measuring.memory, end_of(terms.days)
    while True:
        faults, hidden = _draw(capacity, terms, chance)
        slowed = capacity.under(faults)
        measuring.memory = initial.copy()
        for day in range(1, terms.days + 1):
            weather.next_day()
            for _ in measuring.day(day, {**capacity.healthy_Bps, **slowed}):
                pass
        weighing = weigh(nodes, measuring.memory)
        # as in plumbline locate
        judging = Judging(measuring.memory, weighing, now, detail=Detail.STATE)
        named: Named = locate.named(nodes, judging, weighing)
        components = {(flow.layer, flow.component) for flow in slowed}
        alarming = frozenset(
            (verdict.layer, verdict.component)
            for verdict in judge_day(nodes, judging)
            if verdict.state.alarm
            and not verdict.group
            and (verdict.layer, verdict.component) in components
        )
        alike = tuple(twins(capacity, faults[0])) if len(faults) == 1 else ()
        yield Attempt(
            faults,
            hidden,
            named.parts,
            alike,
            named.sets,
            named.unexplained,
            len(alarming),
            len(alarming - named.explained),
        )


def _draw(capacity: Capacity, terms: Terms, chance: Random) -> tuple[tuple[Fault, ...], int]:
    """Return visible faults of different parts, and the number of hidden draws."""
    for hidden in range(_MAX_HIDDEN):
        names = chance.sample(capacity.located, terms.faults)
        faults = tuple(Fault(name, terms.losses.draw(chance)) for name in names)
        if visible(capacity, faults):
            return faults, hidden
    raise UsageError(
        f"{_MAX_HIDDEN} random faults in a row slow no measurement by {100 * VISIBLE:g} %; the "
        "parts of this site have too much slack for such losses: choose larger ones with --loss"
    )


class Tally(NamedTuple):
    """The sum over attempts: fields count attempts unless they name something else."""

    attempts: int = 0
    hidden: int = 0
    inside: int = 0
    suspected: int = 0
    identifiable: int = 0
    alone: int = 0
    unexplained: int = 0
    suspects: int = 0
    alarms: int = 0
    beside: int = 0

    def add(self, attempt: Attempt) -> Tally:
        """Return the sum with one more; ``suspects``, ``alarms``, ``beside`` count components."""
        identifiable = len(attempt.faults) == 1 and not attempt.twins
        more = (
            1,
            attempt.hidden,
            attempt.inside,
            bool(attempt.named),
            identifiable,
            identifiable and attempt.named == attempt.true,
            bool(attempt.unexplained),
            len(attempt.named),
            attempt.alarms,
            attempt.beside,
        )
        return Tally(*(total + added for total, added in zip(self, more)))
