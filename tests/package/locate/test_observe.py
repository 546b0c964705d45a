"""Measurements that vote, with their rate and the begin of the loss."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import pytest

from plumbline.judge.weighing import Weighing
from plumbline.locate.observation import Observation, Site, Vote
from plumbline.locate.observe import observe
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Limits, Reference
from plumbline.model.record import Flag, Operation, Outcome, Scenario
from plumbline.model.series import Running, Sample, Series
from tests.package.judgements import (
    BASELINE,
    CEILING,
    DAY_S,
    NOW,
    REFERENCE,
    NodeMemory,
    expectation,
    host_expectation,
    series,
    snapshot,
)

READ = {"read/single": REFERENCE}


class Memory:
    """Measurements of one component."""

    running: tuple[Running, ...] = ()

    def __init__(self, *found: Series) -> None:
        self._found = found

    def of(self, layer: str, component: str) -> tuple[Series, ...]:
        if component == "damaged":
            raise DocumentError("record 7 is damaged")
        return self._found


def seen(found: Sequence[Series], one: Optional[Expectation] = None) -> list[Observation]:
    expected = one or expectation(references=READ)
    site = Site({"client1": (expected,)})
    return list(observe(site.measurables(), {"client1": Memory(*found)}, NOW))


@pytest.mark.parametrize(
    ("made", "vote"),
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
def test_what_votes(made: Series, vote: Vote) -> None:
    (one,) = seen([made])
    assert one.vote is vote
    assert one.reason


def test_what_was_never_measured_or_is_damaged_does_not_vote() -> None:
    (never,) = seen([])
    assert (never.vote, never.of.name) == (Vote.NONE, "ost scratch-OST0003 read")
    (damaged,) = seen([], expectation(component="damaged", references=READ))
    assert (damaged.vote, damaged.reason) == (Vote.NONE, "record 7 is damaged")


def test_a_measurement_that_hung_passed_nothing() -> None:
    stuck: dict[str, Any] = {"outcome": Outcome.HUNG, "reason": "stuck in the kernel"}
    (one,) = seen([series(None, **stuck)])
    assert (one.vote, one.measured, one.of.expected) == (Vote.BAD, 0.0, 202.1e6)


@pytest.mark.parametrize(
    "outcome", [Outcome.BROKEN, Outcome.UNREACHABLE, Outcome.NO_MOUNT, Outcome.UNANSWERED]
)
def test_what_gave_no_rate_for_another_reason_than_a_hang_does_not_vote(outcome: Outcome) -> None:
    ended: dict[str, Any] = {"outcome": outcome, "reason": "Input/output error"}
    (one,) = seen([series(None, **ended)])
    assert one.vote is Vote.NONE


def test_the_rate_is_the_middle_of_the_runs_that_are_alike() -> None:
    earlier = [
        Sample(NOW - day * DAY_S, rate, 1.0, 201e6, 5, None)
        for day, rate in ((1, 84e6), (2, 86e6), (3, None), (4, 200e6), (5, 80e6))
    ]
    (one,) = seen([series(80e6, earlier=earlier)])
    assert one.measured == 84e6
    assert one.since == NOW - 4 * DAY_S
    assert one.at == NOW - 310
    assert one.error == 0.015


def test_beside_siblings_alone_a_rate_is_less_certain() -> None:
    reference = {"read/single": Reference(CEILING, None)}
    (one,) = seen([series(200e6)], expectation(references=reference))
    assert one.vote is Vote.GOOD
    assert one.of.expected == 201e6
    assert one.error == 0.05


def test_a_spread_baseline_makes_a_rate_less_certain() -> None:
    reference = {"read/single": Reference(CEILING, BASELINE._replace(spread=0.08))}
    (one,) = seen([series(200e6)], expectation(references=reference))
    assert one.error == 0.08


def test_one_mild_loss_of_a_night_does_not_vote_until_it_lasts() -> None:
    wide = {"read/single": Reference(CEILING, BASELINE._replace(spread=0.08))}
    expected = expectation(references=wide)
    (one,) = seen([series(150e6)], expected)
    assert one.vote is Vote.NONE
    assert one.reason.endswith("within what its runs differ by")
    nights = [Sample(NOW - day * DAY_S, 150e6, 1.0, 201e6, 5, None) for day in (1, 2, 3)]
    (one,) = seen([series(150e6, earlier=nights)], expected)
    assert one.vote is Vote.BAD
    (gross,) = seen([series(80e6)], expected)
    assert gross.vote is Vote.BAD


def pair(rate: float, retransmits: Optional[int]) -> list[Observation]:
    made = series(
        rate,
        layer="net",
        component="oss3",
        operation=Operation.SEND,
        partner="client1",
        bytes=1_448_000_000,
        retransmits=retransmits,
    )
    return seen([made], host_expectation("client1", "oss1"))


def test_each_pair_is_an_observation_with_its_partner() -> None:
    first, second = pair(116e6, None)
    assert (first.of.name, first.vote) == ("net oss3 send with client1", Vote.GOOD)
    assert (second.of.name, second.vote) == ("net oss3 send with oss1", Vote.NONE)
    assert first.of.expected == 117e6


@pytest.mark.parametrize(
    ("retransmits", "vote"), [(400, Vote.GOOD), (1000, Vote.NONE), (20_000, Vote.BAD)]
)
def test_segments_sent_again_are_observed_beside_the_rate(retransmits: int, vote: Vote) -> None:
    rate, segments, _ = pair(116e6, retransmits)
    assert rate.vote is Vote.GOOD
    assert segments.vote is vote
    assert not segments.of.is_rate
    assert all(lane.startswith("segments ") for lanes in segments.of.lanes for lane in lanes)
    assert segments.of.path == ("switch",)
    assert "% of the segments retransmitted" in segments.reason


def test_a_slow_pair_that_loses_no_segments_absolves_nobody() -> None:
    rate, segments, _ = pair(80e6, 0)
    assert rate.vote is Vote.BAD
    assert segments.vote is Vote.NONE
    assert segments.reason.endswith("inconclusive")
    _, segments, _ = pair(80e6, 20_000)
    assert segments.vote is Vote.BAD


@pytest.mark.parametrize(("age_s", "vote"), [(3600, Vote.BAD), (2 * DAY_S, Vote.NONE)])
def test_a_parallel_run_of_days_ago_does_not_speak_of_today(age_s: float, vote: Vote) -> None:
    entry = expectation(layer="fs", references={"read/together": REFERENCE})
    when: dict[str, Any] = {"started_at": NOW - age_s, "finished_at": NOW - age_s + 10}
    taken = series(80e6, layer="fs", scenario=Scenario.TOGETHER, **when)
    (one,) = seen([taken], entry._replace(limits=entry.limits._replace(stale_after_s=10 * DAY_S)))
    assert one.vote is vote


def over_runs(made: Series, entry: Expectation) -> Observation:
    """Return what is observed while one waits for a fault, of the first measurement."""
    site, memory = Site({"client1": (entry,)}), snapshot(made)
    known = Weighing({"client1": (entry,)}, {"client1": NodeMemory(memory)})
    return next(observe(site.measurables(), {"client1": memory}, NOW, known))


def nights(*rates: float, **changes: Any) -> Series:
    """Return what each night gave, the last first."""
    past = [
        Sample(NOW - night * DAY_S, rate, 1.0, None, 0, None)
        for night, rate in enumerate(rates[1:], 1)
    ]
    return series(rates[0], None, past, **changes)


def test_over_several_runs_their_evidence_votes_and_not_the_last_one() -> None:
    expected = expectation(references=READ, limits=Limits(alarm_odds=1000.0))
    once = over_runs(nights(80e6, *[202e6] * 9), expected)
    assert (once.vote, once.measured > 180e6) == (Vote.NONE, True)
    lasting = over_runs(nights(*[80e6] * 6, *[202e6] * 6), expected)
    assert lasting.vote is Vote.BAD
    assert lasting.measured == pytest.approx(80e6)
    assert over_runs(nights(202e6), expected).vote is Vote.NONE


def test_over_several_runs_what_hangs_votes_as_it_does_at_once() -> None:
    stuck: dict[str, Any] = {"outcome": Outcome.HUNG, "reason": "stuck in the kernel"}
    found = over_runs(series(None, **stuck), expectation(references=READ))
    assert (found.vote, found.measured) == (Vote.BAD, 0.0)


def test_a_baseline_of_another_probe_is_no_reference_of_several_runs() -> None:
    found = over_runs(nights(*[80e6] * 10, spec_hash="other"), expectation(references=READ))
    assert found.vote is not Vote.BAD


@pytest.mark.parametrize(("hosts", "vote"), [(4, Vote.NONE), (40, Vote.BAD)])
def test_over_several_runs_a_pair_speaks_until_it_meets_again(hosts: int, vote: Vote) -> None:
    """Of many hosts that takes days; of few it would have met again."""
    names = [f"oss{number:02d}" for number in range(10, 9 + hosts)]
    limits = Limits(stale_after_s=0.6 * DAY_S, alarm_odds=1000.0)
    entry = host_expectation(*names, limits=limits)
    when = {"started_at": NOW - 2 * DAY_S, "finished_at": NOW - 2 * DAY_S + 10}
    past = [Sample(NOW - day * DAY_S, 40e6, None, None, 0, names[0]) for day in (6, 10, 14, 18)]
    of_pair = {"layer": "net", "component": "oss3", "operation": Operation.SEND}
    made = series(40e6, None, past, partner=names[0], **of_pair, **when)
    assert over_runs(made, entry).vote is vote
    assert seen([made], entry)[0].vote is Vote.NONE
