"""Jobs: their traffic within a window, and lists by Slurm or as CSV."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.record import Operation
from plumbline.parts.facts.darshan_logs import read_job_times
from plumbline.parts.facts.jobs import (
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


def test_dates_of_sacct_are_local_time() -> None:
    later = parse_moment("2025-11-20T03:00:00")
    begin = parse_moment("2025-11-20T02:00:00")
    assert later is not None
    assert begin is not None
    assert later - begin == 3600
    assert parse_moment("2025-11-20T02:00:00+00:00") == 1763604000


@pytest.mark.parametrize("text", ["", "{", "{}", '{"jobs": 7}', "[1]", "slurm_load_jobs error: x"])
def test_other_output_is_refused_with_the_right_command(text: str) -> None:
    with pytest.raises(DocumentError, match="sacct --allusers --json"):
        parse_slurm(text, "f")


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        (
            [{"description": "Unable to contact slurm controller", "error_number": 1800}],
            "Unable to contact slurm controller",
        ),
        (
            [{"error": "Failed to open slurmdbd\nagain"}, "x", {"error_number": 7}],
            "Failed to open slurmdbd again; x; 7",
        ),
        ("cut off", "cut off"),
    ],
)
def test_errors_in_place_of_jobs_are_refused_with_the_words_of_slurm(
    errors: object, words: str
) -> None:
    with pytest.raises(DocumentError, match=f"f has no job, and an error of Slurm: {words}; ask"):
        parse_slurm(json.dumps({"jobs": [], "errors": errors}), "f")
    assert parse_slurm(json.dumps({"jobs": [], "errors": []}), "f") == ([], [])


@pytest.mark.parametrize("end", ["\v", "\x85", "\u2028"])
def test_a_job_does_not_hide_by_its_name(end: str) -> None:
    head = "JobIDRaw|JobName|User|Start|End|NodeList"
    jobs, left_out = parse_slurm(f"{head}\r\n4711|a{end}b|ada|100|200|c1\r\n", "f")
    assert ([job.id for job in jobs], left_out) == (["4711"], [])


# --- A file of job times replaces a scheduler


@pytest.mark.parametrize("text", ["", "job,start\n7,1\n", "job,start,end\n7,1\n", "job,job\n"])
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "times.csv").write_text(text, encoding="utf-8")
    with pytest.raises(DocumentError):
        read_job_times(tmp_path / "times.csv")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="cannot be read"):
        read_job_times(tmp_path / "none.csv")
