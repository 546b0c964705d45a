"""Cause of a repeated failure: the target, its server, or this node."""

from __future__ import annotations

from typing import Optional

import pytest

from plumbline.measure.targets.directory import DirectoryTarget
from plumbline.measure.targets.interface import TargetState
from plumbline.measure.trial import Failure, NoAnswer, Suspicion
from plumbline.model.command import CommandRunner
from plumbline.model.errors import LostTarget, NoMount, SkipTarget
from plumbline.model.record import Outcome
from tests.package.fakes import HANGING, FakeRunner
from tests.package.measure.units import expectation

LOST = LostTarget("this client has no connection to scratch-client-3")
FINE = None


class Silent(NoMount):
    """The mount does not answer."""


class FakeTarget(DirectoryTarget):
    """A target in a given state, on a server that answers or not."""

    def __init__(self, error: Optional[SkipTarget], answers: Optional[bool]) -> None:
        super().__init__("/mnt/a", "", "a", 0.9)
        self._error = error
        self._answers = answers

    def state(self, run: CommandRunner) -> TargetState:
        if isinstance(self._error, Silent):
            run(["cat", "/mnt/a/.meta/version"], 1.0)
        if self._error:
            raise self._error
        return TargetState(None, (), {})

    def server_answers(self, run: CommandRunner) -> Optional[bool]:
        return self._answers


CASES = [
    # an error, and the target is there
    (Outcome.BROKEN, FINE, None, Outcome.BROKEN),
    (Outcome.HUNG, FINE, None, Outcome.HUNG),
    # an error because the server went down during a write
    (Outcome.BROKEN, LOST, False, Outcome.UNREACHABLE),
    (Outcome.HUNG, LOST, False, Outcome.UNREACHABLE),
    # an error because the target is gone and its server is not
    (Outcome.BROKEN, LOST, True, Outcome.BROKEN),
    (Outcome.HUNG, LOST, True, Outcome.HUNG),
    # target and server cannot be distinguished; the alarm is on the server's host either way
    (Outcome.BROKEN, LOST, None, Outcome.BROKEN),
    (Outcome.UNREACHABLE, LOST, None, Outcome.BROKEN),
    (Outcome.UNREACHABLE, LOST, True, Outcome.BROKEN),
    (Outcome.UNREACHABLE, LOST, False, Outcome.UNREACHABLE),
    (Outcome.BROKEN, NoMount("nothing is mounted"), None, Outcome.NO_MOUNT),
    (Outcome.NO_MOUNT, NoMount("nothing is mounted"), None, Outcome.NO_MOUNT),
    (Outcome.UNANSWERED, FINE, None, Outcome.UNANSWERED),
    # the daemon of the mount stopped during a write
    (Outcome.HUNG, Silent("cat gave no answer"), None, Outcome.UNANSWERED),
    (Outcome.HUNG, SkipTarget("93% full"), None, Outcome.HUNG),
]


@pytest.mark.parametrize(("outcome", "state", "answers", "concluded"), CASES)
def test_a_failure_is_due_to_the_target_its_server_or_this_node(
    outcome: Outcome, state: Optional[SkipTarget], answers: Optional[bool], concluded: Outcome
) -> None:
    suspicion = Suspicion(
        expectation("a"), FakeTarget(state, answers), FakeRunner({"cat": HANGING}), 0.0, last=True
    )
    assert suspicion.concluded(Failure(outcome, "fio: Input/output error")).outcome is concluded


class Connected(FakeTarget):
    """A target with a connection of its own, on a shared server or not."""

    def __init__(self, error: Optional[SkipTarget], *, shares: bool) -> None:
        super().__init__(error, True)
        self._shares = shares

    def refuse_lost(self, run: CommandRunner) -> None:
        self.state(run)

    def waits_for_others(self, run: CommandRunner) -> str:
        return "fs-MDT0001 is DISCONN" if self._shares else ""


@pytest.mark.parametrize(
    ("state", "shares", "others_answer", "concluded"),
    [
        (LOST, True, False, Outcome.BROKEN),
        (FINE, False, True, Outcome.HUNG),
        (FINE, False, False, Outcome.UNANSWERED),
        (FINE, True, True, Outcome.UNANSWERED),
        (Silent("cat gave no answer"), False, True, Outcome.UNANSWERED),
        (SkipTarget("lctl shows no import"), False, True, Outcome.UNANSWERED),
    ],
)
def test_an_unanswered_query_blames_its_target_only_if_nothing_else_can_hang(
    state: Optional[SkipTarget], shares: bool, others_answer: bool, concluded: Outcome
) -> None:
    target = Connected(state, shares=shares)
    suspicion = Suspicion(
        expectation("a"), target, FakeRunner({"cat": HANGING}), 0.0, True, others_answer
    )
    silence = NoAnswer(Outcome.UNANSWERED, "stat gave no answer")
    assert suspicion.concluded(silence).outcome is concluded
    # an error caused by another target is no silence
    disturbed = Failure(Outcome.UNANSWERED, "touch: Input/output error")
    assert suspicion.concluded(disturbed).outcome is Outcome.UNANSWERED


@pytest.mark.parametrize("outcome", list(Outcome))
def test_uncertain_failures_are_tried_twice(outcome: Outcome) -> None:
    first = Suspicion(expectation("a"), FakeTarget(FINE, None), FakeRunner({}), 0.0, last=False)
    certain = (Outcome.OK, Outcome.FAILED, Outcome.SKIPPED, Outcome.HUNG)
    assert first.waits(Failure(outcome, "")) is (outcome not in certain)
    assert not first._replace(last=True).waits(Failure(outcome, ""))


class Evicted(FakeTarget):
    """A target whose server has evicted this client."""

    def cause(self, run: CommandRunner, error: str, since: float) -> str:
        return f"evicted since {since:g}"


def test_an_io_error_with_a_known_cause_is_no_fault_of_the_target() -> None:
    suspicion = Suspicion(expectation("a"), Evicted(FINE, None), FakeRunner({}), 7.0, last=True)
    concluded = suspicion.concluded(Failure(Outcome.BROKEN, "truncate: Input/output error"))
    assert concluded.outcome is Outcome.FAILED
    assert concluded.reason == "evicted since 7 (truncate: Input/output error)"
