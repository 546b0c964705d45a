"""Slow targets found by the files of jobs; the jobs' own load and others' accuse none."""

from __future__ import annotations

import re
from math import log as natural_log
from random import Random
from typing import Iterable, Sequence

import pytest

from plumbline.model.codec import write
from plumbline.model.evidence import odds_within
from plumbline.model.record import Operation
from plumbline.parts.facts.darshan import FileIo, Log
from plumbline.parts.facts.darshan_logs import parse_log
from plumbline.parts.facts.job_rates import JobFindings, judge_jobs
from plumbline.parts.facts.jobs import COUNTERS, Job, JobIo
from tests.bench.job_rates import SICK, Fleet, accused
from tests.package.parts.facts.test_darshan import ANSWERS

GIB = 1 << 30
DAY_S = 86400.0
START = 1_790_000_000.0


def named(_: str, index: int) -> str:
    return f"OST{index}"


def file(ost: int, rate: float, begin: float, **changes: object) -> FileIo:
    seconds = GIB / rate
    io = FileIo("/s", Operation.WRITE, GIB, seconds, begin, begin + seconds, 8, 0, 0, ((ost, 1.0),))
    return io._replace(**changes)  # type: ignore[arg-type]


def log(number: int, rates: Sequence[float], begin: float, seed: int = 0) -> Log:
    """Return a job with a file on each OST; their rates differ by 3 %."""
    chance = Random(f"{number} {seed}")
    files = tuple(
        file(ost, rate * (1 + chance.gauss(0, 0.03)), begin) for ost, rate in enumerate(rates)
    )
    return Log(Job(str(number), begin, begin + 3600), files)


def nights(rates: Sequence[float], count: int = 10, seed: int = 0) -> list[Log]:
    return [log(night, rates, START + night * DAY_S, seed) for night in range(count)]


def findings(logs: Sequence[Log], traffic: Iterable[JobIo] = ()) -> JobFindings:
    return judge_jobs(logs, named, traffic)


def test_a_slow_target_is_found_among_jobs_of_all_kinds() -> None:
    fleet = Fleet(osts=16, days=10, jobs=10, loss=0.5, from_day=0)
    assert accused(fleet, 5) == {f"OST{SICK}"}


def test_healthy_targets_are_not_accused() -> None:
    assert accused(Fleet(osts=16, days=10, jobs=10), 5) == set()


def test_a_hint_says_what_jobs_lost_and_what_to_measure() -> None:
    result = findings(nights([100e6] * 9 + [60e6]))
    assert result.slow == ["OST9"]
    first, *_, last = result.sentences()
    assert re.match(
        "OST9: jobs write at (59|60) % of its peers in the same run over 10 runs", first
    )
    assert first.endswith("a hint, no alarm, measure it: plumbline probe ost --component OST9")
    assert last == "10 jobs measured 10 targets, 1 of them slow"
    (slow,) = write(result)["said"]
    assert (slow["target"], slow["operation"], slow["slow"]) == ("OST9", "write", True)
    assert slow["ratio"] == pytest.approx(0.6, abs=0.03)


def test_a_target_outside_the_topology_is_shown_safely_and_not_probed() -> None:
    logs = nights([100e6] * 9 + [60e6])
    first = next(judge_jobs(logs, lambda _, index: f"/s\x1b OST{index}", []).sentences())
    assert first.startswith("/s\N{REPLACEMENT CHARACTER} OST9: jobs write at ")
    assert first.endswith("a hint, no alarm, add it to the topology to measure it")


def test_jobs_that_are_slow_on_all_targets_accuse_none() -> None:
    slow = [log(night, [10e6] * 10, START + night * DAY_S) for night in range(0, 10, 2)]
    assert findings(nights([100e6] * 10) + slow).slow == []


def test_jobs_that_begin_in_the_same_second_stay_apart() -> None:
    # each job alone is even; together they would make the first five targets look slow
    logs = []
    for night in range(10):
        begin = START + night * DAY_S
        fast = log(night, [100e6] * 10, begin)
        slow = log(100 + night, [20e6] * 5, begin)
        logs += [fast, slow]
    assert findings(logs).slow == []


def test_traffic_of_others_does_not_accuse_a_target() -> None:
    hammered = JobIo("9", "OST9", Operation.READ, 1e18, START - 1, START + 99 * DAY_S, COUNTERS)
    logs = nights([100e6] * 9 + [60e6])
    assert findings(logs, [hammered]).slow == []
    before = hammered._replace(begin=START - 99, end=START - 1)
    assert findings(logs, [before]).slow == ["OST9"]


def test_more_streams_of_the_job_on_one_target_do_not_accuse_it() -> None:
    logs = []
    for night, job_log in enumerate(nights([100e6] * 9 + [50e6])):
        second = file(9, 50e6, START + night * DAY_S)
        logs.append(job_log._replace(files=(*job_log.files, second)))
    assert findings(logs).slow == []


@pytest.mark.parametrize(
    "changes",
    [
        {"bytes": 1 << 20},
        {"shares": ((9, 0.5), (3, 0.5))},
        {"seconds": 0.0},
        {"operation": Operation.READ},
    ],
)
def test_files_that_cannot_be_compared_are_no_evidence(changes: dict[str, object]) -> None:
    logs = [
        night._replace(files=(*night.files[:9], night.files[9]._replace(**changes)))  # type: ignore[arg-type]
        for night in nights([100e6] * 9 + [30e6])
    ]
    result = findings(logs)
    assert result.slow == []
    assert result.targets == 9


def test_four_targets_are_too_few_peers() -> None:
    result = findings(nights([100e6, 100e6, 100e6, 30e6]))
    assert result == JobFindings([], 0, 0)
    assert list(result.sentences()) == ["0 jobs measured 0 targets, none of them slow"]


def test_one_job_is_no_evidence() -> None:
    result = findings(nights([100e6] * 9 + [5e6], count=1))
    assert result.slow == []
    assert next(result.sentences()).startswith("watching: OST9: jobs write at 5 %")


def test_a_loss_below_the_limit_is_not_mentioned() -> None:
    # with this seed the loss is certain enough to be watched
    result = findings(nights([100e6] * 9 + [90.5e6], count=20, seed=2))
    assert list(result.sentences()) == ["20 jobs measured 10 targets, none of them slow"]


def test_a_real_log_measures_each_of_its_targets() -> None:
    result = findings([parse_log(ANSWERS[0])])
    assert result == JobFindings([], 1, 24)


@pytest.mark.parametrize(("size", "targets"), [((64 << 20) - 1, 0), (64 << 20, 5)])
def test_files_from_64_mib_on_five_targets_are_evidence(size: int, targets: int) -> None:
    files = [file(ost, 100e6, START, bytes=size) for ost in range(5)]
    job = Log(Job("1", START, START + 3600), tuple(files))
    assert findings([job]).targets == targets


def test_a_hint_needs_ten_times_the_odds_of_an_alarm() -> None:
    """The budget is that of a site with these targets alone, each judged once a day."""
    (low,) = findings(nights([100e6] * 9 + [60e6])).judgements
    assert low.evidence.needed == pytest.approx(
        natural_log(10 * odds_within(1.0, 10 * 30)), abs=0.02
    )
