"""Clients and servers of the latest run, second by second.

Clients and servers have different clocks.  If the console knows their offsets, the servers' seconds
are drawn by the clients' clock; the text of the figure tells which clock is used.

Figure 6 of the BlueGene/L report, figures 8 and 10 of Edison's: a run reported as slow was often
fast until it waited for its last rank.
"""

from __future__ import annotations

from array import array
from datetime import datetime, timezone
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import number
from plumbline.model.names import several
from plumbline.model.quantity import Quantity
from plumbline.model.record import Operation, Outcome, Record
from plumbline.model.trend import NodeClock, Run
from plumbline.model.units import DAY_S, format_bytes
from plumbline.parts.report.figure import (
    BLUE,
    CYAN,
    GREY,
    MAGENTA,
    ORANGE,
    RED,
    TEAL,
    Cell,
    Figure,
    Plot,
    Row,
    Table,
    line,
    scatter,
    shown,
    steps,
    value_axis,
)
from plumbline.parts.report.site import Site

ABSENT = "The servers' own counters were not recorded during this run."
_SOURCES = {"diskstats": ("devices", TEAL), "lustre": ("targets", BLUE)}
"""Sources of counters: plural name, and colour of the sum."""

_COUNTED_AS = {Operation.REREAD.value: Operation.READ.value}
_WASTEFUL = 1.25
"""Servers move up to this multiple of the clients' bytes: metadata, journals, parity."""
_SINGLE = 14
_BEFORE_S, _AFTER_S = 1.0, 5.0
"""Seconds before and after a run that belong to it: caches empty after the last call."""


class Curve(NamedTuple):
    """Rates seen by a client or server, one per second from ``begin_s`` after the run's start.

    A server's rates may begin before the run.
    """

    record: Record
    begin_s: float
    rates: tuple[float, ...]

    @property
    def source(self) -> str:
        """Return the source of a server's counter, empty for a client."""
        return str((self.record.details or {}).get("source", ""))

    @property
    def seen_by(self) -> str:
        """Return the client, or the server and its source, e.g. ``oss2 devices``."""
        words = _SOURCES.get(self.source, (self.source, GREY))[0]
        return f"{self.record.host} {words}".rstrip()

    @property
    def quantity(self) -> Quantity:
        """Return the quantity of the rates."""
        return self.record.operation.quantity

    def row(self) -> Row:
        """Return the row in the table; the rate of a server is the mean of the drawn seconds."""
        rates, net = self.rates, self.record.rate
        if self.source:
            net = sum(rates) / len(rates)
        figures = map(self.quantity.format, (max(rates), min(rates)))
        place = self.record.component, self.record.operation.value, self.seen_by
        return Row((*place, "" if net is None else self.quantity.format(net), *figures))

    def numbers(self) -> Iterator[Sequence[Cell]]:
        """Yield the rows of the CSV."""
        place = self.record.operation.value, self.record.component, self.seen_by
        for second, rate in enumerate(self.rates):
            at_s = round(self.begin_s + second, 3)
            yield (*place, at_s, self.quantity.figure(rate), self.quantity.unit)


def served(run: Run, operation: str, window: tuple[float, float]) -> list[Curve]:
    """Return the servers' counters in a window of the run, in seconds since the epoch.

    If the run names the parts it crossed, counters of other parts are left out, and seconds in
    which it did not cross the part.  Servers count rereads as reads.
    """
    spans = _spans(run, operation)
    operation = _COUNTED_AS.get(operation, operation)
    crossed = _crossed(run)
    moved = [
        record for record in run.servers if record.profile and record.operation.value == operation
    ]
    own = [record for record in moved if record.component in crossed]
    ahead_s = {node: clock.ahead_s for node, clock in _clocks(run).items()}
    clipped = (
        _clipped(record, ahead_s.get(record.host, 0.0), window, spans.get(record.component, window))
        for record in own or moved
    )
    return [counter for counter in clipped if counter.rates]


def _spans(run: Run, operation: str) -> dict[str, tuple[float, float]]:
    """Return begin and end of an operation on each part, in seconds since the epoch."""
    spans: dict[str, tuple[float, float]] = {}
    for record in run.records:
        if record.operation.value == operation:
            ended = max(record.finished_at, record.started_at + len(record.profile))
            for name in (record.component, *record.path):
                begin, end = spans.get(name, (record.started_at, ended))
                spans[name] = min(begin, record.started_at), max(end, ended)
    return spans


def _crossed(run: Run) -> set[str]:
    return {name for record in run.records for name in (record.component, *record.path)}


def _clipped(
    record: Record, ahead_s: float, window: tuple[float, float], span: tuple[float, float]
) -> Curve:
    """Return the part of a record in a window and a span in it, relative to the window's start."""
    at = record.started_at - ahead_s
    first = max(0, int(max(window[0], span[0]) - _BEFORE_S - at))
    last = max(0, int(min(window[1], span[1]) + _AFTER_S - at))
    return Curve(record, at - window[0] + first, record.profile[first:last])


def _clocks(run: Run) -> dict[str, NodeClock]:
    """Return the clock of each node, compared with the clients'; empty if none of those is known.

    If clients differ, the median of their clocks counts; each is drawn by its own clock.  The
    uncertainty is the sum for both clocks.
    """
    hosts = {record.host for record in run.records}
    clients = [clock for clock in run.clocks if clock.node in hosts]
    if not clients:
        return {}
    middle = sorted(clock.ahead_s for clock in clients)[len(clients) // 2]
    within_s = max(clock.within_s for clock in clients)
    return {
        clock.node: clock._replace(
            ahead_s=clock.ahead_s - middle, within_s=clock.within_s + within_s
        )
        for clock in run.clocks
    }


def server_sentence(run: Run, counters: Sequence[Curve]) -> str:
    """Return a sentence on the servers' counters and the clock used to draw them."""
    if not run.servers:
        return ABSENT
    if not counters:
        nothing = "The servers' own counters were recorded, but none of them moved during this run."
        return f"{nothing}{_failed_words(run)}"
    hosts = sorted({counter.record.host for counter in counters})
    return (
        f"{number(len({counter.record.component for counter in counters}), 'counter')} of "
        f"{number(len(hosts), 'server')}, all traffic included. {_clock_words(run, hosts)}"
        f"{_failed_words(run)}"
    )


def _failed_words(run: Run) -> str:
    """Return a sentence on the run's parts that were not watched, with the first reason."""
    failed = {
        record.component: record for record in run.servers if record.outcome is Outcome.FAILED
    }
    failed = {name: failed[name] for name in _crossed(run).intersection(failed)}
    if not failed:
        return ""
    first = failed[min(failed)]
    return f" Not watched: {several(sorted(failed), 1)} on {first.host}: {first.reason}."


def _clock_words(run: Run, hosts: Sequence[str]) -> str:
    clocks = _clocks(run)
    compared = [clocks[host] for host in hosts if host in clocks]
    unknown = [host for host in hosts if host not in clocks]
    words = []
    if compared:
        farthest = max(compared, key=lambda clock: abs(clock.ahead_s))
        at = datetime.fromtimestamp(farthest.at, timezone.utc)
        off = (
            f"{farthest.node}, the farthest, was {farthest.ahead_s:+.2f} s off, known to"
            if abs(farthest.ahead_s) > farthest.within_s
            else "none was off by more than could be known,"
        )
        words.append(
            f"Servers are drawn by the clients' clock: {off} within {farthest.within_s:.2f} s "
            f"(compared {at:%Y-%m-%d %H:%M} UTC)."
        )
    if unknown:
        words.append(
            f"How far the clocks of {number(len(unknown), 'server')} ({', '.join(unknown[:3])}"
            f"{', …' if len(unknown) > 3 else ''}) differ from the clients' is not known: "
            "their seconds are drawn by their own."
        )
    return " ".join(words)


def wasted(operation: str, own: Sequence[Curve], counters: Sequence[Curve]) -> Iterator[str]:
    """Yield a sentence if the servers moved much more than the clients of a parallel run.

    BlueGene/L's authors found useless reads in this way, 4 GB/s of read-ahead.
    """
    moved = sum(curve.record.bytes for curve in own if _has_ranks(curve.record))
    for source, (words, _) in _SOURCES.items():
        counted = sum(sum(counter.rates) for counter in counters if counter.source == source)
        if moved and counted > _WASTEFUL * moved:
            yield (
                f"In {operation} the servers' {words} moved {format_bytes(counted)}, "
                f"{counted / moved:.1f} times what the clients did: read ahead in vain, parity "
                "that is written again, or the traffic of others."
            )


def server_traces(counters: Sequence[Curve]) -> list[dict[str, Any]]:
    """Return a trace for each counter if they are few, and one for the sum of each source."""
    traces = []
    for counter in counters if len(counters) <= _SINGLE else ():
        name = shown(f"{counter.record.component} on {counter.record.host}")
        look = {"color": _SOURCES.get(counter.source, ("", GREY))[1], "width": 1}
        trace = _trace(counter, name, "%{text}, its own counter", look, named=False)
        traces.append({**trace, "opacity": 0.6})
    for source, (words, colour) in _SOURCES.items():
        own = [counter for counter in counters if counter.source == source]
        if own:
            traces.append(_sum_trace(own, f"sum of servers' {words}", color=colour, dash="dash"))
    return traces


def _trace(
    curve: Curve, name: str, hover: str, look: Mapping[str, Any], *, named: bool
) -> dict[str, Any]:
    return scatter(
        "lines",
        name,
        f"{hover}<br>second %{{x}}: %{{y}} {curve.quantity.axis}",
        **steps(curve.begin_s, curve.rates, curve.quantity),
        text=[name] * (len(curve.rates) + 1),
        line={**look, "shape": "hv"},
        showlegend=named,
    )


def _sum_trace(curves: Sequence[Curve], name: str, **look: Any) -> dict[str, Any]:
    quantity = curves[0].quantity
    return scatter(
        "lines",
        name,
        f"{name}, second %{{x}}: %{{y}} {quantity.axis}",
        **steps(*added(curves), quantity),
        line={"width": 3, "shape": "hv", **look},
    )


def added(curves: Sequence[Curve]) -> tuple[int, array[float]]:
    """Return the first second and the sum in each second; partial seconds are divided by share."""
    first = min(_floor(curve.begin_s) for curve in curves)
    length = max(_floor(curve.begin_s) + len(curve.rates) for curve in curves) - first
    total = array("d", bytes(8 * (length + 1)))
    for curve in curves:
        place = _floor(curve.begin_s)
        late = curve.begin_s - place
        for second, rate in enumerate(curve.rates):
            total[place - first + second] += rate * (1 - late)
            total[place - first + second + 1] += rate * late
    return first, total if total[-1] else total[:-1]


def _floor(seconds: float) -> int:
    return int(seconds // 1)


ABOUT = (
    "The latest parallel run, or where there is none the latest run of targets, second by second "
    "as its clients saw it: every component, their sum, the net rate that was reported (dotted "
    "lines), which counts the wait for the last one, and what the servers counted themselves."
)
HEADERS = ("component", "operation", "seen by", "rate", "highest second", "lowest second")
NUMBERS = ("operation", "component", "seen_by", "second", "rate", "unit")
_COLOURS = (ORANGE, MAGENTA, CYAN)
"""Colours of components; other colours are for the sums of clients and servers."""

_UNNAMED = {"color": GREY, "width": 1}
_LABELLED, _SLOWEST = 12, 5
"""Most traces with their own colour; if there are more, only the slowest; hover names the rest."""


def composite_figure(site: Site) -> Figure:
    """Return the figure: a plot for each operation of the latest run."""
    figure = Figure("composite", "Composite of a run", ABOUT)
    if site.run is None:
        return figure._replace(absent="no run of targets was recorded in this time")
    operations = dict.fromkeys(record.operation.value for record in site.run.records)
    drawn = {name: own for name in operations if (own := curves(site.run, name))}
    run = f"the latest run of layer {site.run.layer}, {site.run.run_id},"
    if not drawn:
        return figure._replace(absent=f"{run} recorded no rates of single seconds")
    if any(end - begin > DAY_S for begin, end in map(_window, drawn.values())):
        return figure._replace(absent=f"{run} seems longer than a day: a clock was set meanwhile")
    all_curves = [curve for own in drawn.values() for curve in own]
    counted_by = {name: served(site.run, name, _window(own)) for name, own in drawn.items()}
    counts = [counter for counters in counted_by.values() for counter in counters]
    return figure._replace(
        finding=" ".join(
            [
                _finding(site.run, all_curves),
                server_sentence(site.run, counts),
                *(
                    text
                    for name, own in drawn.items()
                    for text in wasted(name, own, counted_by[name])
                ),
            ]
        ),
        plots=[_plot(name, own, site.run, counted_by[name]) for name, own in drawn.items()],
        table=Table(HEADERS, [curve.row() for curve in [*all_curves, *counts]]),
        numbers=[NUMBERS, *(row for curve in [*all_curves, *counts] for row in curve.numbers())],
    )


def _window(curves: Sequence[Curve]) -> tuple[float, float]:
    """Return begin and end of curves, in seconds since the epoch by the clients' clocks."""
    start = min(curve.record.started_at for curve in curves)
    return start, start + max(curve.begin_s + len(curve.rates) for curve in curves)


def curves(run: Run, operation: str) -> list[Curve]:
    """Return the curves of all components in one operation, without the whole."""
    own = [
        record for record in _parts(run) if record.operation.value == operation and record.profile
    ]
    start = min((record.started_at for record in own), default=0.0)
    return [Curve(record, record.started_at - start, record.profile) for record in own]


def _parts(run: Run) -> list[Record]:
    """Return the records of components; in a parallel run only these have ranks."""
    return [record for record in run.records if _has_ranks(record)] or list(run.records)


def _has_ranks(record: Record) -> bool:
    return "ranks" in (record.details or {})


def _net(run: Run, operation: str) -> Optional[float]:
    """Return the reported rate of the whole, None if there is none."""
    if not any(map(_has_ranks, run.records)):
        return None
    sums = [record for record in run.records if not _has_ranks(record)]
    whole = [record for record in sums if record.operation.value == operation]
    return whole[0].rate if whole else None


def _finding(run: Run, curves: Sequence[Curve]) -> str:
    at = datetime.fromtimestamp(min(curve.record.started_at for curve in curves), timezone.utc)
    names = {curve.record.component for curve in curves}
    return (
        f"Run {run.run_id} of layer {run.layer}, {at:%Y-%m-%d %H:%M} UTC: "
        f"{number(len(names), 'component')}."
    )


def _plot(operation: str, curves: Sequence[Curve], run: Run, counters: Sequence[Curve]) -> Plot:
    named, net, quantity = _named(curves), _net(run, operation), curves[0].quantity
    # later traces are on top; the sum of one curve would hide it
    data = [_sum_trace(curves, "sum of clients", color=RED)] if len(curves) > 1 else []
    data += server_traces(counters)
    for curve in curves:
        name = curve.record.component
        own = name in named
        look = line(named.index(name), 1.5, _COLOURS) if own else _UNNAMED
        data.append(_trace(curve, shown(name), "%{text}", look, named=own))
    layout = {
        "xaxis": {"title": {"text": "seconds since the first began"}},
        "yaxis": value_axis(quantity.axis),
        "legend": {"orientation": "h", "yanchor": "top", "y": -0.3},
        "shapes": list(_nets(quantity, curves, net)),
        "annotations": [_label(quantity, net)] if net else [],
    }
    return Plot(operation, data, layout, 420)


def _named(curves: Sequence[Curve]) -> list[str]:
    """Return the components with their own colour: all, or the slowest of many."""
    if len(curves) <= _LABELLED:
        return [curve.record.component for curve in curves]
    slowest = sorted(curves, key=lambda curve: curve.record.rate or 0.0)[:_SLOWEST]
    return [curve.record.component for curve in slowest]


def _nets(
    quantity: Quantity, curves: Sequence[Curve], net: Optional[float]
) -> Iterator[dict[str, Any]]:
    """Yield a line for the net rate of the whole, or of each component if they are few."""
    if net:
        yield _level(0, len(added(curves)[1]), quantity.pictured(net))
    elif len(curves) <= _LABELLED:
        for curve in curves:
            if curve.record.rate:
                end = curve.begin_s + curve.record.finished_at - curve.record.started_at
                yield _level(curve.begin_s, end, quantity.pictured(curve.record.rate))


def _level(start: float, end: float, height: Optional[float]) -> dict[str, Any]:
    style = {"color": GREY, "width": 2, "dash": "dot"}
    return {"type": "line", "x0": start, "x1": end, "y0": height, "y1": height, "line": style}


def _label(quantity: Quantity, net: float) -> dict[str, Any]:
    text = f"net {quantity.format(net)}"
    return {
        "x": 1,
        "xref": "paper",
        "xanchor": "right",
        "y": quantity.pictured(net),
        "text": text,
        "ay": -20,
    }
