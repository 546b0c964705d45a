"""Targets of a parallel run that cannot be checked take no part, with a reason."""

from __future__ import annotations

from typing import Mapping

from plumbline.model.ranks import TESTS
from plumbline.model.record import Outcome
from plumbline.parts.parallel.run import Files, Member, Share
from tests.package.fakes import HANGING, NO_FILE, Answer, FakeRunner, answer, file_status
from tests.package.measure.targets import FILES, healthy
from tests.package.measure.test_ost import target
from tests.package.measure.units import SIZE, expectation

HEALTHY = answer("4096 1000000 900000 900000\n")


def member(changes: Mapping[str, Answer] = {}) -> Member:
    runner = target({"find": "", "stat --format=%d": "2049\n", **changes})
    assert isinstance(runner, FakeRunner)
    return Member(expectation("a"), "oss1", Share(1, SIZE, shared=False), runner)


def test_a_target_that_answers_at_the_second_check_takes_part() -> None:
    own = member({"stat --file-system": [HANGING, HEALTHY]})
    own.look()
    assert own.failure is not None
    assert own.failure.outcome is Outcome.UNANSWERED
    own.recheck(Files.FRESH)
    assert own.failure is None


def test_a_target_without_two_answers_is_not_hung() -> None:
    own = member({"stat --file-system": HANGING})
    own.look()
    own.recheck(Files.FRESH)
    assert own.failure is not None
    assert own.failure.outcome is Outcome.UNANSWERED


def test_io_errors_are_judged_by_the_layer_of_single_targets() -> None:
    stale = answer(stderr="realpath: /mnt/a: Stale file handle\n", exit_code=1)
    own = member({"realpath": stale})
    own.look()
    assert own.failure is not None
    assert own.failure.outcome is Outcome.SKIPPED


def test_ranks_sharing_a_striped_file_have_a_part_each() -> None:
    """The file is named after its first OST, so that the next run finds it after a kill."""
    size = FILES["lustre-striped"]["bytes"]
    share = Share(ranks=8, rank_bytes=size // 8, shared=TESTS["mpiio-shared-1m2"].shared)
    target_of_four = FILES["lustre-striped"]["target"]
    runner = FakeRunner(
        {
            **healthy("lustre-striped", stat=[NO_FILE, NO_FILE, answer(file_status(size, 0))]),
            "find": "lustre-OST0000.fs-7\n",
            "rm": "",
        }
    )
    own = Member(expectation("lustre-OST0000+3", target=target_of_four), "oss1", share, runner)
    own.look()
    own.make()
    assert own.failure is None
    places = list(own.places)
    path = "/mnt/lustre/.plumbline/lustre-OST0000.fs-0/probe.dat"
    assert {place.path for place in places} == {path}
    assert [place.offset for place in places] == [rank * size // 8 for rank in range(8)]
    assert {place.target for place in places} == {"lustre-OST0000+3"}
    assert len(runner.called("lfs setstripe")) == 1
