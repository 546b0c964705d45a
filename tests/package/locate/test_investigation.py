"""An investigation of a site with known faults ends with exactly these, in few steps."""

from __future__ import annotations

from typing import Iterable, Sequence

import pytest

from plumbline.locate.failures import failing, failure_sentence, locate_failures
from plumbline.locate.investigation import Budget, Decision, Findings, Investigation, Step
from plumbline.locate.observation import SEGMENTS, Observation, PlannedMeasurement, Site, Vote
from plumbline.locate.suspects import locate
from plumbline.model.errors import UsageError
from plumbline.model.record import Operation, Scenario
from plumbline.model.rounds import Role, turn
from tests.package.locate.scenes import Left, Scene, both, lab, observation, rate, redstorm
from tests.package.records import failed, record

LAB = Scene(lab())
PLACED = tuple(Site(LAB.plan.expectations).measurables())
PLENTY = Budget(1e6, 1e15)
SLOW_DISK = {"oss2-disk1": both(80e6)}
SLOW_LINK = {"oss3-nic": both(25e6)}
MOST_STEPS = 5
ALIKE = (("oss2",), ("oss2-disk1", "oss2-disk2"))
"""Two devices that are slow alike: what they share, before two faults."""


class Night:
    """A site with faults: it answers each step as its units would."""

    def __init__(
        self, left: Left, retransmitted: Sequence[str] = (), broken: Sequence[str] = ()
    ) -> None:
        self._left, self._retransmitted, self._broken = left, set(retransmitted), set(broken)
        self.done: list[Step] = []

    def investigate(
        self, targets: Sequence[str] = (), budget: Budget = PLENTY, silent: Sequence[str] = ()
    ) -> Decision:
        """Follow the investigation to its end."""
        asked = Investigation(LAB.plan.expectations, targets, silent)
        while True:
            spent = sum(step.seconds for step in self.done)
            moved = sum(step.bytes for step in self.done)
            left = Budget(budget.seconds - spent, budget.bytes - moved)
            decision = asked.decide(self.found(), self.done, left)
            if decision.step is None:
                return decision
            self.done.append(decision.step)
            assert len(self.done) < 20, "it does not end"

    def found(self) -> Findings:
        slow: list[Observation] = []
        failures: list[Observation] = []
        for placed in PLACED:
            if any(_measures(step, placed) for step in self.done):
                bad = not self._broken.isdisjoint(placed.of.path)
                values = {"vote": Vote.BAD if bad else Vote.GOOD, "error": 0.01}
                failures.append(observation(failing(placed.of), 50.0 if bad else 100.0, **values))
                if not bad:
                    slow += self._seen(placed)
        return Findings(locate(slow), locate(failures))

    def _seen(self, placed: PlannedMeasurement) -> Iterable[Observation]:
        yield observation(placed.of, rate(placed.of, self._left))
        if placed.partner:
            bad = not self._retransmitted.isdisjoint(placed.of.path)
            of = placed.of._replace(
                name=f"{placed.of.name} segments",
                path=placed.of.path[1:-1],
                expected=100.0,
                lanes=tuple(tuple(SEGMENTS + x for x in y) for y in placed.of.lanes[1:-1]),
            )
            yield observation(of, 50.0 if bad else 100.0, error=0.01)

    def named(self) -> list[tuple[tuple[str, ...], ...]]:
        return [one.alternatives for _, one in self.found().sets()]


def _measures(step: Step, placed: PlannedMeasurement) -> bool:
    of = placed.of
    if step.layer != of.layer or step.node not in ("", of.node):
        return False
    if step.component not in ("", of.component):
        return False
    if placed.partner:
        met = [turn(placed.expectation.target["hosts"], of.component, slot) for slot in step.slots]
        return any(
            one and one.partner == placed.partner.name and one.role is Role.INITIATOR for one in met
        )
    return placed.scenario is not Scenario.TOGETHER or not step.component


FAULTS = [
    ("nothing", {}, [], [], []),
    ("a slow disk", SLOW_DISK, [], [], ["oss2-disk1"]),
    ("a slow link", SLOW_LINK, [], [], ["oss3-nic"]),
    ("a bad cable", {}, ["oss1-nic"], [], ["oss1-nic"]),
    ("input/output errors", {}, [], ["oss2-disk1"], ["oss2-disk1"]),
    ("two disks", {**SLOW_DISK, "oss3-disk2": both(40e6)}, [], [], ["oss2-disk1", "oss3-disk2"]),
    ("disk and cable", SLOW_DISK, ["oss1-nic"], [], ["oss1-nic", "oss2-disk1"]),
    ("disk and link", {**SLOW_DISK, **SLOW_LINK}, [], [], ["oss2-disk1", "oss3-nic"]),
    (
        "a disk behind a slower link",
        {"oss3-disk1": both(80e6), **SLOW_LINK},
        [],
        [],
        ["oss3-disk1", "oss3-nic"],
    ),
]


@pytest.mark.parametrize(("fault", "left", "retransmitted", "broken", "named"), FAULTS)
def test_a_fault_of_the_whole_is_named_exactly(
    fault: str, left: Left, retransmitted: list[str], broken: list[str], named: list[str]
) -> None:
    night = Night(left, retransmitted, broken)
    end = night.investigate()
    assert sorted(night.named()) == [((name,),) for name in named], fault
    assert end.reason == ("certain" if named else "nothing slow")
    assert [step.layer for step in night.done[:2]] == ["net", "ost"]
    assert len(night.done) <= MOST_STEPS


@pytest.mark.parametrize(
    ("target", "left", "retransmitted", "broken", "named"),
    [
        ("scratch-OST0002", SLOW_DISK, [], [], ["oss2-disk1"]),
        ("scratch-OST0004", SLOW_LINK, [], [], ["oss3-nic"]),
        ("scratch-OST0000", {}, ["oss1-nic"], [], ["oss1-nic"]),
        ("scratch-OST0002", {}, [], ["oss2-disk1"], ["oss2-disk1"]),
        ("scratch-OST0001", SLOW_DISK, [], [], []),
    ],
)
def test_a_fault_behind_a_target_is_named_exactly(
    target: str, left: Left, retransmitted: list[str], broken: list[str], named: list[str]
) -> None:
    night = Night(left, retransmitted, broken)
    night.investigate([target])
    assert sorted(night.named()) == [((name,),) for name in named]
    assert len(night.done) <= 8


@pytest.mark.slow
@pytest.mark.parametrize(
    "targets", [[], ["oss2"], ["oss2-disk1"], ["scratch-OST0002"], ["scratch-OST0003"]]
)
@pytest.mark.parametrize("left_Bps", [80e6, 8e6])
def test_a_server_all_of_whose_disks_are_slow_is_named(targets: list[str], left_Bps: float) -> None:
    night = Night({f"oss2-disk{one}": both(left_Bps) for one in (1, 2)})
    end = night.investigate(targets)
    assert night.named() == [ALIKE]
    assert end.reason == "nothing would divide them"
    assert len(night.done) <= 8


def test_a_target_itself_is_measured_first() -> None:
    night = Night(SLOW_DISK)
    night.investigate(["scratch-OST0002"])
    assert night.done[0].words == "write and read of target scratch-OST0002"
    assert night.done[0].node == "client1"


def test_no_step_goes_beyond_the_budget_and_what_does_is_said() -> None:
    night = Night(SLOW_DISK)
    whole = Night(SLOW_DISK)
    whole.investigate()
    enough = whole.done[0].seconds + whole.done[1].seconds + 1
    end = night.investigate(budget=Budget(enough, 1e15))
    assert sum(step.seconds for step in night.done) <= enough
    assert end.reason == "budget"
    assert [step.layer for step in end.beyond][-1] == "raw"
    none = Night(SLOW_DISK)
    assert none.investigate(budget=Budget(1e6, 1000)).reason == "budget"
    assert none.done == []


@pytest.mark.parametrize("left", [SLOW_DISK, {}, SLOW_LINK])
@pytest.mark.parametrize("target", ["scratch-OST0002", "oss2-disk1", "oss2"])
def test_a_node_that_does_not_answer_is_not_asked_alone(left: Left, target: str) -> None:
    night = Night(left)
    end = night.investigate([target], silent=["oss2"])
    assert night.done
    asked = (*night.done, *end.beyond)
    assert "oss2" not in {name for step in asked for name in (step.node, step.partner)}
    poor = Night(left).investigate([target], Budget(0.0, 0.0), silent=["oss2"])
    assert "oss2" not in {name for step in poor.beyond for name in (step.node, step.partner)}


def test_an_unknown_target_is_refused_with_what_there_is() -> None:
    with pytest.raises(UsageError, match="'nonsense' is no part of this site; its targets are scr"):
        Investigation(LAB.plan.expectations, ["nonsense"])


def test_steps_come_back_from_their_documents() -> None:
    night = Night(SLOW_LINK)
    night.investigate()
    assert [Step.from_json(step.to_json()) for step in night.done] == night.done
    assert night.done[0].slots == (0, 1, 2, 3, 4, 5)


def test_whatever_was_moved_at_all_clears_what_it_crosses_of_a_failure() -> None:
    raw = {"layer": "raw", "operation": Operation.READ, "host": "oss2"}
    records = [
        failed(component="oss2-disk1", **raw),
        record(component="oss2-disk2", rate=1e6, **raw),
    ]
    located = locate_failures(PLACED, records)
    assert located.sets[0].alternatives == (("oss2-disk1",),)
    sentence = failure_sentence(located, located.sets[0], {})
    assert sentence.startswith(
        "Failing: oss2-disk1 (1 of 1 failed measurement crosses it): fio said no"
    )


def test_the_plan_of_a_large_machine_is_made_in_no_time() -> None:
    site = redstorm()
    asked = Investigation(site.plan.expectations)
    empty = Findings(locate([]), locate([]))
    first = asked.decide(empty, [], PLENTY)
    assert first.step is not None
    assert asked.decide(empty, [first.step], PLENTY).step != first.step
