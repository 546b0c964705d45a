"""One line for each job, from its traffic on each target."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from plumbline.model.record import Operation
from plumbline.parts.facts.darshan import FileIo, Log, Stripes, stripes_of
from plumbline.parts.facts.job_lines import SlowestTarget, job_lines
from plumbline.parts.facts.jobs import COUNTERS, DARSHAN, Job, JobIo

MB = 10**6


def io(target: int, size: float, **changes: Any) -> JobIo:
    """Return the traffic of job 4711 on a target, written within 10 s."""
    moved = JobIo("4711", f"OST{target}", Operation.WRITE, size, 100.0, 110.0, DARSHAN)
    return moved._replace(**changes)


def test_a_job_on_many_targets_is_one_line() -> None:
    reads = [io(target, 10 * MB, operation=Operation.READ, begin=50.0) for target in range(4)]
    (line,) = job_lines([*(io(target, 100 * MB) for target in range(24)), *reads])
    assert (len(line.targets), line.read, line.written) == (24, 40 * MB, 2400 * MB)
    assert (line.begin, line.end, line.slowest) == (50.0, 110.0, None)


def test_jobs_come_by_their_bytes() -> None:
    lines = job_lines([io(0, 5), io(0, 9, job="b"), io(1, 5, job="a"), io(2, 4, job="a")])
    assert [line.job for line in lines] == ["a", "b", "4711"]


def test_the_slowest_target_is_named_with_its_share_of_the_median() -> None:
    (line,) = job_lines([io(0, 100 * MB), io(1, 30 * MB), io(2, 100 * MB), io(3, 101 * MB)])
    assert line.slowest == SlowestTarget("OST1", Operation.WRITE, 3 * MB, 0.3)
    # in the direction in which it moved most
    slow_read = io(0, 1, operation=Operation.READ)
    reads = (io(target, 50, operation=Operation.READ) for target in (1, 2))
    (line,) = job_lines([slow_read, *reads, io(0, 100 * MB), io(1, 100 * MB)])
    assert line.slowest is None


@pytest.mark.parametrize(
    "usages",
    [
        [io(0, 100)],
        [io(0, 100), io(1, 96)],
        # without a duration there is no rate
        [io(0, 100, end=100.0), io(1, 10, end=100.0)],
    ],
)
def test_no_target_is_slowest_without_two_that_differ(usages: list[JobIo]) -> None:
    (line,) = job_lines(usages)
    assert line.slowest is None


def test_bytes_that_two_sources_have_seen_count_once() -> None:
    seen = [io(0, 100, small=0.5), io(1, 100, small=0.5), io(0, 150, source=COUNTERS)]
    (line,) = job_lines(seen)
    assert (line.written, len(line.targets), line.source) == (200, 2, DARSHAN)
    (line,) = job_lines([*seen, io(1, 150, source=COUNTERS)])
    assert (line.written, line.source) == (300, COUNTERS)
    # Darshan alone counts calls
    assert line.small == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("shares", "mean"), [((0.0, 1.0), 0.75), ((None, 1.0), 1.0), ((None, None), None)]
)
def test_shares_are_weighted_by_bytes(
    shares: tuple[Optional[float], Optional[float]], mean: Optional[float]
) -> None:
    first, second = shares
    (line,) = job_lines([io(0, 100, unaligned=first), io(1, 300, unaligned=second)])
    assert line.unaligned == mean


def log(job: str, *stripes: int) -> Log:
    files = tuple(
        FileIo(
            *("/scratch", Operation.WRITE, 10, 1.0, 0.0, 1.0, 1, None, None),
            tuple((ost, 1 / count) for ost in range(count)),
        )
        for count in stripes
    )
    return Log(Job(job, 0.0, 1.0), files)


def test_stripes_are_those_of_all_files_of_a_job() -> None:
    stripes = stripes_of([log("1", 4), log("2", 1, 8), log("2", 2), log("3"), log("4", 0)])
    assert stripes == {"1": Stripes(4, 4), "2": Stripes(1, 8)}
    assert [str(own) for own in stripes.values()] == ["4", "1 to 8"]
