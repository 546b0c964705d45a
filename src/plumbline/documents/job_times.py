"""A file that says when jobs ran, for sites without Slurm: CSV with named columns.

``job``, ``start`` and ``end`` are needed, ``name``, ``user`` and ``nodes`` may be there.  A time is
in seconds since the epoch, or a date as ISO 8601 writes it; no end is that of a job that runs.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any, Mapping

from plumbline.errors import DocumentError
from plumbline.jobs.job import Job, checked_job
from plumbline.jobs.slurm import ReadJobs, collected, parse_moment
from plumbline.store.rows import Rows

_NEEDED = ("job", "start", "end")


def read_job_times(path: Path) -> ReadJobs:
    """Return the jobs of a file.

    Raises:
        DocumentError: it cannot be read, lacks a column, or a row has another length.
    """
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            rows = Rows(path, file)
            missing = [column for column in _NEEDED if column not in rows.columns]
            if missing:
                raise DocumentError(
                    f"{path} needs the columns {', '.join(_NEEDED)}; it lacks {', '.join(missing)}"
                )
            return collected(map(_job, rows), str(path))
    except (OSError, csv.Error) as error:
        raise DocumentError(f"{path} cannot be read: {error}") from error


def _job(row: Mapping[str, str]) -> Any:
    """Return a job, or why it is left out."""
    try:
        begin = parse_moment(row["start"])
        if begin is None:
            raise ValueError("it has no start")
        said = (row.get(column, "") for column in ("name", "user", "nodes"))
        return checked_job(Job(row["job"], begin, parse_moment(row["end"]), *said))
    except (TypeError, ValueError, DocumentError) as error:
        return error
