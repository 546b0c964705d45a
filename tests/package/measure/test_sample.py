"""The sampler: rates of single seconds, an end in any case, and records that say what was seen."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import pytest

from plumbline.measure.sample import (
    PART_S,
    Counter,
    Origin,
    Reading,
    SamplePart,
    records_of,
    sample,
)
from plumbline.model.errors import UsageError
from plumbline.model.record import Operation, Outcome, Record
from plumbline.observe.coverage import JobRow, RequestRow
from plumbline.observe.job_stats import JobTraffic
from tests.package.measure.units import FakeClock

READ = Counter("disk1", Operation.READ, "diskstats")
WRITE = Counter("disk1", Operation.WRITE, "diskstats")


class Script:
    """Counters that stand where a test says, one reading after the other; the last one stays."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        self._left = list(readings)

    def read(self) -> Reading:
        return self._left.pop(0) if len(self._left) > 1 else self._left[0]


def counted(*bytes_read: int) -> Script:
    return Script([{READ: stood} for stood in bytes_read])


def watched(source: Script, limit_s: float, waits: Sequence[float] = ()) -> SamplePart:
    """Sample; ``waits`` are the seconds that each wait really takes, else what was asked."""
    clock, late = FakeClock(), list(waits)

    def wait(seconds: float) -> bool:
        clock.sleep(late.pop(0) if late else seconds)
        return False

    (part,) = sample([source], clock, wait, limit_s)
    return part


ORIGIN = Origin("oss1", "sampling-1")


def records(sampled: SamplePart) -> list[Record]:
    return list(records_of(sampled, ORIGIN))


def told(record: Record) -> Mapping[str, Any]:
    return record.details or {}


def test_each_second_has_the_bytes_that_it_added() -> None:
    (record,) = records(watched(counted(500, 700, 1100, 1200), 3))
    assert record.profile_Bps == (200, 400, 100)
    assert (record.layer, record.component, record.host) == ("server", "disk1", "oss1")
    assert (record.started_at, record.finished_at, record.bytes, record.seconds) == (
        1000,
        1003,
        700,
        3,
    )
    assert record.rate_Bps == pytest.approx(700 / 3)


def test_it_ends_at_its_limit_and_reads_once_a_second() -> None:
    readings = counted(*range(100))
    assert watched(readings, 5).seconds == 5
    assert readings.read() == {READ: 6}


def test_it_ends_when_it_is_told_and_keeps_what_it_has() -> None:
    clock, told = FakeClock(), [False, True]

    def wait(seconds: float) -> bool:
        clock.sleep(seconds)
        return told.pop(0)

    (part,) = sample([counted(0, 100, 900)], clock, wait, 600)
    (record,) = records(part)
    assert record.profile_Bps == (100, 800)


def test_an_end_early_in_a_second_leaves_that_second_out() -> None:
    clock, ends = FakeClock(), [1.0, 0.1]

    def wait(_: float) -> bool:
        clock.sleep(ends.pop(0))
        return not ends

    (part,) = sample([counted(0, 100, 900)], clock, wait, 600)
    (record,) = records(part)
    assert record.profile_Bps == (100,)


def test_a_machine_that_was_held_up_shows_the_mean_of_those_seconds() -> None:
    (record,) = records(watched(counted(0, 100, 700, 800), 5, waits=[1.0, 3.0]))
    assert record.profile_Bps == (100, 200, 200, 200, 100)
    assert told(record)["merged"] == [[1, 3]]


def test_a_counter_that_went_back_is_not_guessed() -> None:
    first, second = records(watched(counted(1000, 1100, 50, 250), 3))
    assert (first.profile_Bps, first.started_at) == ((100,), 1000)
    assert (second.profile_Bps, second.started_at) == ((200,), 1002)
    assert first.run_id == second.run_id
    # nobody knows what went through between the two
    assert [told(record)["watched"] for record in (first, second)] == [[0, 1], [0, 1]]


def test_a_counter_that_was_away_is_not_guessed() -> None:
    source = Script([{READ: 0}, {READ: 100}, {}, {READ: 5000}, {READ: 5300}])
    first, second = records(watched(source, 4))
    assert (first.profile_Bps, second.profile_Bps) == ((100,), (300,))
    assert second.started_at == 1003


def test_still_seconds_at_the_ends_are_left_out_and_those_between_are_kept() -> None:
    (record,) = records(watched(counted(5, 5, 5, 15, 15, 25, 25), 6))
    assert record.profile_Bps == (10, 0, 10)
    assert (record.started_at, record.finished_at) == (1002, 1005)
    assert told(record)["watched"] == [-2, 4]


def test_what_never_moved_is_told_from_what_could_not_be_followed() -> None:
    still, gone = records(watched(Script([{READ: 7, WRITE: 0}, {READ: 7}]), 2))
    assert (still.outcome, still.reason) == (
        Outcome.SKIPPED,
        "diskstats counted no byte in 2 s",
    )
    assert told(still)["watched"] == [0, 2]
    assert gone.outcome is Outcome.FAILED
    assert "watched" not in told(gone)
    assert "no counter to follow" in gone.reason


def test_a_wall_clock_that_is_stepped_moves_no_second() -> None:
    clock = FakeClock()

    def wait(seconds: float) -> bool:
        clock.sleep(seconds)
        clock.stepped_back += 100
        return False

    (part,) = sample([counted(0, 100, 200)], clock, wait, 2)
    (record,) = records(part)
    assert (record.started_at, record.profile_Bps) == (1000, (100, 100))


def test_nothing_is_kept_of_less_than_a_second() -> None:
    clock = FakeClock()
    assert list(sample([counted(0, 100)], clock, lambda _: True, 60)) == []


@pytest.mark.parametrize("limit_s", [0, 0.5, -3, 3601, float("inf"), float("nan")])
def test_it_takes_no_limit_that_is_none(limit_s: float) -> None:
    with pytest.raises(UsageError, match="sampling takes 1 s to 60 min"):
        watched(counted(0), limit_s)


def test_its_records_survive_their_document() -> None:
    for record in records(watched(counted(0, 100, 300), 2)):
        assert Record.from_json(record.to_json()) == record


def test_a_counter_that_may_not_be_read_has_a_record_that_says_why() -> None:
    closed = {Counter("scratch-OST0000", Operation.READ, "lustre"): "root alone may read it"}
    entries = list(records_of(watched(counted(500, 700), 2), ORIGIN, closed))
    assert [(record.component, record.outcome) for record in entries] == [
        ("scratch-OST0000", Outcome.FAILED),
        ("disk1", Outcome.OK),
    ]
    assert entries[0].reason == "root alone may read it"
    assert (entries[0].details or {})["watched_s"] == 2


def test_it_gives_what_it_has_part_by_part_without_losing_a_second() -> None:
    clock = FakeClock()

    def wait(seconds: float) -> bool:
        clock.sleep(seconds)
        return False

    parts = list(sample([counted(*range(0, 5000, 5))], clock, wait, PART_S + 40))
    assert [part.seconds for part in parts] == [PART_S, 40]
    first, second = (record for part in parts for record in records(part))
    assert first.finished_at == second.started_at == 1000 + PART_S
    assert {*first.profile_Bps, *second.profile_Bps} == {5}
    assert first.run_id == second.run_id


def test_it_says_how_far_a_reading_was_from_its_second() -> None:
    sampled = watched(counted(0, 100, 200, 300), 3, waits=[1.2])
    (record,) = records(sampled)
    assert told(record)["late_s"] == 0.2
    assert "merged" not in told(record)


def test_the_jobs_of_a_target_go_with_what_was_read_of_it() -> None:
    read, write = (
        Counter("scratch-OST0000", way, "lustre") for way in (Operation.READ, Operation.WRITE)
    )
    sampled = watched(Script([{read: 0, write: 0}, {read: 5, write: 7}]), 1)
    job = JobTraffic("scratch-OST0000", JobRow(990.0, 1000.5, "4711", 5, 0))
    other = job._replace(target="scratch-OST0001")
    entries = list(records_of(sampled, ORIGIN, {}, [job, other]))
    assert told(entries[0])["jobs"] == [[990.0, 1000.5, "4711", 5, 0]]
    assert "jobs" not in told(entries[1])


def test_the_jobs_of_a_metadata_target_have_a_record_of_their_own() -> None:
    sampled = watched(Script([{}, {}]), 1)
    job = JobTraffic("scratch-MDT0000", RequestRow(990.0, 1000.5, "4711", {"open": 5}))
    (record,) = records_of(sampled, ORIGIN, {}, [job])
    assert (record.layer, record.component, record.rate_Bps) == ("server", "scratch-MDT0000", None)
    assert told(record)["requests"] == [[990.0, 1000.5, "4711", {"open": 5}]]
