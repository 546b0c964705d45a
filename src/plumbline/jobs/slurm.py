"""What Slurm prints of jobs: ``sacct`` or ``squeue`` with ``--json``, or ``sacct --parsable2``.

Keys are those of Slurm 21.08 and later.  A time is a number, or since 23.02 an object with ``set``
and ``number``; 0 is not known yet.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Iterator, Mapping, NamedTuple, Optional

from plumbline.errors import DocumentError
from plumbline.jobs.job import Job, checked_job
from plumbline.model.json_text import read_json
from plumbline.model.printed import real
from plumbline.model.validation import whole

_ASK = "sacct --allusers --json, or --parsable2 --format=JobIDRaw,JobName,User,Start,End,NodeList"

_ID = ("JobIDRaw", "JobID")
_NEVER = ("", "Unknown", "None", "N/A")


class ReadJobs(NamedTuple):
    """Jobs in the order of their list, and a sentence on each that is left out."""

    jobs: tuple[Job, ...]
    left_out: tuple[str, ...]


def parse_slurm(text: str, name: str) -> ReadJobs:
    """Return the jobs that Slurm has printed into a file of this name.

    Raises:
        DocumentError: it is no such list.
    """
    rows = _objects(text, name) if text.lstrip().startswith("{") else _cells(text, name)
    return collected(rows, name)


def collected(rows: Iterator[Any], name: str) -> ReadJobs:
    """Return what rows say of jobs, each a job or an error; ``name`` is that of their file."""
    jobs: list[Job] = []
    left_out: list[str] = []
    for number, row in enumerate(rows, start=1):
        if isinstance(row, Exception):
            left_out.append(f"{name}: job {number} is left out: {row}")
        elif row is not None:
            jobs.append(row)
    return ReadJobs(tuple(jobs), tuple(left_out))


def _objects(text: str, name: str) -> Iterator[Any]:
    """Yield the jobs of a JSON document, or why one is left out."""
    try:
        entries = read_json(text)["jobs"]
    except (ValueError, KeyError, TypeError) as error:
        raise DocumentError(
            f"{name} is no list of Slurm's jobs ({error}); ask for {_ASK}"
        ) from error
    if not isinstance(entries, list):
        raise DocumentError(f"{name} has no list of jobs; ask for {_ASK}")
    yield from map(_said, entries)


def _said(entry: Any) -> Any:
    """Return a job, None of one that has not begun, or why it is left out."""
    try:
        return _job(entry)
    except (KeyError, TypeError, AttributeError) as error:
        return error


def _job(entry: Mapping[str, Any]) -> Optional[Job]:
    times = entry.get("time")
    begin, end = (
        (times["start"], times["end"]) if times else (entry["start_time"], entry["end_time"])
    )
    begin_s, end_s = _number(begin), _number(end)
    if begin_s is None:
        return None
    # squeue says when a running job will be ended at the latest
    running = "RUNNING" in str(entry.get("job_state", ""))
    return checked_job(
        Job(
            str(entry["job_id"]),
            begin_s,
            None if running else end_s,
            _text(entry.get("name")),
            _text(entry.get("user") or entry.get("user_name")),
            _text(entry.get("nodes")),
        )
    )


def _number(value: Any) -> Optional[float]:
    if isinstance(value, dict):
        value = value["number"] if value["set"] and not value.get("infinite") else 0
    if type(value) not in (int, float):
        raise TypeError(f"a time is {value!r:.40}")
    return value or None


def _text(value: Any) -> str:
    return whole(value) if isinstance(value, str) else ""


def _cells(text: str, name: str) -> Iterator[Any]:
    """Yield the jobs of a table, or why one is left out."""
    header, _, body = text.partition("\n")
    columns = header.strip("\r").split("|")
    known = next((column for column in _ID if column in columns), None)
    if known is None or not {"Start", "End"} <= set(columns):
        raise DocumentError(f"{name} is no list of Slurm's jobs; ask for {_ASK}")
    for line in filter(str.strip, body.splitlines()):
        cells = line.split("|")
        if len(cells) != len(columns):
            yield TypeError(f"its line has {len(cells)} cells, the header {len(columns)}")
            continue
        row = dict(zip(columns, cells))
        # steps of a job are part of it
        if "." not in row[known]:
            yield _said_by_row(row, row[known])


def _said_by_row(row: Mapping[str, str], job: str) -> Any:
    try:
        begin = parse_moment(row["Start"])
        if begin is None:
            return None
        said = (whole(row.get(column, "")) for column in ("JobName", "User", "NodeList"))
        return checked_job(Job(whole(job), begin, parse_moment(row["End"]), *said))
    except (TypeError, ValueError, DocumentError) as error:
        return error


def parse_moment(text: str) -> Optional[float]:
    """Return seconds since the epoch of a date or a number, None where there is none yet.

    A date without a zone is in that of this host.

    Raises:
        ValueError: it is neither; or DocumentError.
    """
    if text in _NEVER:
        return None
    if text[4:5] == "-":
        try:
            return datetime.fromisoformat(text).timestamp()
        except OverflowError as error:
            raise ValueError(f"{text!r} is no date") from error
    return real(text, "a time", DocumentError)
