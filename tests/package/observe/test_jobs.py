"""Jobs: their traffic within a window, and lists by Slurm or as CSV."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.record import Operation
from plumbline.observe.darshan_logs import read_job_times
from plumbline.observe.jobs import (
    COUNTERS,
    DARSHAN,
    Job,
    JobIo,
    JobRequests,
    Window,
    parse_moment,
    parse_slurm,
    shown,
    sum_traffic,
    without_traffic,
)


def io(job: str, begin: float, end: float, **changes: object) -> JobIo:
    values = {"target": "OST0", "operation": Operation.WRITE, "bytes": 1000.0, "source": DARSHAN}
    return JobIo(**{"job": job, "begin": begin, "end": end, **values, **changes})  # type: ignore[arg-type]


def test_only_the_part_of_a_job_within_the_window_counts() -> None:
    (traffic,) = sum_traffic([io("7", 100, 200)], Window(150, 400))
    assert (traffic.bytes, traffic.begin, traffic.end) == (500, 150, 200)
    assert traffic.rate_Bps == 10


def test_the_busiest_job_comes_first_and_its_parts_are_summed() -> None:
    jobs = sum_traffic(
        [io("7", 0, 10), io("8", 0, 10, bytes=1500.0), io("7", 20, 30, small=0.5)], Window()
    )
    assert [(job.job, job.bytes, job.begin, job.end) for job in jobs] == [
        ("7", 2000, 0, 30),
        ("8", 1500, 0, 10),
    ]
    assert jobs[0].small == 0.5


def test_sources_are_kept_apart() -> None:
    jobs = sum_traffic([io("7", 0, 10), io("7", 0, 10, source=COUNTERS)], Window())
    assert {job.source for job in jobs} == {COUNTERS, DARSHAN}


def test_another_target_or_time_is_left_out() -> None:
    traffic = [io("7", 0, 10), io("8", 0, 10, target="OST1"), io("9", 90, 91)]
    assert [job.job for job in sum_traffic(traffic, Window(0, 50), "OST0")] == ["7"]


def test_a_job_without_duration_counts_at_its_moment() -> None:
    assert [job.rate_Bps for job in sum_traffic([io("7", 10, 10)], Window(5, 15))] == [None]
    assert sum_traffic([io("7", 10, 10)], Window(11, 15)) == []


def test_jobs_without_any_known_io_are_named() -> None:
    jobs = {name: Job(name, begin, end) for name, begin, end in (("7", 0, 9), ("8", 0, None))}
    jobs["9"] = Job("9", 100, 200)
    assert [job.id for job in without_traffic(jobs, {"7"}, Window(0, 50))] == ["8"]


def test_requests_of_a_job_are_those_within_the_window() -> None:
    requests = [
        JobRequests("7", "MDT0", 0, 10, {"open": 10}),
        JobRequests("7", "MDT0", 10, 20, {"open": 4, "close": 6}),
        JobRequests("8", "MDT1", 0, 10, {"open": 1}),
        JobRequests("9", "MDT0", 30, 40, {"open": 99}),
    ]
    first, second = sum_traffic(requests, Window(5, 20))
    assert first == JobRequests("7", "MDT0", 5, 20, {"open": 9.0, "close": 6.0})
    assert (second.job, second.amount) == ("8", 0.5)
    assert [row.job for row in sum_traffic(requests, Window(), "MDT1")] == ["8"]


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("4711", "4711"),
        ("a\nb\x1b[31m", "a b\N{REPLACEMENT CHARACTER}[31m"),
        ("x" * 99, "x" * 37 + "..."),
        ("\udcff", "\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_a_name_of_any_bytes_is_shown_safely(name: str, safe: str) -> None:
    assert shown(name) == safe


# --- Jobs from Slurm's output; impossible ones are left out with a sentence


OLD = {
    "job_id": 4711,
    "name": "climate",
    "user": "ada",
    "nodes": "c[1-4]",
    "time": {"start": 1763600400, "end": 1763604000},
}


def number(value: int) -> dict[str, Any]:
    return {"set": bool(value), "infinite": False, "number": value}


QUEUED = {
    "job_id": 4712,
    "name": "genome",
    "user_name": "bob",
    "nodes": "c5",
    "job_state": ["RUNNING"],
    "start_time": number(1763600500),
    "end_time": number(1763700000),
}
TABLE = (
    "JobIDRaw|JobName|User|Start|End|NodeList\n"
    "4711|climate|ada|1763600400|1763604000|c[1-4]\n"
    "4711.batch|batch||1763600400|1763604000|c1\n"
    "4712|genome|bob|1763600500|Unknown|c5\n"
    "4713|waits|bob|Unknown|Unknown|None assigned\n"
)
CLIMATE = Job("4711", 1763600400, 1763604000, "climate", "ada", "c[1-4]")
GENOME = Job("4712", 1763600500, None, "genome", "bob", "c5")


def test_jobs_are_read_from_the_json_of_sacct_and_squeue() -> None:
    pending = {**QUEUED, "job_state": ["PENDING"], "start_time": number(0)}
    result = parse_slurm(json.dumps({"jobs": [OLD, QUEUED, pending]}), "f")
    assert result.jobs == (CLIMATE, GENOME)
    assert result.left_out == ()


def test_the_table_of_sacct_gives_the_same_jobs_without_steps() -> None:
    assert parse_slurm(TABLE, "f").jobs == (CLIMATE, GENOME)


def test_dates_of_sacct_are_local_time() -> None:
    later = parse_moment("2025-11-20T03:00:00")
    begin = parse_moment("2025-11-20T02:00:00")
    assert later is not None
    assert begin is not None
    assert later - begin == 3600
    assert parse_moment("2025-11-20T02:00:00+00:00") == 1763604000


@pytest.mark.parametrize(
    "damaged",
    [
        {**OLD, "time": {"start": "soon", "end": 0}},
        {**OLD, "time": {"start": 9, "end": 8}},
        {**OLD, "time": {"start": -1, "end": 8}},
        {"job_id": 1},
        7,
        None,
    ],
)
def test_a_damaged_job_is_reported_and_the_others_stay(damaged: object) -> None:
    result = parse_slurm(json.dumps({"jobs": [damaged, OLD]}), "sacct.json")
    assert result.jobs == (CLIMATE,)
    (sentence,) = result.left_out
    assert sentence.startswith("sacct.json: job 1 is left out: ")


def test_a_job_name_with_a_bar_damages_its_own_line_only() -> None:
    result = parse_slurm(TABLE + "4714|a|b|ada|1|2|c1\n", "f")
    assert result.jobs == (CLIMATE, GENOME)
    assert "7 cells, the header 6" in result.left_out[0]


@pytest.mark.parametrize("text", ["", "{", "{}", '{"jobs": 7}', "[1]", "slurm_load_jobs error: x"])
def test_other_output_is_refused_with_the_right_command(text: str) -> None:
    with pytest.raises(DocumentError, match="sacct --allusers --json"):
        parse_slurm(text, "f")


# --- A file of job times replaces a scheduler


GOOD = "job,start,end,name,user\n7,1000,2000,climate,ada\n8,1970-01-01T00:30:00+00:00,,genome,\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "times.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_times_are_seconds_or_dates_and_a_job_without_an_end_runs(tmp_path: Path) -> None:
    result = read_job_times(write(tmp_path, GOOD))
    assert result.jobs == (
        Job("7", 1000, 2000, "climate", "ada"),
        Job("8", 1800, None, "genome"),
    )
    assert result.left_out == ()


def test_an_impossible_row_is_reported(tmp_path: Path) -> None:
    result = read_job_times(write(tmp_path, GOOD + "9,soon,,,\n10,20,10,,\n,1,2,,\n11,,,,\n"))
    assert len(result.jobs) == 2
    assert len(result.left_out) == 4


@pytest.mark.parametrize("text", ["", "job,start\n7,1\n", "job,start,end\n7,1\n", "job,job\n"])
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DocumentError):
        read_job_times(write(tmp_path, text))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="cannot be read"):
        read_job_times(tmp_path / "none.csv")
