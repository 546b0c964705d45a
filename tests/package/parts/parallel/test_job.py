from __future__ import annotations

import json
from pathlib import Path

import pytest

from plumbline.model.codec import compact, read, read_document
from plumbline.model.errors import DocumentError
from plumbline.model.profile import Durations
from plumbline.model.ranks import TESTS, Place
from plumbline.model.record import Operation
from plumbline.parts.parallel.job import Fixed, Job, Result, State
from plumbline.parts.parallel.operation import write_whole

JOB = Job(
    "/mnt/a/run",
    TESTS["mpiio-shared-10k"],
    (Operation.WRITE, Operation.REREAD),
    (Place("a", "oss1", "/mnt/a/f"), Place("a", "oss1", "/mnt/a/f", 10_000)),
    25_000,
    30.0,
    Fixed.TIME,
)
RESULT = Result(
    3,
    "client1",
    "a",
    Operation.READ,
    State.SHORT,
    bytes=10_000,
    begin_s=0.1,
    end_s=2.5,
    curve=(5000.0, 5000.0),
    durations=Durations({-120: 4, 7: 1}, 2.25, 1.5),
)


def test_a_job_and_a_result_are_read_back_unchanged() -> None:
    assert read_document(Job, json.loads(compact(JOB))) == JOB
    assert read(Result, json.loads(compact(RESULT))) == RESULT
    short = RESULT._replace(durations=None, state=State.FAILED, reason="full")
    assert read(Result, json.loads(compact(short))) == short


def test_a_rank_moves_whole_transfers() -> None:
    assert JOB.transfers == 2


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"schema": 2}, "has schema 2, this version reads 1"),
        ({"operations": ["wright"]}, "the job is damaged"),
        ({"places": [["a"]]}, "the job is damaged"),
        ({"test": {}}, "the job is damaged"),
        ({"colour": "red"}, "the job is damaged"),
    ],
)
def test_a_job_of_another_version_is_refused(change: dict[str, object], sentence: str) -> None:
    raw = {**json.loads(compact(JOB)), **change}
    with pytest.raises(DocumentError, match=sentence):
        read_document(Job, raw)


def test_a_file_is_written_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "write-000001.json"
    write_whole(path, b"old")
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_renamed_leaves_no_part(tmp_path: Path) -> None:
    path = tmp_path / "write-000001.json"
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        write_whole(path, b"new")
    assert list(tmp_path.iterdir()) == [path]
