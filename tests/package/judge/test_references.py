"""A run is compared with peers first, its baseline second, its own history third."""

from __future__ import annotations

import gc
from math import exp, hypot, log, sqrt
from random import Random
from typing import Any, Optional, Sequence

import pytest

from plumbline.judge.cases import case_of
from plumbline.judge.kinds import Against, Era, Measurement, Table
from plumbline.judge.recursion import weigh
from plumbline.judge.references import References, of_group
from plumbline.judge.runs import AT, LONE_NOISE, PEER_NOISE, RATIO, SPREAD, Question
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
    nights = [
        Sample(night * DAY_S, rate, None, peers_rate, peers, None)
        for night, rate in enumerate(rates)
    ]
    return tuple(nights[::-1])


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


def test_a_loss_that_all_share_cancels_out() -> None:
    busy = samples([RATE, RATE, RATE / 2])
    peers = fellows(6, samples=busy)
    compared = References(peers).of(peers[0])
    assert compared is not None
    assert list(compared.source.runs[:, RATIO]) == pytest.approx([0.0, 0.0, 0.0])
    assert compared.source.noise == PEER_NOISE


def test_a_loss_of_one_component_remains() -> None:
    slow = measurement("slow", samples=samples([RATE, RATE, RATE / 2]))
    compared = References([slow, *fellows(6)]).of(slow)
    assert compared is not None
    assert compared.source.runs[-1, RATIO] == pytest.approx(log(0.5))


def test_a_kind_that_is_compared_as_a_whole_leaves_no_table_in_memory() -> None:
    def tables() -> int:
        gc.collect()
        return sum(type(value) is Table for value in gc.get_objects())

    before = tables()
    peers = fellows(6)
    references = References(peers, whole=True)
    assert all(references.of(peer) for peer in peers)
    assert tables() == before


def test_without_peers_the_baseline_is_the_reference_and_busy_days_are_noise() -> None:
    only = measurement(samples=samples([RATE, RATE / 2]))
    compared = References([only]).of(only)
    assert compared is not None
    assert compared.against == Against.ALONE.value
    assert compared.source.noise == LONE_NOISE
    assert list(compared.source.runs[:, RATIO]) == pytest.approx([0.0, log(0.5)])


def test_without_baseline_and_many_peers_a_few_peers_are_the_reference() -> None:
    only = measurement(baseline=None, samples=samples([100e6] * 2, RATE, 2))
    compared = References([only]).of(only)
    assert compared is not None
    assert compared.against == Against.FEW.value
    assert compared.source.runs[0, RATIO] == pytest.approx(log(0.5))


@pytest.mark.parametrize(("runs", "usable"), [(8, False), (9, True)])
def test_without_any_other_reference_earlier_runs_are_used(runs: int, usable: bool) -> None:
    only = measurement(baseline=None, samples=samples([RATE] * (runs - 1) + [RATE / 2]))
    compared = References([only]).of(only)
    assert bool(compared) is usable
    if compared:
        assert compared.against == Against.HISTORY.value
        assert list(compared.source.runs[:, RATIO]) == pytest.approx([log(0.5)])


def test_a_component_accepted_as_slower_is_compared_with_its_baseline() -> None:
    slow = samples([100e6] * 5, RATE, 6)
    accepted = measurement("slow", samples=slow, baseline=BASE._replace(median=100e6))
    compared = References([accepted, *fellows(6)]).of(accepted)
    assert compared is not None
    assert compared.against == Against.BASELINE.value
    assert list(compared.source.runs[:, RATIO]) == pytest.approx([0.0] * 5)


@pytest.mark.parametrize(
    "unusable",
    [
        Sample(DAY_S, None, None, None, 0, None),
        Sample(DAY_S, 100e6, 0.5, None, 0, None),
        Sample(DAY_S, 300e6, None, None, 0, None),
    ],
    ids=["no rate", "contended", "above the ceiling"],
)
def test_unusable_runs_are_left_out(unusable: Sample) -> None:
    only = measurement(samples=(unusable, *samples([RATE])))
    compared = References([only]).of(only)
    assert compared is not None
    assert len(compared.source.runs) == 1


def test_peers_of_the_same_run_are_preferred_to_those_of_the_day() -> None:
    # two groups of runs at hours of different load: unequal by day, equal by run
    group = []
    for number in range(30):
        rates = [RATE * (1 + 0.3 * (number % 2))] * 5
        group.append(measurement(str(number), baseline=None, samples=samples(rates, rates[0], 14)))
    compared = References(group).of(group[0])
    assert compared is not None
    assert compared.against == Against.RUN.value
    assert compared.source.off == pytest.approx(0.01)


HOUR_S = 3600.0


def also(nights: Sequence[Sample], rate: float, at: float, peers: int = 2) -> tuple[Sample, ...]:
    """Return the samples with a later run of a few members; the median of these is not used."""
    return (Sample(at, rate, None, RATE, peers, None), *nights)


UPPER = 0.5642 * 0.015
"""Mean distance of the upper of two controls from their mean, at a spread of 0.015."""


@pytest.mark.parametrize("form", ["baseline", "peers"])
@pytest.mark.parametrize(
    ("own", "others", "after_s", "log_ratio"),
    [
        # a low run, with two healthy controls
        (0.4, (1.0, 1.0), 600.0, log(0.4)),
        # in a busy hour all of them are low: no loss
        (0.4, (0.4, 0.4), 600.0, 0.0),
        # of two controls the upper one counts: a disturbed one does not hide a loss
        (0.4, (1.0, 0.5), 600.0, log(0.4)),
        # one of three controls may be slow as well
        (0.4, (1.0, 1.0, 0.3), 600.0, log(0.4)),
        (0.4, (1.0, 1.0), 1800.0, log(0.4)),
    ],
)
def test_a_run_of_a_few_is_compared_with_the_usual_rates_of_its_other_members(
    form: str, own: float, others: tuple[float, ...], after_s: float, log_ratio: float
) -> None:
    base = {} if form == "baseline" else {"baseline": None}
    nights = samples([RATE] * 5, RATE, 7)
    later = 4 * DAY_S + 3 * HOUR_S
    slow = measurement("slow", samples=also(nights, own * RATE, later), **base)
    controls = [
        # a control may always be faster than others
        measurement(
            f"control {number}",
            samples=also(samples([1.05 * RATE] * 5, RATE, 7), 1.05 * share * RATE, later + after_s),
            baseline=base.get("baseline", BASE._replace(median=1.05 * RATE)),
        )
        for number, share in enumerate(others)
    ]
    compared = References([slow, *controls, *fellows(5, samples=nights, **base)]).of(slow)
    assert compared is not None
    assert compared.source.runs[-1, AT] == later
    log_ratio += UPPER if len(others) == 2 else 0.0
    assert compared.source.runs[-1, RATIO] == pytest.approx(log_ratio, abs=1e-9)
    assert compared.source.runs[-1, SPREAD] > compared.source.runs[-2, SPREAD]


def test_a_member_whose_usual_rate_is_unknown_is_no_control() -> None:
    nights = samples([RATE] * 5, RATE, 7)
    later = 4 * DAY_S + 3 * HOUR_S
    slow = measurement("slow", samples=also(nights, 0.4 * RATE, later))
    control = measurement("control", samples=also(nights, RATE, later))
    # its only full run was on a day without the others
    alone = (Sample(-9 * DAY_S, RATE, None, RATE, 7, None),)
    unknown = measurement("new", samples=also(alone, 0.1 * RATE, later))
    compared = References([slow, control, unknown, *fellows(5, samples=nights)]).of(slow)
    assert compared is not None
    run = runs_of(compared.source)[-1]
    assert run.at == later
    assert run.log_ratio == pytest.approx(log(0.4))
    assert {run.source for run in runs_of(compared.source)} == {0}


def test_a_run_at_another_hour_is_no_control() -> None:
    nights = samples([RATE] * 5, RATE, 7)
    later = 4 * DAY_S + 3 * HOUR_S
    slow = measurement("slow", samples=also(nights, 0.4 * RATE, later))
    control = measurement("control", samples=also(nights, 0.4 * RATE, later + 1801.0))
    compared = References([slow, control, *fellows(5, samples=nights)]).of(slow)
    assert compared is not None
    assert later not in [run.at for run in runs_of(compared.source)]


def test_runs_of_a_few_do_not_change_the_median_of_the_day() -> None:
    nights = samples([RATE] * 5, RATE, 7)
    later = 4 * DAY_S + 3 * HOUR_S
    low = [measurement(str(n), samples=also(nights, 0.4 * RATE, later)) for n in range(8)]
    fine = measurement("fine", samples=nights)
    compared = References([fine, *low]).of(fine)
    assert compared is not None
    assert compared.source.runs[-1, RATIO] == pytest.approx(0.0)


def test_a_group_of_a_few_is_compared_with_its_day() -> None:
    nights = samples([RATE, RATE, RATE / 2], RATE, 1)
    members = fellows(6, samples=nights)
    compared = References(members).of(members[0])
    assert compared is not None
    assert list(compared.source.runs[:, RATIO]) == pytest.approx([0.0, 0.0, 0.0])


def against(members: Sequence[Measurement]) -> Optional[str]:
    compared = References(members).of(members[0])
    return compared.against if compared else None


@pytest.mark.parametrize(
    ("peers", "form"), [(3, Against.FEW), (4, Against.RUN), (5, Against.RUN), (14, Against.RUN)]
)
def test_four_peers_of_one_run_are_a_reference(peers: int, form: Against) -> None:
    members = [
        measurement(
            str(number),
            baseline=None,
            # equal in each run but not by day: their hours differ
            samples=samples([RATE * (1 + 0.3 * (number % 2))] * 5, RATE, peers),
        )
        for number in range(4 if peers == 3 else 6)
    ]
    assert against(members) == form.value


@pytest.mark.parametrize(("members", "form"), [(4, Against.ALONE), (5, Against.BASELINE)])
def test_five_members_are_peers_of_the_day(members: int, form: Against) -> None:
    assert against(fellows(members)) == form.value


@pytest.mark.parametrize(
    ("coverage", "used"), [(0.89, False), (0.9, True), (None, True)], ids=["less", "just", "?"]
)
def test_a_run_counts_from_the_least_coverage(coverage: Optional[float], used: bool) -> None:
    single = measurement(samples=(Sample(DAY_S, 100e6, coverage, None, 0, None), *samples([RATE])))
    compared = References([single]).of(single)
    assert compared is not None
    assert len(compared.source.runs) == 1 + used


@pytest.mark.parametrize(("share", "used"), [(1.049, True), (1.05, True), (1.051, False)])
def test_a_run_counts_up_to_five_percent_above_its_ceiling(share: float, used: bool) -> None:
    own = measurement(samples=(Sample(DAY_S, share * 250e6, None, None, 0, None), *samples([RATE])))
    compared = References([own]).of(own)
    assert compared is not None
    assert len(compared.source.runs) == 1 + used


def test_without_peers_the_spread_is_at_least_five_percent() -> None:
    for spread, expected in ((0.01, 0.05), (0.08, 0.08)):
        single = measurement(baseline=BASE._replace(spread=spread, runs=16))
        compared = References([single]).of(single)
        assert compared is not None
        assert {run.spread for run in runs_of(compared.source)} == {expected}
        # the error of a median of sixteen runs, at least 1.5 %
        assert compared.source.off == pytest.approx(max(0.015, 1.2533 * expected / 4))


@pytest.mark.parametrize(("runs", "off"), [(0, 1.2533 * 0.05), (1, 1.2533 * 0.05), (100, 0.015)])
def test_the_error_of_a_baseline_follows_its_number_of_runs(runs: int, off: float) -> None:
    single = measurement(baseline=BASE._replace(runs=runs))
    for compared in (References([single]).of(single), of_group([single], 1)):
        assert compared is not None
        assert compared.source.off == pytest.approx(off)


@pytest.mark.parametrize(
    ("spread", "of_baseline", "form"),
    [
        (0.18, 0.02, Against.BASELINE),
        (0.20, 0.02, Against.ALONE),
        # rough members differ as much while all are healthy
        (0.35, 0.30, Against.BASELINE),
        (0.37, 0.30, Against.ALONE),
    ],
)
def test_peers_that_differ_more_than_on_busy_days_are_no_reference(
    spread: float, of_baseline: float, form: Against
) -> None:
    # five members at -2, -1, 0, 1 and 2 steps have a spread of 2.021 steps
    day = 1.4826 * 5 / 4.2
    step = spread / hypot(day, 1.2533 * day / sqrt(5))
    rates = [RATE * exp(step * number) for number in (0, -2, -1, 1, 2)]
    members = [
        measurement(
            str(number),
            samples=samples([rate] * 5),
            ceiling_rate=None,
            baseline=BASE._replace(spread=of_baseline),
        )
        for number, rate in enumerate(rates)
    ]
    assert against(members) == form.value


def test_peers_of_rough_nights_stay_the_reference_though_their_baselines_are_steady() -> None:
    # often at the limit of a link while the baselines were taken, and rough since
    chance = Random(0)
    rates = [[RATE * exp(chance.gauss(0, 0.3)) for _ in range(21)] for _ in range(12)]
    members = [
        measurement(str(number), samples=samples(own), ceiling_rate=None)
        for number, own in enumerate(rates)
    ]
    assert against(members) in (Against.BASELINE.value, Against.RATE.value)


@pytest.mark.parametrize(("share", "accepted"), [(0.94, True), (0.955, False), (1.06, False)])
def test_a_baseline_below_its_peers_by_half_the_limit_counts_as_accepted(
    share: float, accepted: bool
) -> None:
    """The edge is halfway between equal and a tenth less: the square root of 0.9 is 0.949."""
    low = [share * RATE] * 5
    single = measurement(
        "low", samples=samples(low, RATE, 6), baseline=BASE._replace(median=share * RATE)
    )
    compared = References([single, *fellows(6, samples=samples([RATE] * 5, RATE, 6))]).of(single)
    assert compared is not None
    assert (compared.against == Against.BASELINE.value) is accepted


@pytest.mark.parametrize("controls", [1, 2, 3])
def test_the_spread_of_a_run_of_a_few_follows_its_number_of_controls(controls: int) -> None:
    nights = samples([RATE * 1.0] * 5, RATE, 7)
    later = 4 * DAY_S + 3 * HOUR_S
    members = [
        measurement(str(n), samples=also(nights, RATE, later, controls))
        for n in range(1 + controls)
    ]
    compared = References([*members, *fellows(5, samples=nights)]).of(members[0])
    assert compared is not None
    nightly, few = compared.source.runs[0, SPREAD], compared.source.runs[-1, SPREAD]
    assert few == pytest.approx(nightly * sqrt(1 + 1 / controls))


@pytest.mark.parametrize(("peers", "few"), [(1, True), (3, True), (4, False), (7, False)])
def test_a_run_with_one_to_three_peers_is_a_run_of_a_few_if_others_have_more(
    peers: int, few: bool
) -> None:
    nights = samples([RATE] * 5, RATE, 7)
    later = 4 * DAY_S + 3 * HOUR_S
    single = measurement("one", samples=also(nights, 0.4 * RATE, later, peers))
    compared = References([single, *fellows(6, samples=nights)]).of(single)
    assert compared is not None
    # a run of a few without controls is not compared
    assert (later not in [run.at for run in runs_of(compared.source)]) is few


@pytest.mark.parametrize(
    ("at_day", "share", "spread"),
    [
        (4, 0.4, 0.015),
        # up to the spread of a busy day
        (5, 0.4, 0.19),
        (5, 0.9, -log(0.9) - UPPER),
        (5, 1.1, log(1.1) + UPPER),
        (5, 1.0, 0.015),
    ],
)
def test_on_a_day_without_a_full_run_a_loss_counts_as_a_busy_day(
    at_day: int, share: float, spread: float
) -> None:
    nights = samples([RATE] * 5, RATE, 7)
    at = at_day * DAY_S + 3 * HOUR_S
    single = measurement("one", samples=also(nights, share * RATE, at))
    controls = [measurement(str(n), samples=also(nights, RATE, at)) for n in range(2)]
    compared = References([single, *controls, *fellows(5, samples=nights)]).of(single)
    assert compared is not None
    assert compared.source.runs[-1, RATIO] == pytest.approx(log(share) + UPPER)
    assert compared.source.runs[-1, SPREAD] == pytest.approx(spread * sqrt(1.5))


@pytest.mark.parametrize("form", [Against.RUN, Against.BASELINE, Against.RATE])
def test_a_run_by_name_is_compared_with_the_last_full_run(form: Against) -> None:
    """On the last night all lost a fifth, and the run by name too."""
    rates = [RATE, RATE, RATE, 0.8 * RATE]
    base = {} if form is Against.BASELINE else {"baseline": None}
    nights = samples(rates, None, 7)
    if form is Against.RUN:
        nights = tuple(single._replace(peers_rate=single.rate) for single in nights)
    late = Sample(5 * DAY_S, 0.4 * RATE, None, None, 0, None)
    early = late._replace(started_at=-DAY_S)
    single = measurement("one", samples=(late, *nights, early), **base)
    compared = References([single, *fellows(7, samples=nights, **base)]).of(single)
    assert compared is not None
    assert compared.against == form.value
    assert compared.source.runs[-1, RATIO] == pytest.approx(log(0.5))
    # before the first full run, with that
    assert compared.source.runs[0, RATIO] == pytest.approx(log(0.4))


@pytest.mark.parametrize(
    ("shares", "drift"),
    [
        ((1.0,), 0.05),
        ((1.0, 0.8), 1.4826 * -log(0.8)),
        ((1.0, 1.0, 1.0), 0.05),
        ((1.0, 0.8, 1.0), 1.4826 * -log(0.8)),
    ],
    ids=["unknown", "one change", "steady", "changing"],
)
def test_the_spread_of_a_run_by_name_includes_the_drift_of_the_shared_level(
    shares: tuple[float, ...], drift: float
) -> None:
    members = []
    for number in range(6):
        nights = tuple(
            Sample(night * DAY_S, share * RATE, None, share * RATE, 5, None)
            for night, share in enumerate(shares)
        )[::-1]
        late = Sample(9 * DAY_S, RATE, None, None, 0, None)
        members.append(measurement(str(number), samples=(late, *nights)))
    compared = References(members).of(members[0])
    assert compared is not None
    assert compared.source.runs[-1, SPREAD] == pytest.approx(hypot(0.015, drift))
    assert len(compared.source.runs) == len(shares) + 1


def test_a_run_by_name_is_compared_with_the_few_peers_of_the_run_before() -> None:
    nights = samples([RATE] * 2, RATE, 2)
    late = Sample(2 * DAY_S, RATE / 2, None, None, 0, None)
    early = late._replace(started_at=-DAY_S)
    single = measurement(baseline=None, samples=(late, *nights, early))
    compared = References([single]).of(single)
    assert compared is not None
    # the run before the first full one is not compared
    assert list(compared.source.runs[:, RATIO]) == pytest.approx([0.0, 0.0, log(0.5)])


@pytest.mark.parametrize(
    ("log_ratio", "spread"),
    [
        (-0.9, 0.19),
        (-0.06, 0.19),
        # nearer to its peers than to a loss of a tenth, 0.105
        (-0.05, 0.05),
        (0.0, 0.05),
        (0.12, 0.12),
        (0.9, 0.19),
    ],
)
def test_a_run_like_its_few_peers_shows_a_quiet_day(log_ratio: float, spread: float) -> None:
    runs = samples([RATE * exp(log_ratio)] * 2, RATE, 2)
    single = measurement(baseline=None, samples=runs, ceiling_rate=None)
    compared = References([single]).of(single)
    assert compared is not None
    assert compared.source.off == 0.05
    expected = spread * sqrt(1 + 1 / 2)
    assert [run.spread for run in runs_of(compared.source)] == [pytest.approx(expected)] * 2


@pytest.mark.parametrize(("usual", "used"), [(0.6, 1), (0.59, 0)])
def test_a_run_with_half_of_its_usual_coverage_is_not_used(usual: float, used: int) -> None:
    """The usual coverage is 0.6, and that of one run 0.3."""
    nights = tuple(Sample(night * DAY_S, RATE, 0.6, None, 0, None) for night in range(9, -1, -1))
    last = Sample(10 * DAY_S, RATE / 2, usual / 2 + 0.001 * (used - 1), None, 0, None)
    single = measurement(baseline=None, samples=(last, *nights))
    compared = References([single]).of(single)
    assert compared is not None
    assert len(compared.source.runs) == 2 + used


@pytest.mark.parametrize(("runs", "judged"), [(9, 1), (10, 2), (15, 7), (16, 8), (17, 8), (30, 8)])
def test_the_newest_runs_are_compared_with_the_earlier_ones(runs: int, judged: int) -> None:
    single = measurement(baseline=None, samples=samples([RATE] * (runs - judged) + [90e6] * judged))
    compared = References([single]).of(single)
    assert compared is not None
    assert list(compared.source.runs[:, RATIO]) == pytest.approx([log(0.45)] * judged)
    assert compared.source.runs[0, SPREAD] == 0.05
    assert compared.source.off == pytest.approx(1.2533 * 0.05 / sqrt(runs - judged))


@pytest.mark.parametrize(
    ("before", "share"),
    [
        ([0.0] * 22, 0.15),
        ([0.0] * 19 + [-0.7] * 3, 0.15),
        ([0.0] * 18 + [-0.7] * 4, 0.171875),
        ([0.0] * 12 + [-0.7] * 10, 0.359375),
        # runs with a spread of 0.3 are low from twice as much: 0.593
        ([0.0, 0.2] * 9 + [-0.59] * 4, 0.15),
        ([0.0, 0.2] * 9 + [-0.60] * 4, 0.171875),
    ],
)
def test_the_share_of_disturbed_runs_follows_the_earlier_runs(
    before: Sequence[float], share: float
) -> None:
    """A prior of 15 % with the weight of ten runs, and the 22 runs before."""
    rates = [RATE * exp(level) for level in before] + [RATE] * 8
    single = measurement(baseline=None, samples=samples(rates))
    compared = References([single]).of(single)
    assert compared is not None
    assert compared.source.noise.lower == pytest.approx(share)
    assert compared.source.least == 0.2


@pytest.mark.parametrize(
    ("baselines", "judged"), [(0, False), (1, False), (2, False), (3, True), (4, True)]
)
def test_more_than_half_of_a_group_must_have_a_baseline(baselines: int, judged: bool) -> None:
    members = [measurement(str(n), baseline=BASE if n < baselines else None) for n in range(4)]
    assert bool(of_group(members, 4)) is judged


@pytest.mark.parametrize(("measured", "days"), [(1, 4), (2, 4), (3, 5), (4, 5)])
def test_a_day_counts_if_more_than_half_of_the_group_was_measured(measured: int, days: int) -> None:
    members = [
        measurement(str(n), samples=samples([RATE] * (5 if n < measured else 4))) for n in range(4)
    ]
    compared = of_group(members, 4)
    assert compared is not None
    assert len(compared.source.runs) == days


@pytest.mark.parametrize(
    ("shares", "middle"),
    [((0.5, 1.0), 1.0), ((0.5, 0.8, 1.0), 0.8), ((0.5, 0.6, 0.8, 1.0), 0.8)],
)
def test_a_group_has_the_upper_median_of_its_members(
    shares: tuple[float, ...], middle: float
) -> None:
    group = [measurement(str(n), samples=samples([RATE * share])) for n, share in enumerate(shares)]
    compared = of_group(group, len(shares))
    assert compared is not None
    assert list(compared.source.runs[:, RATIO]) == pytest.approx([log(middle)])


@pytest.mark.parametrize(("runs", "nights"), [(12, 4), (1, 1)])
def test_three_nights_of_a_group_say_as_much_as_one(runs: int, nights: int) -> None:
    base = BASE._replace(runs=runs)
    compared = of_group([measurement(str(n), baseline=base) for n in range(3)], 3)
    assert compared is not None
    assert compared.source.off == pytest.approx(1.2533 * 0.05 / sqrt(nights))


def test_the_spread_of_a_group_on_a_day_follows_its_members() -> None:
    shares = (0.5, 0.6, 0.8, 1.0)
    group = [measurement(str(n), samples=samples([RATE * share])) for n, share in enumerate(shares)]
    compared = of_group(group, 4)
    assert compared is not None
    far = sorted(abs(log(share / 0.8)) for share in shares)
    spread = 1.4826 * (far[1] + far[2]) / 2
    assert compared.source.runs[0, SPREAD] == pytest.approx(hypot(0.05, 1.2533 * spread / 2))


def test_several_runs_of_a_member_on_a_day_count_by_their_median() -> None:
    rates = [RATE, 0.5 * RATE, 0.8 * RATE]
    often = tuple(
        Sample(HOUR_S * (3 + n), rate, None, None, 0, None) for n, rate in enumerate(rates)
    )[::-1]
    compared = of_group([measurement(samples=often)], 1)
    assert compared is not None
    assert [run.at for run in runs_of(compared.source)] == [3 * HOUR_S]
    assert list(compared.source.runs[:, RATIO]) == pytest.approx([log(0.8)])
    twice = of_group([measurement(samples=often[1:])], 1)
    assert twice is not None
    assert list(twice.source.runs[:, RATIO]) == pytest.approx([log(0.5) / 2])


@pytest.mark.parametrize("with_group", [False, True])
def test_after_a_change_a_member_of_a_group_is_not_compared_with_the_earlier_era(
    with_group: bool,
) -> None:
    single = measurement(era=Era("lustre 2.3.0 -> 2.4.0", None, with_group))
    compared = References([single]).of(single)
    assert (compared is None) is with_group
    if compared:
        assert compared.against == "the baseline from before lustre 2.3.0 -> 2.4.0"


@pytest.mark.parametrize(("peers", "judged"), [(0, True), (1, False), (3, False), (4, True)])
def test_a_run_without_peers_is_compared_with_its_day(peers: int, judged: bool) -> None:
    """Only a run of a few needs controls of its own run, and there are none."""
    nights = samples([RATE / 2] * 5, RATE, 7)
    later = 4 * DAY_S + 3 * HOUR_S
    accepted = BASE._replace(median=RATE / 2)
    single = measurement("one", samples=also(nights, RATE / 4, later, peers), baseline=accepted)
    compared = References([single, *fellows(6, samples=samples([RATE] * 5, RATE, 7))]).of(single)
    assert compared is not None
    assert [run.log_ratio for run in runs_of(compared.source) if run.at == later] == (
        [pytest.approx(log(0.5))] if judged else []
    )


def test_a_baseline_equal_to_those_of_its_peers_is_not_accepted_as_slower() -> None:
    """At any limit of the policy."""
    members = fellows(6, samples=samples([RATE] * 5, RATE, 5), limits=Limits(peer_loss=0.0))
    assert against(members) == Against.RUN.value


BUSY_WEEK = {
    "read": {1: 0.14, 2: 0.183, 5: -0.489, 6: -0.637, 7: 0.599},
    "read together": {1: -0.137, 2: 0.191, 3: 0.031, 5: 0.373, 6: 0.226, 7: -0.209},
}
"""Logarithms by night of a healthy device of a new site relative to its single peer: days 5 to 7
were busy, and single runs differed by 0.19, as in the year of benchmarks."""


@pytest.mark.parametrize("turned", [1, -1])
def test_a_busy_week_accuses_neither_of_two_peers(turned: int) -> None:
    pairs = []
    for what, nights in BUSY_WEEK.items():
        runs = tuple(
            Sample(night * DAY_S, RATE * exp(turned * ratio), None, RATE, 1, None)
            for night, ratio in sorted(nights.items(), reverse=True)
        )
        single = measurement(baseline=None, samples=runs, what=what)
        compared = References([single]).of(single)
        assert compared is not None
        pairs.append(compared)
    question = Question(-log(0.9), log(100.0), log(100.0))
    weight = weigh([case_of(pairs, question)])[0]
    assert not weight.alarm
    assert weight.odds < log(20)
