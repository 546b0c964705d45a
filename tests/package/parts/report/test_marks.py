"""Notes and version changes are marks; the latest with later measurements is the default."""

from __future__ import annotations

import pytest

from plumbline.model.trend import ConditionChange, Note, VersionChange
from plumbline.parts.report.marks import chosen_moment, drawn, marks
from plumbline.parts.report.site import Member, Site, find_metrics
from tests.package.parts.report.years import DAY_S, NOW

TODAY = int(NOW // DAY_S)
MONTH_AGO = (TODAY - 30) * DAY_S
LAST_NIGHT = NOW - 7200


def members(site: Site) -> list[Member]:
    return [member for group in find_metrics(site).values() for member in group]


def upgrade(at: float, components: int = 6) -> VersionChange:
    return VersionChange(at, "client", "2.15.7", "2.15.8", components, 6)


def test_without_a_mark_the_default_is_a_month_ago(site: Site) -> None:
    assert chosen_moment(site, members(site)) == MONTH_AGO
    assert chosen_moment(site, []) == MONTH_AGO


@pytest.mark.parametrize(
    ("noted", "changed", "chosen"),
    [
        ([LAST_NIGHT - 60], [], LAST_NIGHT - 60),
        ([NOW - 60], [], MONTH_AGO),
        ([NOW - 9 * DAY_S, NOW - 60], [], NOW - 9 * DAY_S),
        ([NOW - 9 * DAY_S], [upgrade(LAST_NIGHT)], LAST_NIGHT),
        ([NOW - 9 * DAY_S], [upgrade(LAST_NIGHT, components=1)], NOW - 9 * DAY_S),
        ([NOW - 9 * DAY_S], [upgrade(NOW - 20 * DAY_S)], NOW - 9 * DAY_S),
    ],
    ids=["last night", "not yet measured", "the one before", "version", "a single one", "older"],
)
def test_the_default_is_the_latest_mark_of_the_site_with_later_measurements(
    site: Site, noted: list[float], changed: list[VersionChange], chosen: float
) -> None:
    site = site._replace(notes=[Note(at, "note") for at in noted], changes=changed)
    assert chosen_moment(site, members(site)) == chosen


def test_marks_are_in_the_order_of_time(site: Site) -> None:
    site = site._replace(notes=[Note(NOW - 10, "late")], changes=[upgrade(NOW - 20, components=2)])
    assert [mark.text for mark in marks(site)] == [
        "client 2.15.7 -> 2.15.8 (2 of 6 components)",
        "late",
    ]


def test_only_the_latest_of_many_marks_are_drawn(site: Site) -> None:
    notes = [Note(NOW - day * DAY_S, f"note {day}") for day in range(30)]
    all_marks = marks(site._replace(notes=notes, changes=[upgrade(NOW - 25 * DAY_S)]))
    lines, words = drawn(all_marks, NOW - 27 * DAY_S)
    assert len(lines) == 13
    assert [word["text"] for word in words][:2] == ["client 2.15.7 -&gt; 2.15.8", "note 11"]


def test_condition_changes_are_marks_and_wide_ones_start_an_era(site: Site) -> None:
    host, hosts = frozenset({"oss07"}), frozenset({"oss01", "oss07"})
    narrow = ConditionChange(LAST_NIGHT - 10, "scheduler none -> bfq on oss07", False, host)
    wide = ConditionChange(LAST_NIGHT - 20, "Lustre 2.3.0 -> 2.4.0 on all 24 servers", True, hosts)
    changed = site._replace(conditions=[narrow, wide])
    assert [mark.text for mark in marks(changed)] == [wide.text, narrow.text]
    assert [mark.concerns({"oss02"}) for mark in marks(changed)] == [True, False]
    assert all(mark.concerns({"oss07"}) for mark in marks(changed))
    assert chosen_moment(changed, members(site)) == LAST_NIGHT - 20
    lines, words = drawn(marks(changed), 0.0)
    assert (len(lines), words[0]["text"]) == (2, "Lustre 2.3.0 -&gt; 2.4.0 on all 24 servers")
