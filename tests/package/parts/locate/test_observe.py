"""Votes of measurements, with their rates and the start of a loss."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import pytest

from plumbline.judge.judging import Judging
from plumbline.judge.weighing import Weighing
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Limits, Reference
from plumbline.model.record import Flag, Operation, Outcome, Scenario
from plumbline.model.series import Running, Sample, Series
from plumbline.parts.locate.observation import Observation, Site, Vote
from plumbline.parts.locate.observe import observe
from tests.package.judgements import (
    BASELINE,
    CEILING,
    DAY_S,
    NOW,
    REFERENCE,
    Node,
    expectation,
    host_expectation,
    series,
    snapshot,
)

READ = {"read/single": REFERENCE}


class Memory:
    """Measurements of one component."""

    running: tuple[Running, ...] = ()

    def __init__(self, *series_: Series) -> None:
        self._series = series_

    def of(self, layer: str, component: str) -> tuple[Series, ...]:
        if component == "damaged":
            raise DocumentError("record 7 is damaged")
        return self._series


def observed(series_: Sequence[Series], entry: Optional[Expectation] = None) -> list[Observation]:
    expected = entry or expectation(references=READ)
    site = Site({"client1": (expected,)})
    judging = Judging(Memory(*series_), Weighing({}, {}), NOW)
    return list(observe(site.measurables(), {"client1": judging}))


@pytest.mark.parametrize(
    ("run", "vote"),
    [
        pytest.param(series(), Vote.GOOD, id="fine"),
        pytest.param(series(80e6), Vote.BAD, id="slow, its peers fine"),
        pytest.param(series(80e6, peers_rate=81e6), Vote.BAD, id="as slow as its peers"),
        pytest.param(series(80e6, coverage=0.4), Vote.NONE, id="contended"),
        pytest.param(
            series(80e6, peers_rate=81e6, coverage=0.4), Vote.NONE, id="contended like its peers"
        ),
        pytest.param(series(900e6), Vote.NONE, id="faster than the hardware"),
        pytest.param(series(80e6, flags=(Flag.DEGRADED,)), Vote.NONE, id="known to be degraded"),
        pytest.param(series(80e6, repeats=(80e6, 201e6)), Vote.BAD, id="repeats disagree, gross"),
        pytest.param(series(150e6, repeats=(150e6, 201e6)), Vote.NONE, id="repeats disagree, mild"),
        pytest.param(series(None), Vote.NONE, id="failed"),
        pytest.param(series(started_at=1.0, finished_at=2.0), Vote.NONE, id="too old"),
    ],
)
def test_votes_follow_the_verdict_on_a_run(run: Series, vote: Vote) -> None:
    (item,) = observed([run])
    assert item.vote is vote
    assert item.reason


def test_unmeasured_and_damaged_measurements_do_not_vote() -> None:
    (never,) = observed([])
    assert (never.vote, never.of.name) == (Vote.NONE, "ost scratch-OST0003 read")
    (damaged,) = observed([], expectation(component="damaged", references=READ))
    assert (damaged.vote, damaged.reason) == (Vote.NONE, "record 7 is damaged")


def test_a_hung_measurement_has_rate_zero() -> None:
    stuck: dict[str, Any] = {"outcome": Outcome.HUNG, "reason": "stuck in the kernel"}
    (item,) = observed([series(None, **stuck)])
    assert (item.vote, item.measured, item.of.expected) == (Vote.BAD, 0.0, 202.1e6)


@pytest.mark.parametrize(
    "outcome", [Outcome.BROKEN, Outcome.UNREACHABLE, Outcome.NO_MOUNT, Outcome.UNANSWERED]
)
def test_a_measurement_without_a_rate_that_did_not_hang_does_not_vote(outcome: Outcome) -> None:
    ended: dict[str, Any] = {"outcome": outcome, "reason": "Input/output error"}
    (item,) = observed([series(None, **ended)])
    assert item.vote is Vote.NONE


def test_the_rate_is_the_median_of_the_runs_since_the_loss() -> None:
    earlier = [
        Sample(NOW - day * DAY_S, rate, 1.0, 201e6, 5, None)
        for day, rate in ((1, 84e6), (2, 86e6), (3, None), (4, 200e6), (5, 80e6))
    ]
    (item,) = observed([series(80e6, earlier=earlier)])
    assert item.measured == 84e6
    assert item.since == NOW - 4 * DAY_S
    assert item.at == NOW - 310
    assert item.error == 0.015


def test_a_rate_compared_with_peers_only_is_less_certain() -> None:
    reference = {"read/single": Reference(CEILING, None)}
    (item,) = observed([series(200e6)], expectation(references=reference))
    assert item.vote is Vote.GOOD
    assert item.of.expected == 201e6
    assert item.error == 0.05


def test_a_wide_baseline_makes_a_rate_less_certain() -> None:
    reference = {"read/single": Reference(CEILING, BASELINE._replace(spread=0.08))}
    (item,) = observed([series(200e6)], expectation(references=reference))
    assert item.error == 0.08


def test_a_mild_loss_votes_only_after_several_nights() -> None:
    wide = {"read/single": Reference(CEILING, BASELINE._replace(spread=0.08))}
    expected = expectation(references=wide)
    (item,) = observed([series(150e6)], expected)
    assert item.vote is Vote.NONE
    assert item.reason.endswith("within what its runs differ by")
    nights = [Sample(NOW - day * DAY_S, 150e6, 1.0, 201e6, 5, None) for day in (1, 2, 3)]
    (item,) = observed([series(150e6, earlier=nights)], expected)
    assert item.vote is Vote.BAD
    (gross,) = observed([series(80e6)], expected)
    assert gross.vote is Vote.BAD


def pair(rate: float, retransmits: Optional[int]) -> list[Observation]:
    tests = series(
        rate,
        layer="net",
        component="oss3",
        operation=Operation.SEND,
        partner="client1",
        bytes=1_448_000_000,
        retransmits=retransmits,
    )
    return observed([tests], host_expectation("client1", "oss1"))


def test_each_pair_is_an_observation_with_its_partner() -> None:
    first, second = pair(116e6, None)
    assert (first.of.name, first.vote) == ("net oss3 send with client1", Vote.GOOD)
    assert (second.of.name, second.vote) == ("net oss3 send with oss1", Vote.NONE)
    assert first.of.expected == 117e6


@pytest.mark.parametrize(
    ("retransmits", "vote"), [(400, Vote.GOOD), (1000, Vote.NONE), (20_000, Vote.BAD)]
)
def test_retransmits_are_observed_separately_from_the_rate(retransmits: int, vote: Vote) -> None:
    rate, segments, _ = pair(116e6, retransmits)
    assert rate.vote is Vote.GOOD
    assert segments.vote is vote
    assert not segments.of.is_rate
    assert all(lane.startswith("segments ") for lanes in segments.of.lanes for lane in lanes)
    assert segments.of.path == ("switch",)
    assert "% of the segments retransmitted" in segments.reason


def test_a_slow_pair_without_retransmits_clears_nobody() -> None:
    rate, segments, _ = pair(80e6, 0)
    assert rate.vote is Vote.BAD
    assert segments.vote is Vote.NONE
    assert segments.reason.endswith("inconclusive")
    _, segments, _ = pair(80e6, 20_000)
    assert segments.vote is Vote.BAD


@pytest.mark.parametrize(("age_s", "vote"), [(3600, Vote.BAD), (2 * DAY_S, Vote.NONE)])
def test_a_parallel_run_of_days_ago_does_not_vote(age_s: float, vote: Vote) -> None:
    entry = expectation(layer="fs", references={"read/together": REFERENCE})
    when: dict[str, Any] = {"started_at": NOW - age_s, "finished_at": NOW - age_s + 10}
    run = series(80e6, layer="fs", scenario=Scenario.TOGETHER, **when)
    (item,) = observed(
        [run], entry._replace(limits=entry.limits._replace(stale_after_s=10 * DAY_S))
    )
    assert item.vote is vote


def over_runs(series_: Series, entry: Expectation) -> Observation:
    """Return the first observation over several runs."""
    site, memory = Site({"client1": (entry,)}), snapshot(series_)
    weighing = Weighing({"client1": (entry,)}, {"client1": Node(memory)})
    judging = Judging(memory, weighing, NOW)
    return next(observe(site.measurables(), {"client1": judging}, weighing))


def nights(*rates: float, **changes: Any) -> Series:
    """Return a series of nightly rates, the newest first."""
    past = [
        Sample(NOW - night * DAY_S, rate, 1.0, None, 0, None)
        for night, rate in enumerate(rates[1:], 1)
    ]
    return series(rates[0], None, past, **changes)


def test_over_several_runs_the_evidence_votes_and_not_the_last_run() -> None:
    expected = expectation(references=READ, limits=Limits(alarm_odds=1000.0))
    once = over_runs(nights(80e6, *[202e6] * 9), expected)
    assert (once.vote, once.measured > 180e6) == (Vote.NONE, True)
    lasting = over_runs(nights(*[80e6] * 6, *[202e6] * 6), expected)
    assert lasting.vote is Vote.BAD
    assert lasting.measured == pytest.approx(80e6)
    assert over_runs(nights(202e6), expected).vote is Vote.NONE


def test_over_several_runs_a_hung_measurement_votes_at_once() -> None:
    stuck: dict[str, Any] = {"outcome": Outcome.HUNG, "reason": "stuck in the kernel"}
    vote = over_runs(series(None, **stuck), expectation(references=READ))
    assert (vote.vote, vote.measured) == (Vote.BAD, 0.0)


def test_over_several_runs_a_baseline_of_another_probe_is_no_reference() -> None:
    vote = over_runs(nights(*[80e6] * 10, spec_hash="other"), expectation(references=READ))
    assert vote.vote is not Vote.BAD


@pytest.mark.parametrize(("hosts", "vote"), [(4, Vote.NONE), (40, Vote.BAD)])
def test_over_several_runs_a_pair_votes_until_it_meets_again(hosts: int, vote: Vote) -> None:
    """With many hosts that takes days; with few it would have met again."""
    names = [f"oss{number:02d}" for number in range(10, 9 + hosts)]
    limits = Limits(stale_after_s=0.6 * DAY_S, alarm_odds=1000.0)
    entry = host_expectation(*names, limits=limits)
    when = {"started_at": NOW - 2 * DAY_S, "finished_at": NOW - 2 * DAY_S + 10}
    past = [Sample(NOW - day * DAY_S, 40e6, None, None, 0, names[0]) for day in (6, 10, 14, 18)]
    of_pair = {"layer": "net", "component": "oss3", "operation": Operation.SEND}
    run = series(40e6, None, past, partner=names[0], **of_pair, **when)
    assert over_runs(run, entry).vote is vote
    assert observed([run], entry)[0].vote is Vote.NONE
