"""Darshan logs and files of job times, read by their tools.

PyDarshan reads them in a process of its own, some at a time.  Where that ends before its time, the
log that it was at is left out, and another one goes on with the next.

``job``, ``start`` and ``end`` are needed, ``name``, ``user`` and ``nodes`` may be there.  A time is
in seconds since the epoch, or a date as ISO 8601 writes it; no end is that of a job that runs.
"""

from __future__ import annotations

import csv
import os
import stat
from pathlib import Path
from typing import Iterator, Mapping, NamedTuple, Sequence, Union

from plumbline.model.command import CommandRunner, lines
from plumbline.model.errors import DocumentError, ToolError
from plumbline.model.validation import read_json
from plumbline.observe import pydarshan
from plumbline.observe.darshan import Log
from plumbline.observe.jobs import Job, ReadJobs, checked_job, collected, parse_moment
from plumbline.observe.rows import Rows

MOST_BYTES = 512 << 20
"""Limit of PyDarshan's output on some logs; that of one with 2,000 files is 1 MB."""

_AT_ONCE = 50
_LOG_S = 20.0
"""A log of 2,000 files takes a second."""
_START_S = 60.0

_LARGEST = 64 << 20
"""Bytes of a log; those of large jobs have some MB."""

_SUFFIX = ".darshan"

_REMEDY = "install the package darshan of PyPI, or name a Python that has it with --python"


class Logs(NamedTuple):
    """Logs that were read, each once, and a sentence on each that is left out."""

    logs: tuple[Log, ...]
    left_out: tuple[str, ...]


def find_logs(places: Sequence[str], since: float) -> tuple[list[Path], list[str]]:
    """Return the logs in files and folders, less those written before; and what is left out.

    A log is written when its job ends, so an earlier one has nothing of the time since.

    Raises:
        DocumentError: there is no such file or folder.
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
            # links of users in a folder that is theirs lead anywhere
            yield from ((path, path.lstat()) for path in sorted(place.rglob(f"*{_SUFFIX}")))
        except OSError as error:
            raise DocumentError(f"{_shown(place)} cannot be read: {error.strerror}") from error


def read_logs(run: CommandRunner, python: str, paths: Sequence[Path]) -> Logs:
    """Return what PyDarshan reads of logs.

    Raises:
        ToolError: there is no such Python, or it has no PyDarshan.
    """
    _refuse_without_pydarshan(run, python)
    logs: list[Log] = []
    left_out: list[str] = []
    waiting = list(paths)
    while waiting:
        answers, end = _ask(run, python, waiting[:_AT_ONCE])
        read = [(path, _log_or_reason(line)) for path, line in zip(waiting, answers)]
        logs += [log for _, log in read if isinstance(log, Log)]
        refused = [(path, why) for path, why in read if isinstance(why, str)]
        left_out += [f"{_shown(path)} is left out: {why}" for path, why in refused]
        if end:
            left_out.append(f"{_shown(waiting[len(answers)])} is left out: {end}")
        waiting = waiting[len(answers) + bool(end) :]
    return Logs(tuple(dict.fromkeys(logs)), tuple(left_out))


def _log_or_reason(line: str) -> Union[Log, str]:
    """Return the log of a line of the reader, or why there is none."""
    try:
        return parse_log(line)
    except DocumentError as error:
        return str(error)


def parse_log(line: str) -> Log:
    """Return what a line of the reader says; raise DocumentError where it says what is wrong."""
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
        why = f" ({errors[0][:200]})" if errors else ""
        raise ToolError(f"{python} has no PyDarshan that starts{why}; {_REMEDY}")


def _ask(run: CommandRunner, python: str, paths: Sequence[Path]) -> tuple[list[str], str]:
    """Return a line for each log that was read, and why the reader ended before the last one."""
    program = str(Path(pydarshan.__file__))
    words = [python, "-I", program, *(str(path.absolute()) for path in paths)]
    try:
        completed = run(words, _START_S + _LOG_S * len(paths))
    except ToolError as error:
        # it has printed without an end; nobody knows which of them it was
        return ([], str(error)) if len(paths) == 1 else _ask(run, python, paths[:1])
    answers = completed.stdout.splitlines()[: len(paths)]
    if len(answers) == len(paths):
        return answers, ""
    if completed.timed_out:
        return answers, "reading it took too long"
    if completed.exit_code and completed.exit_code < 0:
        return answers, f"PyDarshan crashed on it (signal {-completed.exit_code})"
    errors = lines(completed.stderr)[-1:]
    why = f": {errors[0][:200]}" if errors else ""
    return answers, f"PyDarshan ended with {completed.exit_code}{why}"


def _shown(path: Path) -> str:
    return " ".join(lines(str(path)))


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
            return collected(rows, _job, str(path))
    except (OSError, csv.Error) as error:
        raise DocumentError(f"{path} cannot be read: {error}") from error


def _job(row: Mapping[str, str]) -> Job:
    begin = parse_moment(row["start"])
    if begin is None:
        raise ValueError("it has no start")
    texts = (row.get(column, "") for column in ("name", "user", "nodes"))
    return checked_job(Job(row["job"], begin, parse_moment(row["end"]), *texts))
