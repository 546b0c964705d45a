"""Suspects: components that explain slow measurements, with the measurements as evidence."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional, Sequence

from plumbline.locate.next_probe import NextProbe
from plumbline.locate.observation import Observation, Vote
from plumbline.locate.sentences import HEADERS, remarks, rows, sentence, summary
from plumbline.locate.suspects import AmbiguitySet, Located
from plumbline.model.service import SitePart
from plumbline.model.verdict import State
from plumbline.parts.report.figure import BLUE, RED, Cell, Figure, Plot, Row, Table, scatter, shown

ABOUT = (
    "The smallest set of components that explains every slow measurement (plumbline locate). Each "
    "column is a suspect, or several that are ambiguous; each mark a measurement that "
    "crosses it, in percent of what is expected: slow ones speak against it, fast ones for it."
)
_COLUMN = 0.6
_FAST = 60
"""Most fast measurements drawn for one suspect; the table has all."""


class Suspects(NamedTuple):
    """Located suspects, the measurement that would divide each set, and shared losses.

    ``states`` are those of the sets in the monitoring system.  ``jobs`` are sentences on the jobs
    that used slow targets at the time.
    """

    located: Located
    probes: Sequence[Optional[NextProbe]]
    states: Sequence[State]
    shared: Sequence[str] = ()
    jobs: Sequence[str] = ()


def suspects_figure(suspects: Optional[Suspects], parts: Mapping[str, SitePart]) -> Figure:
    """Return the figure; absent if nothing could be located or nothing is slow."""
    figure = Figure("suspects", "Suspects", ABOUT)
    if suspects is None:
        return figure._replace(
            absent="the plan is of an older version and does not say what the parts are; write it "
            "again with plumbline plan --json"
        )
    located = suspects.located
    sentences = [
        sentence(located, ambiguity_set, parts, probe)
        for ambiguity_set, probe in zip(located.sets, suspects.probes)
    ]
    sentences += [*suspects.shared, *remarks(located, parts), *suspects.jobs, summary(located)]
    finding = "\n".join(sentences)
    if not located.sets:
        return figure._replace(finding=finding, absent="no component is a suspect")
    lines = [
        (_name(ambiguity_set), line)
        for ambiguity_set in located.sets
        for line in rows(located, ambiguity_set)
    ]
    headers = ("suspects", *HEADERS)
    numbers: list[Sequence[Cell]] = [headers, *((name, *line) for name, line in lines)]
    return figure._replace(
        finding=finding,
        plots=[_plot(located)],
        table=Table(headers, [Row((name, *line)) for name, line in lines]),
        numbers=numbers,
    )


def _name(ambiguity: AmbiguitySet) -> str:
    return " or ".join(" and ".join(names) for names in ambiguity.alternatives)


def _plot(located: Located) -> Plot:
    slow: list[tuple[float, Observation]] = []
    fast: list[tuple[float, Observation]] = []
    for place, ambiguity_set in enumerate(located.sets):
        slow += _column(place, [located.observations[index] for index in ambiguity_set.explains])
        passes = sorted({index for part in ambiguity_set.suspects for index in part.passes})
        fast += _column(place, [located.observations[index] for index in passes[:_FAST]])
    layout = {
        "xaxis": {
            "tickvals": list(range(len(located.sets))),
            "ticktext": [shown(_name(ambiguity_set)) for ambiguity_set in located.sets],
            "range": [-0.6, len(located.sets) - 0.4],
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


def _column(index: int, observations: Sequence[Observation]) -> list[tuple[float, Observation]]:
    """Return the observations of one column, side by side."""
    step = _COLUMN / max(1, len(observations) - 1)
    start = index - _COLUMN / 2 if len(observations) > 1 else float(index)
    return [
        (round(start + step * number, 3), observation)
        for number, observation in enumerate(observations)
    ]


def _trace(
    name: str, marker: dict[str, Any], observations: Sequence[tuple[float, Observation]]
) -> dict[str, Any]:
    votes = [
        (place, observation)
        for place, observation in observations
        if observation.vote is not Vote.NONE
    ]
    return scatter(
        "markers",
        name,
        "%{text}<br>%{y} % of what is expected",
        x=[place for place, _ in votes],
        y=[round(100 * observation.ratio, 1) for _, observation in votes],
        text=[shown(observation.of.name) for _, observation in votes],
        marker=marker,
    )
