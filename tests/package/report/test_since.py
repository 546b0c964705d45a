"""The day on which a loss began is the first that lost half of what is lost now."""

from __future__ import annotations

from typing import Mapping, Optional

import pytest

from plumbline.report.marks import Mark
from plumbline.report.overview import Beginnings, Since
from plumbline.report.site import Days, Member, Metric, Metrics
from tests.package.report.years import DAY_S, NOW

READ = Metric("ost", "read", "single")
WRITE = Metric("ost", "write", "single")
TODAY = int(NOW // DAY_S)


@pytest.fixture
def member(metrics: Metrics) -> Member:
    return metrics[READ][0]


def percent(member: Member, *course: Optional[int]) -> Member:
    """Return a member that gave so many percent of its baseline, day after day, from day 1 on."""
    base = member.baseline_rate
    assert base
    days = {
        day: value / 100 * base for day, value in enumerate(course, start=1) if value is not None
    }
    return member._replace(days=Days(days))


def found(member: Member, other: Optional[Member] = None) -> Optional[Since]:
    metrics: Metrics = {READ: [member], WRITE: [other or member]}
    return Beginnings(metrics).find("ost", member.name)


@pytest.mark.parametrize(
    ("course", "since"),
    [
        ((100, 100, 60, 60), Since(3, 2)),
        ((100, 100, 100, 60), Since(4, 3)),
        ((100, None, None, 60), Since(4, 1)),
        ((60, 60, 60), Since(1, None)),
        ((100, 99, 96), None),
        ((100, 60, 100, 60, 60), Since(2, 1)),
        ((60, 100, 100, 60, 60), Since(4, 3)),
        ((100, 81, 79, 60), Since(3, 2)),
        ((60, 60, 100), None),
    ],
    ids=[
        "a step",
        "last night",
        "after a gap",
        "from the first day on",
        "not low",
        "one good day",
        "an earlier loss",
        "half of the loss",
        "healed",
    ],
)
def test_a_loss_began_on_the_first_low_day(
    member: Member, course: tuple[Optional[int], ...], since: Optional[Since]
) -> None:
    assert found(percent(member, *course)) == since


def test_the_operation_that_has_lost_most_decides(member: Member) -> None:
    reads, writes = percent(member, 80, 80, 80), percent(member, 100, 100, 50)
    assert found(reads, writes) == Since(3, 2)


def test_without_a_baseline_the_group_is_the_reference(metrics: Metrics) -> None:
    metrics = {
        of: [one._replace(reference=one.reference._replace(baseline=None)) for one in members]
        for of, members in metrics.items()
    }
    since = Beginnings(metrics).find("ost", "scratch-OST0002")
    assert since == Since(TODAY - 4, TODAY - 5)


def test_what_is_not_measured_has_no_beginning(member: Member) -> None:
    assert found(member._replace(days=Days({}))) is None
    assert Beginnings({}).find("ost", "nobody") is None


@pytest.mark.parametrize(
    ("at", "text"),
    [
        ({}, "1970-01-04"),
        ({1.5: "before"}, "1970-01-04"),
        ({2.0: "client 1 -> 2", 3.9: "new cable"}, "1970-01-04 (client 1 -> 2; new cable)"),
        ({4.0: "after"}, "1970-01-04"),
    ],
)
def test_what_happened_between_the_last_good_and_the_first_low_day_is_named(
    at: Mapping[float, str], text: str
) -> None:
    happened = [Mark(day * DAY_S, said, "") for day, said in at.items()]
    assert Since(3, 2).text(happened) == text


def test_a_loss_without_a_day_before_may_be_older() -> None:
    assert Since(3, None).text([]) == "1970-01-04 or earlier"
