"""What each run is held against, with a baseline and without one."""

from __future__ import annotations

from math import log
from typing import Any, Optional

import pytest

from plumbline.judge.measured import Measured
from plumbline.locate.company import NOBODY, Beside, Day, day_of
from plumbline.locate.held import Held, held
from plumbline.model.limits import Limits
from plumbline.model.series import Sample
from tests.package.judgements import BASELINE, CEILING, DAY_S, NOW
from tests.package.records import record

RUNS = 4


def of_runs(
    own: list[float], peers: list[float], siblings: int, company: Beside = NOBODY, **more: Any
) -> Held:
    """Return what runs are held against; rates are in MB/s, newest first."""
    samples = tuple(
        Sample(NOW - day * DAY_S, 1e6 * rate, 1.0, 1e6 * other, siblings, None)
        for day, (rate, other) in enumerate(zip(own, peers))
    )
    values = {"baseline": BASELINE._replace(median_Bps=200e6), **more}
    of = Measured(record(), 1e6 * own[0], samples, CEILING, values["baseline"], "", Limits())
    expected = 200e6 if of.baseline else 1e6 * peers[0]
    return held(of, samples, expected, company, RUNS)


def company(losses: Optional[float] = None, rate: float = 200e6, spread: float = 0.05) -> Beside:
    """Return siblings that are alike every day."""
    days = [day_of(NOW - day * DAY_S) for day in range(RUNS)]
    lost = {day: Day(losses, spread) for day in days} if losses is not None else {}
    return Beside(lost, {day: Day(log(rate), spread) for day in days}, 0.03, 100)


def test_without_a_baseline_a_run_is_held_against_its_own_day_and_not_against_today() -> None:
    """Today all are slow; on the days before, siblings were twice as fast."""
    found = of_runs([75, 150, 150, 150], [100, 200, 200, 200], 9, baseline=None)
    assert found.losses == pytest.approx([log(0.75)] * RUNS)
    assert found.expected_Bps == 200e6
    assert found.beside


def test_without_a_baseline_the_rate_of_quiet_days_is_expected_and_not_that_of_busy_ones() -> None:
    """Most of the four days were busy, each by another amount."""
    quiet = company(losses=0.0)
    lost = {
        day: one._replace(middle=log(1 - 0.2 * n))
        for n, (day, one) in enumerate(quiet.losses.items())
    }
    busy = quiet._replace(losses=lost)
    found = of_runs([150, 120, 90, 60], [200, 160, 120, 80], 9, busy, baseline=None)
    assert found.losses == pytest.approx([log(0.75)] * RUNS)
    assert found.expected_Bps == pytest.approx(200e6)


def test_without_a_baseline_what_siblings_have_lost_for_good_is_not_expected() -> None:
    found = of_runs([75] * RUNS, [100] * RUNS, 9, company(losses=log(0.5)), baseline=None)
    assert found.expected_Bps == pytest.approx(100e6)


def test_without_a_baseline_one_sibling_says_less_than_a_company_of_many() -> None:
    found = of_runs([150] * RUNS, [300] * RUNS, 1, company(), baseline=None)
    assert found.losses == pytest.approx([log(0.75)] * RUNS)
    assert found.fixed == 0.03
    alone = of_runs([150] * RUNS, [300] * RUNS, 1, baseline=None)
    assert alone.losses == pytest.approx([log(0.5)] * RUNS)
    assert alone.fixed == 0.05


WIDE = BASELINE._replace(median_Bps=200e6, spread=0.4)


def test_a_baseline_that_spreads_says_less_than_a_company_of_many() -> None:
    found = of_runs([150] * RUNS, [300] * RUNS, 1, company(losses=0.0, rate=180e6), baseline=WIDE)
    assert found.losses == pytest.approx([log(150 / 180)] * RUNS)
    assert found.fixed == 0.03
    sure = of_runs([150] * RUNS, [300] * RUNS, 1, company(losses=0.0, rate=180e6))
    assert sure.losses == pytest.approx([log(0.75)] * RUNS)


def test_a_steady_loss_of_all_counts_beside_a_baseline_that_spreads() -> None:
    found = of_runs([100] * RUNS, [100] * RUNS, 1, company(losses=log(0.5)), baseline=WIDE)
    assert found.losses == pytest.approx([log(0.5)] * RUNS)
    assert found.shared
    assert not found.beside


def test_siblings_that_have_lost_most_days_by_other_amounts_are_busy() -> None:
    some = company(losses=0.0)
    lost = {day: Day(log(1 - 0.2 * (1 + n)), 0.05) for n, day in enumerate(some.losses)}
    found = of_runs([160, 120, 80, 40], [160, 120, 80, 40], 9, some._replace(losses=lost))
    assert found.busy
    assert found.beside
    assert not of_runs([200] * RUNS, [200] * RUNS, 9, some).busy


def test_siblings_that_are_slower_by_nature_do_not_share_a_loss() -> None:
    """They give less than this one, and each of them as much as its own baseline."""
    found = of_runs([150] * RUNS, [150] * RUNS, 9, company(losses=0.0))
    assert found.losses == pytest.approx([log(0.75)] * RUNS)
    assert found.beside


def test_a_steady_loss_of_all_is_held_against_the_baseline() -> None:
    found = of_runs([100] * RUNS, [100] * RUNS, 9, company(losses=log(0.5)))
    assert found.losses == pytest.approx([log(0.5)] * RUNS)
    assert not found.beside


def test_runs_are_as_uncertain_as_those_of_the_day_are_apart() -> None:
    assert of_runs([200] * RUNS, [200] * RUNS, 9, company(0.0, spread=0.2)).spreads == (0.2,) * RUNS
    busy = of_runs([100, 200, 200, 200], [100, 200, 200, 200], 9).spreads
    assert busy[0] == 4 * busy[1]
