"""A run is held against peers first, its baseline second, its own history third."""

from __future__ import annotations

from math import log
from typing import Any, Optional, Sequence

import pytest

from plumbline.judge.noise import ALONE, BESIDE_PEERS
from plumbline.judge.references import Against, Measurement, References
from plumbline.model.limits import Limits
from plumbline.model.series import Sample
from tests.package.judgements import BASELINE

DAY_S = 86400.0
RATE = 200e6
BASE = BASELINE._replace(median_Bps=RATE)


def samples(
    rates: Sequence[Optional[float]], peers_Bps: Optional[float] = None, peers: int = 0
) -> tuple[Sample, ...]:
    """Return a run a night, the newest first."""
    found = [
        Sample(night * DAY_S, rate, None, peers_Bps, peers, None)
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
        "ceiling_Bps": 250e6,
    }
    return Measurement(**{**values, **changes})


def fellows(count: int, **changes: Any) -> list[Measurement]:
    return [measurement(str(number), **changes) for number in range(count)]


def test_a_loss_that_all_share_is_taken_away_with_the_peers() -> None:
    busy = samples([RATE, RATE, RATE / 2])
    peers = fellows(6, samples=busy)
    found = References(peers).of(peers[0])
    assert found is not None
    assert [run.log_ratio for run in found.source.runs] == pytest.approx([0.0, 0.0, 0.0])
    assert found.source.noise == BESIDE_PEERS


def test_a_loss_of_its_own_stays() -> None:
    slow = measurement("slow", samples=samples([RATE, RATE, RATE / 2]))
    found = References([slow, *fellows(6)]).of(slow)
    assert found is not None
    assert found.source.runs[-1].log_ratio == pytest.approx(log(0.5))


def test_without_peers_the_baseline_is_the_reference_and_busy_days_are_noise() -> None:
    only = measurement(samples=samples([RATE, RATE / 2]))
    found = References([only]).of(only)
    assert found is not None
    assert found.against == Against.ALONE.value
    assert found.source.noise == ALONE
    assert [run.log_ratio for run in found.source.runs] == pytest.approx([0.0, log(0.5)])


def test_without_baseline_and_many_peers_few_must_do() -> None:
    only = measurement(baseline=None, samples=samples([100e6] * 2, RATE, 2))
    found = References([only]).of(only)
    assert found is not None
    assert found.against == Against.FEW.value
    assert found.source.runs[0].log_ratio == pytest.approx(log(0.5))


@pytest.mark.parametrize(("runs", "known"), [(8, False), (9, True)])
def test_with_nothing_else_its_own_earlier_runs_must_do(runs: int, known: bool) -> None:
    only = measurement(baseline=None, samples=samples([RATE] * (runs - 1) + [RATE / 2]))
    found = References([only]).of(only)
    assert bool(found) is known
    if found:
        assert found.against == Against.HISTORY.value
        assert [run.log_ratio for run in found.source.runs] == pytest.approx([log(0.5)])


def test_what_a_person_has_accepted_as_slower_is_held_against_its_baseline() -> None:
    slow = samples([100e6] * 5, RATE, 6)
    accepted = measurement("slow", samples=slow, baseline=BASE._replace(median_Bps=100e6))
    found = References([accepted, *fellows(6)]).of(accepted)
    assert found is not None
    assert found.against == Against.BASELINE.value
    assert [run.log_ratio for run in found.source.runs] == pytest.approx([0.0] * 5)


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


@pytest.mark.parametrize("form", ["baseline", "peers"])
@pytest.mark.parametrize(
    ("own", "others", "after_s", "log_ratio"),
    [
        # a low run that two healthy ones beside it do not share
        (0.4, (1.0, 1.0), 600.0, log(0.4)),
        # in a busy hour all of them are low: nothing is left
        (0.4, (0.4, 0.4), 600.0, 0.0),
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
            baseline=base.get("baseline", BASE._replace(median_Bps=1.05 * RATE)),
        )
        for number, share in enumerate(others)
    ]
    found = References([slow, *controls, *fellows(5, samples=nights, **base)]).of(slow)
    assert found is not None
    assert found.source.runs[-1].at == later
    assert found.source.runs[-1].log_ratio == pytest.approx(log_ratio, abs=1e-9)
    assert found.source.runs[-1].spread > found.source.runs[-2].spread


def test_what_was_measured_at_another_hour_is_not_beside_a_run_of_a_few() -> None:
    nights = samples([RATE] * 5, RATE, 7)
    later = 4 * DAY_S + 3 * HOUR_S
    slow = measurement("slow", samples=also(nights, 0.4 * RATE, later))
    control = measurement("control", samples=also(nights, 0.4 * RATE, later + 1801.0))
    found = References([slow, control, *fellows(5, samples=nights)]).of(slow)
    assert found is not None
    assert later not in [run.at for run in found.source.runs]


def test_runs_of_a_few_change_nothing_of_what_all_gave_on_a_day() -> None:
    nights = samples([RATE] * 5, RATE, 7)
    later = 4 * DAY_S + 3 * HOUR_S
    low = [measurement(str(n), samples=also(nights, 0.4 * RATE, later)) for n in range(8)]
    fine = measurement("fine", samples=nights)
    found = References([fine, *low]).of(fine)
    assert found is not None
    assert found.source.runs[-1].log_ratio == pytest.approx(0.0)


def test_a_group_that_never_has_more_than_a_few_is_held_against_its_day_as_before() -> None:
    nights = samples([RATE, RATE, RATE / 2], RATE, 1)
    members = fellows(6, samples=nights)
    found = References(members).of(members[0])
    assert found is not None
    assert [run.log_ratio for run in found.source.runs] == pytest.approx([0.0, 0.0, 0.0])
