"""Read Darshan logs through PyDarshan, and job times from CSV files.

PyDarshan reads a batch of logs in a separate process.  If that process ends early, its current log
is left out, and a new process continues with the next log.

A CSV file needs the columns ``job``, ``start`` and ``end``; ``name``, ``user`` and ``nodes`` are
optional.  A time is in seconds since the epoch, or an ISO 8601 date; a running job has no end.
"""

from __future__ import annotations

import csv
import os
import stat
from io import TextIOWrapper
from pathlib import Path
from typing import Iterator, Mapping, Sequence, Union

from plumbline.model.command import CommandRunner, lines
from plumbline.model.errors import DocumentError, ToolError
from plumbline.model.validation import read_json
from plumbline.observe.given import open_given
from plumbline.observe.rows import Rows, unreadable
from plumbline.parts.facts import pydarshan
from plumbline.parts.facts.darshan import Log
from plumbline.parts.facts.jobs import Job, checked_job, parse_entries, parse_moment

MAX_BYTES = 512 << 20
"""Limit of PyDarshan's output for a batch; a log with 2,000 files gives 1 MB."""

_AT_ONCE = 50
_LOG_S = 20.0
"""A log of 2,000 files takes a second."""
_START_S = 60.0

_LARGEST = 64 << 20
"""Limit of a log in bytes; logs of large jobs have some MB."""

_SUFFIX = ".darshan"

_REMEDY = "install the package darshan of PyPI, or name a Python that has it with --python"


def find_logs(places: Sequence[str], since: float) -> tuple[list[Path], list[str]]:
    """Return the logs in files and folders that were written after ``since``; and those left out.

    A log is written at the end of its job, so older logs contain nothing after that time.

    Raises:
        DocumentError: a file or folder cannot be read.
    """
    paths: list[Path] = []
    left_out: list[str] = []
    for path, status in _files(places):
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            left_out.append(f"{_shown(path)} is left out: it is no file, or larger than any log")
        elif status.st_mtime >= since:
            paths.append(path)
    return paths, left_out


def _files(places: Sequence[str]) -> Iterator[tuple[Path, os.stat_result]]:
    for place in map(Path, places):
        try:
            if not place.is_dir():
                yield place, place.stat()
                continue
            # without following links, which users may point anywhere
            yield from ((path, path.lstat()) for path in sorted(place.rglob(f"*{_SUFFIX}")))
        except OSError as error:
            raise DocumentError(
                f"{_shown(place)} cannot be read: {error.strerror}; name logs of Darshan, or "
                "folders of them"
            ) from error


def read_logs(
    run: CommandRunner, python: str, paths: Sequence[Path]
) -> tuple[list[Log], list[str]]:
    """Return the logs that PyDarshan can read, each once, and a sentence on each one left out.

    Raises:
        ToolError: this Python is missing, or has no PyDarshan.
    """
    _refuse_without_pydarshan(run, python)
    logs: list[Log] = []
    left_out: list[str] = []
    remaining = list(paths)
    while remaining:
        answers, abort = _ask(run, python, remaining[:_AT_ONCE])
        read = [(path, _log_or_reason(line)) for path, line in zip(remaining, answers)]
        logs += [log for _, log in read if isinstance(log, Log)]
        refused = [(path, reason) for path, reason in read if isinstance(reason, str)]
        left_out += [f"{_shown(path)} is left out: {reason}" for path, reason in refused]
        if abort:
            left_out.append(f"{_shown(remaining[len(answers)])} is left out: {abort}")
        remaining = remaining[len(answers) + bool(abort) :]
    return list(dict.fromkeys(logs)), left_out


def _log_or_reason(line: str) -> Union[Log, str]:
    """Return the log in a line of the reader, or the reason for its absence."""
    try:
        return parse_log(line)
    except DocumentError as error:
        return str(error)


def parse_log(line: str) -> Log:
    """Parse a line of the reader; raise DocumentError if it reports an error."""
    try:
        raw = read_json(line)
        if "error" in raw:
            raise DocumentError(" ".join(lines(str(raw["error"])))[:200])
    except (ValueError, TypeError) as error:
        raise DocumentError(f"PyDarshan's answer is damaged ({error})") from error
    return Log.from_json(raw)


def _refuse_without_pydarshan(run: CommandRunner, python: str) -> None:
    completed = run([python, "-I", "-c", "import darshan"], _START_S)
    if not completed.ok:
        errors = lines(completed.stderr)[-1:]
        reason = f" ({errors[0][:200]})" if errors else ""
        raise ToolError(f"{python} has no PyDarshan that starts{reason}; {_REMEDY}")


def _ask(run: CommandRunner, python: str, paths: Sequence[Path]) -> tuple[list[str], str]:
    """Return a line for each log, and the reason if the reader ended before the last one."""
    program = str(Path(pydarshan.__file__))
    command = [python, "-I", program, *(str(path.absolute()) for path in paths)]
    try:
        completed = run(command, _START_S + _LOG_S * len(paths))
    except ToolError as error:
        # too much output: repeat one by one to find the log
        return ([], str(error)) if len(paths) == 1 else _ask(run, python, paths[:1])
    answers = completed.stdout.splitlines()[: len(paths)]
    if len(answers) == len(paths):
        return answers, ""
    if completed.timed_out:
        return answers, "reading it took too long"
    if completed.exit_code and completed.exit_code < 0:
        return answers, f"PyDarshan crashed on it (signal {-completed.exit_code})"
    errors = lines(completed.stderr)[-1:]
    reason = f": {errors[0][:200]}" if errors else ""
    return answers, f"PyDarshan ended with {completed.exit_code}{reason}"


def _shown(path: Path) -> str:
    return " ".join(lines(str(path)))


_NEEDED = ("job", "start", "end")


def read_job_times(path: Path) -> tuple[list[Job], list[str]]:
    """Return the jobs of a file, and a sentence on each one left out.

    Raises:
        DocumentError: it cannot be read, lacks a column, or a row has the wrong length.
    """
    try:
        given = open_given(path)
        with TextIOWrapper(given, encoding="utf-8-sig", errors="replace", newline="") as file:
            rows = Rows(path, file)
            missing = [column for column in _NEEDED if column not in rows.columns]
            if missing:
                raise DocumentError(
                    f"{path} needs the columns {', '.join(_NEEDED)}; it lacks {', '.join(missing)}"
                )
            return parse_entries(rows, _job, str(path))
    except (OSError, csv.Error) as error:
        raise unreadable(path, error) from error


def _job(row: Mapping[str, str]) -> Job:
    begin = parse_moment(row["start"])
    if begin is None:
        raise ValueError("it has no start")
    texts = (row.get(column, "") for column in ("name", "user", "nodes"))
    return checked_job(Job(row["job"], begin, parse_moment(row["end"]), *texts))
