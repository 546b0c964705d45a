"""Losses that one remaining capacity explains, and losses that it does not explain."""

from __future__ import annotations

from math import exp, log
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.parts.locate.observation import Observation, Vote
from plumbline.parts.locate.parts import OVERHEAD, find_parts, reach, remaining
from tests.package.parts.locate.scenes import ERROR, made


def explained(*observations: Observation) -> dict[str, set[str]]:
    """Return the names of the observations that each part explains."""
    return {
        name: {observations[index].of.name for index in part.explains}
        for name, part in find_parts(observations).items()
    }


def test_a_good_measurement_above_the_remaining_capacity_clears_a_part() -> None:
    by_part = explained(made("ost a", "hba a", 80), made("ost b", "hba b", 200))
    assert by_part == {"a": {"ost a"}}


def test_a_good_measurement_below_the_remaining_capacity_clears_nothing() -> None:
    fast, slow = made("ost a", "port a", 100), made("ost b", "port b", 90, 90)
    assert fast.vote is Vote.BAD
    assert slow.vote is Vote.GOOD
    assert explained(fast, slow) == {"port": {"ost a"}, "a": {"ost a"}}


def test_one_part_does_not_explain_losses_of_different_sizes() -> None:
    by_part = explained(made("ost a", "hba a", 100), made("ost b", "hba b", 50))
    assert by_part["hba"] == {"ost a"}
    assert by_part["b"] == {"ost b"}


def test_a_target_may_lose_in_proportion_to_its_disk() -> None:
    raw, ost = made("raw d", "hba d", 98, 196), made("ost t", "hba d t", 90, 180)
    assert explained(raw, ost)["d"] == {"raw d", "ost t"}


def test_a_target_that_loses_more_than_its_disk_is_not_explained_by_it() -> None:
    raw, ost = made("raw d", "d", 190, 196), made("ost t", "d t", 150, 180)
    assert explained(raw, ost) == {"t": {"ost t"}}
    least = 190 / OVERHEAD * exp(-2 * reach(2) * ERROR)
    assert "d" not in explained(raw, made("ost t", "d t", 0.99 * least, 120))


def test_flows_that_run_together_share_the_remaining_capacity() -> None:
    def together(name: str, rate: float) -> Observation:
        item = made(f"raw {name}", f"hba {name}", rate)
        return item._replace(of=item.of._replace(flows=(2, 1)))

    alone = [made("raw x", "hba a", 200), made("raw y", "hba b", 200)]
    assert explained(*alone, together("a", 120), together("b", 120)) == {
        "hba": {"raw a", "raw b"},
        # the single reads clear a and b
    }
    assert "hba" not in explained(*alone, together("a", 120), together("b", 200))


def test_a_good_measurement_from_before_the_loss_clears_nothing() -> None:
    bad = made("ost t", "d t", 80)._replace(since=1000.0)
    old = made("raw d", "d", 200)._replace(at=900.0)
    assert set(explained(bad, old)) == {"d", "t"}
    assert set(explained(bad, old._replace(at=1100.0))) == {"t"}


def test_a_later_fault_does_not_void_what_speaks_against_an_earlier_one() -> None:
    early = made("ost a", "switch a", 80)._replace(at=1000.0, since=900.0)
    good = made("ost b", "switch b", 200)._replace(at=1000.0)
    late = made("ost c", "switch c", 78)._replace(at=2000.0, since=1900.0)
    assert explained(early, good, late) == {
        "switch": {"ost c"},
        "a": {"ost a"},
        "c": {"ost c"},
    }
    again = good._replace(at=2000.0)
    assert explained(early, again, late) == {"a": {"ost a"}, "c": {"ost c"}}


def test_a_loss_in_one_direction_counts() -> None:
    write = made("ost t write", "d t", 80)
    write = write._replace(of=write.of._replace(operation="write"))
    assert set(explained(write, made("raw d", "d", 200))) == {"d", "t"}


def test_a_hung_measurement_is_explained_by_a_part_that_passes_nothing() -> None:
    hung = made("ost a", "hba a", 0)
    assert set(explained(hung, made("ost b", "hba b", 60))) == {"a", "b", "hba"}
    assert explained(hung, made("ost b", "hba b", 60))["hba"] == {"ost b"}


@pytest.mark.parametrize("count", [2, 10, 100, 1000])
def test_measurements_of_one_rate_overlap_in_999_of_1000_cases(count: int) -> None:
    chance, width = Random(count), reach(count)
    tries = 400_000 // count
    misses = 0
    for _ in range(tries):
        values = [chance.gauss(0, 1) for _ in range(count)]
        misses += max(values) - min(values) > 2 * width
    assert misses <= 0.001 * tries + 3 * (0.001 * tries) ** 0.5


@given(st.lists(st.floats(50, 150), min_size=1, max_size=6), st.floats(20, 400))
def test_no_other_remaining_capacity_explains_more(rates: list[float], capacity: float) -> None:
    """Any given capacity: no rate may exceed it, and it explains the rates at it."""
    observations = [made(f"ost {n}", f"hba {n}", rate) for n, rate in enumerate(rates)]
    width = reach(len(rates)) * ERROR
    logs = [log(rate) for rate in rates]
    possible = all(value - width <= log(capacity) for value in logs)
    by_hand = {
        item.of.name
        for item, value in zip(observations, logs)
        if possible and item.vote is Vote.BAD and value + width >= log(capacity)
    }
    assert by_hand <= explained(*observations).get("hba", set())


def test_the_remaining_capacity_is_the_median_of_the_slow_rates() -> None:
    observations = [made(f"ost {n}", f"hba {n}", 80 + n) for n in range(3)]
    (lane,) = find_parts(observations)["hba"].lanes
    assert remaining(lane) == pytest.approx(81e6, rel=0.01)
