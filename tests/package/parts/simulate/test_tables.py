"""Tables of simulation results."""

from __future__ import annotations

from collections import Counter

import pytest

from plumbline.model.verdict import Reason
from plumbline.parts.simulate.fleet import Fault, Longest
from plumbline.parts.simulate.score import Outcome, Source, Trial
from plumbline.parts.simulate.tables import Setup, tables

SETUP = Setup("lab", 10, "year", 1, 1.0)
DETECTED = Trial(Fault("oss1-disk1", 0.4, 3), "disk", 0.4, 58, 2, ("raw oss1-disk1", "slow"))
MISSED = Trial(Fault("oss2-disk1", 0.15, 3), "disk", 0.15, 58)
HIDDEN = Trial(Fault("oss1-nic", 0.3, 3), "nic", 0.0, 58)
LEVEL = Reason.BELOW_LEVEL
ALARMS = Counter({Source("ost", False, LEVEL): 6, Source("ost", True, LEVEL): 2})


FEW = "too few to tell, try --fleets "
HEALTHY = Outcome(2, 60, 1200, Counter(), Counter(), Counter(), ())


def output(*trials: Trial, alarms: bool = True) -> str:
    counts = ALARMS if alarms else Counter()
    outcome = HEALTHY._replace(raised=counts, standing=counts, trials=trials)
    return "\n".join(tables(SETUP, outcome))


def test_false_alarms_are_counted_by_reason_and_in_total() -> None:
    rows = [line.split() for line in output().splitlines()]
    assert next(row[:3] for row in rows if row[:1] == ["ost"]) == ["ost", "below", "level"]
    assert next(row for row in rows if row[:1] == ["all"])[1:3] == ["8", "2.03"]
    assert any(row[:2] == ["ost", "groups"] for row in rows)


def test_a_policy_without_false_alarms_is_reported() -> None:
    assert output(alarms=False).startswith(
        "0.00 false alarms a month, within the budget of 1: 0 in 3.9 "
    )


@pytest.mark.parametrize(
    ("alarms", "budget", "begin", "end"),
    [
        # exact bounds of Poisson: P(0 of 3.94) = 0.019, P(>= 8 of 3.94) = 0.048
        (0, 1.0, "0.00 false alarms a month, within the budget of 1: 0 in 3.9 months, on ", ""),
        (8, 1.0, "2.03 false alarms a month, above the budget of 1: 8 in 3.9 months, on ", ""),
        (7, 1.0, "false alarms: 7 in 3.9 months, on ", "; the budget allows 3.9; " + FEW + "10"),
        (1, 0.5, "false alarms: 1 in 3.9 months, on ", "; the budget allows 2; " + FEW + "20"),
    ],
)
def test_the_first_line_says_what_so_few_alarms_can_show(
    alarms: int, budget: float, begin: str, end: str
) -> None:
    raised = Counter({Source("ost", False, LEVEL): alarms})
    outcome = HEALTHY._replace(raised=raised, standing=raised)
    line = next(tables(SETUP._replace(budget=budget), outcome)).splitlines()[0]
    assert line.startswith(begin)
    assert line.endswith(end)


def test_the_longest_run_of_each_layer_is_shown() -> None:
    longest = (Longest("ost", "login1", 292.0), Longest("raw", "oss3", 20.0))
    assert list(tables(SETUP._replace(longest=longest), HEALTHY))[2] == (
        "a run takes at most, while everything is healthy: ost 5 min on login1, raw 20 s on oss3"
    )
    assert len(output().partition("\n\n")[0].splitlines()) == 2


def test_the_bytes_per_day_are_shown() -> None:
    moved = HEALTHY._replace(planned_bytes=240 * 10**9, confirmed_bytes=6 * 10**9)
    assert list(tables(SETUP, moved))[2] == (
        "planned runs move 2000.0 MB a day on average, confirmation 50.0 MB"
    )


def test_many_faults_are_listed_only_by_size() -> None:
    assert "first alarm" not in output(*[DETECTED] * 21)
    assert "first alarm" in output(*[DETECTED] * 20)


def test_the_tables_fit_a_screen() -> None:
    assert max(map(len, output(DETECTED, MISSED, HIDDEN).splitlines())) <= 120
