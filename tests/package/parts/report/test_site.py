"""Expected and measured operations become metrics with their members."""

from __future__ import annotations

from array import array
from math import isnan, nan
from pathlib import Path

import pytest

from plumbline.model.layers.mdt import MDT
from plumbline.model.trend import Course, Note
from plumbline.model.units import DAY_S
from plumbline.model.verdict import State
from plumbline.parts.report.page import pages
from plumbline.parts.report.site import Metric, Metrics, Site, find_metrics, spanned
from tests.package.parts.locate.scenes import lab
from tests.package.parts.report.sites import days_of, read, sick
from tests.package.parts.report.years import NOW, Year, document, plan_of, records, write
from tests.package.records import record


def test_each_operation_of_a_layer_is_a_metric(metrics: Metrics) -> None:
    assert [str(of) for of in metrics] == [
        "raw read",
        "raw read together",
        "net send",
        "net receive",
        "ost write",
        "ost read",
    ]


def test_a_member_has_its_references_its_verdict_and_its_latest_rate(metrics: Metrics) -> None:
    member = next(
        member for member in metrics[Metric("raw", "read", "single")] if member.name == "oss2-disk1"
    )
    assert member.state is State.CRITICAL
    assert member.ceiling_rate == 200e6
    assert member.baseline_rate == pytest.approx(180e6)
    assert member.now_rate == pytest.approx(72e6, rel=0.02)
    assert len(member.days) == 40
    assert "oss2-disk1" in member.sentence


def test_a_day_is_the_median_of_its_successful_runs() -> None:
    site = sick(Year(1))
    day = NOW - NOW % DAY_S
    times = array("d", [day + 1, day + 2, day + 3, day + DAY_S])
    course = Course("ost", "scratch-OST0000", "read", "single", "", times, array("d"))
    rates = array("d", [100.0, 300.0, 120.0, nan])
    metrics = find_metrics(site._replace(courses=[course._replace(rates=rates)]))
    member = metrics[Metric("ost", "read", "single")][0]
    assert member.days == {int(day // DAY_S): 120.0}
    assert (member.now_rate, member.now_at) == (120.0, day + 3)


def test_a_host_with_many_partners_is_one_member(metrics: Metrics) -> None:
    hosts = metrics[Metric("net", "send", "single")]
    assert [host.name for host in hosts] == ["oss1", "oss2", "oss3", "client1"]
    assert all(host.ceiling_rate for host in hosts)


def test_an_unmeasured_member_has_no_rate(site: Site) -> None:
    metrics = find_metrics(site._replace(courses=[], verdicts={}))
    member = metrics[Metric("ost", "write", "single")][0]
    assert (member.now_rate, dict(member.days), member.state) == (None, {}, State.UNKNOWN)
    assert member.sentence == "scratch-OST0000 was not judged"


def test_runs_from_the_future_are_not_drawn_and_reported() -> None:
    site = sick(Year(3))
    moments = array("d", [NOW - DAY_S, NOW + 3600, NOW + 40_000 * DAY_S])
    course = Course("ost", "scratch-OST0000", "read", "single", "", moments, array("d", [1, 2, 3]))
    wrong = site._replace(courses=[course])
    member = find_metrics(wrong)[Metric("ost", "read", "single")][0]
    assert sorted(member.days.values()) == [1, 2]
    assert member.now_rate == 2
    assert "after this report and not drawn: 1." in pages(wrong, [])["index.html"]
    assert "after this report" not in pages(site, [])["index.html"]
    assert pages(wrong.without_runs(), []) == pages(wrong, [])


def test_a_course_without_runs_keeps_its_last_figure_and_those_from_the_future() -> None:
    site = sick(Year(3))
    moments = array("d", [NOW - 9 * DAY_S, NOW - 8 * DAY_S, NOW - DAY_S, NOW + 3 * DAY_S])
    rates = array("d", [1, 2, 3, 4])
    course = Course("ost", "scratch-OST0000", "read", "single", "", moments, rates, days=2)
    whole = site._replace(courses=[course, course._replace(layer="fs")])
    short = whole.without_runs()
    assert [len(course.times) for course in short.courses] == [2, 4]
    assert (short.thinned_until(), short.dated_later()) == ("2026-09-13", 2)
    assert (whole.thinned_until(), whole.dated_later()) == ("2026-09-13", 2)


def test_single_runs_are_kept_on_days_split_by_a_mark(site: Site, metrics: Metrics) -> None:
    metric = Metric("ost", "read", "single")
    noon = NOW // DAY_S * DAY_S - 2.5 * DAY_S
    noted = site._replace(notes=[Note(noon, "Lustre"), Note(noon - DAY_S / 2, "at midnight")])
    for split in (find_metrics(noted), find_metrics(site, noon)):
        assert [at // DAY_S for at in split[metric][0].times] == [noon // DAY_S]
    assert not metrics[metric][0].times


# --- Rates by day, a compact mapping.


RATES = {3: 1.0, 4: 2.0, 7: 5.0}


def test_a_range_selects_its_days() -> None:
    days = days_of(RATES)
    for start in range(10):
        for stop in range(start, 10):
            expected = [rate for day, rate in RATES.items() if start <= day < stop]
            assert days.among(range(start, stop)) == expected


def test_days_without_a_rate_are_nan() -> None:
    assert [None if isnan(rate) else rate for rate in days_of(RATES).over(range(2, 9))] == [
        *(None, 1.0, 2.0, None, None, 5.0, None)
    ]


def test_several_members_span_the_time_of_all() -> None:
    assert spanned([days_of(RATES), days_of({1: 1.0}), days_of({5: 1.0})]) == range(1, 8)


def test_a_run_of_metadata_is_not_drawn_by_its_seconds(tmp_path: Path) -> None:
    plan = plan_of(lab())
    calls = record(layer="mdt", operation=MDT.operations[0], started_at=NOW - 60)
    both = write(tmp_path, document(plan), [*records(plan, Year(1)), calls])
    drawn = read(*both).run
    assert drawn is not None
    assert drawn.layer == "ost"
