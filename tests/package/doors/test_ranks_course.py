from __future__ import annotations

from typing import Any, Sequence

import pytest

from plumbline.doors.ranks import course_lines
from plumbline.model.record import Operation, Outcome, Record, Scenario
from plumbline.parallel.profile import shape
from tests.package.parallel.curves import declining, flat, noisy


def record(curve: Sequence[float], stragglers: Sequence[str] = (), **details: Any) -> Record:
    shaped = shape(curve)
    remarks: dict[str, Any] = {"stragglers": [{"sentence": sentence} for sentence in stragglers]}
    if shaped:
        remarks["shape"] = shaped.to_json()
    return Record(
        "1",
        "run",
        "fs",
        "scratch",
        Operation.READ,
        Scenario.TOGETHER,
        Outcome.OK,
        "client1",
        0.0,
        1.0,
        seconds=1.0,
        rate=1.0,
        profile=tuple(curve),
        details={**remarks, **details},
    )


@pytest.mark.parametrize(
    ("curve", "lines"),
    [
        (declining(100), ["read of scratch: declines from 1545.5 MB/s to 454.5 MB/s"]),
        (declining(100)[::-1], ["read of scratch: rises from 454.5 MB/s to 1545.5 MB/s"]),
        (flat(100), []),
        (noisy(flat(100), 0.2, 3), []),
        (noisy(flat(6), 0.3, 2), []),
        ([1e6], []),
        ([9e6] * 50 + [1e6] * 10 + [9e6] * 60, ["read of scratch: sags by 74 % about 54 s after"]),
        ([9e6] * 30 + [1e6] * 12, ["read of scratch: ends in a tail of 12 s"]),
    ],
)
def test_a_course_is_described_if_it_is_not_steady(curve: list[float], lines: list[str]) -> None:
    printed = list(course_lines([record(curve)]))
    assert len(printed) == len(lines)
    for line, start in zip(printed, lines):
        assert line.startswith(start)


def test_only_the_worst_stragglers_are_listed() -> None:
    lines = list(course_lines([record([1.0], [f"rank {n} was late" for n in range(7)])]))
    assert lines[0] == "read: rank 0 was late"
    assert len(lines) == 6
    assert lines[-1] == "read: 2 more were late; --json has all of them"


def test_records_of_targets_have_no_course_lines() -> None:
    assert list(course_lines([record(declining(50))._replace(details={"ranks": []})])) == []
