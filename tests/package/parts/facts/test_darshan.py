"""Traffic of a job on each OST, from Darshan's counters of files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.record import Operation
from plumbline.parts.facts.darshan import Log
from plumbline.parts.facts.darshan_logs import parse_log
from plumbline.parts.facts.jobs import JobIo
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
    return {io.target: io for io in Log.from_json(raw).traffic(named)}


def test_a_real_log_of_one_ost_per_file_gives_the_bytes_of_each_ost() -> None:
    traffic_of_osts = list(parse_log(ANSWERS[0]).traffic(named))
    assert {io.operation for io in traffic_of_osts} == {Operation.WRITE}
    assert len(traffic_of_osts) == 24
    assert sum(io.bytes for io in traffic_of_osts) == 48 * GIB
    assert {io.small for io in traffic_of_osts} == {0.0}
    job = parse_log(ANSWERS[0]).job
    assert (job.id, job.name, job.nodes) == ("6909118", "ior", "48 processes")
    assert all(job.begin <= io.begin < io.end <= (job.end or 0) for io in traffic_of_osts)


def test_a_real_log_of_a_shared_file_shows_unaligned_calls() -> None:
    traffic_of_osts = list(parse_log(ANSWERS[1]).traffic(named))
    assert len(traffic_of_osts) == 24
    assert {round(io.bytes / 1e9, 1) for io in traffic_of_osts} == {91.6}
    assert all(io.unaligned is not None and io.unaligned > 0.99 for io in traffic_of_osts)


def test_the_bytes_of_a_file_are_spread_over_its_stripes() -> None:
    osts = traffic(log([part(3, 5)]))
    assert {name: io.bytes for name, io in osts.items()} == {"/s-3": 2 * GIB, "/s-5": 2 * GIB}
    assert osts["/s-3"][4:6] == (1010.0, 1060.0)
    assert (osts["/s-3"].small, osts["/s-3"].unaligned) == (0.25, 0.5)


def test_a_file_shorter_than_a_stripe_lies_on_the_first_ost() -> None:
    assert set(traffic(log([part(3, 5, 7)], bytes=100, last=99))) == {"/s-3"}


def test_a_progressive_layout_counts_the_extents_that_were_touched() -> None:
    layout = [part(1, end=GIB), part(2, 3, begin=GIB, end=5 * GIB), part(4, begin=5 * GIB)]
    gib = {name: io.bytes / GIB for name, io in traffic(log(layout)).items()}
    assert gib == {"/s-1": 1.0, "/s-2": 1.5, "/s-3": 1.5}


def test_times_outside_the_job_are_clipped_to_it() -> None:
    (io,) = traffic(log([part(1)], begin=-5.0, end=1e9)).values()
    assert io[4:6] == (1000.0, 1100.0)


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
def test_impossible_values_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(DocumentError, match="has an impossible value"):
        Log.from_json(log([part(1)], **changes))


@pytest.mark.parametrize("line", ["", "7", "{", '{"error": "foreign"}', "{}", '{"job": 1}'])
def test_an_invalid_line_is_refused(line: str) -> None:
    with pytest.raises(DocumentError):
        parse_log(line)


def test_an_infinite_time_is_refused() -> None:
    raw = json.loads(ANSWERS[0])
    raw["end"] = 1e300
    with pytest.raises(DocumentError):
        Log.from_json(raw)
