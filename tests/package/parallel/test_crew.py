"""Targets of a parallel run that cannot be looked at take no part, and say why."""

from __future__ import annotations

from types import MappingProxyType
from typing import Mapping

from plumbline.model.record import Outcome
from plumbline.parallel.crew import Files, Member, Share
from tests.package.fakes import HANGING, Answer, FakeRunner, answer
from tests.package.measure.test_ost import target
from tests.package.measure.units import SIZE, expectation

HEALTHY = answer("4096 1000000 900000 900000\n")


def member(changes: Mapping[str, Answer] = MappingProxyType({})) -> Member:
    runner = target({"find": "", "stat --format=%d": "2049\n", **changes})
    assert isinstance(runner, FakeRunner)
    return Member(expectation("a"), "oss1", Share(1, SIZE, shared=False), runner)


def test_a_target_that_answers_when_all_others_were_looked_at_takes_part() -> None:
    own = member({"stat --file-system": [HANGING, HEALTHY]})
    own.look()
    assert own.failure is not None
    assert own.failure.outcome is Outcome.UNANSWERED
    own.look_again(Files.FRESH)
    assert own.failure is None


def test_a_target_that_does_not_answer_twice_is_not_said_to_hang() -> None:
    own = member({"stat --file-system": HANGING})
    own.look()
    own.look_again(Files.FRESH)
    assert own.failure is not None
    assert own.failure.outcome is Outcome.UNANSWERED


def test_an_io_error_is_left_to_the_layer_that_measures_targets_one_by_one() -> None:
    stale = answer(stderr="realpath: /mnt/a: Stale file handle\n", exit_code=1)
    own = member({"realpath": stale})
    own.look()
    assert own.failure is not None
    assert own.failure.outcome is Outcome.SKIPPED
