"""Floor and goal: a rate below either warns without baseline and peers."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import pytest

from plumbline.judge.floor import NIGHTS, Shortfall, least_rate, shortfall
from plumbline.judge.measured import measured
from plumbline.judge.rules import apply
from plumbline.model.limits import Ceiling, Limits, Reference
from plumbline.model.record import Flag, Scenario
from plumbline.model.series import SAMPLES, Sample, Series
from plumbline.model.verdict import Reason, State
from tests.package.judgements import BASELINE, CEILING, DAY_S, NOW, series

FLOOR = Limits(min_efficiency=0.5)
"""Half of 250 MB/s: 125 MB/s."""
NO_BASELINE = Reference(CEILING, None)
TODAY = 19_999
"""The day of the latest run, since the epoch: 2024-10-03."""


def recorded(
    rates: Sequence[float],
    peers_rate: Optional[float] = None,
    *,
    coverage: Optional[float] = None,
    excluded: Sequence[int] = (),
    **changes: Any,
) -> Series:
    """Return one run a night, the newest first; ``excluded`` are nights (ago) of a known state."""
    peers = 0 if peers_rate is None else 5
    earlier = [
        Sample(NOW - 3610 - ago * DAY_S, rate, coverage, peers_rate, peers, None, ago in excluded)
        for ago, rate in enumerate(rates)
    ]
    newest = series(rates[0], peers_rate, coverage=coverage, **changes)
    first = newest.samples[0]._replace(excluded=0 in excluded)
    return Series(newest.latest, (first, *earlier[1:]))


def outcome(
    series: Series, reference: Reference = NO_BASELINE, limits: Limits = FLOOR
) -> tuple[State, Reason]:
    finding = apply(measured(series, reference, limits))
    return finding.state, finding.reason


BELOW = (State.WARNING, Reason.BELOW_FLOOR)
NOTHING = (State.UNKNOWN, Reason.NO_REFERENCE)


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ([0.9] * 4, None),
        ([0.9] * 5, Shortfall(0.9, True, 0, False)),
        ([0.9, 0.9, 0.9, 0.9, 0.999], Shortfall(0.999, True, 0, False)),
        ([0.9, 0.9, 0.9, 0.9, 1.0], None),
        ([1.0, 0.9, 0.9, 0.9, 0.9], None),
        ([1.0, *[0.9] * 5], Shortfall(0.9, True, 1, False)),
        # it stands until the median of the last nights is at the floor
        ([*[0.9] * 5, 1.0], Shortfall(0.9, False, 0, False)),
        ([*[0.9] * 5, 1.0, 1.0], Shortfall(0.9, False, 0, False)),
        ([*[0.9] * 5, 1.0, 1.0, 0.8, 0.8], Shortfall(0.9, False, 0, False)),
        ([*[0.9] * 5, 1.0, 1.0, 1.0], None),
        ([*[0.9] * 5, 1.0, 1.0, 0.999], Shortfall(0.999, False, 0, False)),
        # a new shortfall needs five nights again
        ([*[0.9] * 5, 1.0, 1.0, 1.0, *[0.9] * 4], None),
        ([*[0.9] * 5, 1.0, 1.0, 1.0, *[0.7] * 5], Shortfall(0.7, True, 8, False)),
    ],
)
def test_nights_are_below_the_floor_together_and_recover_by_their_median(
    shares: list[float], expected: Optional[Shortfall]
) -> None:
    assert shortfall(list(enumerate(shares)), cut=False) == expected


def test_a_shortfall_as_old_as_the_memory_may_have_begun_earlier() -> None:
    low = list(enumerate([0.5] * NIGHTS))
    assert shortfall(low, cut=True) == Shortfall(0.5, True, 0, True)
    assert shortfall([(0, 2.0), *((day + 1, share) for day, share in low)], cut=True) == (
        Shortfall(0.5, True, 1, False)
    )


def test_the_sentence_names_rate_ceiling_part_floor_and_start() -> None:
    finding = apply(measured(recorded([55e6, 50e6, 54e6, 50e6, 50e6]), NO_BASELINE, FLOOR))
    assert (finding.state, finding.reason) == BELOW
    assert finding.text == (
        "read: best of 5 nights 22 % of the ceiling 250.0 MB/s (limited by disk oss2-disk1), "
        "floor 50 %: since 2024-09-29"
    )
    assert finding.counts


def test_with_rates_of_shared_parts_only_the_share_is_compared() -> None:
    shared = Reference(CEILING._replace(share=60e6), None)
    finding = apply(measured(recorded([25e6] * 5), shared, FLOOR))
    assert (finding.state, finding.reason) == BELOW
    assert finding.text == (
        "read: best of 5 nights 41.7 % of its share 60.0 MB/s of the ceiling 250.0 MB/s (limited "
        "by disk oss2-disk1), floor 50 %: since 2024-09-29"
    )
    assert [outcome(recorded([rate] * 5), shared) for rate in (29.9e6, 30e6)] == [BELOW, NOTHING]


def test_a_permanent_shortfall_is_dated_by_the_oldest_sample() -> None:
    always = apply(measured(recorded([50e6] * SAMPLES), NO_BASELINE, FLOOR))
    assert always.text.endswith(": since 2024-09-04 or earlier")
    shorter = apply(measured(recorded([50e6] * (SAMPLES - 1)), NO_BASELINE, FLOOR))
    assert shorter.text.endswith(": since 2024-09-05")


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ([124.9e6] * 5, BELOW),
        ([125e6] * 5, NOTHING),
        ([125.1e6] * 5, NOTHING),
        ([50e6] * 4, NOTHING),
        ([50e6, 50e6, 50e6, 50e6, 125e6], NOTHING),
        ([50e6, 50e6, 125e6, 50e6, 50e6], NOTHING),
    ],
)
def test_the_best_of_five_nights_is_compared_with_the_floor(
    rates: list[float], expected: tuple[State, Reason]
) -> None:
    assert outcome(recorded(rates)) == expected


def test_several_runs_of_one_night_are_one_night() -> None:
    many = [Sample(NOW - 3610 - 600 * ago, 50e6, None, None, 0, None) for ago in range(9)]
    assert outcome(Series(recorded([50e6]).latest, tuple(many))) == NOTHING
    # a night counts by its best run
    again = Sample(NOW - 4000, 130e6, None, None, 0, None)
    low = recorded([50e6] * 5)
    assert outcome(Series(low.latest, (low.samples[0], again, *low.samples[1:]))) == NOTHING


@pytest.mark.parametrize(("coverage", "expected"), [(0.9, BELOW), (0.89, NOTHING), (None, BELOW)])
def test_contended_runs_do_not_count(
    coverage: Optional[float], expected: tuple[State, Reason]
) -> None:
    assert outcome(recorded([50e6] * 5, coverage=coverage)) == expected


def test_runs_of_a_known_state_do_not_count() -> None:
    assert outcome(recorded([50e6] * 5, excluded=(3,))) == NOTHING
    assert outcome(recorded([50e6] * 6, excluded=(3,))) == BELOW
    degraded = recorded([50e6] * 9, flags=(Flag.DEGRADED,))
    assert outcome(degraded) == (State.WARNING, Reason.KNOWN_STATE)


def test_invalid_runs_do_not_count() -> None:
    # rates up to 1.05 times the ceiling are valid
    assert outcome(recorded([50e6, 263e6, 50e6, 50e6, 50e6, 50e6])) == BELOW
    assert outcome(recorded([50e6, 263e6, 50e6, 50e6, 50e6])) == NOTHING
    assert outcome(recorded([50e6, 262.5e6, 50e6, 50e6, 50e6, 50e6])) == NOTHING


@pytest.mark.parametrize(
    ("limits", "ceiling"),
    [
        (Limits(), CEILING),
        (FLOOR, None),
        (FLOOR, CEILING._replace(even=100e6)),
    ],
)
def test_without_a_floor_nothing_is_compared(limits: Limits, ceiling: Optional[Ceiling]) -> None:
    reference = Reference(ceiling, None)
    low = recorded([50e6] * 9, scenario=Scenario.TOGETHER)
    assert least_rate(measured(low, reference, limits)) is None
    assert outcome(low, reference, limits)[1] is not Reason.BELOW_FLOOR


def test_the_rate_cap_of_a_probe_lowers_the_floor() -> None:
    capped = recorded([100e6] * 5, spec={"rate_cap_Bps": 200e6})
    assert least_rate(measured(capped, NO_BASELINE, FLOOR)) == 100e6
    assert outcome(capped) == NOTHING
    assert outcome(recorded([99e6] * 5, spec={"rate_cap_Bps": 200e6})) == BELOW
    wide = recorded([99e6] * 5, spec={"rate_cap_Bps": 900e6})
    assert least_rate(measured(wide, NO_BASELINE, FLOOR)) == 125e6


@pytest.mark.parametrize(
    ("own", "peers_rate", "expected"),
    [
        (120e6, 140e6, BELOW),
        # at most a tenth slower than peers that are at their floor: the group decides
        (120e6, 133e6, (State.OK, Reason.FINE)),
        (120e6, 133.5e6, BELOW),
        (112.5e6, 125e6, (State.OK, Reason.FINE)),
        # peers below as well: the group alarms
        (105e6, 124.9e6, (State.OK, Reason.FINE)),
        (105e6, 125e6, BELOW),
        (105e6, 105e6, (State.OK, Reason.FINE)),
    ],
)
def test_a_member_alarms_itself_only_if_its_peers_are_above_the_floor(
    own: float, peers_rate: float, expected: tuple[State, Reason]
) -> None:
    assert outcome(recorded([own] * 5, peers_rate)) == expected


def test_a_loss_against_peers_or_baseline_takes_precedence() -> None:
    low = recorded([50e6] * 5, 200e6)
    assert outcome(low) == (State.CRITICAL, Reason.BELOW_LEVEL)
    low = recorded([50e6] * 5)
    assert outcome(low, Reference(CEILING, BASELINE)) == (State.CRITICAL, Reason.BELOW_LEVEL)


@pytest.mark.parametrize(
    ("rate", "below_floor", "expected"),
    [
        (100e6, "", BELOW),
        (100e6, "known", (State.OK, Reason.FINE)),
        # a tenth below the accepted rate is still accepted
        (90.1e6, "known", (State.OK, Reason.FINE)),
        (90e6, "known", (State.OK, Reason.FINE)),
        (89e6, "known", BELOW),
    ],
)
def test_a_baseline_accepted_below_its_floor_is_silent(
    rate: float, below_floor: str, expected: tuple[State, Reason]
) -> None:
    baseline = BASELINE._replace(median=100e6, below_floor=below_floor)
    assert outcome(recorded([rate] * 5), Reference(CEILING, baseline)) == expected


def test_an_acceptance_remains_when_conditions_change() -> None:
    baseline = BASELINE._replace(median=100e6, below_floor="known", spec_hash="older")
    assert outcome(recorded([100e6] * 5), Reference(CEILING, baseline)) == NOTHING


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (199.9e6, (State.WARNING, Reason.BELOW_GOAL)),
        (200e6, NOTHING),
    ],
)
def test_the_best_of_five_nights_is_compared_with_the_goal(
    rate: float, expected: tuple[State, Reason]
) -> None:
    promised = Reference(CEILING._replace(rate=300e6), None, goal=200e6)
    assert outcome(recorded([rate] * 5), promised, Limits()) == expected
    assert outcome(recorded([rate] * 4), promised, Limits()) == NOTHING


def test_the_sentence_of_a_goal_names_the_goal() -> None:
    promised = Reference(CEILING, None, goal=200e6)
    finding = apply(measured(recorded([150e6] * 5), promised, Limits()))
    assert finding.text == (
        "read: best of 5 nights 150.0 MB/s, 75 % of the goal 200.0 MB/s, ceiling 250.0 MB/s "
        "(limited by disk oss2-disk1): since 2024-09-29"
    )


@pytest.mark.parametrize(
    ("changes", "has_floor"),
    [
        # the baseline is the reference; low nights are compared with it
        ({}, False),
        # at any spread and under any version
        ({"spread": 0.4}, False),
        ({"versions": {"client": "2.12.0"}}, False),
        ({"median": 125e6}, False),
        # a baseline below the floor demonstrates nothing
        ({"median": 120e6}, True),
        # nor does a baseline of another probe
        ({"spec_hash": "another"}, True),
    ],
)
def test_a_demonstrated_floor_is_not_compared(changes: dict[str, Any], has_floor: bool) -> None:
    run = measured(
        recorded([110e6] * NIGHTS), Reference(CEILING, BASELINE._replace(**changes)), FLOOR
    )
    assert (least_rate(run) is not None) is has_floor
