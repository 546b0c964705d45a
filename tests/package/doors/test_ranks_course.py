from __future__ import annotations

from typing import Any, Sequence

import pytest

from plumbline.doors.ranks import course_lines
from plumbline.model.profile import shape
from plumbline.model.record import Record
from tests.package.model.curves import declining, flat, noisy
from tests.package.records import record


def course(curve: Sequence[float], stragglers: Sequence[str] = ()) -> Record:
    shaped = shape(curve)
    details: dict[str, Any] = {"stragglers": [{"sentence": sentence} for sentence in stragglers]}
    if shaped:
        details["shape"] = shaped.to_json()
    return record(layer="fs", component="scratch", profile=tuple(curve), details=details)


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
    printed = list(course_lines([course(curve)]))
    assert len(printed) == len(lines)
    for line, start in zip(printed, lines):
        assert line.startswith(start)


def test_only_the_worst_stragglers_are_listed() -> None:
    lines = list(course_lines([course([1.0], [f"rank {n} was late" for n in range(7)])]))
    assert lines[0] == "read: rank 0 was late"
    assert len(lines) == 6
    assert lines[-1] == "read: 2 more were late; --json has all of them"


def test_records_of_targets_have_no_course_lines() -> None:
    assert list(course_lines([course(declining(50))._replace(details={"ranks": []})])) == []
