"""How many runs it takes to tell a lasting loss from chance."""

from __future__ import annotations

from math import log

import pytest

from plumbline.locate.chance import Odds, Run, odds

LOG = log(1000)
NORMAL, FIXED = 0.05, 0.03


def of_one(losses: list[float], spreads: list[float], loss: float, fixed: float = FIXED) -> Odds:
    """Return the odds of one measurement, a run a night."""
    nights = [[Run(each, spread)] for each, spread in zip(losses, spreads)]
    return odds(nights, [loss], [fixed])


@pytest.mark.parametrize(
    ("loss", "runs", "certain"),
    [
        pytest.param(0.8, 1, False, id="one run, however low"),
        pytest.param(0.7, 2, True, id="two very low ones"),
        pytest.param(0.2, 2, False, id="two that are a little low"),
        pytest.param(0.2, 9, True, id="nine that are a little low"),
        pytest.param(0.05, 30, False, id="less than all may be off by together"),
    ],
)
def test_the_larger_a_loss_the_fewer_runs_tell_it(loss: float, runs: int, certain: bool) -> None:
    lost = log(1 - loss)
    found = of_one([lost] * runs, [NORMAL] * runs, lost)
    assert (found.together > 1.5 * LOG) is certain
    assert len(found.each) == runs


def test_a_run_as_fast_as_ever_speaks_against_a_loss_more_than_a_low_one_for_it() -> None:
    lost = log(0.75)
    low, fast = of_one([lost, 0.0], [NORMAL] * 2, lost).each
    assert low > 0 > fast
    assert -fast > low


def test_runs_of_a_busy_day_say_little() -> None:
    lost = log(0.75)
    quiet, busy = of_one([lost, lost], [NORMAL, 4 * NORMAL], lost).each
    assert quiet > 2 * busy > 0


def test_what_all_runs_are_off_by_together_is_no_loss() -> None:
    lost = log(0.85)
    runs = [lost] * 9
    assert of_one(runs, [NORMAL] * 9, lost, 0.02).together > LOG
    assert of_one(runs, [NORMAL] * 9, lost, 0.1).together < 2


def test_what_is_low_in_one_night_says_less_than_what_is_low_in_two() -> None:
    """A neighbour may slow the write and the read of a target one after the other."""
    lost = log(0.7)
    low = [Run(lost, NORMAL, 0), Run(lost, NORMAL, 1)]
    both = odds([low], [lost, lost], [FIXED, FIXED]).together
    two = odds([[low[0]], [low[1]]], [lost, lost], [FIXED, FIXED]).together
    one = of_one([lost], [NORMAL], lost).together
    assert one < both < two


def test_what_is_slower_and_faster_in_one_night_beyond_all_noise_has_odds_all_the_same() -> None:
    found = odds([[Run(-9.0, 0.01, 0), Run(9.0, 0.01, 1)]], [-0.3, -0.3], [FIXED, FIXED])
    assert abs(found.together) < LOG
