"""What Slurm prints becomes jobs; what cannot be is left out with a sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.observe.jobs import Job, parse_moment, parse_slurm

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


def test_sacct_and_squeue_say_jobs_as_json() -> None:
    pending = {**QUEUED, "job_state": ["PENDING"], "start_time": number(0)}
    found = parse_slurm(json.dumps({"jobs": [OLD, QUEUED, pending]}), "f")
    assert found.jobs == (CLIMATE, GENOME)
    assert found.left_out == ()


def test_the_table_of_sacct_says_the_same_and_its_steps_are_no_jobs() -> None:
    assert parse_slurm(TABLE, "f").jobs == (CLIMATE, GENOME)


def test_dates_of_sacct_are_those_of_this_host() -> None:
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
def test_a_damaged_job_is_a_sentence_and_the_others_stay(damaged: object) -> None:
    found = parse_slurm(json.dumps({"jobs": [damaged, OLD]}), "sacct.json")
    assert found.jobs == (CLIMATE,)
    (sentence,) = found.left_out
    assert sentence.startswith("sacct.json: job 1 is left out: ")


def test_a_name_with_a_bar_in_it_breaks_its_own_line_alone() -> None:
    found = parse_slurm(TABLE + "4714|a|b|ada|1|2|c1\n", "f")
    assert found.jobs == (CLIMATE, GENOME)
    assert "7 cells, the header 6" in found.left_out[0]


@pytest.mark.parametrize("text", ["", "{", "{}", '{"jobs": 7}', "[1]", "slurm_load_jobs error: x"])
def test_anything_else_is_refused_with_the_call_that_helps(text: str) -> None:
    with pytest.raises(DocumentError, match="sacct --allusers --json"):
        parse_slurm(text, "f")
