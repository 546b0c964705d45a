"""What several runs say together, and what one night of them does not."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import pytest

from plumbline.judge.measured import Measured
from plumbline.locate.company import Beside, Day, day_of
from plumbline.locate.observation import Vote
from plumbline.locate.window import Looked, look, wanted, windows
from plumbline.model.limits import Limits
from plumbline.model.series import Sample
from tests.package.judgements import BASELINE, CEILING, DAY_S, NOW
from tests.package.records import record

EXPECTED_BPS = 200e6


def looked(
    own: Sequence[float],
    peers: Optional[Sequence[float]] = None,
    coverage: float = 1.0,
    siblings: int = 9,
) -> Optional[Looked]:
    """Return four runs or more, a night each; rates are in MB/s, newest first."""
    beside = peers or [200] * len(own)
    samples = tuple(
        Sample(NOW - day * DAY_S, 1e6 * rate, coverage, 1e6 * other, siblings, None)
        for day, (rate, other) in enumerate(zip(own, beside))
    )
    of = Measured(record(), 1e6 * own[0], samples, CEILING, BASELINE, "", Limits())
    return look(of, EXPECTED_BPS, 4)


def votes(of: Sequence[Optional[Looked]], *companions: Sequence[int]) -> list[Optional[Vote]]:
    return [one.vote if one else None for one in windows(of, companions)]


def vote(*runs: Any, **given: Any) -> Optional[Vote]:
    return votes([looked(*runs, **given)])[0]


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        pytest.param([200, 201, 199, 200], Vote.GOOD, id="fine"),
        pytest.param([100, 101, 99, 100], Vote.BAD, id="slow"),
        pytest.param([100, 200, 201, 199], Vote.NONE, id="slow since last night perhaps"),
        pytest.param([200, 100, 201, 199], Vote.GOOD, id="one slow night"),
        pytest.param([100, 101, 200, 199], Vote.NONE, id="half of them slow"),
        pytest.param([100, 101, 99, 200], Vote.BAD, id="slow on most"),
        pytest.param([165, 164, 166, 165], Vote.BAD, id="a little slow for certain"),
        pytest.param([179, 178, 177, 178], Vote.NONE, id="a little slow, as siblings may be"),
        pytest.param([130, 178, 176, 90], Vote.NONE, id="slow, but by chance perhaps"),
        pytest.param([100, 101, 99], Vote.BAD, id="fewer, but all that there are"),
        pytest.param([100], None, id="too few"),
    ],
)
def test_the_vote_of_several_runs(own: list[float], expected: Optional[Vote]) -> None:
    assert vote(own) is expected


def test_a_busy_night_of_all_siblings_is_nobodys_fault() -> None:
    assert vote([120, 200, 200, 120], [120, 200, 200, 120]) is Vote.GOOD


def test_a_loss_that_all_share_for_long_is_a_loss() -> None:
    assert vote([120, 121, 119, 120], [120, 120, 120, 120]) is Vote.BAD


def test_a_mild_loss_is_told_from_chance_by_more_runs_than_make_a_good_vote() -> None:
    """Four runs vote; busy days among them say little, the four before say the rest."""
    own = [130, 170, 110, 132] * 2
    days = {day_of(NOW - n * DAY_S): Day(0.0, (0.05, 0.4, 0.4, 0.05)[n % 4]) for n in range(8)}
    company = Beside(days, days, 0.02, 10_000)
    samples = tuple(
        Sample(NOW - day * DAY_S, 1e6 * rate, 1.0, None, 0, None) for day, rate in enumerate(own)
    )

    def voted(of: tuple[Sample, ...]) -> Vote:
        measured = Measured(record(), of[0].rate_Bps or 0, of, CEILING, BASELINE, "", Limits())
        found = windows([look(measured, EXPECTED_BPS, 4, company)])[0]
        assert found
        return found.vote

    assert voted(samples[:4]) is Vote.NONE
    assert voted(samples) is Vote.BAD


MILD = [168, 172, 165, 171]
"""MB/s in nights of which each may be chance."""


def test_what_one_part_slows_is_certain_together_before_any_of_it_is() -> None:
    write, read = looked(MILD), looked(MILD[::-1])
    assert votes([write, read]) == [Vote.NONE, Vote.NONE]
    assert votes([write, read], [0, 1]) == [Vote.BAD, Vote.BAD]


def test_what_is_fine_keeps_a_part_from_having_slowed_all_of_it() -> None:
    fine = [201, 199, 200, 202]
    assert votes([looked(MILD), looked(fine)], [0, 1]) == [Vote.NONE, Vote.GOOD]
    assert votes([looked(MILD), looked(MILD), looked(fine)], [0, 1, 2])[:2] == [Vote.NONE] * 2


def test_what_is_measured_too_seldom_is_not_asked() -> None:
    assert votes([looked(MILD), looked([168])], [0, 1]) == [Vote.NONE, None]


def test_few_siblings_are_no_measure() -> None:
    assert vote([120, 121, 119, 120], [120, 120, 200, 200], siblings=1) is Vote.BAD
    assert vote([200, 200, 200, 200], [300, 300, 300, 300], siblings=1) is Vote.GOOD


def test_contended_runs_do_not_vote() -> None:
    assert vote([100, 101, 99, 100], coverage=0.5) is None


def test_siblings_that_are_faster_do_not_make_slow_what_is_as_fast_as_ever() -> None:
    assert vote([200, 201, 199, 200], [300, 300, 300, 300]) is Vote.GOOD


def test_a_loss_that_all_share_and_that_changes_daily_accuses_and_absolves_nobody() -> None:
    assert vote([150, 100, 60, 170], [150, 100, 60, 170]) is Vote.NONE


def test_what_is_measured_weekly_needs_three_runs() -> None:
    week = 7 * 86400.0
    assert [wanted(9, 86400.0), wanted(9, week), wanted(2, week)] == [9, 3, 2]
