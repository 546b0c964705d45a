"""A time in the past: servers, routers, clients and probes around it.

Figure 11 of Edison's report: archived counters of the servers explained a slow day months later.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, Iterator, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import moment as words_of
from plumbline.judge.phrases import number
from plumbline.model.quantity import BYTES_PER_S, Quantity
from plumbline.model.symptom import ORDER
from plumbline.model.units import format_rate
from plumbline.model.verdict import State
from plumbline.parts.report.figure import (
    GREY,
    MAGENTA,
    MB,
    Cell,
    Figure,
    Plot,
    Row,
    Table,
    line,
    mark,
    name_axis,
    plotly_time,
    scatter,
    shown,
    time_axis,
    value_axis,
    vertical_line,
)

OTHERS = "all others"
"""Name of the line with the sum of all series that have no line."""


class Column(NamedTuple):
    """A quantity of a series: its unit in a plot, and whether the sum of several has a meaning."""

    name: str
    unit: str
    scale: float = 1.0
    adds: bool = True


READ = Column("read", "MB/s", MB)
WRITE = Column("write", "MB/s", MB)
MOVED = Column("moved", "MB/s", MB)
REQUESTS = Column("operations", "operations/s")
LATENCY = Column("mean latency", "ms", 1e-3, adds=False)
READ_LATENCY = Column("mean latency of reads", "ms", 1e-3, adds=False)
DISK_WRITES = Column("time of 90 % of disk writes", "ms", 1e-3, adds=False)
COLUMNS = (READ, WRITE, MOVED, REQUESTS, LATENCY, READ_LATENCY, DISK_WRITES)


class Line(NamedTuple):
    """One series: points of epoch seconds and a value in base units."""

    name: str
    points: tuple[tuple[float, float], ...]

    def value(self, at: float) -> Optional[float]:
        """Return the value at a time, None if unknown."""
        return dict(self.points).get(at)


class Chart(NamedTuple):
    """One plot: a column for the largest series of a kind, such as ``OST``, and all others."""

    kind: str
    column: Column
    lines: tuple[Line, ...]


class Past(NamedTuple):
    """Series around ``at``, from ``begin`` to ``end``; seconds since the epoch.

    ``recovering`` has targets with a line for each status that is neither complete nor inactive.
    ``remarks`` are sentences on odd or missing data.
    """

    at: float
    begin: float
    end: float
    charts: tuple[Chart, ...] = ()
    recovering: tuple[tuple[str, Line], ...] = ()
    remarks: tuple[str, ...] = ()


class PastRun(NamedTuple):
    """One measurement of that time; ``state`` and ``sentence`` are the verdict at its end."""

    layer: str
    component: str
    step: str
    node: str
    started_at: float
    outcome: str
    rate: Optional[float]
    coverage: Optional[float]
    state: State
    sentence: str
    quantity: Quantity = BYTES_PER_S


class Probed(NamedTuple):
    """Measurements of that time, and a sentence on missing ones, empty if complete."""

    runs: Sequence[PastRun]
    remark: str = ""


_ABOUT_RUNS = (
    "What plumbline measured in this time, and the verdict on the component at the end of it, by "
    "the runs until then and the expectations of today."
)
_RUN_HEADERS = ("begun", "node", "component", "operation", "rate", "coverage", "state", "verdict")
_RUN_NUMBERS = (
    "at",
    "node",
    "layer",
    "component",
    "operation",
    "rate",
    "unit",
    "coverage",
    "state",
)


def past_runs_figure(past: Past, probed: Probed) -> Figure:
    """Return the figure: measurements by time and rate, and a table with the verdicts."""
    hour = f"{words_of(past.begin)} to {words_of(past.end)}"
    figure = Figure("moment-probes", f"Probes around {words_of(past.at)}", _ABOUT_RUNS)
    if not probed.runs:
        reason = probed.remark or f"nothing was measured from {hour}"
        return figure._replace(absent=reason)
    runs = sorted(probed.runs, key=lambda run: (ORDER.index(run.state), run.started_at))
    states = [run.state for run in runs]
    words = ", ".join(f"{states.count(state)} {state.name}" for state in ORDER if state in states)
    drawn = any(run.rate is not None for run in runs)
    return figure._replace(
        finding=f"{number(len(runs), 'measurement')}: {words}. {probed.remark}".strip(),
        plots=list(_plot_runs(past, runs)),
        absent="" if drawn else "no measurement of this time gave a rate; the table says why",
        table=Table(_RUN_HEADERS, [Row(_cells(run)) for run in runs]),
        numbers=[_RUN_NUMBERS, *map(_run_numbers, runs)],
    )


def _plot_runs(past: Past, runs: Sequence[PastRun]) -> Iterator[Plot]:
    rated = [run for run in runs if run.rate is not None]
    for quantity in dict.fromkeys(run.quantity for run in rated):
        layout = time_layout(past)
        layout["yaxis"] = value_axis(quantity.axis)
        of_quantity = [run for run in rated if run.quantity == quantity]
        by_state = {state: [run for run in of_quantity if run.state is state] for state in ORDER}
        traces = [_trace_runs(quantity, state, own) for state, own in by_state.items() if own]
        yield Plot("measurements by when they began", traces, layout)


def _trace_runs(quantity: Quantity, state: State, runs: Sequence[PastRun]) -> dict[str, Any]:
    return scatter(
        "markers",
        state.name,
        f"%{{text}} {state.name}<br>%{{x}}: %{{y}} {quantity.axis}",
        x=[plotly_time(run.started_at) for run in runs],
        y=[quantity.pictured(run.rate) for run in runs],
        text=[shown(f"{run.component} {run.step}") for run in runs],
        marker=mark(state),
    )


def _cells(run: PastRun) -> tuple[str, ...]:
    begun = datetime.fromtimestamp(run.started_at, timezone.utc).strftime("%H:%M:%S")
    rate = run.outcome if run.rate is None else run.quantity.format(run.rate)
    coverage = "" if run.coverage is None else f"{run.coverage:.2f}"
    return (begun, run.node, run.component, run.step, rate, coverage, run.state.name, run.sentence)


def _run_numbers(run: PastRun) -> Sequence[Cell]:
    place = run.started_at, run.node, run.layer, run.component, run.step
    figure = None if run.rate is None else run.quantity.figure(run.rate)
    return (*place, figure, run.quantity.unit, run.coverage, run.state.name)


_ABOUT = (
    "What servers, routers and clients counted around the moment that was asked about (dotted), "
    "from the site's Prometheus: rates over two minutes, for each kind those that moved most or "
    "took longest at the moment or over the time, and the sum of all others."
)
_HEADERS = ("kind", "name", *(column.name for column in COLUMNS), "recovery")
_NUMBERS = ("kind", "name", "figure", "unit", "at", "value")
_BASE = {"MB/s": "B/s", "ms": "s"}
"""Unit in the CSV by unit in a plot."""


def moment_figure(past: Past) -> Figure:
    """Return the figure: a plot for each kind and column, and a table of the moment."""
    figure = Figure("moment", f"Around {words_of(past.at)}", _ABOUT, _finding(past))
    if not (past.charts or past.recovering):
        reason = past.remarks[0] if past.remarks else "nothing is kept of this time"
        return figure._replace(finding="\n".join(past.remarks[1:]), absent=reason)
    plots = [_plot(past, chart) for chart in past.charts]
    plots += [_recovery(past)] if past.recovering else []
    return figure._replace(
        plots=plots, table=Table(_HEADERS, list(_rows(past))), numbers=[_NUMBERS, *_numbers(past)]
    )


def _finding(past: Past) -> str:
    targets = {name for name, _ in past.recovering}
    sentences = [f"{remark}." for remark in past.remarks]
    if targets:
        sentences.append(f"{number(len(targets), 'target')} in recovery or waiting for it.")
    return "\n".join(sentences)


def _plot(past: Past, chart: Chart) -> Plot:
    column = chart.column
    layout = time_layout(past)
    layout["yaxis"] = value_axis(column.unit)
    traces = [_trace(number, series, column) for number, series in enumerate(chart.lines)]
    return Plot(f"{chart.kind}: {column.name}", traces, layout)


def _trace(number: int, series: Line, column: Column) -> dict[str, Any]:
    name, points = shown(series.name), list(_with_gaps(series.points))
    return scatter(
        "lines",
        name,
        x=[plotly_time(at) for at, _ in points],
        y=[None if value is None else _figure(value, column) for _, value in points],
        line={"color": GREY, "width": 1} if series.name == OTHERS else line(number),
        hovertemplate=f"%{{x}}: %{{y}} {column.unit}<extra>{name}</extra>",
    )


def _with_gaps(points: Sequence[tuple[float, float]]) -> Iterator[tuple[float, Optional[float]]]:
    """Yield points, with an empty point in each gap, so no line is drawn over it."""
    step_s = min((after[0] - before[0] for before, after in zip(points, points[1:])), default=0.0)
    last = points[0][0] if points else 0.0
    for at, value in points:
        if at - last > 1.5 * step_s:
            yield last + step_s, None
        yield at, value
        last = at


def _figure(value: float, column: Column) -> float:
    return round(value / column.scale, 3)


def _recovery(past: Past) -> Plot:
    """Return a plot of the recovery states of targets over time."""
    names = list(dict.fromkeys(name for name, _ in past.recovering))
    traces = []
    for place, status in enumerate(dict.fromkeys(series.name for _, series in past.recovering)):
        marks = [
            (at, names.index(name))
            for name, series in past.recovering
            if series.name == status
            for at, _ in series.points
        ]
        traces.append(
            scatter(
                "markers",
                shown(status),
                "%{text}, %{x}",
                x=[plotly_time(at) for at, _ in marks],
                y=[row for _, row in marks],
                text=[shown(names[row]) for _, row in marks],
                marker={"color": line(place)["color"], "symbol": "square", "size": 7},
            )
        )
    layout = time_layout(past)
    layout["yaxis"] = name_axis(names, downwards=True)
    return Plot("targets in recovery", traces, layout, 150 + 26 * len(names))


def time_layout(past: Past) -> dict[str, Any]:
    """Return the layout of a plot over the hour, with a line at the moment."""
    return {
        "xaxis": time_axis(past.begin, past.end),
        "shapes": [vertical_line(past.at, MAGENTA)],
        "showlegend": True,
    }


def _rows(past: Past) -> Iterator[Row]:
    """Yield a row for each series at the moment, the busiest of each kind first."""
    values: dict[tuple[str, str], dict[Column, Optional[float]]] = {}
    for chart in past.charts:
        for series in chart.lines:
            values.setdefault((chart.kind, series.name), {})[chart.column] = series.value(past.at)
    states = {
        name: series.name for name, series in past.recovering if series.value(past.at) is not None
    }
    kinds = list(dict.fromkeys(chart.kind for chart in past.charts))
    for kind, name in sorted(values, key=lambda key: (kinds.index(key[0]), -_load(values[key]))):
        cells = (_cell(values[kind, name].get(column), column) for column in COLUMNS)
        yield Row((kind, name, *cells, states.get(name, "")))


def _load(figures: dict[Column, Optional[float]]) -> float:
    return sum(value or 0.0 for column, value in figures.items() if column.adds)


def _cell(value: Optional[float], column: Column) -> str:
    if value is None:
        return ""
    if column.scale == MB:
        return format_rate(value)
    return f"{value / column.scale:.1f} {column.unit}"


def _numbers(past: Past) -> Iterator[Sequence[Cell]]:
    for chart in past.charts:
        unit = _BASE.get(chart.column.unit, chart.column.unit)
        for series in chart.lines:
            for at, value in series.points:
                yield chart.kind, series.name, chart.column.name, unit, at, value
    for name, series in past.recovering:
        for at, _ in series.points:
            yield "target", name, "recovery", series.name, at, 1
