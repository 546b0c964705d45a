"""A run is held against peers first, its baseline second, its own history third."""

from __future__ import annotations

from math import exp, hypot, log, sqrt
from typing import Any, Optional, Sequence

import pytest

from plumbline.judge.recursion import weigh
from plumbline.judge.references import Against, Era, Measurement, References, group_source
from plumbline.judge.runs import AT, LONE_NOISE, PEER_NOISE, RATIO, SPREAD, Question
from plumbline.judge.weighing import NamedMeasurement, subject_of
from plumbline.model.limits import Limits
from plumbline.model.series import Sample
from tests.package.judge.rows import runs_of
from tests.package.judgements import BASELINE

DAY_S = 86400.0
RATE = 200e6
BASE = BASELINE._replace(median=RATE)


def samples(
    rates: Sequence[Optional[float]], peers_rate: Optional[float] = None, peers: int = 0
) -> tuple[Sample, ...]:
    """Return a run a night, the newest first."""
    found = [
        Sample(night * DAY_S, rate, None, peers_rate, peers, None)
        for night, rate in enumerate(rates)
    ]
    return tuple(found[::-1])


def measurement(member: str = "a", **changes: Any) -> Measurement:
    values: dict[str, Any] = {
        "kind": "ost read",
        "member": member,
        "samples": samples([RATE] * 5),
        "baseline": BASE,
        "limits": Limits(),
        "ceiling_rate": 250e6,
    }
    return Measurement(**{**values, **changes})


def fellows(count: int, **changes: Any) -> list[Measurement]:
    return [measurement(str(number), **changes) for number in range(count)]


def test_a_loss_that_all_share_is_taken_away_with_the_peers() -> None:
    busy = samples([RATE, RATE, RATE / 2])
    peers = fellows(6, samples=busy)
    found = References(peers).of(peers[0])
    assert found is not None
    assert list(found.source.runs[:, RATIO]) == pytest.approx([0.0, 0.0, 0.0])
    assert found.source.noise == PEER_NOISE


def test_a_loss_of_its_own_stays() -> None:
    slow = measurement("slow", samples=samples([RATE, RATE, RATE / 2]))
    found = References([slow, *fellows(6)]).of(slow)
    assert found is not None
    assert found.source.runs[-1, RATIO] == pytest.approx(log(0.5))


def test_without_peers_the_baseline_is_the_reference_and_busy_days_are_noise() -> None:
    only = measurement(samples=samples([RATE, RATE / 2]))
    found = References([only]).of(only)
    assert found is not None
    assert found.against == Against.ALONE.value
    assert found.source.noise == LONE_NOISE
    assert list(found.source.runs[:, RATIO]) == pytest.approx([0.0, log(0.5)])


def test_without_baseline_and_many_peers_few_must_do() -> None:
    only = measurement(baseline=None, samples=samples([100e6] * 2, RATE, 2))
    found = References([only]).of(only)
    assert found is not None
    assert found.against == Against.FEW.value
    assert found.source.runs[0, RATIO] == pytest.approx(log(0.5))


@pytest.mark.parametrize(("runs", "known"), [(8, False), (9, True)])
def test_with_nothing_else_its_own_earlier_runs_must_do(runs: int, known: bool) -> None:
    only = measurement(baseline=None, samples=samples([RATE] * (runs - 1) + [RATE / 2]))
    found = References([only]).of(only)
    assert bool(found) is known
    if found:
        assert found.against == Against.HISTORY.value
        assert list(found.source.runs[:, RATIO]) == pytest.approx([log(0.5)])


def test_what_a_person_has_accepted_as_slower_is_held_against_its_baseline() -> None:
    slow = samples([100e6] * 5, RATE, 6)
    accepted = measurement("slow", samples=slow, baseline=BASE._replace(median=100e6))
    found = References([accepted, *fellows(6)]).of(accepted)
    assert found is not None
    assert found.against == Against.BASELINE.value
    assert list(found.source.runs[:, RATIO]) == pytest.approx([0.0] * 5)


@pytest.mark.parametrize(
    "left_out",
    [
        Sample(DAY_S, None, None, None, 0, None),
        Sample(DAY_S, 100e6, 0.5, None, 0, None),
        Sample(DAY_S, 300e6, None, None, 0, None),
    ],
    ids=["no rate", "contended", "above the ceiling"],
)
def test_what_says_nothing_of_the_component_is_left_out(left_out: Sample) -> None:
    only = measurement(samples=(left_out, *samples([RATE])))
    found = References([only]).of(only)
    assert found is not None
    assert len(found.source.runs) == 1


def test_peers_of_the_same_run_come_before_those_of_the_day() -> None:
    # by day two groups of runs differ as the load of the hours did, by run they are alike
    every = []
    for number in range(30):
        rates = [RATE * (1 + 0.3 * (number % 2))] * 5
        every.append(measurement(str(number), baseline=None, samples=samples(rates, rates[0], 14)))
    found = References(every).of(every[0])
    assert found is not None
    assert found.against == Against.RUN.value
    assert found.source.off == pytest.approx(0.01)


HOUR_S = 3600.0


def also(nights: Sequence[Sample], rate: float, at: float, peers: int = 2) -> tuple[Sample, ...]:
    """Return the same with a later run of few; what their median is does not matter."""
    return (Sample(at, rate, None, RATE, peers, None), *nights)


UPPER = 0.5642 * 0.015
"""What the upper of two controls is above their mean in the mean, where runs differ by 0.015."""


@pytest.mark.parametrize("form", ["baseline", "peers"])
@pytest.mark.parametrize(
    ("own", "others", "after_s", "log_ratio"),
    [
        # a low run that two healthy ones beside it do not share
        (0.4, (1.0, 1.0), 600.0, log(0.4)),
        # in a busy hour all of them are low: nothing is left
        (0.4, (0.4, 0.4), 600.0, 0.0),
        # of two the upper one counts: a disturbed one does not make a slow one look healthy
        (0.4, (1.0, 0.5), 600.0, log(0.4)),
        # of three others one may be slow as well
        (0.4, (1.0, 1.0, 0.3), 600.0, log(0.4)),
        (0.4, (1.0, 1.0), 1800.0, log(0.4)),
    ],
)
def test_a_run_of_a_few_is_held_against_what_the_others_of_it_usually_give(
    form: str, own: float, others: tuple[float, ...], after_s: float, log_ratio: float
) -> None:
    base = {} if form == "baseline" else {"baseline": None}
    nights = samples([RATE] * 5, RATE, 7)
    later = 4 * DAY_S + 3 * HOUR_S
    slow = measurement("slow", samples=also(nights, own * RATE, later), **base)
    controls = [
        # a control may be faster than others at all times
        measurement(
            f"control {number}",
            samples=also(samples([1.05 * RATE] * 5, RATE, 7), 1.05 * share * RATE, later + after_s),
            baseline=base.get("baseline", BASE._replace(median=1.05 * RATE)),
        )
        for number, share in enumerate(others)
    ]
    found = References([slow, *controls, *fellows(5, samples=nights, **base)]).of(slow)
    assert found is not None
    assert found.source.runs[-1, AT] == later
    log_ratio += UPPER if len(others) == 2 else 0.0
    assert found.source.runs[-1, RATIO] == pytest.approx(log_ratio, abs=1e-9)
    assert found.source.runs[-1, SPREAD] > found.source.runs[-2, SPREAD]


def test_what_was_measured_at_another_hour_is_not_beside_a_run_of_a_few() -> None:
    nights = samples([RATE] * 5, RATE, 7)
    later = 4 * DAY_S + 3 * HOUR_S
    slow = measurement("slow", samples=also(nights, 0.4 * RATE, later))
    control = measurement("control", samples=also(nights, 0.4 * RATE, later + 1801.0))
    found = References([slow, control, *fellows(5, samples=nights)]).of(slow)
    assert found is not None
    assert later not in [run.at for run in runs_of(found.source)]


def test_runs_of_a_few_change_nothing_of_what_all_gave_on_a_day() -> None:
    nights = samples([RATE] * 5, RATE, 7)
    later = 4 * DAY_S + 3 * HOUR_S
    low = [measurement(str(n), samples=also(nights, 0.4 * RATE, later)) for n in range(8)]
    fine = measurement("fine", samples=nights)
    found = References([fine, *low]).of(fine)
    assert found is not None
    assert found.source.runs[-1, RATIO] == pytest.approx(0.0)


def test_a_group_that_never_has_more_than_a_few_is_held_against_its_day_as_before() -> None:
    nights = samples([RATE, RATE, RATE / 2], RATE, 1)
    members = fellows(6, samples=nights)
    found = References(members).of(members[0])
    assert found is not None
    assert list(found.source.runs[:, RATIO]) == pytest.approx([0.0, 0.0, 0.0])


def against(members: Sequence[Measurement]) -> Optional[str]:
    found = References(members).of(members[0])
    return found.against if found else None


@pytest.mark.parametrize(
    ("peers", "form"), [(3, Against.FEW), (4, Against.RUN), (5, Against.RUN), (14, Against.RUN)]
)
def test_four_peers_of_one_run_are_a_reference(peers: int, form: Against) -> None:
    every = [
        measurement(
            str(number),
            baseline=None,
            # alike in each run, and by day not: their hours differ
            samples=samples([RATE * (1 + 0.3 * (number % 2))] * 5, RATE, peers),
        )
        for number in range(4 if peers == 3 else 6)
    ]
    assert against(every) == form.value


@pytest.mark.parametrize(("members", "form"), [(4, Against.ALONE), (5, Against.BASELINE)])
def test_four_members_beside_it_are_peers_of_the_day(members: int, form: Against) -> None:
    assert against(fellows(members)) == form.value


@pytest.mark.parametrize(
    ("coverage", "used"), [(0.89, False), (0.9, True), (None, True)], ids=["less", "just", "?"]
)
def test_a_run_counts_from_the_least_coverage_on(coverage: Optional[float], used: bool) -> None:
    one = measurement(samples=(Sample(DAY_S, 100e6, coverage, None, 0, None), *samples([RATE])))
    found = References([one]).of(one)
    assert found is not None
    assert len(found.source.runs) == 1 + used


@pytest.mark.parametrize(("share", "used"), [(1.049, True), (1.05, True), (1.051, False)])
def test_a_run_counts_up_to_a_little_above_its_ceiling(share: float, used: bool) -> None:
    one = measurement(samples=(Sample(DAY_S, share * 250e6, None, None, 0, None), *samples([RATE])))
    found = References([one]).of(one)
    assert found is not None
    assert len(found.source.runs) == 1 + used


def test_without_peers_runs_differ_by_five_percent_at_least() -> None:
    for spread, wanted in ((0.01, 0.05), (0.08, 0.08)):
        one = measurement(baseline=BASE._replace(spread=spread, runs=16))
        found = References([one]).of(one)
        assert found is not None
        assert {run.spread for run in runs_of(found.source)} == {wanted}
        # the error of a median of sixteen runs, though nothing is known better than 1.5 %
        assert found.source.off == pytest.approx(max(0.015, 1.2533 * wanted / 4))


@pytest.mark.parametrize(("runs", "off"), [(0, 1.2533 * 0.05), (1, 1.2533 * 0.05), (100, 0.015)])
def test_a_baseline_is_as_certain_as_its_runs(runs: int, off: float) -> None:
    one = measurement(baseline=BASE._replace(runs=runs))
    for found in (References([one]).of(one), group_source([one], 1)):
        assert found is not None
        assert found.source.off == pytest.approx(off)


@pytest.mark.parametrize(("spread", "form"), [(0.39, Against.BASELINE), (0.42, Against.ALONE)])
def test_peers_that_differ_more_than_busy_days_do_are_no_reference(
    spread: float, form: Against
) -> None:
    # of five members at -2, -1, 0, 1 and 2 steps the spread of one more value is 2.021 steps
    day = 1.4826 * 5 / 4.2
    step = spread / hypot(day, 1.2533 * day / sqrt(5))
    rates = [RATE * exp(step * number) for number in (0, -2, -1, 1, 2)]
    every = [
        measurement(str(number), samples=samples([rate] * 5), ceiling_rate=None)
        for number, rate in enumerate(rates)
    ]
    assert against(every) == form.value


@pytest.mark.parametrize(("share", "accepted"), [(0.94, True), (0.955, False), (1.06, False)])
def test_a_baseline_below_its_peers_by_half_the_limit_is_accepted_as_slower(
    share: float, accepted: bool
) -> None:
    """From the middle between the same and a tenth less on: the square root of 0.9 is 0.949."""
    low = [share * RATE] * 5
    one = measurement(
        "low", samples=samples(low, RATE, 6), baseline=BASE._replace(median=share * RATE)
    )
    found = References([one, *fellows(6, samples=samples([RATE] * 5, RATE, 6))]).of(one)
    assert found is not None
    assert (found.against == Against.BASELINE.value) is accepted


@pytest.mark.parametrize("controls", [1, 2, 3])
def test_a_run_of_a_few_is_as_uncertain_as_its_controls(controls: int) -> None:
    nights = samples([RATE * 1.0] * 5, RATE, 7)
    later = 4 * DAY_S + 3 * HOUR_S
    every = [
        measurement(str(n), samples=also(nights, RATE, later, controls))
        for n in range(1 + controls)
    ]
    found = References([*every, *fellows(5, samples=nights)]).of(every[0])
    assert found is not None
    nightly, few = found.source.runs[0, SPREAD], found.source.runs[-1, SPREAD]
    assert few == pytest.approx(nightly * sqrt(1 + 1 / controls))


@pytest.mark.parametrize(("peers", "few"), [(1, True), (3, True), (4, False), (7, False)])
def test_a_run_of_one_to_three_peers_is_one_of_a_few_where_others_have_more(
    peers: int, few: bool
) -> None:
    nights = samples([RATE] * 5, RATE, 7)
    later = 4 * DAY_S + 3 * HOUR_S
    one = measurement("one", samples=also(nights, 0.4 * RATE, later, peers))
    found = References([one, *fellows(6, samples=nights)]).of(one)
    assert found is not None
    # without a control of its run, a run of a few is held against nothing
    assert (later not in [run.at for run in runs_of(found.source)]) is few


@pytest.mark.parametrize(
    ("at_day", "share", "spread"),
    [
        (4, 0.4, 0.015),
        # as much as a busy day explains, and no more
        (5, 0.4, 0.19),
        (5, 0.9, -log(0.9) - UPPER),
        (5, 1.1, log(1.1) + UPPER),
        (5, 1.0, 0.015),
    ],
)
def test_without_a_run_of_all_a_run_of_a_few_that_is_off_shows_a_busy_day(
    at_day: int, share: float, spread: float
) -> None:
    nights = samples([RATE] * 5, RATE, 7)
    at = at_day * DAY_S + 3 * HOUR_S
    one = measurement("one", samples=also(nights, share * RATE, at))
    controls = [measurement(str(n), samples=also(nights, RATE, at)) for n in range(2)]
    found = References([one, *controls, *fellows(5, samples=nights)]).of(one)
    assert found is not None
    assert found.source.runs[-1, RATIO] == pytest.approx(log(share) + UPPER)
    assert found.source.runs[-1, SPREAD] == pytest.approx(spread * sqrt(1.5))


@pytest.mark.parametrize("form", [Against.RUN, Against.BASELINE, Against.RATE])
def test_a_run_by_name_is_held_against_the_last_run_of_all(form: Against) -> None:
    """On the last night all have lost a fifth, which the run by name shares."""
    rates = [RATE, RATE, RATE, 0.8 * RATE]
    base = {} if form is Against.BASELINE else {"baseline": None}
    nights = samples(rates, None, 7)
    if form is Against.RUN:
        nights = tuple(one._replace(peers_rate=one.rate) for one in nights)
    late = Sample(5 * DAY_S, 0.4 * RATE, None, None, 0, None)
    early = late._replace(started_at=-DAY_S)
    one = measurement("one", samples=(late, *nights, early), **base)
    found = References([one, *fellows(7, samples=nights, **base)]).of(one)
    assert found is not None
    assert found.against == form.value
    assert found.source.runs[-1, RATIO] == pytest.approx(log(0.5))
    # before there was one, against the first
    assert found.source.runs[0, RATIO] == pytest.approx(log(0.4))


@pytest.mark.parametrize(
    ("shares", "drift"),
    [
        ((1.0,), 0.05),
        ((1.0, 0.8), 1.4826 * -log(0.8)),
        ((1.0, 1.0, 1.0), 0.05),
        ((1.0, 0.8, 1.0), 1.4826 * -log(0.8)),
    ],
    ids=["nobody knows", "once", "steady", "changing"],
)
def test_a_run_by_name_is_as_uncertain_as_what_all_share_changes(
    shares: tuple[float, ...], drift: float
) -> None:
    every = []
    for number in range(6):
        nights = tuple(
            Sample(night * DAY_S, share * RATE, None, share * RATE, 5, None)
            for night, share in enumerate(shares)
        )[::-1]
        late = Sample(9 * DAY_S, RATE, None, None, 0, None)
        every.append(measurement(str(number), samples=(late, *nights)))
    found = References(every).of(every[0])
    assert found is not None
    assert found.source.runs[-1, SPREAD] == pytest.approx(hypot(0.015, drift))
    assert len(found.source.runs) == len(shares) + 1


def test_a_run_by_name_beside_few_peers_is_held_against_those_of_the_run_before() -> None:
    nights = samples([RATE] * 2, RATE, 2)
    late = Sample(2 * DAY_S, RATE / 2, None, None, 0, None)
    early = late._replace(started_at=-DAY_S)
    one = measurement(baseline=None, samples=(late, *nights, early))
    found = References([one]).of(one)
    assert found is not None
    # before there was one, against nothing
    assert list(found.source.runs[:, RATIO]) == pytest.approx([0.0, 0.0, log(0.5)])


def test_a_few_peers_may_each_be_odd() -> None:
    one = measurement(baseline=None, samples=samples([RATE] * 2, RATE, 2))
    found = References([one]).of(one)
    assert found is not None
    assert found.source.off == 0.05
    assert [run.spread for run in runs_of(found.source)] == [pytest.approx(0.19 * sqrt(2))] * 2


@pytest.mark.parametrize(("usual", "used"), [(0.6, 1), (0.59, 0)])
def test_a_run_that_lost_half_of_its_usual_coverage_is_not_its_own_history(
    usual: float, used: int
) -> None:
    """Others always take as much: 0.6 of the bytes are its own, and in one run 0.3."""
    nights = tuple(Sample(night * DAY_S, RATE, 0.6, None, 0, None) for night in range(9, -1, -1))
    last = Sample(10 * DAY_S, RATE / 2, usual / 2 + 0.001 * (used - 1), None, 0, None)
    one = measurement(baseline=None, samples=(last, *nights))
    found = References([one]).of(one)
    assert found is not None
    assert len(found.source.runs) == 2 + used


@pytest.mark.parametrize(("runs", "judged"), [(9, 1), (10, 2), (15, 7), (16, 8), (17, 8), (30, 8)])
def test_the_newest_of_its_own_runs_are_held_against_those_before(runs: int, judged: int) -> None:
    one = measurement(baseline=None, samples=samples([RATE] * (runs - judged) + [90e6] * judged))
    found = References([one]).of(one)
    assert found is not None
    assert list(found.source.runs[:, RATIO]) == pytest.approx([log(0.45)] * judged)
    assert found.source.runs[0, SPREAD] == 0.05
    assert found.source.off == pytest.approx(1.2533 * 0.05 / sqrt(runs - judged))


@pytest.mark.parametrize(
    ("before", "share"),
    [
        ([0.0] * 22, 0.15),
        ([0.0] * 19 + [-0.7] * 3, 0.15),
        ([0.0] * 18 + [-0.7] * 4, 0.171875),
        ([0.0] * 12 + [-0.7] * 10, 0.359375),
        # where runs differ by 0.3 anyway, from twice as much on: 0.593
        ([0.0, 0.2] * 9 + [-0.59] * 4, 0.15),
        ([0.0, 0.2] * 9 + [-0.60] * 4, 0.171875),
    ],
)
def test_what_was_often_disturbed_is_expected_to_be_so_again(
    before: Sequence[float], share: float
) -> None:
    """Ten runs' worth of 15 %, and the 22 runs before."""
    rates = [RATE * exp(level) for level in before] + [RATE] * 8
    one = measurement(baseline=None, samples=samples(rates))
    found = References([one]).of(one)
    assert found is not None
    assert found.source.noise.lower == pytest.approx(share)
    assert found.source.least == 0.2


@pytest.mark.parametrize(("known", "judged"), [(1, False), (2, False), (3, True), (4, True)])
def test_more_than_half_of_a_group_must_have_a_baseline(known: int, judged: bool) -> None:
    every = [measurement(str(n), baseline=BASE if n < known else None) for n in range(4)]
    assert bool(group_source(every, 4)) is judged


@pytest.mark.parametrize(("measured", "days"), [(1, 4), (2, 4), (3, 5), (4, 5)])
def test_a_day_counts_where_more_than_half_of_a_group_was_measured(
    measured: int, days: int
) -> None:
    every = [
        measurement(str(n), samples=samples([RATE] * (5 if n < measured else 4))) for n in range(4)
    ]
    found = group_source(every, 4)
    assert found is not None
    assert len(found.source.runs) == days


@pytest.mark.parametrize(
    ("shares", "middle"),
    [((0.5, 1.0), 1.0), ((0.5, 0.8, 1.0), 0.8), ((0.5, 0.6, 0.8, 1.0), 0.8)],
)
def test_a_group_gave_the_upper_median_of_its_members(
    shares: tuple[float, ...], middle: float
) -> None:
    every = [measurement(str(n), samples=samples([RATE * share])) for n, share in enumerate(shares)]
    found = group_source(every, len(shares))
    assert found is not None
    assert list(found.source.runs[:, RATIO]) == pytest.approx([log(middle)])


def test_the_day_of_a_group_is_as_uncertain_as_its_members_differ() -> None:
    shares = (0.5, 0.6, 0.8, 1.0)
    every = [measurement(str(n), samples=samples([RATE * share])) for n, share in enumerate(shares)]
    found = group_source(every, 4)
    assert found is not None
    far = sorted(abs(log(share / 0.8)) for share in shares)
    spread = 1.4826 * (far[1] + far[2]) / 2
    assert found.source.runs[0, SPREAD] == pytest.approx(hypot(0.05, 1.2533 * spread / 2))


def test_a_member_that_ran_more_often_on_a_day_counts_by_its_middle_from_the_first_run() -> None:
    rates = [RATE, 0.5 * RATE, 0.8 * RATE]
    often = tuple(
        Sample(HOUR_S * (3 + n), rate, None, None, 0, None) for n, rate in enumerate(rates)
    )[::-1]
    found = group_source([measurement(samples=often)], 1)
    assert found is not None
    assert [run.at for run in runs_of(found.source)] == [3 * HOUR_S]
    assert list(found.source.runs[:, RATIO]) == pytest.approx([log(0.8)])
    twice = group_source([measurement(samples=often[1:])], 1)
    assert twice is not None
    assert list(twice.source.runs[:, RATIO]) == pytest.approx([log(0.5) / 2])


@pytest.mark.parametrize("with_group", [False, True])
def test_after_a_change_a_member_of_a_group_is_not_held_against_the_era_before(
    with_group: bool,
) -> None:
    one = measurement(era=Era("lustre 2.3.0 -> 2.4.0", None, with_group))
    found = References([one]).of(one)
    assert (found is None) is with_group
    if found:
        assert found.against == "the baseline from before lustre 2.3.0 -> 2.4.0"


@pytest.mark.parametrize(("peers", "judged"), [(0, True), (1, False), (3, False), (4, True)])
def test_a_run_without_peers_is_held_against_its_day_as_any_other(peers: int, judged: bool) -> None:
    """Only a run of a few needs the controls of its own run, and here there are none."""
    nights = samples([RATE / 2] * 5, RATE, 7)
    later = 4 * DAY_S + 3 * HOUR_S
    accepted = BASE._replace(median=RATE / 2)
    one = measurement("one", samples=also(nights, RATE / 4, later, peers), baseline=accepted)
    found = References([one, *fellows(6, samples=samples([RATE] * 5, RATE, 7))]).of(one)
    assert found is not None
    assert [run.log_ratio for run in runs_of(found.source) if run.at == later] == (
        [pytest.approx(log(0.5))] if judged else []
    )


def test_a_baseline_as_good_as_those_of_its_peers_is_not_accepted_as_slower() -> None:
    """However small a loss the policy asks for."""
    every = fellows(6, samples=samples([RATE] * 5, RATE, 5), limits=Limits(peer_loss=0.0))
    assert against(every) == Against.RUN.value


BUSY_WEEK = {
    "read": {1: 0.14, 2: 0.183, 5: -0.489, 6: -0.637, 7: 0.599},
    "read together": {1: -0.137, 2: 0.191, 3: 0.031, 5: 0.373, 6: 0.226, 7: -0.209},
}
"""A healthy device of a new site beside its single peer, a logarithm for each night: days 5 to 7
were busy, and single runs differed by 0.19, as in the year of benchmarks."""


@pytest.mark.parametrize("turned", [1, -1])
def test_a_busy_week_beside_a_single_peer_accuses_neither(turned: int) -> None:
    held = []
    for what, nights in BUSY_WEEK.items():
        runs = tuple(
            Sample(night * DAY_S, RATE * exp(turned * found), None, RATE, 1, None)
            for night, found in sorted(nights.items(), reverse=True)
        )
        one = NamedMeasurement(what, "", measurement(baseline=None, samples=runs))
        found = References([one.measurement]).of(one.measurement)
        assert found is not None
        held.append((one, found))
    asked = Question(-log(0.9), log(100.0), log(100.0))
    weight = weigh([subject_of(held, asked)])[0]
    assert not weight.alarm
    assert weight.odds < log(20)
