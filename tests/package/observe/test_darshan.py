"""What Darshan says of files becomes what a job has moved on each OST."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.record import Operation
from plumbline.observe.darshan import Log
from plumbline.observe.darshan_logs import parse_log
from plumbline.observe.jobs import JobIo
from tests.project.repository import ROOT

ANSWERS = (ROOT / "tests/data/darshan/answers.jsonl").read_text(encoding="utf-8").splitlines()
GIB = 1 << 30
IDLE = {"bytes": 0, "last": 0, "calls": 0, "small": 0, "seconds": 0.0, "begin": 0.0, "end": 0.0}
WRITTEN = {
    "bytes": 4 * GIB,
    "last": 4 * GIB - 1,
    "calls": 8,
    "small": 2,
    "seconds": 40.0,
    "begin": 10.0,
    "end": 60.0,
}


def named(mount: str, index: int) -> str:
    return f"{mount}-{index}"


def log(layout: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    written = {**WRITTEN, **changes}
    file = {"mount": "/s", "layout": layout, "unaligned": 4, "read": IDLE, "write": written}
    times = {"begin": 1000.0, "end": 1100.0}
    return {"job": "7", "program": "ior", **times, "processes": 2, "files": [file]}


def part(*osts: int, begin: int = 0, end: int = -1, stripe: int = 1 << 20) -> dict[str, Any]:
    return {"osts": list(osts), "stripe": stripe, "begin": begin, "end": end}


def traffic(raw: dict[str, Any]) -> dict[str, JobIo]:
    return {one.target: one for one in Log.from_json(raw).traffic(named)}


def test_a_real_log_of_one_ost_a_file_says_how_much_went_to_each() -> None:
    found = list(parse_log(ANSWERS[0]).traffic(named))
    assert {one.operation for one in found} == {Operation.WRITE}
    assert len(found) == 24
    assert sum(one.bytes for one in found) == 48 * GIB
    assert {one.small for one in found} == {0.0}
    job = parse_log(ANSWERS[0]).job
    assert (job.id, job.name, job.nodes) == ("6909118", "ior", "48 processes")
    assert all(job.begin <= one.begin < one.end <= (job.end or 0) for one in found)


def test_a_real_log_of_a_shared_file_says_that_its_calls_were_unaligned() -> None:
    found = list(parse_log(ANSWERS[1]).traffic(named))
    assert len(found) == 24
    assert {round(one.bytes / 1e9, 1) for one in found} == {91.6}
    assert all(one.unaligned is not None and one.unaligned > 0.99 for one in found)


def test_the_bytes_of_a_file_are_spread_over_its_stripes() -> None:
    found = traffic(log([part(3, 5)]))
    assert {name: one.bytes for name, one in found.items()} == {"/s-3": 2 * GIB, "/s-5": 2 * GIB}
    assert found["/s-3"][4:6] == (1010.0, 1060.0)
    assert (found["/s-3"].small, found["/s-3"].unaligned) == (0.25, 0.5)


def test_a_file_shorter_than_its_stripes_lies_on_the_first_alone() -> None:
    assert set(traffic(log([part(3, 5, 7)], bytes=100, last=99))) == {"/s-3"}


def test_a_progressive_layout_counts_the_extents_that_were_touched() -> None:
    layout = [part(1, end=GIB), part(2, 3, begin=GIB, end=5 * GIB), part(4, begin=5 * GIB)]
    found = {name: one.bytes / GIB for name, one in traffic(log(layout)).items()}
    assert found == {"/s-1": 1.0, "/s-2": 1.5, "/s-3": 1.5}


def test_what_another_program_counts_in_its_own_time_stays_within_the_job() -> None:
    (one,) = traffic(log([part(1)], begin=-5.0, end=1e9)).values()
    assert one[4:6] == (1000.0, 1100.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"bytes": -1},
        {"bytes": 1.5},
        {"seconds": -1.0},
        {"last": "x"},
        {"calls": None},
        {"begin": None},
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(DocumentError, match="has an impossible value"):
        Log.from_json(log([part(1)], **changes))


@pytest.mark.parametrize("line", ["", "7", "{", '{"error": "foreign"}', "{}", '{"job": 1}'])
def test_a_line_that_is_no_answer_is_refused(line: str) -> None:
    with pytest.raises(DocumentError):
        parse_log(line)


def test_an_infinite_time_is_refused() -> None:
    raw = json.loads(ANSWERS[0])
    raw["end"] = 1e300
    with pytest.raises(DocumentError):
        Log.from_json(raw)
