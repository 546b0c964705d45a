"""Runs of one target by name, minutes apart, raise and end an alarm."""

from __future__ import annotations

from math import exp
from pathlib import Path
from typing import Iterator, NamedTuple, Optional, Sequence

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
"""Odds for an alarm: with 24 allowed false alarms a month, and at 336 targets."""
ENDS = {LAB: 20.0, EDISON: 64.0}
"""Odds that end an alarm of a nightly measurement."""
DIFFER = (0.01, -0.02, 0.015, -0.005, 0.02, -0.015, 0.0)
MINUTE_S = 60.0


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with History(tmp_path / "history.db") as opened:
        yield opened


class Node:
    """A node that measures six targets, or one of them by name."""

    def __init__(
        self,
        history: History,
        reference: Reference,
        odds: float,
        targets: Sequence[str] = TARGETS,
    ) -> None:
        self.history = history
        self.targets = targets
        self.runs = 0
        limits = Limits(alarm_odds=odds, end_odds=ENDS[odds])
        references = {"write/single": reference, "read/single": reference}
        self.entries = [
            expectation(component=name, references=references, limits=limits) for name in targets
        ]

    def all_of(self, nights: int) -> Node:
        """Save nightly runs of all targets, the last one a day ago."""
        for night in range(nights, 0, -1):
            for number, name in enumerate(self.targets):
                rate = RATE * exp(DIFFER[(night + number) % len(DIFFER)])
                self._save(f"night-{night}", name, rate, NOW - night * DAY_S)
        return self

    def by_name(self, *shares: float, target: str = SLOW) -> Node:
        """Save runs of one target by name, a minute apart."""
        for share in shares:
            self.runs += 1
            rate = share * RATE * exp(DIFFER[self.runs % len(DIFFER)])
            self._save(f"by-name-{self.runs}", target, rate, NOW + self.runs * MINUTE_S)
        return self

    def _save(self, run_id: str, name: str, rate: float, at: float) -> None:
        for number, operation in enumerate((Operation.WRITE, Operation.READ)):
            start = at + 20 * number
            self.history.save(
                record(
                    run_id=run_id,
                    component=name,
                    operation=operation,
                    started_at=start,
                    finished_at=start + 10,
                    rate=rate,
                    repeats=(rate,),
                    spec_hash=BASELINE.spec_hash,
                )
            )

    def verdict(self, *, last_run: bool = False) -> Verdict:
        """Return the verdict on the target in its service, or the one for the playbook."""
        raw = tuple(entry.to_json() for entry in self.entries)
        node = Expectations("client1", "lab", raw)
        now = NOW + (self.runs + 1) * MINUTE_S
        judged = SiteJudgement(plan_of_node(node), self.history, now)
        basis = Basis.LAST_RUN if last_run else Basis.RUNS
        judging = judged.judging("client1", evidence=True, basis=basis)
        entries = (entry for entry in node.every() if entry.component == SLOW)
        (verdict,) = judging.components(entries)
        return verdict

    def runs_until(self, share: float, *, alarm: bool) -> Optional[int]:
        """Return the number of runs by name at a share of the rate that raise or end an alarm.

        None if twelve runs of one night change nothing.
        """
        for count in range(1, 13):
            if self.by_name(share).verdict().state.alarm is alarm:
                return count
        return None

    def next_night(self) -> Node:
        """Let a day pass."""
        self.runs += round(DAY_S / MINUTE_S)
        return self


class Case(NamedTuple):
    """Earlier measurements, and the runs by name that raise an alarm with each budget."""

    reference: Reference
    nights: int
    at_lab: int = 2
    at_edison: int = 3


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(Case(FIRM, 7), id="baseline and full runs"),
        pytest.param(Case(NO_BASELINE, 7), id="full runs only"),
        pytest.param(Case(FIRM, 2), id="baseline and two full runs"),
    ],
)
@pytest.mark.parametrize("odds", [LAB, EDISON])
@pytest.mark.parametrize("share", [0.34, 0.5])
def test_a_gross_loss_raises_an_alarm_and_a_repair_ends_it(
    history: History, case: Case, odds: float, share: float
) -> None:
    node = Node(history, case.reference, odds).all_of(case.nights)
    assert node.runs_until(share, alarm=True) == (case.at_lab if odds == LAB else case.at_edison)
    assert node.runs_until(1.0, alarm=False) == 2
    assert node.verdict().state is State.OK


@pytest.mark.parametrize("odds", [LAB, EDISON])
@pytest.mark.parametrize("share", [0.34, 0.5])
def test_with_a_baseline_alone_a_loss_must_outlast_the_night(
    history: History, odds: float, share: float
) -> None:
    """Without peers one night cannot tell a slow target from a busy file system."""
    node = Node(history, FIRM, odds)
    assert node.runs_until(share, alarm=True) is None
    assert node.verdict().reason is Reason.WATCHED
    nights = 1
    while node.next_night().runs_until(share, alarm=True) is None:
        nights += 1
    assert nights == (1 if odds == LAB else 2)


@pytest.mark.parametrize("reference", [FIRM, NO_BASELINE], ids=["baseline", "none"])
@pytest.mark.parametrize(("odds", "runs"), [(LAB, 2), (EDISON, None)])
def test_runs_of_a_mild_loss_within_a_night_are_no_alarm_of_a_large_site(
    history: History, reference: Reference, odds: float, runs: Optional[int]
) -> None:
    node = Node(history, reference, odds).all_of(7)
    assert node.runs_until(0.85, alarm=True) == runs
    verdict = node.verdict()
    assert verdict.reason is (Reason.SLOW if runs else Reason.WATCHED)
    assert verdict.ratio_runs == pytest.approx(0.85, abs=0.02)


def test_without_baseline_and_full_runs_the_state_is_unknown_with_the_reason(
    history: History,
) -> None:
    verdict = Node(history, NO_BASELINE, LAB).by_name(0.34, 0.34, 0.34).verdict()
    assert (verdict.state, verdict.reason) == (State.UNKNOWN, Reason.NO_REFERENCE)
    assert "no baseline yet" in verdict.sentence


def test_service_and_last_run_agree(history: History) -> None:
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
    assert [verdict.state for verdict in both] == [State.CRITICAL, State.CRITICAL]
    sentences = " ".join(verdict.sentence for verdict in both)
    assert "its service" not in sentences
    assert "like this" not in sentences


def test_the_verdict_on_a_good_run_mentions_the_alarm_of_the_service(history: History) -> None:
    node = Node(history, FIRM, EDISON).all_of(7).by_name(0.34, 0.34, 0.34, 1.0)
    playbook, service = node.verdict(last_run=True), node.verdict()
    assert playbook.state is State.OK
    assert service.state.alarm
    assert service.sentence.endswith("; 1 more run like this one ends the alarm")
    assert playbook.sentence.endswith(
        "; its service still has the alarm; 1 more run like this one ends the alarm"
    )


def test_the_verdict_on_a_mild_run_names_the_worse_state_of_the_service(
    history: History,
) -> None:
    node = Node(history, FIRM, LAB).all_of(7).by_name(0.34, 0.34, 0.34, 0.75)
    playbook, service = node.verdict(last_run=True), node.verdict()
    assert (playbook.state, service.state) == (State.WARNING, State.CRITICAL)
    assert playbook.sentence.endswith("; its runs together make its service CRITICAL")


def test_slow_targets_measured_by_name_are_no_reference_for_one_another(
    history: History,
) -> None:
    """The reference of each is the last full run, not the other slow targets."""
    node = Node(history, FIRM, LAB).all_of(7)
    for name in TARGETS[:3]:
        node.by_name(0.34, target=name)
    assert node.by_name(0.34, 0.34).verdict().state is State.CRITICAL


def test_a_repaired_target_measured_by_name_is_ok_at_each_run(history: History) -> None:
    """Its peers lie further back than its last five runs, of which most were slow."""
    node = Node(history, NO_BASELINE, EDISON, TARGETS[:4]).all_of(2).by_name(0.3, 0.3, 0.3, 0.3)
    assert node.verdict().state is State.CRITICAL
    for good in range(1, 9):
        verdict = node.by_name(0.98).verdict(last_run=True)
        assert verdict.state is State.OK, verdict.sentence
        assert (
            "% of the median of its 3 peers in its last 2 runs with peers 201" in verdict.sentence
        )
        service = node.verdict()
        if service.state.alarm:
            runs = f"30 % of its few peers in 4 of {4 + good} runs since "
            assert runs in service.sentence.replace("31 %", "30 %")


def test_runs_that_miss_the_limit_of_a_gross_loss_do_not_count_as_slow(history: History) -> None:
    node = Node(history, NO_BASELINE, EDISON, TARGETS[:4]).all_of(2)
    service = node.by_name(0.3, 0.3, 0.3, 0.3, 0.85, 0.92, 0.84, 0.92).verdict()
    assert service.state is State.CRITICAL
    assert "% of its few peers in 4 of 8 runs since " in service.sentence
    # two such runs would make the middle of all 55 %
    assert service.ratio_runs == pytest.approx(0.3, abs=0.01)


def test_after_its_own_runs_a_rate_near_the_ceiling_needs_no_reference(history: History) -> None:
    reference = Reference(CEILING._replace(rate=RATE / 0.86), None)
    node = Node(history, reference, EDISON).by_name(0.3, 0.3, 0.3)
    for _ in range(4):
        verdict = node.by_name(1.0).verdict(last_run=True)
        assert verdict.state is State.OK, verdict.sentence
        assert "% of the ceiling 232.6 MB/s by disk oss2-disk1" in verdict.sentence
    below = node.by_name(0.8).verdict(last_run=True)
    assert (below.state, below.reason) == (State.UNKNOWN, Reason.NO_REFERENCE)
