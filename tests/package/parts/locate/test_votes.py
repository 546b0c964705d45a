"""Votes by the evidence of several runs; a single night does not decide."""

from __future__ import annotations

from typing import Optional, Sequence

import pytest

from plumbline.judge.weighing import Weighing
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Limits, Reference
from plumbline.model.record import Operation, Scenario
from plumbline.model.series import Series, Snapshot
from plumbline.parts.locate.observation import Observation, Site, Vote
from plumbline.parts.locate.observe import any_alarm, votes
from tests.package.judge.test_weighing import NAMES, OPERATIONS, fleet, nightly, recorded
from tests.package.judgements import (
    BASELINE,
    CEILING,
    DAY_S,
    NOW,
    Node,
    expectation,
    host_expectation,
    snapshot,
)

SLOW = NAMES[3]
EIGHT = [200e6] * 8
SITE = fleet(odds=1000.0)


def votes_of(
    memory: Snapshot, measured: Sequence[Expectation], node: str = "client1"
) -> dict[str, Optional[Observation]]:
    """Return the votes of the measurements of a node, by component and operation."""
    nodes = {node: measured}
    placed = tuple(Site(nodes).of(node))
    weighed = votes(placed, Weighing(nodes, {node: Node(memory)}))
    return {item.of.name.partition(" ")[2]: vote for item, vote in zip(placed, weighed)}


def vote_of(name: str, memory: Snapshot, measured: Sequence[Expectation] = ()) -> Optional[Vote]:
    vote = votes_of(memory, measured or SITE)[name]
    return vote.vote if vote else None


def slow_read(*newest: float) -> Snapshot:
    """Return the snapshot of a fleet in which one target's last reads are given, in MB/s."""
    return recorded((SLOW, Operation.READ, [*EIGHT, *(1e6 * rate for rate in newest)]))


@pytest.mark.parametrize(
    ("newest", "vote"),
    [
        pytest.param([200, 200, 200], Vote.GOOD, id="fine"),
        pytest.param([80, 80, 80], Vote.BAD, id="slow for three nights"),
        pytest.param([200, 200, 80], Vote.NONE, id="slow since last night perhaps"),
        pytest.param([80, 200, 200], Vote.GOOD, id="one slow night"),
        pytest.param([80, 80, 80, 80, 200], Vote.BAD, id="slow on most since it began"),
        pytest.param([178, 178, 178], Vote.NONE, id="beyond the limit, by chance perhaps"),
        pytest.param([184, 184, 184], Vote.GOOD, id="as good members differ"),
        pytest.param([160] * 8, Vote.BAD, id="a little slow for certain"),
    ],
)
def test_a_target_votes_by_the_evidence_of_its_runs(newest: Sequence[float], vote: Vote) -> None:
    assert vote_of(f"{SLOW} read", slow_read(*newest)) is vote


def test_its_peers_and_its_own_writes_vote_good() -> None:
    votes_ = votes_of(slow_read(80, 80, 80), SITE)
    slow = votes_.pop(f"{SLOW} read")
    assert {vote.vote for vote in votes_.values() if vote} == {Vote.GOOD}
    assert slow
    assert (slow.of.expected, slow.since) == (202.1e6, NOW - 310 - 2 * DAY_S)
    assert slow.measured == pytest.approx(80.8e6, rel=0.02)
    assert 0.015 <= slow.error < 0.1


def test_a_single_run_does_not_vote_and_two_do() -> None:
    for runs, vote in ((1, None), (2, Vote.GOOD)):
        memory = snapshot(
            *(nightly([200e6] * runs, component=name, operation=Operation.READ) for name in NAMES)
        )
        assert vote_of(f"{SLOW} read", memory) is vote


@pytest.mark.parametrize(
    ("newest", "vote"),
    [
        pytest.param([90, 120, 100], Vote.GOOD, id="busy for three nights of nine"),
        pytest.param([150, 200, 140, 170, 200, 155, 165], Vote.NONE, id="busy on most of them"),
    ],
)
def test_on_mostly_busy_nights_no_target_votes_good(newest: Sequence[float], vote: Vote) -> None:
    nights = [*EIGHT, *(1e6 * rate for rate in newest)]
    votes_ = votes_of(recorded(*((name, op, nights) for name in NAMES for op in OPERATIONS)), SITE)
    assert {vote.vote for vote in votes_.values() if vote} == {vote}


def test_a_loss_of_the_whole_group_votes_against_the_baselines() -> None:
    lost = [(name, op, [*EIGHT, *[80e6] * 9]) for name in NAMES for op in OPERATIONS]
    votes_ = votes_of(recorded(*lost), SITE)
    assert {vote.vote for vote in votes_.values() if vote} == {Vote.BAD}
    assert {round(vote.measured / 1e6) for vote in votes_.values() if vote} == {80}


def test_after_a_change_of_versions_a_shared_loss_accuses_no_part() -> None:
    """The shared loss is the group's, compared with the baseline from before."""
    memory = snapshot(
        *(
            nightly(
                [80e6] * 9,
                component=name,
                operation=operation,
                versions={"lustre": "2.16.0"},
            )
            for name in NAMES
            for operation in (Operation.WRITE, Operation.READ)
        )
    )
    assert Vote.BAD not in {vote.vote for vote in votes_of(memory, SITE).values() if vote}


def test_without_baselines_the_peers_give_the_expected_rate() -> None:
    bare = {"read/single": Reference(CEILING, None)}
    measured = [entry._replace(references=bare) for entry in SITE]
    votes_ = votes_of(slow_read(80, 80, 80), measured)[f"{SLOW} read"]
    assert votes_
    assert votes_.vote is Vote.BAD
    assert votes_.of.expected == pytest.approx(200e6, rel=0.01)


def devices(*rates: Sequence[float]) -> tuple[Snapshot, tuple[Expectation, ...]]:
    """Return snapshot and expectations of disks behind one adapter, read together."""
    names = [f"oss3-disk{number}" for number in range(len(rates))]
    steady = {"read/together": Reference(CEILING, BASELINE._replace(spread=0.03))}
    measured = tuple(
        expectation(
            layer="raw",
            component=name,
            group="oss3",
            path=("oss3", "oss3-hba", name),
            references=steady,
            limits=Limits(alarm_odds=10_000.0),
        )
        for name in names
    )
    terms = {"layer": "raw", "operation": Operation.READ, "scenario": Scenario.TOGETHER}
    memory = snapshot(*(nightly(rate, component=name, **terms) for name, rate in zip(names, rates)))
    return memory, measured


def test_a_mild_loss_of_all_devices_behind_one_adapter_votes_bad() -> None:
    """Chance does not lower all of them on the same nights."""
    mild = [*[202e6] * 6, *[130e6] * 3]
    several = votes_of(*devices(mild, mild, mild, mild), node="oss3")
    assert {vote.vote for vote in several.values() if vote} == {Vote.BAD}
    fine = [202e6] * 9
    alone = votes_of(*devices(mild, fine, fine, fine), node="oss3")
    assert [vote.vote for vote in alone.values() if vote] == [Vote.NONE, *[Vote.GOOD] * 3]


def pairs(*rates: Sequence[float]) -> dict[str, Optional[Observation]]:
    host = host_expectation("oss1", "oss2", "oss4", limits=Limits(alarm_odds=1000.0))
    tests: list[Series] = [
        nightly(
            nights, layer="net", component="oss3", operation=Operation.SEND, partner=partner.name
        )
        for nights, partner in zip(rates, host.partners)
    ]
    return votes_of(snapshot(*tests), [host], "oss3")


def test_a_host_that_is_slow_with_all_partners_makes_each_of_its_pairs_bad() -> None:
    slow, fast = [*[117e6] * 5, *[40e6] * 3], [117e6] * 8
    votes_ = pairs(slow, slow, slow)
    assert {vote.vote for vote in votes_.values() if vote} == {Vote.BAD}
    first, *others = [pair.vote for pair in pairs(slow, fast, fast).values() if pair]
    assert first is not Vote.GOOD
    assert others == [Vote.GOOD, Vote.GOOD]


def test_measurements_without_runs_do_not_vote() -> None:
    assert set(votes_of(snapshot(), SITE).values()) == {None}


@pytest.mark.parametrize(
    ("newest", "alarm"), [((200, 200), False), ((80,), False), ((80,) * 4, True)]
)
def test_without_an_alarm_no_vote_is_bad(newest: Sequence[float], alarm: bool) -> None:
    nodes, memory = {"client1": SITE}, Node(slow_read(*newest))
    placed = tuple(Site(nodes).of("client1"))
    weighing = Weighing(nodes, {"client1": memory})
    bad = any(vote and vote.vote is Vote.BAD for vote in votes(placed, weighing))
    assert (any_alarm(placed, weighing), bad) == (alarm, alarm)
