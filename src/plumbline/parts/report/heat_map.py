"""Heat map of targets over time, and the coefficient of variation of each target.

The latter is figure 2b of the Edison report: a target that varies more than its peers fails before
it is slow.
"""

from __future__ import annotations

from statistics import median
from typing import Any, Iterable, Iterator, NamedTuple, Optional, Sequence

import numpy as np
from numpy.typing import NDArray

from plumbline.model.units import DAY_S
from plumbline.model.verdict import State
from plumbline.parts.report.figure import (
    BLUE,
    DAY_MS,
    Cell,
    Figure,
    Plot,
    Row,
    Table,
    day_axis,
    image,
    iso_day,
    percent,
    unique,
)
from plumbline.parts.report.site import Member, Metric, Metrics, spanned

ABOUT = (
    "Each row is a component, each column a day, the colour the median rate of that day in percent "
    "of the component's baseline, or of its own median where no baseline was accepted. Days "
    "without a rate are empty. The bars beside it are the coefficient of variation: "
    "standard deviation of the daily rates over their mean."
)
HEADERS = (
    "layer",
    "group",
    "component",
    "operation",
    "days",
    "median",
    "lowest day",
    "coefficient of variation",
)
NUMBERS = ("layer", "group", "component", "operation", "scenario", "variation")
"""Columns before the days."""

_LOW, _HIGH = 40, 110
"""Percent at the ends of the colour scale: slow components are visible, small noise is not."""

_STEADY = 5.0
"""Percent of variation that is normal."""

_ROW_PX, _WIDE_ROW_PX, _FEW = 4, 18, 30
_MIN_PX, _MAX_PX, _MARGIN_PX = 260, 1500, 120
_NAMED = 60
MAX_ROWS = _MAX_PX - _MARGIN_PX
"""Most rows of a plot: each row needs at least one pixel."""


class Line(NamedTuple):
    """Days of one component; ``variation`` is a fraction, None for fewer than two days."""

    metric: Metric
    member: Member
    median: float
    variation: Optional[float]


def heat_map_figure(metrics: Metrics) -> Figure:
    """Return the figure: a plot for each metric with measurements on two days or more."""
    drawn = {key: lines for key in metrics if (lines := list(_lines(key, metrics[key])))}
    figure = Figure("heat-map", "Heat map", ABOUT)
    if not drawn:
        return figure._replace(absent="nothing was measured in this time")
    all_lines = [line for lines in drawn.values() for line in lines]
    shown = {metric: _most_relevant(lines) for metric, lines in drawn.items()}
    rows = [Row(_cells(line)) for lines in shown.values() for line in lines]
    plots = [_plot(metric, lines) for metric, lines in shown.items() if len(_days(lines)) > 1]
    return figure._replace(
        finding=_finding(all_lines) + _left_out(len(all_lines) - len(rows)),
        plots=plots,
        absent="" if plots else "one day shows no course; the first picture takes two",
        table=Table(HEADERS, rows),
        numbers=_Numbers(all_lines),
    )


class _Numbers:
    """Rows of the CSV, generated while writing, because a large site has millions of cells."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines

    def __iter__(self) -> Iterator[Sequence[Cell]]:
        days = _days(self._lines)
        yield (*NUMBERS, *map(iso_day, days))
        for line in self._lines:
            yield _numbers(line, days)


def _lines(metric: Metric, members: Iterable[Member]) -> Iterator[Line]:
    for member in members:
        rates = member.days.rates()
        if rates.size:
            yield Line(metric, member, float(np.median(rates)), _variation(rates))


def _variation(rates: NDArray[np.float64]) -> Optional[float]:
    return None if len(rates) < 2 else float(rates.std() / rates.mean())


def _most_relevant(lines: Sequence[Line]) -> Sequence[Line]:
    """Return at most ``MAX_ROWS`` lines in their order: those not OK, then the most variable."""
    if len(lines) <= MAX_ROWS:
        return lines

    def rank(number: int) -> tuple[bool, float]:
        line = lines[number]
        return line.member.state is State.OK, -(line.variation or 0.0)

    return [lines[number] for number in sorted(sorted(range(len(lines)), key=rank)[:MAX_ROWS])]


def _left_out(count: int) -> str:
    return (
        f" A picture shows {MAX_ROWS} at most, those that are not OK or vary most; the other "
        f"{count} are in the CSV."
        if count
        else ""
    )


def _days(lines: Iterable[Line]) -> range:
    return spanned(line.member.days for line in lines)


def _finding(lines: Sequence[Line]) -> str:
    varying = [(line.variation, line) for line in lines if line.variation is not None]
    if not varying:
        return "One day alone: nothing varies yet."
    worst = max(varying, key=lambda day: day[0])
    names = f"{worst[1].member.name} {worst[1].metric.operation}"
    middle = median(variation for variation, _ in varying)
    return (
        f"{len(varying)} series; the middle one varies by {100 * middle:.1f} %, the most unsteady, "
        f"{names}, by {100 * worst[0]:.1f} %."
    )


def _plot(metric: Metric, lines: Sequence[Line]) -> Plot:
    days = _days(lines)
    names = unique([line.member.name for line in lines])
    axis = {"type": "category", "autorange": "reversed", "nticks": _NAMED, "automargin": True}
    # a cell extends half a day to both sides
    days_axis = day_axis((days.start - 0.5) * DAY_S, (days.stop - 0.5) * DAY_S)
    layout: dict[str, Any] = {"xaxis": days_axis, "yaxis": axis, "showlegend": False}
    data = [_map(lines, days, names)]
    if any(line.variation is not None for line in lines):
        data.append(_bars(lines, names))
        days_axis["domain"] = [0, 0.83]
        layout["xaxis2"] = {
            "domain": [0.86, 1],
            "title": {"text": "variation, %"},
            "range": [0, _end_of_variation(lines)],
            "nticks": 4,
        }
    row = _WIDE_ROW_PX if len(lines) <= _FEW else _ROW_PX
    height = min(_MAX_PX, max(_MIN_PX, _MARGIN_PX + row * len(lines)))
    return Plot(str(metric), data, layout, height)


def _end_of_variation(lines: Sequence[Line]) -> float:
    """Return the end of the axis in percent, far enough that normal variation has short bars."""
    most = max((line.variation for line in lines if line.variation is not None), default=0.0)
    return max(_STEADY, 105 * most)


def _map(lines: Sequence[Line], days: range, names: Sequence[str]) -> dict[str, Any]:
    # a large site has millions of cells, but few different numbers
    percents: dict[Optional[float], Optional[float]] = {}
    return image(
        "%{y}<br>%{x}: %{z} %",
        x0=iso_day(days.start),
        dx=DAY_MS,
        y=list(names),
        z=[[percents.setdefault(cell, cell) for cell in _percents(line, days)] for line in lines],
        zmin=_LOW,
        zmax=_HIGH,
        colorbar={"title": {"text": "%"}, "thickness": 10, "x": 1.02},
    )


def _percents(line: Line, days: range) -> list[Optional[float]]:
    reference = line.member.baseline_rate or line.median
    percents = (100 * line.member.days.over(days) / reference).round(1)
    return _without(np.isnan(percents), percents)


def _without(missing: NDArray[np.bool_], values: NDArray[Any]) -> list[Any]:
    """Return values as a list, None for the missing: a large site has millions."""
    cells: list[Any] = values.tolist()
    for place in np.flatnonzero(missing).tolist():
        cells[place] = None
    return cells


def _bars(lines: Sequence[Line], names: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "xaxis": "x2",
        "x": [None if line.variation is None else round(100 * line.variation, 2) for line in lines],
        "y": list(names),
        "marker": {"color": BLUE},
        "hovertemplate": "%{y}<br>varies by %{x} %<extra></extra>",
    }


def _cells(line: Line) -> tuple[str, ...]:
    rates = line.member.days.rates()
    return (
        line.metric.layer,
        line.member.entry.group,
        line.member.name,
        line.metric.step,
        str(len(rates)),
        line.metric.quantity.format(line.median),
        percent(float(rates.min()) / (line.member.baseline_rate or line.median)),
        "" if line.variation is None else f"{100 * line.variation:.1f} %",
    )


def _numbers(line: Line, days: range) -> Sequence[Cell]:
    return (
        line.metric.layer,
        line.member.entry.group,
        line.member.name,
        line.metric.operation,
        line.metric.scenario,
        None if line.variation is None else round(line.variation, 5),
        *_whole(line.member.days.over(days)),
    )


def _whole(rates: NDArray[np.float64]) -> list[Optional[int]]:
    """Return whole numbers, None for NaN."""
    missing = np.isnan(rates)
    return _without(missing, np.where(missing, 0.0, rates).round().astype(np.int64))
