"""Verdicts on the space of a file system: what is named, in which order, in which state."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from plumbline.model.space import (
    Amount,
    Outlook,
    SpaceTerms,
    SystemSpace,
    TargetOutlook,
    TargetSpace,
    Trend,
)
from plumbline.model.units import DAY_S
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.parts.space.outlook import Look, imbalance, system_space
from plumbline.parts.space.verdict import judge_space

NOW = 1.8e9
STEADY = Outlook(Trend.UNCLEAR, 28)
GB = 10**9


def filling(near: float, far: Optional[float] = None) -> Outlook:
    """Return the outlook of a target that is full within so many days."""
    return Outlook(Trend.FILLING, 28, near * DAY_S, (far or near) * DAY_S, 1e9)


def ost(
    number: int, percent: float = 50, space: Outlook = STEADY, inodes: float = 1, flags: str = ""
) -> TargetOutlook:
    kind = TargetSpace(f"fs-OST000{number}", "ost", flags=flags)
    return target(kind, percent, inodes, space, STEADY)


def mdt(percent: float = 50, inodes: float = 1, outlook: Outlook = STEADY) -> TargetOutlook:
    return target(TargetSpace("fs-MDT0000", "mdt"), percent, inodes, STEADY, outlook)


def target(
    kind: TargetSpace, percent: float, inodes: float, space: Outlook, of_inodes: Outlook
) -> TargetOutlook:
    """Return a target of 1 TB and a million inodes, of which so many percent are used."""
    amounts = [
        Amount(round(share * total / 100), total - round(share * total / 100))
        for share, total in ((percent, 1000 * GB), (inodes, 1_000_000))
    ]
    return TargetOutlook(kind._replace(space=amounts[0], inodes=amounts[1]), space, of_inodes)


def unread(number: int, trouble: str = "gone", *, inactive: bool = False) -> TargetOutlook:
    space = TargetSpace(f"fs-OST000{number}", "ost", inactive=inactive, trouble=trouble)
    return TargetOutlook(space)


def judge(*targets: TargetOutlook, age_s: float = 60, **terms: Any) -> Verdict:
    system = SystemSpace(SpaceTerms("fs", **terms), NOW - age_s, targets)
    return judge_space(system, NOW, 3600)


def test_a_healthy_file_system_names_the_target_that_is_full_first() -> None:
    verdict = judge(mdt(), ost(0), ost(1, 60, filling(40, 60)))
    assert (verdict.state, verdict.reason) == (State.OK, Reason.FINE)
    assert verdict.sentence == (
        "fs: 55 % full, 900.0 GB free; inodes 1 % used at most (fs-MDT0000); fs-OST0001 is full "
        "first, in 40 d at the earliest, 60 d at the latest; fs-OST0001 has 20 % less free space "
        "than the emptiest OST: above 17 % Lustre gives up round robin, and new files go to the "
        "emptier OSTs; read 60 s ago"
    )
    assert {figure.label: figure.value for figure in verdict.figures} == {
        "fill": 55.0,
        "fullest": 60.0,
        "inodes": 1.0,
        "days": 40.0,
    }


@pytest.mark.parametrize(
    ("item", "state", "text"),
    [
        (
            ost(1, 70, filling(9, 16)),
            State.WARNING,
            "fs-OST0001 is full in 9 d at the earliest, 16 d at the latest (limit 14 d; 70 % full, "
            "300.0 GB free)",
        ),
        (
            ost(1, 95, filling(2.5)),
            State.CRITICAL,
            "fs-OST0001 is full in 2 d (limit 3 d; 95 % full, 50.0 GB free)",
        ),
        (ost(1, 91), State.WARNING, "fs-OST0001 is 91 % full, 90.0 GB free (limit 90 %)"),
        (ost(1, 99.95), State.CRITICAL, "fs-OST0001 is full (500.0 MB free)"),
        (ost(1, 91, flags="S"), State.CRITICAL, "fs-OST0001 is full (90.0 GB free)"),
        (ost(1, inodes=100), State.CRITICAL, "fs-OST0001 is out of inodes (0 free)"),
        (
            ost(1, inodes=93),
            State.WARNING,
            "fs-OST0001 has 93 % of its inodes used, 70,000 free (limit 90 %)",
        ),
    ],
)
def test_an_alarm_names_target_forecast_limit_and_figures(
    item: TargetOutlook, state: State, text: str
) -> None:
    verdict = judge(mdt(), ost(0, item.target.space.fill * 100 if item.target.space else 0), item)
    assert verdict.state is state
    assert verdict.reason is Reason.FILLING
    assert text in verdict.sentence


def test_a_metadata_target_is_named_before_a_graver_ost() -> None:
    soon = mdt(inodes=80, outlook=filling(10, 12))
    verdict = judge(ost(0, 99.99), soon)
    assert verdict.state is State.CRITICAL
    assert verdict.sentence.startswith(
        "fs: fs-MDT0000 is out of inodes in 10 d at the earliest, 12 d at the latest (limit 14 d; "
        "80 % of its inodes used, 200,000 free); fs-OST0000 is full "
    )
    assert "without space or inodes there nobody can create files" in verdict.sentence


def test_the_gravest_and_nearest_of_many_come_first() -> None:
    near = [ost(number, 60, filling(13 - number)) for number in range(5)]
    verdict = judge(mdt(), *near, ost(7, 99.99))
    order = [verdict.sentence.index(f"fs-OST000{number}") for number in (7, 4, 3)]
    assert order == sorted(order)
    assert "; 3 more alarms" in verdict.sentence
    assert "fs-OST0000 is full in" not in verdict.sentence


def test_limits_are_those_of_the_policy() -> None:
    soon = ost(0, 95, filling(20))
    assert judge(soon, fill_limit=0.96).state is State.OK
    assert judge(soon, fill_limit=0.96, warning_s=30 * DAY_S).state is State.WARNING
    assert judge(soon, warning_s=30 * DAY_S, critical_s=25 * DAY_S).state is State.CRITICAL


def test_a_target_without_an_answer_is_unknown_and_hides_no_alarm() -> None:
    verdict = judge(mdt(), ost(0), unread(1), unread(2))
    assert (verdict.state, verdict.reason) == (State.UNKNOWN, Reason.NOT_JUDGED)
    assert "its fill is not known" in verdict.sentence
    assert "; not known: fs-OST0001, fs-OST0002 (gone)" in verdict.sentence
    verdict = judge(mdt(), ost(0, 99.99), unread(1))
    assert verdict.state is State.CRITICAL
    assert "; not known: fs-OST0001 (gone)" in verdict.sentence


def test_an_inactive_target_is_named_and_no_alarm() -> None:
    verdict = judge(mdt(), ost(0), unread(1, inactive=True))
    assert verdict.state is State.OK
    assert "50 % full, 500.0 GB free" in verdict.sentence
    assert "inactive on this client, so not known: fs-OST0001" in verdict.sentence


def test_a_pool_that_cannot_be_summed_is_not_named_twice() -> None:
    pool = TargetOutlook(TargetSpace("fs.flash", "pool", trouble="fs-OST0001 is not known"))
    verdict = judge(mdt(), ost(0), unread(1), pool)
    assert "; not known: fs-OST0001 (gone)" in verdict.sentence
    assert "fs.flash" not in verdict.sentence


def test_a_read_only_target_is_named() -> None:
    assert "; read-only: fs-OST0000; " in judge(ost(0, flags="R"), ost(1)).sentence


@pytest.mark.parametrize(
    ("age_s", "reason", "text"),
    [
        (
            7200,
            Reason.STALE,
            "the last look is stale: 2027-01-15 06:00 UTC, 2 h ago (limit 60 min)",
        ),
        (-7200, Reason.AHEAD, "2 h ahead of the clock; set the clock of this node"),
    ],
)
def test_an_old_or_future_look_is_unknown(age_s: float, reason: Reason, text: str) -> None:
    verdict = judge(ost(0, 99.99), age_s=age_s)
    assert (verdict.state, verdict.reason) == (State.UNKNOWN, reason)
    assert text in verdict.sentence


def test_a_failed_look_is_unknown_with_its_reason() -> None:
    system = SystemSpace(SpaceTerms("fs"), NOW, (), "nothing is mounted at /fs")
    verdict = judge_space(system, NOW, 3600)
    assert (verdict.state, verdict.reason) == (State.UNKNOWN, Reason.NOT_JUDGED)
    assert verdict.sentence == "fs: could not be read: nothing is mounted at /fs"


@pytest.mark.parametrize(
    ("fills", "uneven"),
    [((50, 50), None), ((50, 58), None), ((50, 59), 0.18), ((0, 17), 0.17), ((100, 100), None)],
)
def test_lustre_gives_up_round_robin_at_17_percent_of_the_most(
    fills: tuple[float, float], uneven: Optional[float]
) -> None:
    found = imbalance([ost(number, fill).target for number, fill in enumerate(fills)])
    assert (found and found[0]) == (uneven and pytest.approx(uneven))


def test_a_target_that_was_not_known_for_a_while_keeps_its_trend() -> None:
    terms = SpaceTerms("fs")

    def look(day: int) -> Look:
        at, free = NOW + day * DAY_S, (500 - 10 * day) * GB
        known = TargetSpace("fs-OST0000", "ost", Amount(1000 * GB - free, free))
        return Look(terms, at, (known if day % 4 else TargetSpace("fs-OST0000", trouble="gone"),))

    system = system_space([look(day) for day in range(14)])
    (item,) = system.targets
    assert item.space is not None
    assert (item.space.trend, item.space.days) == (Trend.FILLING, 10)
    assert item.space.near_s == pytest.approx(37 * DAY_S)
    # a target that was not read last has no forecast
    assert system_space([look(day) for day in range(13)]).targets[0].space is None
