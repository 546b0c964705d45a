"""RDMA rails: rates and times of each adapter, and every pair of a rail as an image.

A slow adapter is a stripe in the image of its rail, a slow leaf a block.
"""

from __future__ import annotations

from collections import Counter
from typing import Iterator, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import number
from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS
from plumbline.model.layers.rdma import LATENCY, RDMA
from plumbline.model.names import anchor, several
from plumbline.model.record import Operation
from plumbline.model.trend import PairTest
from plumbline.model.units import format_rate
from plumbline.model.verdict import State
from plumbline.parts.report.figure import Cell, Figure, Plot, Row, Table
from plumbline.parts.report.network import End, ceilings_of, pairs_image, rates_plot
from plumbline.parts.report.site import Site, middle

ABOUT = (
    "Above, what each adapter writes and reads by verbs: the median over the latest measurement "
    "with each partner, with the ceiling. Below, each pair of a rail as a cell: rows measure, "
    "columns are their partners, the colour is the latest rate in percent of the pair's ceiling. A "
    "slow adapter is a stripe, a slow leaf a block."
)
HEADERS = (
    *("state", "rail", "adapter", "host", "write", "read", "ceiling", "time of a read"),
    *("partners", "verdict"),
)
NUMBERS = (
    *("rail", "component", "partner", "operation", "figure", "unit", "ceiling_Bps"),
    "started_at",
)
_DIRECTIONS = (Operation.WRITE.value, Operation.READ.value)
_LISTED = 10


class Adapter(NamedTuple):
    """One adapter; rates in B/s, ``reads`` in small reads per second."""

    name: str
    host: str
    rail: str
    state: State
    sentence: str
    write_Bps: Optional[float]
    read_Bps: Optional[float]
    ceiling_Bps: Optional[float]
    reads: Optional[float]
    partners: int


def rails_figures(site: Site) -> list[Figure]:
    """Return the figure of the rails; none if the plan measures no adapter."""
    entries = [entry for entry in site.expectations if LAYERS[entry.layer].by_verbs]
    if not entries:
        return []
    figure = Figure("rails", "RDMA rails", ABOUT)
    rails = find_rails(entries)
    adapters = find_adapters(site, rails)
    table = Table(HEADERS, [Row(_cells(own), anchor(RDMA.name, own.name)) for own in adapters])
    if not site.rails:
        absent = "no pair of adapters was measured in this time"
        return [figure._replace(absent=absent, table=table)]
    ends = [
        End(own.name, own.state, (own.write_Bps, own.read_Bps), own.ceiling_Bps) for own in adapters
    ]
    plots = [rates_plot("rate of each adapter", _DIRECTIONS, ends), *_images(site, rails)]
    drawn = figure._replace(
        finding=_finding(adapters, len(rails), site.rails),
        plots=plots,
        table=table,
        numbers=[NUMBERS, *_numbers(site.rails, rails)],
    )
    return [drawn]


def find_rails(entries: Sequence[Expectation]) -> dict[str, list[Expectation]]:
    """Return the adapters of each rail, by its name: they measure each other alone.

    The first adapter of a host is of rail 1.  If several networks have such a rail, its name has
    the part where its adapters meet.
    """
    on_host: Counter[str] = Counter()
    circles: dict[tuple[int, str], list[Expectation]] = {}
    for entry in entries:
        on_host[entry.host] += 1
        circles.setdefault((on_host[entry.host], entry.path[-1]), []).append(entry)
    networks = Counter(rail for rail, _ in circles)
    return {
        f"rail {rail} at {end}" if networks[rail] > 1 else f"rail {rail}": members
        for (rail, end), members in sorted(circles.items(), key=lambda circle: circle[0])
    }


def find_adapters(site: Site, rails: dict[str, list[Expectation]]) -> list[Adapter]:
    """Return every planned adapter, rail by rail."""
    tests: dict[str, list[PairTest]] = {}
    for test in site.rails:
        tests.setdefault(test.component, []).append(test)
    return [
        _adapter(site, rail, entry, tests.get(entry.component, []))
        for rail, entries in rails.items()
        for entry in entries
    ]


def _adapter(site: Site, rail: str, entry: Expectation, tests: Sequence[PairTest]) -> Adapter:
    write_Bps, read_Bps, reads = (
        middle(test.rate for test in tests if test.operation == operation)
        for operation in (*_DIRECTIONS, LATENCY.value)
    )
    return Adapter(
        entry.component,
        entry.host,
        rail,
        site.state(entry.layer, entry.component),
        site.sentence(entry.layer, entry.component),
        write_Bps,
        read_Bps,
        middle(partner.ceiling.rate for partner in entry.partners),
        reads,
        len({test.partner for test in tests}),
    )


def _images(site: Site, rails: dict[str, list[Expectation]]) -> Iterator[Plot]:
    for rail, entries in rails.items():
        ceilings = ceilings_of(entries)
        for operation in _DIRECTIONS:
            tests = [
                test
                for test in site.rails
                if test.component in ceilings and test.operation == operation
            ]
            yield pairs_image(f"every pair of {rail}, {operation}", operation, tests, ceilings)


def _finding(adapters: Sequence[Adapter], rails: int, tests: Sequence[PairTest]) -> str:
    faulty = [own.name for own in adapters if own.state is not State.OK]
    measured = len({frozenset((test.component, test.partner)) for test in tests})
    text = f"{number(len(adapters), 'adapter')} of {number(rails, 'rail')}, "
    text += f"{number(measured, 'pair')} measured"
    return f"{text}; not OK: {several(faulty, _LISTED)}." if faulty else f"{text}, all OK."


def _cells(own: Adapter) -> tuple[str, ...]:
    rates = (own.write_Bps, own.read_Bps, own.ceiling_Bps)
    return (
        own.state.name,
        own.rail,
        own.name,
        own.host,
        *("" if rate is None else format_rate(rate) for rate in rates),
        "" if own.reads is None else LATENCY.quantity.format(own.reads),
        str(own.partners),
        own.sentence,
    )


def _numbers(
    tests: Sequence[PairTest], rails: dict[str, list[Expectation]]
) -> Iterator[Sequence[Cell]]:
    rail_of = {entry.component: rail for rail, entries in rails.items() for entry in entries}
    ceilings = ceilings_of(entry for entries in rails.values() for entry in entries)
    for test in tests:
        quantity = Operation(test.operation).quantity
        ceiling_Bps = ceilings.get(test.component, {}).get(test.partner)
        yield (
            rail_of.get(test.component, ""),
            test.component,
            test.partner,
            test.operation,
            None if test.rate is None else quantity.figure(test.rate),
            quantity.unit,
            ceiling_Bps if test.operation in _DIRECTIONS else None,
            test.started_at,
        )
