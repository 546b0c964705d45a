"""``plumbline jobs``: bytes and times of jobs on targets."""

from __future__ import annotations

import argparse
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Iterator, Mapping, Optional, Sequence

from plumbline.cli.options import parse_span
from plumbline.cli.output import remark, show
from plumbline.doors.table import render
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.names import several
from plumbline.model.units import format_bytes, format_rate
from plumbline.observe.command import SystemRunner
from plumbline.observe.given import read_given
from plumbline.parts.facts.darshan import Log, Stripes, stripes_of
from plumbline.parts.facts.darshan_logs import MAX_BYTES, find_logs, read_job_times, read_logs
from plumbline.parts.facts.job_lines import JobLine, job_lines
from plumbline.parts.facts.job_rates import judge_jobs
from plumbline.parts.facts.job_traffic import JobTraffic
from plumbline.parts.facts.jobs import Job, JobIo, JobRequests, Window, parse_slurm, shown
from plumbline.parts.facts.usage import JobUsage, Names, Traffic, job_usage
from plumbline.store.files import HISTORY, PLAN
from plumbline.store.plan import load_plan

_MAX_ROWS = 40
_MAX_NAMED = 20
_MAX_KINDS = 3
_MAX_BYTES = 1 << 30


def jobs(arguments: argparse.Namespace) -> int:
    """Print the traffic of jobs on targets; return 0, or 65 if a log or row was left out."""
    now = time.time()
    during = arguments.during
    window = Window(*parse_span(during, "--during", now)) if during else Window()
    plan = load_plan(arguments.plan or PLAN) if arguments.plan or Path(PLAN).exists() else None
    names, history = Names(plan), _history(arguments)
    logs, left_out = _logs(arguments, window)
    reads = list(_job_lists(arguments))
    left_out += [text for _, texts in reads for text in texts]
    ios = [io for log in logs for io in log.traffic(names.component_at)]
    counted, requests = list[JobIo](), list[JobRequests]()
    if history:
        with JobTraffic(history, existing=True) as traffic:
            if arguments.keep:
                traffic.keep(ios, now)
            counted += traffic.between(*window)
            requests += () if arguments.slow_targets else traffic.requests(*window)
    counted = [io._replace(target=names.component_of(io.target)) for io in counted]
    # the history may have kept these logs, and a log may be given twice
    job_ios = list(dict.fromkeys([*ios, *counted]))
    if arguments.slow_targets:
        slow = judge_jobs(logs, names.component_at, job_ios)
        document, lines = slow.to_json(), slow.sentences()
    else:
        listed = [
            *(log.job for log in logs),
            *(job for listed_jobs, _ in reads for job in listed_jobs),
        ]
        used = job_usage(Traffic(job_ios, requests), listed, window, names, arguments.target)
        users = plan is not None and plan.job_users
        document, lines = used.to_json(), _lines(used, users, stripes_of(logs))
        for job in () if users else document["jobs"].values():
            del job["user"]
    show(arguments, {"schema": 1, **document, "left_out": left_out}, lines)
    if not arguments.json:
        remark(*left_out[:_MAX_NAMED])
        if len(left_out) > _MAX_NAMED:
            remark(f"{len(left_out) - _MAX_NAMED} more left out")
    return DocumentError.exit_code if left_out else 0


def _history(arguments: argparse.Namespace) -> Optional[Path]:
    """Return the history to read; None if it does not exist and is not needed."""
    needed = arguments.keep or arguments.history or not arguments.darshan
    return Path(arguments.history or HISTORY) if needed or Path(HISTORY).exists() else None


def _logs(arguments: argparse.Namespace, window: Window) -> tuple[Sequence[Log], list[str]]:
    if not arguments.darshan:
        if arguments.keep or arguments.slow_targets:
            raise UsageError("--keep and --slow-targets need logs; name them with --darshan")
        return (), []
    paths, left_out = find_logs(arguments.darshan, window.begin)
    logs, unread = read_logs(SystemRunner(most_bytes=MAX_BYTES), arguments.python, paths)
    return logs, left_out + unread


def _job_lists(arguments: argparse.Namespace) -> Iterator[tuple[list[Job], list[str]]]:
    if arguments.slurm:
        name = "standard input" if arguments.slurm == "-" else arguments.slurm
        yield parse_slurm(_text(arguments.slurm), name)
    if arguments.times:
        yield read_job_times(Path(arguments.times))


def _text(name: str) -> str:
    try:
        if name == "-":
            return sys.stdin.buffer.read(_MAX_BYTES).decode("utf-8", "replace")
        return read_given(name, _MAX_BYTES).decode("utf-8", "replace")
    except OSError as error:
        raise DocumentError(
            f"{name} cannot be read: {error.strerror}; name a file, or -"
        ) from error


def _lines(used: JobUsage, users: bool, stripes: Mapping[str, Stripes]) -> Iterator[str]:
    """Yield a table of jobs, one of requests, and the jobs without traffic."""
    headers = ["job", "name", "user", "targets", "stripes", "read", "written", "from", "to"]
    headers += ["below 100 KiB", "unaligned", "slowest target", "by"]
    moved = job_lines(used.usages)
    rows = [
        _row(line, used.jobs.get(line.job), stripes.get(line.job)) for line in moved[:_MAX_ROWS]
    ]
    if not users:
        for row in (headers, *rows):
            del row[2]
    if rows:
        yield render(headers, rows)
    if len(moved) > _MAX_ROWS:
        yield f"{len(moved) - _MAX_ROWS} more jobs; --json has all of them, target by target"
    if used.requests:
        headers = ["job", "name", "target", "requests", "rate", "from", "to", "most of them"]
        requests = [_request_row(row, used.jobs.get(row.job)) for row in used.requests[:_MAX_ROWS]]
        yield render(headers, requests)
    if len(used.requests) > _MAX_ROWS:
        yield f"{len(used.requests) - _MAX_ROWS} more rows of requests; --json has all of them"
    if not rows and not used.requests:
        yield "No job is known to have moved anything on these targets at this time."
    if used.idle:
        names = [shown(job.id) for job in used.idle]
        yield f"Also ran, traffic unknown: {several(names, _MAX_NAMED)}"


def _row(line: JobLine, job: Optional[Job], stripes: Optional[Stripes]) -> list[str]:
    return [
        shown(line.job),
        shown(job.name) if job else "",
        shown(job.user) if job else "",
        shown(line.targets[0]) if len(line.targets) == 1 else str(len(line.targets)),
        "" if stripes is None else str(stripes),
        *("" if not size else format_bytes(size) for size in (line.read, line.written)),
        _time(line.begin),
        _time(line.end),
        *("" if share is None else f"{share:.0%}" for share in (line.small, line.unaligned)),
        _slowest(line),
        line.source,
    ]


def _slowest(line: JobLine) -> str:
    """Return the slowest target of a job, with its rate and its share of the median."""
    slow = line.slowest
    if slow is None:
        return ""
    rate = format_rate(slow.rate_Bps)
    return f"{shown(slow.target)} {slow.operation.value} {rate}, {slow.share:.0%} of median"


def _request_row(requests: JobRequests, job: Optional[Job]) -> list[str]:
    most = sorted(requests.requests.items(), key=lambda item: (-item[1], item[0]))[:_MAX_KINDS]
    return [
        shown(requests.job),
        shown(job.name) if job else "",
        shown(requests.target),
        f"{requests.amount:.0f}",
        f"{requests.amount / (requests.end - requests.begin):.0f}/s",
        _time(requests.begin),
        _time(requests.end),
        ", ".join(f"{shown(name)} {count:.0f}" for name, count in most),
    ]


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, timezone.utc).astimezone().strftime("%Y-%m-%d %H:%M:%S")
