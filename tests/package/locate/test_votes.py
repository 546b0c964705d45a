"""Several runs of a measurement vote together; one night alone does not."""

from __future__ import annotations

from typing import Optional, Sequence

import pytest

from plumbline.judge.weighing import Weighing
from plumbline.locate.observation import Site, Vote
from plumbline.locate.observe import WeighedVote, votes
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Limits, Reference
from plumbline.model.record import Operation, Scenario
from plumbline.model.series import Series, Snapshot
from tests.package.judge.test_weighing import NAMES, OPERATIONS, fleet, nightly, taken
from tests.package.judgements import (
    BASELINE,
    CEILING,
    DAY_S,
    NOW,
    NodeMemory,
    expectation,
    host_expectation,
    snapshot,
)

SLOW = NAMES[3]
EIGHT = [200e6] * 8
SITE = fleet(odds=1000.0)


def spoken(
    memory: Snapshot, measured: Sequence[Expectation], node: str = "client1"
) -> dict[str, Optional[WeighedVote]]:
    """Return what the measurements of a node say, by component and operation."""
    nodes = {node: measured}
    placed = tuple(Site(nodes).of(node))
    found = votes(placed, Weighing(nodes, {node: NodeMemory(memory)}))
    return {one.of.name.partition(" ")[2]: each for one, each in zip(placed, found)}


def vote_of(name: str, memory: Snapshot, measured: Sequence[Expectation] = ()) -> Optional[Vote]:
    found = spoken(memory, measured or SITE)[name]
    return found.vote if found else None


def slow_read(*newest: float) -> Snapshot:
    """Return what a fleet gave of which one target's last reads are as given, in MB/s."""
    return taken((SLOW, Operation.READ, [*EIGHT, *(1e6 * rate for rate in newest)]))


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
        pytest.param([168] * 8, Vote.BAD, id="a little slow for certain"),
    ],
)
def test_a_target_votes_by_the_evidence_of_its_runs(newest: Sequence[float], vote: Vote) -> None:
    assert vote_of(f"{SLOW} read", slow_read(*newest)) is vote


def test_what_is_fine_beside_it_is_good_the_write_of_the_same_target_too() -> None:
    found = spoken(slow_read(80, 80, 80), SITE)
    slow = found.pop(f"{SLOW} read")
    assert {one.vote for one in found.values() if one} == {Vote.GOOD}
    assert slow
    assert (slow.expected, slow.begun) == (202.1e6, NOW - 310 - 2 * DAY_S)
    assert slow.rate == pytest.approx(80.8e6, rel=0.02)
    assert 0.015 <= slow.error < 0.1


def test_a_young_measurement_has_no_vote_and_two_runs_are_enough() -> None:
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
def test_beside_peers_that_are_mostly_busy_nothing_is_good(
    newest: Sequence[float], vote: Vote
) -> None:
    nights = [*EIGHT, *(1e6 * rate for rate in newest)]
    found = spoken(taken(*((name, op, nights) for name in NAMES for op in OPERATIONS)), SITE)
    assert {one.vote for one in found.values() if one} == {vote}


def test_what_the_whole_group_has_lost_shows_beside_the_baselines() -> None:
    lost = [(name, op, [*EIGHT, *[80e6] * 9]) for name in NAMES for op in OPERATIONS]
    found = spoken(taken(*lost), SITE)
    assert {one.vote for one in found.values() if one} == {Vote.BAD}
    assert {round(one.rate / 1e6) for one in found.values() if one} == {80}


def test_after_a_change_of_versions_no_part_is_held_to_be_the_cause() -> None:
    """The loss that all share then is the group's, against the baseline from before."""
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
    assert Vote.BAD not in {one.vote for one in spoken(memory, SITE).values() if one}


def test_without_baselines_the_peers_say_what_a_target_gives_while_it_is_healthy() -> None:
    bare = {"read/single": Reference(CEILING, None)}
    measured = [one._replace(references=bare) for one in SITE]
    found = spoken(slow_read(80, 80, 80), measured)[f"{SLOW} read"]
    assert found
    assert found.vote is Vote.BAD
    assert found.expected == pytest.approx(200e6, rel=0.01)


def devices(*rates: Sequence[float]) -> tuple[Snapshot, tuple[Expectation, ...]]:
    """Return what disks behind one adapter gave when read together, and what is expected."""
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
    given = {"layer": "raw", "operation": Operation.READ, "scenario": Scenario.TOGETHER}
    memory = snapshot(*(nightly(rate, component=name, **given) for name, rate in zip(names, rates)))
    return memory, measured


def test_what_no_device_shows_for_certain_all_behind_one_adapter_do_together() -> None:
    """Chance does not make the same nights low in all of them."""
    mild = [*[202e6] * 6, *[130e6] * 3]
    several = spoken(*devices(mild, mild, mild, mild), node="oss3")
    assert {one.vote for one in several.values() if one} == {Vote.BAD}
    fine = [202e6] * 9
    alone = spoken(*devices(mild, fine, fine, fine), node="oss3")
    assert [one.vote for one in alone.values() if one] == [Vote.NONE, *[Vote.GOOD] * 3]


def pairs(*rates: Sequence[float]) -> dict[str, Optional[WeighedVote]]:
    one = host_expectation("oss1", "oss2", "oss4", limits=Limits(alarm_odds=1000.0))
    made: list[Series] = [
        nightly(
            given, layer="net", component="oss3", operation=Operation.SEND, partner=partner.name
        )
        for given, partner in zip(rates, one.partners)
    ]
    return spoken(snapshot(*made), [one], "oss3")


def test_a_host_that_is_slow_with_all_partners_makes_each_of_its_pairs_bad() -> None:
    slow, fast = [*[117e6] * 5, *[40e6] * 3], [117e6] * 8
    found = pairs(slow, slow, slow)
    assert {one.vote for one in found.values() if one} == {Vote.BAD}
    first, *others = [pair.vote for pair in pairs(slow, fast, fast).values() if pair]
    assert first is not Vote.GOOD
    assert others == [Vote.GOOD, Vote.GOOD]


def test_what_was_never_measured_says_nothing() -> None:
    assert set(spoken(snapshot(), SITE).values()) == {None}
