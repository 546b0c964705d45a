"""A file of job times says what a scheduler would."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.model.errors import DocumentError
from plumbline.observe.darshan_logs import read_job_times
from plumbline.observe.jobs import Job

GOOD = "job,start,end,name,user\n7,1000,2000,climate,ada\n8,1970-01-01T00:30:00+00:00,,genome,\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "times.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_times_are_seconds_or_dates_and_a_job_without_an_end_runs(tmp_path: Path) -> None:
    found = read_job_times(write(tmp_path, GOOD))
    assert found.jobs == (
        Job("7", 1000, 2000, "climate", "ada"),
        Job("8", 1800, None, "genome"),
    )
    assert found.left_out == ()


def test_a_row_that_cannot_be_is_a_sentence(tmp_path: Path) -> None:
    found = read_job_times(write(tmp_path, GOOD + "9,soon,,,\n10,20,10,,\n,1,2,,\n11,,,,\n"))
    assert len(found.jobs) == 2
    assert len(found.left_out) == 4


@pytest.mark.parametrize("text", ["", "job,start\n7,1\n", "job,start,end\n7,1\n", "job,job\n"])
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DocumentError):
        read_job_times(write(tmp_path, text))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="cannot be read"):
        read_job_times(tmp_path / "none.csv")
