"""Change of each test in percent since a day, with notes and version changes."""

from __future__ import annotations

import pytest

from plumbline.model.quantity import BYTES_PER_S
from plumbline.model.trend import Note, VersionChange
from plumbline.parts.report.change import change_figure, find_change, split
from plumbline.parts.report.site import Metric, Metrics, Site, daily, find_metrics
from plumbline.plan.expectations import compile_plan
from plumbline.plan.policy import load
from tests.package.parts.locate.scenes import both, lab
from tests.package.parts.report.sites import days_of, sick
from tests.package.parts.report.years import DAY_S, NOW, Year

TODAY = int(NOW // DAY_S)
LINKS = Year(60, {"client1-nic": both(60e6)}, since=10, noise=0.001)
WRITES = Metric("ost", "write", "single")
LOST = 60 / 119.6 - 1
"""Loss of writes through a link with only 60 MB/s."""


def slow_link(since: int) -> tuple[Site, Metrics]:
    """Return the lab with a slow link of the client for this number of days."""
    site = sick(LINKS._replace(since=since))
    return site, find_metrics(site)


@pytest.mark.slow
def test_a_test_is_compared_with_the_two_weeks_before_the_day() -> None:
    _, metrics = slow_link(since=10)
    test = find_change("ost write", BYTES_PER_S, metrics[WRITES], (TODAY - 9) * DAY_S)
    assert test is not None
    assert test.members == 6
    assert test.days[TODAY - 20] == pytest.approx(0, abs=0.01)
    assert test.days[TODAY] == pytest.approx(LOST, abs=0.02)
    assert test.before == pytest.approx(107.6e6, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("nights", [1, 2, 5, 10])
def test_a_change_is_complete_from_its_first_night_on(nights: int) -> None:
    _, metrics = slow_link(since=nights)
    test = find_change("ost write", BYTES_PER_S, metrics[WRITES], (TODAY - nights + 1) * DAY_S)
    assert test is not None
    assert test.change == pytest.approx(LOST, abs=0.01)
    assert test.latest == pytest.approx(54e6, rel=0.01)
    assert test.days[TODAY - nights] == pytest.approx(0, abs=0.01)
    assert test.days[TODAY - nights + 1] == pytest.approx(LOST, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("day", "change"), [(TODAY - 4, LOST / 2), (TODAY - 3, LOST)], ids=["the day before", "the day"]
)
def test_the_day_itself_belongs_to_the_later_period(day: int, change: float) -> None:
    _, metrics = slow_link(since=4)
    member, end = metrics[WRITES][0], (TODAY - 2) * DAY_S
    runs = [run for run in zip(member.times, member.rates) if run[0] < end]
    cut = member._replace(
        times=[at for at, _ in runs],
        rates=[rate for _, rate in runs],
        days=days_of({number: rate for number, rate in member.days.items() if number < TODAY - 2}),
    )
    test = find_change("ost write", BYTES_PER_S, [cut], day * DAY_S)
    assert test is not None
    assert test.change == pytest.approx(change, abs=0.01)


def test_a_change_in_the_middle_of_a_day_splits_its_runs() -> None:
    _, metrics = slow_link(since=0)
    member = metrics[WRITES][0]
    noon = (TODAY - 1) * DAY_S + 43200
    before = [(noon - 3600 - day * DAY_S, 100.0) for day in range(5)]
    times, rates = zip(*before, (noon + 3600, 30.0))
    runs = member._replace(times=times, rates=rates, days=daily(times, rates, NOW))
    test = find_change("ost write", BYTES_PER_S, [runs], noon)
    assert test is not None
    assert (test.before, test.latest) == (100.0, 30.0)
    assert test.change == pytest.approx(-0.7)
    assert test.days[TODAY - 1] == pytest.approx(-0.7)


def test_a_test_not_measured_before_the_day_has_no_change(site: Site, metrics: Metrics) -> None:
    assert find_change("ost", BYTES_PER_S, metrics[WRITES], (TODAY - 300) * DAY_S) is None
    figure = change_figure(site, metrics, (TODAY - 300) * DAY_S)
    assert "choose another day with --against" in figure.absent


def test_a_test_not_measured_since_the_day_is_reported(site: Site) -> None:
    figure = change_figure(site, find_metrics(site, NOW), NOW)
    assert figure.finding == "Nothing has been measured since 2026-09-21."
    assert {row.cells[-3:] for row in figure.table.rows} == {("not measured since", "", "")}


def test_a_slower_release_is_reported_the_next_day() -> None:
    site, _ = slow_link(since=1)
    upgrade = VersionChange(NOW - 7200, "client", "2.3.0", "2.4.0", 6, 6)
    upgraded = site._replace(changes=[upgrade])
    figure = change_figure(upgraded, find_metrics(upgraded))
    first, second, third = figure.finding.splitlines()
    assert first.startswith("The largest change: ost ")
    assert float(first.split()[-2]) == pytest.approx(100 * LOST, abs=1)
    assert second.startswith("Also: ost ")
    assert third == "On 2026-09-21: client 2.3.0 -> 2.4.0."


@pytest.mark.slow
@pytest.mark.parametrize("nights", [1, 6])
def test_a_recent_change_without_a_mark_is_reported_the_next_day(nights: int) -> None:
    """The median of two weeks shows the change only after a week."""
    site, metrics = slow_link(since=nights)
    figure = change_figure(site, metrics)
    assert figure.title == "Change against 2026-08-22"
    (writes,) = [row.cells for row in figure.table.rows if row.cells[0] == "ost write"]
    assert abs(float(writes[-2].split()[0])) < 1
    assert float(writes[-1].split()[0]) == pytest.approx(100 * LOST, abs=1)
    first = figure.finding.splitlines()[0]
    assert first.startswith("On the last day alone: ")
    assert f"ost write {writes[-1]}" in first


@pytest.mark.slow
def test_an_old_change_is_not_reported_twice() -> None:
    site, metrics = slow_link(since=20)
    assert "On the last day alone" not in change_figure(site, metrics).finding


def test_notes_and_version_changes_are_marked_with_their_text(site: Site) -> None:
    site = site._replace(
        notes=[Note(NOW - 20 * DAY_S, "Lustre <2.15.8>")],
        changes=[VersionChange(NOW - 30 * DAY_S, "server", "2.15.7", "2.15.8", 2, 6)],
    )
    figure = change_figure(site, find_metrics(site))
    (plot,) = figure.plots
    assert figure.title == "Change against 2026-09-01"
    assert [note["text"] for note in plot.layout["annotations"]] == [
        "compared with the days before",
        "server 2.15.7 -&gt; 2.15.8 (2 of 6 components)",
        "Lustre &lt;2.15.8&gt;",
    ]
    assert len({shape["line"]["color"] for shape in plot.layout["shapes"]}) == 3
    assert len(plot.data) == 6


def test_a_change_that_rounds_to_nothing_has_no_sign() -> None:
    site = sick(Year(60, noise=0.0))
    figure = change_figure(site, find_metrics(site))
    assert {row.cells[-2:] for row in figure.table.rows} == {("0.0 %", "0.0 %")}


def test_each_test_of_all_targets_is_compared_alone() -> None:
    policy = load({"schema": 1, "layers": {"fs": {"clients": ["client1"]}}})
    entries = compile_plan(lab(), policy, {}).expectations["client1"]
    reads = Metric("fs", "read", "together")
    metrics = find_metrics(Site("lab", NOW, entries, {}, {}, {}, []))
    rows = split(reads, metrics[reads])
    assert len(rows.pop("fs read together scratch")) == 6
    assert all(len(members) == 1 for members in rows.values())
    assert "fs read together scratch:mpiio-shared-10k as a whole" in rows
    assert len(rows) == 7
