"""The measurements around a moment of the past, with what was known of their components then."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import moment as words_of
from plumbline.model.state import State
from plumbline.report.figure import Cell, Figure, Plot, Row, Table, counted, megabytes, shown
from plumbline.report.marks import moment as x_of
from plumbline.report.moment import time_layout
from plumbline.report.palette import mark
from plumbline.report.past import Past
from plumbline.symptoms.evidence import ORDER
from plumbline.units import format_rate


class PastRun(NamedTuple):
    """One measurement of that time; ``state`` and ``sentence`` are the verdict at the end of it."""

    layer: str
    component: str
    step: str
    node: str
    started_at: float
    outcome: str
    rate_Bps: Optional[float]
    coverage: Optional[float]
    state: State
    sentence: str


class Probed(NamedTuple):
    """The measurements of that time, and a sentence on what is not there, empty for nothing."""

    runs: Sequence[PastRun]
    remark: str = ""


_ABOUT = (
    "What plumbline measured in this time, and the verdict on the component at the end of it, by "
    "the runs until then and the expectations of today."
)
_HEADERS = ("begun", "node", "component", "operation", "rate", "coverage", "state", "verdict")
_NUMBERS = ("at", "node", "layer", "component", "operation", "rate_Bps", "coverage", "state")


def past_runs_figure(past: Past, probed: Probed) -> Figure:
    """Return the figure: measurements by time and rate, and a table with the verdicts."""
    hour = f"{words_of(past.begin)} to {words_of(past.end)}"
    figure = Figure("moment-probes", f"Probes around {words_of(past.at)}", _ABOUT)
    if not probed.runs:
        why = probed.remark or f"nothing was measured from {hour}"
        return figure._replace(absent=why)
    runs = sorted(probed.runs, key=lambda run: (ORDER.index(run.state), run.started_at))
    states = [run.state for run in runs]
    words = ", ".join(f"{states.count(one)} {one.name}" for one in ORDER if one in states)
    drawn = any(run.rate_Bps is not None for run in runs)
    return figure._replace(
        finding=f"{counted(len(runs), 'measurement')}: {words}. {probed.remark}".strip(),
        plots=[_plot(past, runs)] if drawn else (),
        absent="" if drawn else "no measurement of this time gave a rate; the table says why",
        table=Table(_HEADERS, [Row(_cells(run)) for run in runs]),
        numbers=[_NUMBERS, *map(_numbers, runs)],
    )


def _plot(past: Past, runs: Sequence[PastRun]) -> Plot:
    layout = time_layout(past)
    layout["yaxis"] = {"title": {"text": "MB/s"}, "rangemode": "tozero"}
    known = [run for run in runs if run.rate_Bps is not None]
    by_state = {state: [run for run in known if run.state is state] for state in ORDER}
    traces = [_trace(state, found) for state, found in by_state.items() if found]
    return Plot("measurements by when they began", traces, layout)


def _trace(state: State, runs: Sequence[PastRun]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": state.name,
        "x": [x_of(run.started_at) for run in runs],
        "y": [megabytes(run.rate_Bps) for run in runs],
        "text": [shown(f"{run.component} {run.step}") for run in runs],
        "marker": mark(state),
        "hovertemplate": f"%{{text}} {state.name}<br>%{{x}}: %{{y}} MB/s<extra></extra>",
    }


def _cells(run: PastRun) -> tuple[str, ...]:
    begun = datetime.fromtimestamp(run.started_at, timezone.utc).strftime("%H:%M:%S")
    rate = run.outcome if run.rate_Bps is None else format_rate(run.rate_Bps)
    coverage = "" if run.coverage is None else f"{run.coverage:.2f}"
    return (begun, run.node, run.component, run.step, rate, coverage, run.state.name, run.sentence)


def _numbers(run: PastRun) -> Sequence[Cell]:
    known = run.started_at, run.node, run.layer, run.component, run.step
    return (*known, run.rate_Bps, run.coverage, run.state.name)
