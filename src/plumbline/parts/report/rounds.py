"""The network as a whole: all pairs of a slot are tested at once, and their sum has a ceiling.

Figure 3 of the BlueGene/L report: 1,024 netperf at once, and what each switch carried.  Rounds need
no tests of their own, as the layer ``net`` tests all pairs of a slot at the same time.
"""

from __future__ import annotations

from math import isnan
from typing import Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import moment, number
from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS
from plumbline.model.service import SitePart
from plumbline.model.trend import Course
from plumbline.model.units import DAY_S, format_rate
from plumbline.parts.report.figure import (
    Cell,
    Figure,
    Plot,
    Row,
    Table,
    day_axis,
    line,
    percent,
    plotly_time,
    scatter,
    shown,
    value_axis,
)
from plumbline.plan.pair_sums import Pair, PairNetwork

DAYS = 14
"""Days whose rounds are drawn."""

_COMPLETE = 0.9
"""Share of its pairs with which a round is a test of the whole network."""


class PartLoad(NamedTuple):
    """A part that several pairs of a round share: what they moved, and could move, through it."""

    name: str
    kind: str
    pairs: int
    moved_Bps: float
    ceiling_Bps: float

    @property
    def share(self) -> float:
        """Moved / ceiling."""
        return self.moved_Bps / self.ceiling_Bps


class Round(NamedTuple):
    """The tests of one slot in one direction; ``at`` is its begin in seconds since the epoch.

    ``of`` is the number of pairs that a complete round has.  ``ceiling_Bps`` is the sum of all
    pairs at once by the topology, None if unknown; ``loads`` are the shared parts, the least loaded
    first.
    """

    at: float
    operation: str
    pairs: int
    of: int
    moved_Bps: float
    ceiling_Bps: Optional[float]
    loads: tuple[PartLoad, ...]

    @property
    def complete(self) -> bool:
        """True if nearly all of its pairs were tested."""
        return self.pairs >= _COMPLETE * self.of

    @property
    def share(self) -> Optional[float]:
        """Moved / ceiling, None if the ceiling is unknown."""
        return self.moved_Bps / self.ceiling_Bps if self.ceiling_Bps else None


def find_rounds(
    courses: Iterable[Course],
    expectations: Iterable[Expectation],
    parts: Mapping[str, SitePart],
    since: float,
) -> list[Round]:
    """Return the rounds since a time in seconds since the epoch, by time and direction."""
    paired = [entry for entry in expectations if LAYERS[entry.layer].of_hosts]
    if not paired:
        return []
    network = PairNetwork(paired, parts)
    of_network = _Rounds(network)
    slot_s = float(paired[0].target["slot_s"])
    tests: dict[tuple[int, str], dict[Pair, float]] = {}
    for course in courses:
        pair = course.component, course.partner
        if pair in network.paths:
            for at, rate in zip(course.times[course.days :], course.rates[course.days :]):
                if at >= since and not isnan(rate):
                    tests.setdefault((int(at // slot_s), course.operation), {})[pair] = rate
    return [
        of_network.round(slot * slot_s, operation, tests[slot, operation])
        for slot, operation in sorted(tests)
        if _at_once(tests[slot, operation])
    ]


def _at_once(pairs: Iterable[Pair]) -> bool:
    """Return whether each host is in one pair: tests by hand follow one another in a slot."""
    hosts = [host for pair in pairs for host in pair]
    return len(hosts) == len(set(hosts))


class _Rounds:
    """Rounds of a network, and what each of its shared parts carried in them."""

    def __init__(self, network: PairNetwork) -> None:
        self._network = network
        self._of = network.complete

    def round(self, at: float, operation: str, rates: Mapping[Pair, float]) -> Round:
        """Return the round of some pairs by their rates in bytes per second."""
        loads = sorted(self._loads(rates), key=lambda load: load.share)
        ceiling = self._network.ceiling(rates)
        ceiling_Bps = ceiling.rate if ceiling else None
        moved_Bps = sum(rates.values())
        return Round(at, operation, len(rates), self._of, moved_Bps, ceiling_Bps, tuple(loads))

    def _loads(self, rates: Mapping[Pair, float]) -> Iterator[PartLoad]:
        network = self._network
        users: dict[str, list[Pair]] = {}
        for pair in rates:
            for name in network.paths[pair]:
                users.setdefault(name, []).append(pair)
        for name, pairs in users.items():
            if len(pairs) > 1 and name in network.capacities:
                ceiling = network.ceiling(pairs)
                if ceiling is not None:
                    moved_Bps = sum(rates[pair] for pair in pairs)
                    kind = network.parts[name].kind
                    yield PartLoad(name, kind, len(pairs), moved_Bps, ceiling.rate)


ABOUT = (
    "Sum of all pairs that were tested at once, in percent of what the topology lets them carry "
    "together, and the same for each switch, line card or router that several of them shared. A "
    "part that is low while others are not is the narrow place; all low together is a busy hour."
)
HEADERS = ("direction", "part", "pairs", "moved", "ceiling", "of ceiling")
NUMBERS = ("at", "direction", "part", "pairs", "of_pairs", "rate_Bps", "ceiling_Bps")
_WHOLE = "whole network"


def rounds_figure(rounds: Sequence[Round]) -> Figure:
    """Return the figure: complete rounds over time, and the parts of the last one."""
    figure = Figure("rounds", "Network as a whole", ABOUT)
    if not rounds:
        return figure._replace(absent=f"no round of pairs was tested in the last {DAYS} days")
    complete = [own for own in rounds if own.complete]
    if not complete:
        best = max(rounds, key=lambda own: own.pairs)
        return figure._replace(
            absent=f"no round of the last {DAYS} days was complete: the best had {best.pairs} of "
            f"{best.of} pairs, {moment(best.at)}"
        )
    last = [own for own in complete if own.at == complete[-1].at]
    rated = [own for own in complete if own.share is not None]
    return figure._replace(
        absent="" if rated else "the parts between these hosts have no rate in the topology",
        finding=" ".join(_sentence(own) for own in last),
        plots=[_plot(rated)] if rated else [],
        table=Table(HEADERS, [Row(cells) for own in last for cells in _rows(own)]),
        numbers=[NUMBERS, *(cells for own in complete for cells in _numbers(own))],
    )


def _sentence(own: Round) -> str:
    text = (
        f"{moment(own.at)}, {own.operation}: {own.pairs} of {number(own.of, 'pair')} moved "
        f"{format_rate(own.moved_Bps)} at once"
    )
    if own.share is not None and own.ceiling_Bps is not None:
        text += f", {percent(own.share)} of the {format_rate(own.ceiling_Bps)} of their paths"
    if own.loads:
        low = own.loads[0]
        text += f"; least through {low.kind} {low.name}: {percent(low.share)} of its share"
    return f"{text}."


def _plot(rounds: Sequence[Round]) -> Plot:
    operations = sorted({own.operation for own in rounds}, reverse=True)
    traces = [
        scatter(
            "lines+markers",
            operation,
            f"{operation} %{{y:.0f}} %<br>%{{x}}",
            x=[plotly_time(own.at) for own in rounds if own.operation == operation],
            y=[round(100 * (own.share or 0.0), 1) for own in rounds if own.operation == operation],
            line=line(place),
        )
        for place, operation in enumerate(operations)
    ]
    layout = {
        "xaxis": day_axis(rounds[0].at, rounds[-1].at + DAY_S),
        "yaxis": value_axis("% of the ceiling"),
        "showlegend": True,
    }
    return Plot("sum of all pairs of a round", traces, layout)


def _rows(own: Round) -> Iterator[tuple[str, ...]]:
    yield (
        own.operation,
        _WHOLE,
        f"{own.pairs} of {own.of}",
        format_rate(own.moved_Bps),
        "unknown" if own.ceiling_Bps is None else format_rate(own.ceiling_Bps),
        "" if own.share is None else percent(own.share),
    )
    for load in own.loads:
        yield (
            own.operation,
            shown(f"{load.kind} {load.name}"),
            str(load.pairs),
            format_rate(load.moved_Bps),
            format_rate(load.ceiling_Bps),
            percent(load.share),
        )


def _numbers(own: Round) -> Iterator[Sequence[Cell]]:
    yield own.at, own.operation, _WHOLE, own.pairs, own.of, own.moved_Bps, own.ceiling_Bps
    for load in own.loads:
        yield (
            own.at,
            own.operation,
            load.name,
            load.pairs,
            own.of,
            load.moved_Bps,
            load.ceiling_Bps,
        )
