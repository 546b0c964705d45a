"""Runs of one target by name, minutes apart, raise an alarm and end one."""

from __future__ import annotations

from math import exp
from pathlib import Path
from typing import Iterator, NamedTuple

import pytest

from plumbline.judge.judging import Basis
from plumbline.model.expectation import Expectations
from plumbline.model.limits import Limits, Reference
from plumbline.model.record import Operation
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.site.nodes import SiteJudgement, plan_of_node
from plumbline.store.history import History
from tests.package.judgements import BASELINE, CEILING, DAY_S, NOW, expectation
from tests.package.records import record

TARGETS = [f"scratch-OST000{number}" for number in range(6)]
SLOW = TARGETS[3]
RATE = 200e6
FIRM = Reference(CEILING, BASELINE._replace(median=RATE))
NO_BASELINE = Reference(CEILING, None)
LAB, EDISON = 55.3, 21_662.0
"""The odds that an alarm takes where 24 false alarms a month are allowed, and at 336 targets."""
ENDS = {LAB: 20.0, EDISON: 64.0}
"""The odds that end an alarm of a nightly measurement there."""
DIFFER = (0.01, -0.02, 0.015, -0.005, 0.02, -0.015, 0.0)
MINUTE_S = 60.0


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History(tmp_path / "history.db") as found:
        yield found


class Node:
    """A node that measures six targets, and by name one of them."""

    def __init__(self, history: History, reference: Reference, odds: float) -> None:
        self.history = history
        self.runs = 0
        limits = Limits(alarm_odds=odds, end_odds=ENDS[odds])
        references = {"write/single": reference, "read/single": reference}
        self.chosen = [
            expectation(component=name, references=references, limits=limits) for name in TARGETS
        ]

    def all_of(self, nights: int) -> Node:
        """Measure all targets in each of some nights, the last one a day ago."""
        for night in range(nights, 0, -1):
            for number, name in enumerate(TARGETS):
                rate = RATE * exp(DIFFER[(night + number) % len(DIFFER)])
                self._save(f"night-{night}", name, rate, NOW - night * DAY_S)
        return self

    def by_name(self, *shares: float, target: str = SLOW) -> Node:
        """Measure one target alone, a minute apart."""
        for share in shares:
            self.runs += 1
            rate = share * RATE * exp(DIFFER[self.runs % len(DIFFER)])
            self._save(f"by-name-{self.runs}", target, rate, NOW + self.runs * MINUTE_S)
        return self

    def _save(self, run_id: str, name: str, rate: float, at: float) -> None:
        for number, operation in enumerate((Operation.WRITE, Operation.READ)):
            begun = at + 20 * number
            self.history.save(
                record(
                    run_id=run_id,
                    component=name,
                    operation=operation,
                    started_at=begun,
                    finished_at=begun + 10,
                    rate=rate,
                    repeats=(rate,),
                    spec_hash=BASELINE.spec_hash,
                )
            )

    def verdict(self, *, last_run: bool = False) -> Verdict:
        """Return the verdict of the service of the target, or that of the playbook."""
        raw = tuple(one.to_json() for one in self.chosen)
        node = Expectations("client1", "lab", raw)
        now = NOW + (self.runs + 1) * MINUTE_S
        judged = SiteJudgement(plan_of_node(node), self.history, now)
        basis = Basis.LAST_RUN if last_run else Basis.RUNS
        judging = judged.judging("client1", evidence=True, basis=basis)
        (found,) = judging.components(one for one in node.every() if one.component == SLOW)
        return found

    def runs_until(self, share: float, *, alarm: bool) -> int:
        """Return how many runs by name at a share of the rate begin or end an alarm."""
        for count in range(1, 13):
            if self.by_name(share).verdict().state.alarm is alarm:
                return count
        raise AssertionError("twelve runs change nothing")


class Case(NamedTuple):
    """What was measured before, and the runs by name that begin an alarm, at 34 and at 50 %."""

    reference: Reference
    nights: int
    at_lab: tuple[int, int] = (2, 2)
    at_edison: tuple[int, int] = (3, 3)


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(Case(FIRM, 7), id="baseline and full runs"),
        pytest.param(Case(NO_BASELINE, 7), id="full runs only"),
        pytest.param(Case(FIRM, 2), id="baseline and two full runs"),
        # nothing tells a busy file system from a slow target
        pytest.param(Case(FIRM, 0, at_lab=(3, 3), at_edison=(7, 6)), id="baseline only"),
    ],
)
@pytest.mark.parametrize("odds", [LAB, EDISON])
@pytest.mark.parametrize("share", [0.34, 0.5])
def test_a_gross_loss_raises_an_alarm_and_a_repair_ends_it(
    history: History, case: Case, odds: float, share: float
) -> None:
    node = Node(history, case.reference, odds).all_of(case.nights)
    wanted = (case.at_lab if odds == LAB else case.at_edison)[share == 0.5]
    assert node.runs_until(share, alarm=True) == wanted
    assert node.runs_until(1.0, alarm=False) == 2
    assert node.verdict().state is State.OK


@pytest.mark.parametrize("reference", [FIRM, NO_BASELINE], ids=["baseline", "none"])
@pytest.mark.parametrize(("odds", "runs"), [(LAB, 3), (EDISON, 7)])
def test_two_runs_of_a_mild_loss_within_minutes_are_no_alarm(
    history: History, reference: Reference, odds: float, runs: int
) -> None:
    node = Node(history, reference, odds).all_of(7)
    found = node.by_name(0.85, 0.85).verdict()
    assert found.state is State.OK
    assert found.reason is Reason.WATCHED
    assert 2 + node.runs_until(0.85, alarm=True) == runs
    assert found.ratio_runs == pytest.approx(0.85, abs=0.02)


def test_without_baseline_and_full_runs_nothing_is_known_and_the_verdict_says_so(
    history: History,
) -> None:
    found = Node(history, NO_BASELINE, LAB).by_name(0.34, 0.34, 0.34).verdict()
    assert (found.state, found.reason) == (State.UNKNOWN, Reason.NO_REFERENCE)
    assert "no baseline yet" in found.sentence


def test_service_and_last_run_tell_one_story(history: History) -> None:
    node = Node(history, FIRM, LAB).all_of(7).by_name(0.34)
    playbook, service = node.verdict(last_run=True), node.verdict()
    assert (playbook.state, service.state) == (State.CRITICAL, State.OK)
    assert service.reason is Reason.WATCHED
    assert service.sentence.endswith("; 1 more run like this one raises an alarm")
    assert playbook.sentence.endswith(
        "; its service watches: 1 more run like this one for an alarm"
    )
    node.by_name(0.34)
    both = node.verdict(last_run=True), node.verdict()
    assert [one.state for one in both] == [State.CRITICAL, State.CRITICAL]
    assert not any("its service" in one.sentence or "like this" in one.sentence for one in both)


def test_a_good_run_says_that_the_service_still_has_the_alarm(history: History) -> None:
    node = Node(history, FIRM, EDISON).all_of(7).by_name(0.34, 0.34, 0.34, 1.0)
    playbook, service = node.verdict(last_run=True), node.verdict()
    assert playbook.state is State.OK
    assert service.state.alarm
    assert service.sentence.endswith("; 1 more run like this one ends the alarm")
    assert playbook.sentence.endswith(
        "; its service still has the alarm; 1 more run like this one ends the alarm"
    )


def test_runs_by_name_of_several_slow_targets_do_not_excuse_one_another(
    history: History,
) -> None:
    """Each is held against the last run of all, not against the others that are slow."""
    node = Node(history, FIRM, LAB).all_of(7)
    for name in TARGETS[:3]:
        node.by_name(0.34, target=name)
    assert node.by_name(0.34, 0.34).verdict().state is State.CRITICAL
