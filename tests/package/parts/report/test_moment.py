"""A moment of the past: gaps, hostile names, and missing data."""

from __future__ import annotations

import pytest

from plumbline.model.quantity import SECONDS
from plumbline.model.verdict import State
from plumbline.parts.report.figure import Figure
from plumbline.parts.report.moment import (
    LATENCY,
    OTHERS,
    READ,
    WRITE,
    Chart,
    Line,
    Past,
    PastRun,
    Probed,
)
from plumbline.parts.report.page import Extras
from tests.package.parts.report.sites import HOSTILE, draw
from tests.package.parts.report.test_drawn_figures import EMPTY, assert_valid

AT = 1_795_000_020.0
MINUTES = [AT + 60 * minute for minute in range(-30, 31)]


def steady(name: str, value: float, *gap: float) -> Line:
    return Line(name, tuple((at, value) for at in MINUTES if at not in gap))


def past(**changes: object) -> Past:
    charts = (
        Chart("OST", READ, (steady("OST0", 5e6), steady(OTHERS, 1e6))),
        Chart("OST", WRITE, (steady("OST0", 1e6), steady("OST1", 8e6, AT, AT + 60))),
        Chart("OST", LATENCY, (steady("OST0", 0.0125),)),
        Chart("client", READ, (steady("c1:9100", 3e6),)),
    )
    recovering = (("OST1", Line("waiting", ((AT, 1.0), (AT + 60, 1.0)))),)
    moment = Past(AT, MINUTES[0], MINUTES[-1], charts, recovering, ("Nobody counted OST9",))
    return moment._replace(**changes)  # type: ignore[arg-type]


def run(state: State = State.OK, rate: object = 1e8, name: str = "OST1") -> PastRun:
    outcome = "failed" if rate is None else "ok"
    probe = PastRun("ost", name, "write", "c1", AT, outcome, 1e8, 0.98, state, f"{name}: fine")
    return probe._replace(rate=rate)  # type: ignore[arg-type]


def figures(moment: Past, *runs: PastRun, remark: str = "") -> tuple[Figure, Figure]:
    first, second, *_ = all_figures = draw(EMPTY, Extras(past=moment, probed=Probed(runs, remark)))
    assert_valid(all_figures)
    assert (first.id, second.id) == ("moment", "moment-probes")
    return first, second


def test_without_a_moment_there_is_no_figure_of_it() -> None:
    assert draw(EMPTY, Extras())[0].id == "path"


def test_the_table_shows_the_moment_with_the_busiest_first() -> None:
    figure, _ = figures(past())
    assert [row.cells for row in figure.table.rows] == [
        ("OST", "OST0", "5.0 MB/s", "1.0 MB/s", "", "", "12.5 ms", "", "", ""),
        ("OST", OTHERS, "1.0 MB/s", "", "", "", "", "", "", ""),
        ("OST", "OST1", "", "", "", "", "", "", "", "waiting"),
        ("client", "c1:9100", "3.0 MB/s", "", "", "", "", "", "", ""),
    ]
    assert figure.finding == "Nobody counted OST9.\n1 target in recovery or waiting for it."


def test_a_judged_time_of_calls_is_in_seconds() -> None:
    tail = run(rate=1 / 0.012)._replace(step="randread p99.9", quantity=SECONDS)
    _, figure = figures(past(), tail)
    assert "12.0 ms" in figure.table.rows[0].cells
    assert [*figure.numbers][1][5:7] == (pytest.approx(0.012), "s")


def test_gaps_are_kept_and_the_moment_is_marked() -> None:
    figure, _ = figures(past())
    _, gap = figure.plots[1].data
    assert gap["y"].count(None) == 1
    assert len(gap["y"]) == len(MINUTES) - 1
    assert {plot.layout["shapes"][0]["x0"] for plot in figure.plots} == {"2026-11-18 11:07:00"}


def test_targets_in_recovery_are_drawn_without_traffic() -> None:
    figure, _ = figures(past(charts=()))
    assert [plot.title for plot in figure.plots] == ["targets in recovery"]


def test_missing_counters_are_reported_and_probes_are_drawn() -> None:
    figure, probes = figures(
        past(charts=(), recovering=(), remarks=("http://p does not answer",)), run()
    )
    assert figure.absent == "http://p does not answer"
    assert probes.plots


@pytest.mark.parametrize(
    ("runs", "remark", "absent"),
    [
        ((), "", "nothing was measured from 2026-11-18 10:37 UTC to 2026-11-18 11:37 UTC"),
        ((), "up to 2026-11-20 all is daily", "up to 2026-11-20 all is daily"),
        ((run(rate=None),), "", "no measurement of this time gave a rate"),
    ],
)
def test_a_time_without_rates_gets_a_reason(
    runs: tuple[PastRun, ...], remark: str, absent: str
) -> None:
    _, probes = figures(past(), *runs, remark=remark)
    assert probes.absent.startswith(absent)


def test_the_worst_measurement_comes_first() -> None:
    _, probes = figures(past(), run(), run(State.CRITICAL, name="OST7"), run(rate=None))
    assert [row.cells[2] for row in probes.table.rows] == ["OST7", "OST1", "OST1"]
    assert probes.table.rows[2].cells[4] == "failed"
    assert probes.finding == "3 measurements: 1 CRITICAL, 2 OK."


def test_hostile_names_are_text() -> None:
    lines = tuple(steady(name, 1e6) for name in HOSTILE)
    recovering = tuple((name, Line(name, ((AT, 1.0),))) for name in HOSTILE)
    charts = (Chart("OST", READ, lines),)
    figure, probes = figures(
        past(charts=charts, recovering=recovering), *(run(name=name) for name in HOSTILE)
    )
    text = str([plot.data for chart in (figure, probes) for plot in chart.plots])
    assert "&lt;script&gt;alert(1)" in text
    assert "<script" not in text
    assert "<img" not in text
