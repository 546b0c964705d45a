"""Ceilings: the arithmetic of shared components, and the next limit."""

from __future__ import annotations

from math import fsum, inf
from typing import Mapping, Optional, Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from plumbline.model.limits import Ceiling
from plumbline.topology.ceiling import Limit, alone, in_sum, together


def test_a_single_flow_gets_the_minimum_and_all_parts_that_set_it() -> None:
    capacities = {"nic": 100.0, "switch": None, "peer": 100.0, "disk": 200.0}
    path = ("nic", "switch", "peer", "disk", "target")
    assert alone(capacities, path) == Limit(
        Ceiling(100.0, ("nic", "peer")), Ceiling(200.0, ("disk",))
    )


def test_a_path_without_rates_has_no_ceiling() -> None:
    assert alone({"switch": None}, ("switch", "target")) is None


def test_without_another_rate_there_is_no_next_limit() -> None:
    assert alone({"disk": 5.0, "switch": None}, ("switch", "disk")) == Limit(
        Ceiling(5.0, ("disk",)), None
    )
    assert together({"disk": 5.0}, {"a": ["disk"]})["a"] == Limit(Ceiling(5.0, ("disk",)), None)


def test_the_others_share_the_capacity_that_one_flow_cannot_use() -> None:
    capacities = {"link": 100.0, "slow": 20.0, "fast": 90.0}
    paths = {"a": ("link", "slow"), "b": ("link", "fast"), "c": ("link", "fast")}
    flows = together(capacities, paths)
    assert {flow: limit and limit.ceiling for flow, limit in flows.items()} == {
        "a": Ceiling(20.0, ("slow",)),
        "b": Ceiling(40.0, ("link",)),
        "c": Ceiling(40.0, ("link",)),
    }


def test_flows_with_the_same_limit_grow_together_when_it_is_lifted() -> None:
    capacities = {"link": 100.0, "slow": 20.0, "fast": 90.0}
    paths = {"a": ("link", "slow"), "b": ("link", "fast"), "c": ("link", "fast")}
    flows = together(capacities, paths)
    assert {flow: limit and limit.next for flow, limit in flows.items()} == {
        # b and c keep their rates, so the link has nothing left for a
        "a": Ceiling(20.0, ("link",)),
        "b": Ceiling(45.0, ("fast",)),
        "c": Ceiling(45.0, ("fast",)),
    }


def test_the_others_of_a_group_grow_on_when_one_reaches_its_next_limit() -> None:
    capacities = {"port": 10.0, "slow": 6.0, "link": 20.0}
    paths = {"a": ("link", "port", "slow"), "b": ("link", "port")}
    flows = together(capacities, paths)
    assert flows["a"] == Limit(Ceiling(5.0, ("port",)), Ceiling(6.0, ("slow",)))
    assert flows["b"] == Limit(Ceiling(5.0, ("port",)), Ceiling(14.0, ("link",)))


def test_an_unlimited_flow_does_not_disturb_the_others() -> None:
    flows = together({"link": 10.0}, {"free": ("air",), "bound": ("link",)})
    assert flows == {"free": None, "bound": Limit(Ceiling(10.0, ("link",)), None)}


def test_a_sum_has_all_its_limits_and_the_next_ones() -> None:
    capacities = {"link": 100.0, "slow": 20.0, "a": 70.0, "b": 50.0}
    summed = in_sum(capacities, {"a": ("link", "slow", "a"), "b": ("link", "b")})
    assert summed is not None
    assert summed.limit == Limit(Ceiling(70.0, ("slow", "b")), Ceiling(100.0, ("link",)))
    assert (summed.lowest_Bps, summed.highest_Bps) == (20.0, 50.0)


def test_a_sum_with_an_unlimited_flow_has_no_limit() -> None:
    assert in_sum({"link": 10.0}, {"free": ("air",), "bound": ("link",)}) is None
    assert in_sum({"link": 10.0}, {}) is None


_NAMES = st.sampled_from("abcdefgh")
# small whole numbers are often equal, like the parts of a machine
_RATES = st.one_of(st.floats(1, 1e9), st.integers(1, 12).map(float))
_CAPACITIES = st.dictionaries(_NAMES, _RATES, min_size=1)
_ROUTES = st.lists(st.lists(_NAMES, min_size=1, unique=True), min_size=1, max_size=12)
ROUNDING = 1e-6


def numbered(routes: Sequence[Sequence[str]]) -> dict[str, Sequence[str]]:
    return {str(index): route for index, route in enumerate(routes)}


def rates(flows: Mapping[str, Optional[Limit]]) -> dict[str, float]:
    return {flow: limit.ceiling.rate for flow, limit in flows.items() if limit}


@given(_CAPACITIES, _ROUTES)
def test_shares_are_feasible_and_max_min_fair(
    capacities: dict[str, float], routes: list[list[str]]
) -> None:
    paths = numbered(routes)
    ceilings = together(capacities, paths)
    settled = rates(ceilings)
    used = {
        name: fsum(rate for flow, rate in settled.items() if name in paths[flow])
        for name in capacities
    }
    assert all(used[name] <= capacities[name] * (1 + ROUNDING) for name in capacities)
    for flow, limit in ceilings.items():
        assert (limit is None) is not any(name in capacities for name in paths[flow])
        if limit is None:
            continue
        assert limit.ceiling.limited_by
        for name in limit.ceiling.limited_by:
            # full, and no flow there has more: the definition of a bottleneck
            assert used[name] == pytest.approx(capacities[name], rel=ROUNDING)
            sharing = [rate for other, rate in settled.items() if name in paths[other]]
            assert max(sharing) <= limit.ceiling.rate * (1 + ROUNDING), flow


def same_limit(limit: Optional[Limit], other: Limit) -> bool:
    """Compare the parts exactly, and the rates up to rounding."""
    return limit is not None and all(
        ceiling == reference
        or (
            ceiling is not None
            and reference is not None
            and ceiling.limited_by == reference.limited_by
            and ceiling.rate == pytest.approx(reference.rate, rel=ROUNDING)
        )
        for ceiling, reference in zip(limit, other)
    )


@pytest.mark.slow
@given(_CAPACITIES, st.lists(_NAMES, min_size=1, unique=True))
# a share is a sum of steps, with rounding
@example({"a": 1.4440707564353943, "b": 536870914.4430004}, ["a", "b"])
def test_the_next_limit_is_the_limit_without_the_first_ones(
    capacities: dict[str, float], path: list[str]
) -> None:
    limit = alone(capacities, path)
    if limit is None:
        return
    lifted = {name: rate for name, rate in capacities.items() if name not in limit[0].limited_by}
    again = alone(lifted, path)
    assert limit.next == (again and again.ceiling)
    assert same_limit(together(capacities, {"": path})[""], limit)
    summed = in_sum(capacities, {"": path})
    assert summed is not None
    assert same_limit(summed.limit, limit)


def grow(
    capacities: Mapping[str, float],
    paths: Mapping[str, Sequence[str]],
    group: set[str],
    rates: Mapping[str, float],
) -> dict[str, float]:
    """Fill step by step: ``group`` grows, the others keep their rates."""
    settled = {flow: rate for flow, rate in rates.items() if flow not in group}
    growing = set(group)
    while growing:
        levels = {}
        for name, capacity in capacities.items():
            crossing = [flow for flow in growing if name in paths[flow]]
            if crossing:
                used = fsum(rate for flow, rate in settled.items() if name in paths[flow])
                levels[name] = (capacity - used) / len(crossing)
        if not levels:
            return {**settled, **dict.fromkeys(growing, inf)}
        name = min(levels, key=levels.__getitem__)
        stopping = {flow for flow in growing if name in paths[flow]}
        settled.update(dict.fromkeys(stopping, levels[name]))
        growing -= stopping
    return settled


@given(_CAPACITIES, _ROUTES)
def test_the_next_limit_of_flows_together_is_where_their_group_stops_growing(
    capacities: dict[str, float], routes: list[list[str]]
) -> None:
    paths = numbered(routes)
    ceilings = together(capacities, paths)
    limits = {flow: limit for flow, limit in ceilings.items() if limit}
    for flow, limit in limits.items():
        lifted = set(limit.ceiling.limited_by)
        group = {other for other, its in limits.items() if set(its.ceiling.limited_by) == lifted}
        rest = {name: rate for name, rate in capacities.items() if name not in lifted}
        expected = grow(rest, paths, group, rates(ceilings))[flow]
        assert (limit.next is None) is (expected == inf)
        if limit.next:
            assert limit.next.rate == pytest.approx(expected, rel=ROUNDING, abs=ROUNDING)
            assert limit.next.rate >= limit.ceiling.rate * (1 - ROUNDING)
            assert limit.next.limited_by
            assert not lifted & set(limit.next.limited_by)


@given(_CAPACITIES, _ROUTES)
def test_the_limits_of_a_sum_are_those_of_its_flows(
    capacities: dict[str, float], routes: list[list[str]]
) -> None:
    paths = numbered(routes)
    summed = in_sum(capacities, paths)
    flow_rates = rates(together(capacities, paths))
    assert (summed is None) is (len(flow_rates) < len(paths))
    if summed is None:
        return
    assert summed.limit.ceiling.rate == pytest.approx(fsum(flow_rates.values()))
    assert (summed.lowest_Bps, summed.highest_Bps) == (
        min(flow_rates.values()),
        max(flow_rates.values()),
    )
    limited_by = summed.limit.ceiling.limited_by
    lifted = {name: rate for name, rate in capacities.items() if name not in limited_by}
    again = grow(lifted, paths, set(paths), {})
    if summed.limit.next is None:
        assert inf in again.values()
    else:
        assert summed.limit.next.rate == pytest.approx(fsum(again.values()), rel=ROUNDING)
