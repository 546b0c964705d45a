"""Investigations of sites with known faults find exactly these in few steps."""

from __future__ import annotations

from typing import Iterable, Sequence

import pytest

from plumbline.model.codec import read, write
from plumbline.model.errors import UsageError
from plumbline.model.record import Operation, Scenario
from plumbline.model.rounds import Role, turn
from plumbline.parts.locate.failures import failing, failure_sentence, locate_failures
from plumbline.parts.locate.investigation import Budget, Decision, Findings, Investigation, Step
from plumbline.parts.locate.observation import SEGMENTS, Observation, PlannedMeasurement, Site, Vote
from plumbline.parts.locate.suspects import locate
from tests.package.parts.locate.scenes import LAB, REDSTORM, LaneRates, both, observation, rate
from tests.package.records import failed, record

PLACED = tuple(Site(LAB.plan.expectations).measurables())
PLENTY = Budget(1e6, 1e15)
SLOW_DISK = {"oss2-disk1": both(80e6)}
SLOW_LINK = {"oss3-nic": both(25e6)}
MAX_STEPS = 5
ALIKE = (("oss2",), ("oss2-disk1", "oss2-disk2"))
"""Two equally slow devices: their server comes before two faults."""


class Night:
    """A site with faults that measures the steps of an investigation."""

    def __init__(
        self, rates: LaneRates, retransmitted: Sequence[str] = (), broken: Sequence[str] = ()
    ) -> None:
        self._rates, self._retransmitted, self._broken = rates, set(retransmitted), set(broken)
        self.done: list[Step] = []

    def investigate(
        self, targets: Sequence[str] = (), budget: Budget = PLENTY, silent: Sequence[str] = ()
    ) -> Decision:
        """Follow the investigation to its end."""
        investigation = Investigation(LAB.plan.expectations, targets, silent)
        while True:
            spent = sum(step.seconds for step in self.done)
            moved = sum(step.bytes for step in self.done)
            remaining = Budget(budget.seconds - spent, budget.bytes - moved)
            decision = investigation.decide(self.findings(), self.done, remaining)
            if decision.step is None:
                return decision
            self.done.append(decision.step)
            assert len(self.done) < 20, "it does not end"

    def findings(self) -> Findings:
        slow: list[Observation] = []
        failures: list[Observation] = []
        for placed in PLACED:
            if any(measures(step, placed) for step in self.done):
                bad = not self._broken.isdisjoint(placed.of.path)
                values = {"vote": Vote.BAD if bad else Vote.GOOD, "error": 0.01}
                failures.append(observation(failing(placed.of), 50.0 if bad else 100.0, **values))
                if not bad:
                    slow += self._observations(placed)
        return Findings(locate(slow), locate(failures))

    def _observations(self, placed: PlannedMeasurement) -> Iterable[Observation]:
        yield observation(placed.of, rate(placed.of, self._rates))
        if placed.partner:
            bad = not self._retransmitted.isdisjoint(placed.of.path)
            of = placed.of._replace(
                name=f"{placed.of.name} segments",
                path=placed.of.path[1:-1],
                expected=100.0,
                lanes=tuple(tuple(SEGMENTS + x for x in y) for y in placed.of.lanes[1:-1]),
            )
            yield observation(of, 50.0 if bad else 100.0, error=0.01)

    def suspects(self) -> list[tuple[tuple[str, ...], ...]]:
        return [ambiguity.alternatives for _, ambiguity in self.findings().sets()]


def measures(step: Step, placed: PlannedMeasurement) -> bool:
    of = placed.of
    if step.layer != of.layer or step.node not in ("", of.node):
        return False
    if step.component not in ("", of.component):
        return False
    if placed.partner:
        meetings = [
            turn(placed.expectation.target["hosts"], of.component, slot) for slot in step.slots
        ]
        return any(
            meeting and meeting.partner == placed.partner.name and meeting.role is Role.INITIATOR
            for meeting in meetings
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


@pytest.mark.parametrize(("fault", "rates", "retransmitted", "broken", "named"), FAULTS)
def test_an_investigation_of_the_site_names_exactly_the_faults(
    fault: str, rates: LaneRates, retransmitted: list[str], broken: list[str], named: list[str]
) -> None:
    night = Night(rates, retransmitted, broken)
    end = night.investigate()
    assert sorted(night.suspects()) == [((name,),) for name in named], fault
    assert end.reason == ("certain" if named else "nothing slow")
    assert [step.layer for step in night.done[:2]] == ["net", "ost"]
    everything = [step for step in night.done if step.layer == "raw" and not step.component]
    assert bool(everything) is not bool(named), "a certain cause needs no further devices"
    assert len(night.done) <= MAX_STEPS


@pytest.mark.parametrize(
    ("target", "rates", "retransmitted", "broken", "named"),
    [
        ("scratch-OST0002", SLOW_DISK, [], [], ["oss2-disk1"]),
        ("scratch-OST0004", SLOW_LINK, [], [], ["oss3-nic"]),
        ("scratch-OST0000", {}, ["oss1-nic"], [], ["oss1-nic"]),
        ("scratch-OST0002", {}, [], ["oss2-disk1"], ["oss2-disk1"]),
        ("scratch-OST0001", SLOW_DISK, [], [], []),
    ],
)
def test_an_investigation_of_a_target_names_exactly_its_faults(
    target: str, rates: LaneRates, retransmitted: list[str], broken: list[str], named: list[str]
) -> None:
    night = Night(rates, retransmitted, broken)
    night.investigate([target])
    assert sorted(night.suspects()) == [((name,),) for name in named]
    assert len(night.done) <= 8


@pytest.mark.slow
@pytest.mark.parametrize(
    "targets", [[], ["oss2"], ["oss2-disk1"], ["scratch-OST0002"], ["scratch-OST0003"]]
)
@pytest.mark.parametrize("left_Bps", [80e6, 8e6])
def test_a_server_with_slow_disks_only_is_named(targets: list[str], left_Bps: float) -> None:
    night = Night({f"oss2-disk{number}": both(left_Bps) for number in (1, 2)})
    end = night.investigate(targets)
    assert night.suspects() == [ALIKE]
    assert end.reason == "nothing would divide them"
    assert len(night.done) <= 8


def test_a_target_itself_is_measured_first() -> None:
    night = Night(SLOW_DISK)
    night.investigate(["scratch-OST0002"])
    assert night.done[0].words == "write and read of target scratch-OST0002"
    assert night.done[0].node == "client1"


def test_steps_beyond_the_budget_are_named_and_not_run() -> None:
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


@pytest.mark.parametrize("rates", [SLOW_DISK, {}, SLOW_LINK])
@pytest.mark.parametrize("target", ["scratch-OST0002", "oss2-disk1", "oss2"])
def test_a_silent_node_is_not_used_in_any_step(rates: LaneRates, target: str) -> None:
    night = Night(rates)
    end = night.investigate([target], silent=["oss2"])
    assert night.done
    steps = (*night.done, *end.beyond)
    assert "oss2" not in {name for step in steps for name in (step.node, step.partner)}
    poor = Night(rates).investigate([target], Budget(0.0, 0.0), silent=["oss2"])
    assert "oss2" not in {name for step in poor.beyond for name in (step.node, step.partner)}


def test_an_unknown_target_is_refused_with_the_known_targets() -> None:
    with pytest.raises(UsageError, match="'nonsense' is no part of this site; its targets are scr"):
        Investigation(LAB.plan.expectations, ["nonsense"])


def test_steps_survive_writing_and_reading() -> None:
    night = Night(SLOW_LINK)
    night.investigate()
    assert [read(Step, write(step)) for step in night.done] == night.done
    assert night.done[0].slots == (0, 1, 2, 3, 4, 5)


def test_any_moved_bytes_clear_a_path_of_a_failure() -> None:
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


def test_the_first_steps_of_a_large_machine_are_planned_at_once() -> None:
    site = REDSTORM
    investigation = Investigation(site.plan.expectations)
    empty = Findings(locate([]), locate([]))
    first = investigation.decide(empty, [], PLENTY)
    assert first.step is not None
    assert investigation.decide(empty, [first.step], PLENTY).step != first.step
