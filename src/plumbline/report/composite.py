"""Composite: what the clients saw each second of the latest run, and the net rates it reported.

Figure 6 of the BlueGene/L report, figures 8 and 10 of Edison's: a run that is reported as slow was
often fast until its last rank was waited for.
"""

from __future__ import annotations

from datetime import datetime, timezone
from math import ceil
from typing import Any, Iterable, NamedTuple, Optional, Sequence

from plumbline.model.record import Record
from plumbline.model.trend import Run
from plumbline.report.figure import (
    Cell,
    Figure,
    Plot,
    Row,
    Table,
    counted,
    megabytes,
    shown,
    steps,
)
from plumbline.report.palette import CYAN, GREY, MAGENTA, ORANGE, RED, line
from plumbline.report.servers import Served, served, server_sentence, server_traces
from plumbline.report.site import Site
from plumbline.units import DAY_S, format_rate

ABOUT = (
    "The latest parallel run, or where there is none the latest run of targets, second by second "
    "as its clients saw it: every component, their sum, the net rate that was reported (dotted "
    "lines), which counts the wait for the last one, and what the servers counted themselves."
)
HEADERS = ("component", "operation", "seen by", "rate", "highest second", "lowest second")
NUMBERS = ("operation", "component", "seen_by", "second", "rate_Bps")
_COLOURS = (ORANGE, MAGENTA, CYAN)
"""Of components: the sums of clients and of servers have theirs."""

_UNNAMED = {"color": GREY, "width": 1}
_LABELLED, _SLOWEST = 12, 5
"""So many traces have a colour of their own, of more the slowest; hover names the others."""


class Curve(NamedTuple):
    """One record of the run: seconds from the start of its operation, and the rate of each."""

    record: Record
    begin_s: float
    rates_Bps: tuple[float, ...]


def composite_figure(site: Site) -> Figure:
    """Return the figure: a picture for each operation of the latest run."""
    figure = Figure("composite", "Composite of a run", ABOUT)
    if site.run is None:
        return figure._replace(absent="no run of targets was recorded in this time")
    operations = dict.fromkeys(one.operation.value for one in site.run.records)
    drawn = {name: found for name in operations if (found := curves(site.run, name))}
    run = f"the latest run of layer {site.run.layer}, {site.run.run_id},"
    if not drawn:
        return figure._replace(absent=f"{run} recorded no rates of single seconds")
    if any(end - begin > DAY_S for begin, end in map(_window, drawn.values())):
        return figure._replace(absent=f"{run} seems longer than a day: a clock was set meanwhile")
    every = [one for found in drawn.values() for one in found]
    counted_by = {name: served(site.run, name, _window(found)) for name, found in drawn.items()}
    counts = [one for found in counted_by.values() for one in found]
    return figure._replace(
        finding=f"{_finding(site.run, every)} {server_sentence(site.run, counts)}",
        plots=[_plot(name, found, site.run, counted_by[name]) for name, found in drawn.items()],
        table=Table(HEADERS, [Row(_cells(one)) for one in every] + [one.row() for one in counts]),
        numbers=[
            NUMBERS,
            *(row for one in every for row in _numbers(one)),
            *(row for one in counts for row in one.numbers()),
        ],
    )


def _window(found: Sequence[Curve]) -> tuple[float, float]:
    """Return when curves begin and end, in seconds since the epoch by the clients' clocks."""
    begun = min(one.record.started_at for one in found)
    return begun, begun + max(one.begin_s + len(one.rates_Bps) for one in found)


def curves(run: Run, operation: str) -> list[Curve]:
    """Return the curves of all components in one operation; not that of the whole."""
    own = [one for one in _parts(run) if one.operation.value == operation and one.profile_Bps]
    begun = min((one.started_at for one in own), default=0.0)
    return [Curve(one, one.started_at - begun, one.profile_Bps) for one in own]


def _parts(run: Run) -> list[Record]:
    """Return the records of components: in a parallel run these tell of their ranks."""
    return [one for one in run.records if _tells_ranks(one)] or list(run.records)


def _tells_ranks(record: Record) -> bool:
    return "ranks" in (record.details or {})


def _net(run: Run, operation: str) -> Optional[float]:
    """Return the rate that the run reported for the whole, None where it reported none."""
    if not any(map(_tells_ranks, run.records)):
        return None
    sums = [one for one in run.records if not _tells_ranks(one)]
    whole = [one for one in sums if one.operation.value == operation]
    return whole[0].rate_Bps if whole else None


def summed(found: Sequence[Curve]) -> list[float]:
    """Return the sum of all curves for each second, one that begins within a second by share."""
    length = max((ceil(one.begin_s) + len(one.rates_Bps) for one in found), default=0)
    total = [0.0] * (length + 1)
    for one in found:
        first = int(one.begin_s)
        late = one.begin_s - first
        for place, rate in enumerate(one.rates_Bps):
            total[first + place] += rate * (1 - late)
            total[first + place + 1] += rate * late
    return total[:length]


def _finding(run: Run, found: Sequence[Curve]) -> str:
    at = datetime.fromtimestamp(min(one.record.started_at for one in found), timezone.utc)
    names = {one.record.component for one in found}
    return (
        f"Run {run.run_id} of layer {run.layer}, {at:%Y-%m-%d %H:%M} UTC: "
        f"{counted(len(names), 'component')}."
    )


def _plot(operation: str, found: Sequence[Curve], run: Run, counts: Sequence[Served]) -> Plot:
    total = summed(found)
    named = _named(found)
    # what is drawn later lies above: a sum of one is its part
    data = [_sum_trace(total)] if len(found) > 1 else []
    data += server_traces(counts)
    data += [_trace(one, named) for one in found]
    net = _net(run, operation)
    layout = {
        "xaxis": {"title": {"text": "seconds since the first began"}},
        "yaxis": {"title": {"text": "MB/s"}, "rangemode": "tozero"},
        "hovermode": "closest",
        "legend": {"orientation": "h", "yanchor": "top", "y": -0.3},
        "shapes": list(_nets(found, net, len(total))),
        "annotations": [_label(net)] if net else [],
    }
    return Plot(operation, data, layout, 420)


def _named(found: Sequence[Curve]) -> list[str]:
    """Return the components with a colour of their own: of many, the slowest."""
    if len(found) <= _LABELLED:
        return [one.record.component for one in found]
    slowest = sorted(found, key=lambda curve: curve.record.rate_Bps or 0.0)[:_SLOWEST]
    return [one.record.component for one in slowest]


def _sum_trace(total: Sequence[float]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "sum of clients",
        **steps(0, total),
        "line": {"color": RED, "width": 3, "shape": "hv"},
        "hovertemplate": "sum of clients, second %{x}: %{y} MB/s<extra></extra>",
    }


def _trace(curve: Curve, named: Sequence[str]) -> dict[str, Any]:
    own = curve.record.component in named
    look = line(named.index(curve.record.component), 1.5, _COLOURS) if own else _UNNAMED
    return {
        "type": "scatter",
        "mode": "lines",
        "name": shown(curve.record.component),
        **steps(curve.begin_s, curve.rates_Bps),
        "text": [shown(curve.record.component)] * (len(curve.rates_Bps) + 1),
        "line": {**look, "shape": "hv"},
        "showlegend": own,
        "hovertemplate": "%{text}<br>second %{x}: %{y} MB/s<extra></extra>",
    }


def _nets(found: Sequence[Curve], net: Optional[float], length: int) -> Iterable[dict[str, Any]]:
    """Yield the net rate of the whole, or of each component where there are few."""
    if net:
        yield _level(0, length, net)
    elif len(found) <= _LABELLED:
        for one in found:
            if one.record.rate_Bps:
                end = one.begin_s + one.record.finished_at - one.record.started_at
                yield _level(one.begin_s, end, one.record.rate_Bps)


def _level(start: float, end: float, rate_Bps: float) -> dict[str, Any]:
    height = megabytes(rate_Bps)
    style = {"color": GREY, "width": 2, "dash": "dot"}
    return {"type": "line", "x0": start, "x1": end, "y0": height, "y1": height, "line": style}


def _label(net: float) -> dict[str, Any]:
    text = f"net {format_rate(net)}"
    return {
        "x": 1,
        "xref": "paper",
        "xanchor": "right",
        "y": megabytes(net),
        "text": text,
        "ay": -20,
    }


def _cells(curve: Curve) -> tuple[str, ...]:
    of = curve.record
    net = "" if of.rate_Bps is None else format_rate(of.rate_Bps)
    ends = (format_rate(max(curve.rates_Bps)), format_rate(min(curve.rates_Bps)))
    return (of.component, of.operation.value, of.host, net, *ends)


def _numbers(curve: Curve) -> Iterable[Sequence[Cell]]:
    for second, rate in enumerate(curve.rates_Bps):
        of = curve.record
        yield of.operation.value, of.component, of.host, round(curve.begin_s + second, 3), rate
