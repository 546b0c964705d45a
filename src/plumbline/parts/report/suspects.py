"""Suspects: components that explain slow measurements, with the measurements as evidence."""

from __future__ import annotations

from typing import Any, Sequence

from plumbline.model.suspects import Crossing, Suspects, SuspectSet
from plumbline.parts.report.figure import BLUE, RED, Cell, Figure, Plot, Row, Table, scatter, shown

ABOUT = (
    "The smallest set of components that explains every slow measurement (plumbline locate). Each "
    "column is a suspect, or several that are ambiguous; each mark a measurement that "
    "crosses it, in percent of what is expected: slow ones speak against it, fast ones for it."
)
_COLUMN = 0.6
_FAST = 60
"""Most fast measurements drawn for one suspect; the table has all."""


def suspects_figure(suspects: Suspects) -> Figure:
    """Return the figure; absent if nothing could be located or nothing is slow."""
    figure = Figure("suspects", "Suspects", ABOUT)
    if suspects.unknown:
        return figure._replace(absent=suspects.unknown)
    sentences = (suspect_set.sentence for suspect_set in suspects.sets)
    finding = "\n".join([*sentences, *suspects.remarks])
    if not suspects.sets:
        return figure._replace(finding=finding, absent="no component is a suspect")
    lines = [(_name(each), line) for each in suspects.sets for line in each.rows]
    headers = ("suspects", *suspects.headers)
    numbers: list[Sequence[Cell]] = [headers, *((name, *line) for name, line in lines)]
    return figure._replace(
        finding=finding,
        plots=[_plot(suspects.sets)],
        table=Table(headers, [Row((name, *line)) for name, line in lines]),
        numbers=numbers,
    )


def _name(suspect_set: SuspectSet) -> str:
    return " or ".join(" and ".join(names) for names in suspect_set.alternatives)


def _plot(sets: Sequence[SuspectSet]) -> Plot:
    slow: list[tuple[float, Crossing]] = []
    fast: list[tuple[float, Crossing]] = []
    for place, suspect_set in enumerate(sets):
        slow += _column(place, suspect_set.slow)
        fast += _column(place, suspect_set.fast[:_FAST])
    layout = {
        "xaxis": {
            "tickvals": list(range(len(sets))),
            "ticktext": [shown(_name(suspect_set)) for suspect_set in sets],
            "range": [-0.6, len(sets) - 0.4],
            "automargin": True,
        },
        "yaxis": {"title": {"text": "% of what is expected"}, "range": [0, 130]},
        # also for a single kind, because only the legend explains the symbols
        "showlegend": True,
    }
    data = [
        _trace("slow", {"color": RED, "symbol": "x", "size": 11}, slow),
        _trace("fast", {"color": BLUE, "symbol": "circle-open", "size": 8}, fast),
    ]
    return Plot("what crosses the suspects", [trace for trace in data if trace["x"]], layout, 420)


def _column(index: int, crossings: Sequence[Crossing]) -> list[tuple[float, Crossing]]:
    step = _COLUMN / max(1, len(crossings) - 1)
    start = index - _COLUMN / 2 if len(crossings) > 1 else float(index)
    return [
        (round(start + step * number, 3), crossing) for number, crossing in enumerate(crossings)
    ]


def _trace(
    name: str, marker: dict[str, Any], crossings: Sequence[tuple[float, Crossing]]
) -> dict[str, Any]:
    return scatter(
        "markers",
        name,
        "%{text}<br>%{y} % of what is expected",
        x=[place for place, _ in crossings],
        y=[round(100 * crossing.share, 1) for _, crossing in crossings],
        text=[shown(crossing.name) for _, crossing in crossings],
        marker=marker,
    )
