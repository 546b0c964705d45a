"""The sampler: rates of each second, a certain end, and complete records."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

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
from tests.package.recorded import table

READ = Counter("disk1", Operation.READ, "diskstats")
WRITE = Counter("disk1", Operation.WRITE, "diskstats")
ORIGIN = Origin("oss1", "sampling-1")


class Script:
    """Counters with given readings, one after the other; the last stays."""

    def __init__(self, readings: Sequence[Reading]) -> None:
        self._readings = list(readings)

    def read(self) -> Reading:
        return self._readings.pop(0) if len(self._readings) > 1 else self._readings[0]


def counted(*bytes_read: Optional[int]) -> Script:
    return Script([{} if count is None else {READ: count} for count in bytes_read])


def watched(
    source: Script,
    limit_s: float,
    waits: Sequence[float] = (),
    ends: int = 9999,
    stepped_s: float = 0.0,
) -> list[SamplePart]:
    """Sample; ``waits`` are the real seconds of each wait, ``ends`` is the number of the last."""
    clock, late, number = FakeClock(), list(waits), 0

    def wait(seconds: float) -> bool:
        nonlocal number
        number += 1
        clock.sleep(late.pop(0) if late else seconds)
        clock.stepped_back += stepped_s
        return number == ends

    return list(sample([source], clock, wait, limit_s))


def records(parts: Sequence[SamplePart]) -> list[Record]:
    return [record for part in parts for record in records_of(part, ORIGIN)]


def details(record: Record) -> Mapping[str, Any]:
    return record.details or {}


@pytest.mark.parametrize("case", table("sampling.yml")["cases"], ids=lambda case: case["case"])
def test_each_second_has_the_bytes_added_in_it(case: Mapping[str, Any]) -> None:
    options = {name: case[name] for name in ("waits", "ends", "stepped_s") if name in case}
    limit_s = case.get("limit_s", len(case["counter"]) - 1)
    stretches = records(watched(counted(*case["counter"]), limit_s, **options))
    assert [[r.started_at - 1000, list(r.profile)] for r in stretches] == case["stretches"]
    for name in ("watched", "merged", "late_s"):
        shown = [details(record).get(name) for record in stretches]
        assert shown == case.get(name, shown)
    assert len({record.run_id for record in stretches}) == 1
    for record in stretches:
        assert Record.from_json(record.to_json()) == record


def test_a_record_has_host_component_bytes_and_times() -> None:
    (record,) = records(watched(counted(500, 700, 1100, 1200), 3))
    assert (record.layer, record.component, record.host) == ("server", "disk1", "oss1")
    times = (record.started_at, record.finished_at)
    assert (*times, record.bytes, record.seconds) == (1000, 1003, 700, 3)
    assert record.rate == pytest.approx(700 / 3)


def test_sampling_ends_at_its_limit_and_reads_once_a_second() -> None:
    readings = counted(*range(100))
    (part,) = watched(readings, 5)
    assert part.seconds == 5
    assert readings.read() == {READ: 6}


def test_an_idle_counter_differs_from_one_that_disappeared() -> None:
    idle, vanished = records(watched(Script([{READ: 7, WRITE: 0}, {READ: 7}]), 2))
    assert (idle.outcome, idle.reason) == (
        Outcome.SKIPPED,
        "diskstats counted no byte in 2 s",
    )
    assert details(idle)["watched"] == [0, 2]
    assert vanished.outcome is Outcome.FAILED
    assert "watched" not in details(vanished)
    assert "no counter to follow" in vanished.reason


def test_less_than_a_second_gives_no_record() -> None:
    clock = FakeClock()
    assert list(sample([counted(0, 100)], clock, lambda _: True, 60)) == []


@pytest.mark.parametrize("limit_s", [0, 0.5, -3, 3601, float("inf"), float("nan")])
def test_an_invalid_limit_is_refused(limit_s: float) -> None:
    with pytest.raises(UsageError, match="sampling takes 1 s to 60 min"):
        watched(counted(0), limit_s)


def test_an_unreadable_counter_has_a_record_with_the_reason() -> None:
    closed = {Counter("scratch-OST0000", Operation.READ, "lustre"): "root alone may read it"}
    (sampled,) = watched(counted(500, 700), 2)
    entries = list(records_of(sampled, ORIGIN, closed))
    assert [(record.component, record.outcome) for record in entries] == [
        ("scratch-OST0000", Outcome.FAILED),
        ("disk1", Outcome.OK),
    ]
    assert entries[0].reason == "root alone may read it"
    assert (entries[0].details or {})["watched_s"] == 2


def test_sampling_yields_parts_without_losing_a_second() -> None:
    parts = watched(counted(*range(0, 5000, 5)), PART_S + 40)
    assert [part.seconds for part in parts] == [PART_S, 40]
    first, second = records(parts)
    assert first.finished_at == second.started_at == 1000 + PART_S
    assert {*first.profile, *second.profile} == {5}
    assert first.run_id == second.run_id


def test_the_jobs_of_a_target_are_in_the_record_of_its_reads() -> None:
    read, write = (
        Counter("scratch-OST0000", operation, "lustre")
        for operation in (Operation.READ, Operation.WRITE)
    )
    (sampled,) = watched(Script([{read: 0, write: 0}, {read: 5, write: 7}]), 1)
    job = JobTraffic("scratch-OST0000", JobRow(990.0, 1000.5, "4711", 5, 0))
    other = job._replace(target="scratch-OST0001")
    entries = list(records_of(sampled, ORIGIN, {}, [job, other]))
    assert details(entries[0])["jobs"] == [[990.0, 1000.5, "4711", 5, 0]]
    assert "jobs" not in details(entries[1])


def test_the_jobs_of_a_metadata_target_have_a_record_of_their_own() -> None:
    (sampled,) = watched(Script([{}, {}]), 1)
    job = JobTraffic("scratch-MDT0000", RequestRow(990.0, 1000.5, "4711", {"open": 5}))
    (record,) = records_of(sampled, ORIGIN, {}, [job])
    assert (record.layer, record.component, record.rate) == ("server", "scratch-MDT0000", None)
    assert details(record)["requests"] == [[990.0, 1000.5, "4711", {"open": 5}]]
