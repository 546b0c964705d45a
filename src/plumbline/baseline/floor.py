"""What must not become the reference unsaid: rates below the least that there should be."""

from __future__ import annotations

from typing import Mapping, Optional

from plumbline.baseline.document import Baselines, Key
from plumbline.model.expectation import Expectation
from plumbline.model.record import Operation, Scenario
from plumbline.model.reference import Reference
from plumbline.units import format_rate

Expected = Mapping[tuple[str, str], Expectation]

_ROUNDING = 1 - 1e-9
"""A median comes from logarithms, which rounding makes no slower than it is."""

Group = tuple[str, str, str, str]
"""Layer, group, operation and scenario, for which something was promised in sum."""


def with_floors(baselines: Baselines, expected: Expected) -> Baselines:
    """Return the baselines, each with the floor below which it is, in words.

    A member that gives less than its part of a goal is below it where all that are known of the
    group are so in sum.
    """
    sums: dict[Group, float] = {}
    for key, baseline in baselines.items():
        part_Bps = _reference(key, expected).goal_part_Bps
        if part_Bps is not None:
            group = _group(key, expected)
            sums[group] = sums.get(group, 0.0) + baseline.median_Bps - _ROUNDING * part_Bps
    return {
        key: baseline._replace(
            below_floor=_below_goal(
                baseline.median_Bps,
                _reference(key, expected),
                missed=sums.get(_group(key, expected), 0.0) < 0,
            )
            or _below_floor(baseline.median_Bps, key, expected)
        )
        for key, baseline in baselines.items()
    }


def _group(key: Key, expected: Expected) -> Group:
    group = expected[key.layer, key.component].group
    return key.layer, group, key.operation, key.scenario


def _reference(key: Key, expected: Expected) -> Reference:
    step = Operation(key.operation), Scenario(key.scenario)
    return expected[key.layer, key.component].reference(*step)


def _below_goal(median_Bps: float, reference: Reference, *, missed: bool) -> str:
    part_Bps = reference.goal_part_Bps if missed else None
    goals = (("goal", reference.goal_Bps), ("part of the goal", part_Bps))
    for name, goal_Bps in goals:
        if goal_Bps is not None and median_Bps < _ROUNDING * goal_Bps:
            return f"{_share(median_Bps, goal_Bps)} of its {name} {format_rate(goal_Bps)}"
    return ""


def _below_floor(median_Bps: float, key: Key, expected: Expected) -> str:
    expectation, ceiling = expected[key.layer, key.component], _reference(key, expected).ceiling
    # one of several at once shares what there is: the whole has the floor
    if ceiling is None or ceiling.even_Bps is not None:
        return ""
    least = expectation.limits.min_efficiency
    reachable_Bps = _reachable(ceiling.rate_Bps, expectation.spec.rate_cap_Bps)
    if median_Bps >= _ROUNDING * least * reachable_Bps:
        return ""
    share = _share(median_Bps, ceiling.rate_Bps)
    return f"{share} of the ceiling {format_rate(ceiling.rate_Bps)}, floor {100 * least:g} %"


def _reachable(ceiling_Bps: float, cap_Bps: Optional[float]) -> float:
    return min(ceiling_Bps, cap_Bps) if cap_Bps else ceiling_Bps


def _share(rate_Bps: float, whole_Bps: float) -> str:
    return f"{format_rate(rate_Bps)} is {100 * rate_Bps / whole_Bps:.3g} %"
