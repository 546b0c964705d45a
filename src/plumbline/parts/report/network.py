"""Network: rate and retransmits of each host, and every pair of hosts as an image.

Figure 3 of the BlueGene/L report, and the image of mpiGraph: a slow host is a stripe, a slow switch
a block.
"""

from __future__ import annotations

from typing import Any, Iterable, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import number
from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS
from plumbline.model.layers.net import NET
from plumbline.model.names import anchor, several
from plumbline.model.trend import PairTest
from plumbline.model.units import format_rate
from plumbline.model.verdict import State
from plumbline.parts.report.figure import (
    BLUE,
    CEILING,
    ORANGE,
    RED,
    Cell,
    Figure,
    NamedPoint,
    Plot,
    Row,
    Table,
    image,
    labels,
    megabytes,
    scatter,
    shown,
    unique,
    value_axis,
)
from plumbline.parts.report.site import Site, middle

ABOUT = (
    "Above, what each host sends and receives: the median over the latest test with each partner, "
    "with the ceiling, and the retransmitted TCP segments. Below, each pair as a cell: "
    "rows send or receive, columns are their partners, the colour is the latest rate in percent of "
    "the pair's ceiling. A slow host is a stripe, a slow switch a block."
)
HEADERS = ("state", "host", "send", "receive", "ceiling", "retransmitted", "partners", "verdict")
NUMBERS = (
    "component",
    "partner",
    "operation",
    "rate_Bps",
    "ceiling_Bps",
    "retransmits",
    "bytes",
    "started_at",
)
_NAMED = 40
_LISTED = 10
_MIN_PX, _MAX_PX, _LETTER_PX = 400, 1100, 7
_NOWHERE: dict[str, float] = {}


class End(NamedTuple):
    """A host or adapter in a plot: its rates in two directions and its ceiling, in B/s."""

    name: str
    state: State
    rates_Bps: tuple[Optional[float], Optional[float]]
    ceiling_Bps: Optional[float]

    def known(self) -> list[float]:
        """Return the known rates, in MB/s."""
        rates = map(megabytes, self.rates_Bps)
        return [rate for rate in rates if rate is not None]


class Node(NamedTuple):
    """One host; rates in B/s, ``retransmits`` of the latest tests with all partners."""

    name: str
    state: State
    sentence: str
    send_Bps: Optional[float]
    receive_Bps: Optional[float]
    ceiling_Bps: Optional[float]
    retransmits: Optional[int]
    partners: int

    @property
    def end(self) -> End:
        """Return what is plotted of it."""
        rates = self.send_Bps, self.receive_Bps
        return End(self.name, self.state, rates, self.ceiling_Bps)


def network_figure(site: Site) -> Figure:
    """Return the figure: rates, retransmits, and an image for each direction."""
    figure = Figure("network", "Network", ABOUT)
    nodes = find_nodes(site)
    if not nodes:
        return figure._replace(absent="the plan names no host whose network is measured")
    table = Table(HEADERS, [Row(_cells(node), anchor(NET.name, node.name)) for node in nodes])
    if not site.pairs:
        return figure._replace(absent="no pair of hosts was tested in this time", table=table)
    ceilings = _ceilings(site)
    operations = sorted({test.operation for test in site.pairs}, reverse=True)
    return figure._replace(
        finding=_finding(nodes, site.pairs),
        plots=[
            _rates(nodes),
            *_retransmits(nodes),
            *(_image(operation, site.pairs, ceilings) for operation in operations),
        ],
        table=table,
        numbers=[NUMBERS, *(_numbers(test, ceilings) for test in site.pairs)],
    )


def find_nodes(site: Site) -> list[Node]:
    """Return every planned host, in the plan's order."""
    tests: dict[str, list[PairTest]] = {}
    for test in site.pairs:
        tests.setdefault(test.component, []).append(test)
    nodes = []
    for entry in site.expectations:
        if LAYERS[entry.layer].of_hosts:
            own = tests.get(entry.component, [])
            retransmits = [test.retransmits for test in own if test.retransmits is not None]
            send_Bps, receive_Bps = (
                middle(test.rate for test in own if test.operation == operation)
                for operation in ("send", "receive")
            )
            node = Node(
                entry.component,
                site.state(entry.layer, entry.component),
                site.sentence(entry.layer, entry.component),
                send_Bps,
                receive_Bps,
                middle(partner.ceiling.rate for partner in entry.partners),
                sum(retransmits) if retransmits else None,
                len({test.partner for test in own}),
            )
            nodes.append(node)
    return nodes


def _ceilings(site: Site) -> dict[str, dict[str, float]]:
    return ceilings_of(entry for entry in site.expectations if LAYERS[entry.layer].of_hosts)


def ceilings_of(entries: Iterable[Expectation]) -> dict[str, dict[str, float]]:
    """Return the ceilings of pairs in B/s, by the measuring end and by its partner."""
    return {
        entry.component: {partner.name: partner.ceiling.rate for partner in entry.partners}
        for entry in entries
    }


def _finding(nodes: Sequence[Node], pairs: Sequence[PairTest]) -> str:
    faulty = [node.name for node in nodes if node.state is not State.OK]
    tested = len({frozenset((test.component, test.partner)) for test in pairs})
    text = f"{number(len(nodes), 'host')}, {number(tested, 'pair')} tested"
    text += f"; not OK: {several(faulty, _LISTED)}." if faulty else ", all OK."
    counted = [node.retransmits for node in nodes if node.retransmits is not None]
    return f"{text} No segment was retransmitted." if counted and not any(counted) else text


def _axis(ends: Sequence[End]) -> dict[str, Any]:
    axis: dict[str, Any] = {"range": [-0.7, len(ends) - 0.3], "automargin": True}
    step = 1 + (len(ends) - 1) // _NAMED
    names = [shown(end.name) for end in ends[::step]]
    return {**axis, "tickvals": list(range(0, len(ends), step)), "ticktext": names}


def _rates(nodes: Sequence[Node]) -> Plot:
    return rates_plot("rate of each host", ("send", "receive"), [node.end for node in nodes])


def rates_plot(title: str, directions: tuple[str, str], ends: Sequence[End]) -> Plot:
    """Return a plot of the rates of hosts or adapters in two directions, with their ceilings."""
    places = list(range(len(ends)))
    names = [shown(end.name) for end in ends]
    data: list[dict[str, Any]] = [
        scatter(
            "markers",
            name,
            f"%{{text}}<br>{name} %{{y}} MB/s",
            x=places,
            y=[megabytes(end.rates_Bps[number]) for end in ends],
            text=names,
            marker={"color": colour, "symbol": symbol, "size": 7},
        )
        for number, (name, colour, symbol) in enumerate(
            zip(directions, (BLUE, ORANGE), ("circle", "diamond-open"))
        )
    ]
    data.append(
        scatter(
            "lines",
            "ceiling",
            x=places,
            y=[megabytes(end.ceiling_Bps) for end in ends],
            line={"shape": "hvh", "width": 2, "color": CEILING, "dash": "dash"},
            hoverinfo="skip",
        )
    )
    layout = {
        "xaxis": _axis(ends),
        "yaxis": value_axis("MB/s"),
        "annotations": list(_labels(ends)),
    }
    return Plot(title, data, layout)


def _labels(ends: Sequence[End]) -> Iterable[dict[str, Any]]:
    """Return labels for those that are not OK, the slowest first."""
    faulty = [(place, end) for place, end in enumerate(ends) if end.state is not State.OK]
    named = [NamedPoint(place, min(end.known(), default=0.0), end.name) for place, end in faulty]
    rates = [rate for end in ends for rate in (*end.known(), megabytes(end.ceiling_Bps))]
    top = max((rate for rate in rates if rate is not None), default=0.0)
    return labels(sorted(named, key=lambda label: label.height), len(ends), top)


def _retransmits(nodes: Sequence[Node]) -> Iterable[Plot]:
    if not any(node.retransmits for node in nodes):
        return
    trace = {
        "type": "bar",
        "name": "segments retransmitted",
        "x": list(range(len(nodes))),
        "y": [node.retransmits for node in nodes],
        "text": [shown(node.name) for node in nodes],
        "textposition": "none",
        "marker": {"color": RED},
        "hovertemplate": "%{text}<br>%{y} segments retransmitted<extra></extra>",
    }
    layout = {
        "xaxis": _axis([node.end for node in nodes]),
        "yaxis": value_axis("segments retransmitted"),
        "showlegend": False,
    }
    yield Plot("segments retransmitted by each host", [trace], layout, 260)


def _image(
    operation: str, pairs: Sequence[PairTest], ceilings: Mapping[str, Mapping[str, float]]
) -> Plot:
    tests = [pair_test for pair_test in pairs if pair_test.operation == operation]
    return pairs_image(f"every pair, {operation}", operation, tests, ceilings)


def pairs_image(
    title: str,
    operation: str,
    tests: Sequence[PairTest],
    ceilings: Mapping[str, Mapping[str, float]],
) -> Plot:
    """Return an image of an operation: a cell for each pair, in percent of its ceiling in B/s.

    ``ceilings`` are by the measuring end, and by its partner.
    """
    names = list(dict.fromkeys([*ceilings, *(pair_test.component for pair_test in tests)]))
    columns = list(dict.fromkeys([*names, *(pair_test.partner for pair_test in tests)]))
    places = {name: place for place, name in enumerate(columns)}
    cells: dict[str, list[Optional[int]]] = {name: [None] * len(columns) for name in names}
    for test in tests:
        ceiling = ceilings.get(test.component, _NOWHERE).get(test.partner)
        if ceiling and test.rate is not None:
            cells[test.component][places[test.partner]] = round(100 * test.rate / ceiling)
    shown_columns = unique(columns)
    # vertical names below the image need their own height
    size = min(_MAX_PX, max(_MIN_PX, 160 + 14 * len(names)))
    size += _LETTER_PX * max(map(len, shown_columns))
    axis = {"type": "category", "nticks": _NAMED, "automargin": True, "constrain": "domain"}
    trace = image(
        f"%{{y}} {operation} %{{x}}<br>%{{z}} % of the ceiling",
        x=shown_columns,
        y=unique(names),
        z=list(cells.values()),
        zmin=0,
        zmax=100,
    )
    layout = {"xaxis": axis, "yaxis": {**axis, "autorange": "reversed", "scaleanchor": "x"}}
    return Plot(title, [trace], layout, size)


def _cells(node: Node) -> tuple[str, ...]:
    rates = (node.send_Bps, node.receive_Bps, node.ceiling_Bps)
    return (
        node.state.name,
        node.name,
        *("" if rate is None else format_rate(rate) for rate in rates),
        "not recorded" if node.retransmits is None else str(node.retransmits),
        str(node.partners),
        node.sentence,
    )


def _numbers(test: PairTest, ceilings: dict[str, dict[str, float]]) -> Sequence[Cell]:
    return (
        test.component,
        test.partner,
        test.operation,
        test.rate,
        ceilings.get(test.component, _NOWHERE).get(test.partner),
        test.retransmits,
        test.bytes,
        test.started_at,
    )
