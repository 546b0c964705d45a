"""``plumbline jobs``: bytes and times of jobs on targets."""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Optional, Sequence

from plumbline.cli.options import common, option, parse_span
from plumbline.model.errors import DocumentError, UsageError
from plumbline.store.files import HISTORY, PLAN

if TYPE_CHECKING:
    from plumbline.judge.replay import JobsSay
    from plumbline.observe.darshan import Log
    from plumbline.observe.jobs import Job, JobIo, JobRequests, Window
    from plumbline.site.jobs import Used
    from plumbline.store.plan import SitePlan

_MOST_ROWS = 40
_MOST_SAID = 20
_MOST_NAMED = 3
_MOST_BYTES = 1 << 30


HELP = "show the bytes that jobs moved on targets"
DESCRIPTION = """Print which jobs used which targets, by the job_stats of the servers in the
history of the console and by Darshan logs; Slurm, or a file of job times, says what they are
called. Ends with 65 where something was left out."""
EPILOG = 'For example: plumbline jobs --during "02:00 to 03:00" --target scratch-OST0003'


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    option(
        parser,
        "--during TIMES",
        'such as "02:00 to 03:00" or "2026-11-20T02:00 to 2026-11-21" (default: all)',
    )
    option(parser, "--target NAME", "only this target", default="")
    option(parser, "--darshan PLACE", "Darshan logs, or folders of them", nargs="+", default=[])
    option(parser, "--python PATH", "Python that has PyDarshan", default=sys.executable)
    option(
        parser, "--slurm FILE", "output of sacct or squeue --json, or sacct --parsable2; - is stdin"
    )
    option(parser, "--times FILE", "CSV of job times: job, start, end, name, user, nodes")
    option(parser, "--slow-targets", "with --darshan: show targets that slow their jobs")
    option(parser, "--keep", "keep the logs' figures in the history for 60 days")
    option(parser, "--plan FILE", f"default {PLAN}, if it is there")
    option(parser, "--history FILE", f"default {HISTORY}, if it is there")
    common(parser, "--json")


def run(arguments: argparse.Namespace) -> int:
    """Print who used what; return 0, or 65 where something was left out."""
    from plumbline.judge.replay import jobs_say
    from plumbline.observe.jobs import Window
    from plumbline.site.jobs import Names, Traffic, keep_traffic, recorded, requested, who_used

    now = time.time()
    window = (
        Window(*parse_span(arguments.during, "--during", now)) if arguments.during else Window()
    )
    plan = _plan(arguments.plan)
    names = Names(plan)
    history = _history(arguments)
    logs, left_out = _logs(arguments, window)
    jobs, without = _jobs(arguments)
    left_out += without
    ios = [io for log in logs for io in log.traffic(names.at)]
    if arguments.keep:
        keep_traffic(Path(arguments.history or HISTORY), ios, now)
    counted = recorded(history, window, names) if history else []
    # what is kept may have been read again, and a log be there twice
    job_ios = list(dict.fromkeys([*ios, *counted]))
    if arguments.slow_targets:
        _print_slow(jobs_say(logs, names.at, job_ios), left_out, as_json=arguments.json)
        return DocumentError.exit_code if left_out else 0
    listed = [*(log.job for log in logs), *jobs]
    traffic = Traffic(job_ios, requested(history, window) if history else ())
    used = who_used(traffic, listed, window, names, arguments.target)
    _report(used, left_out, arguments.json, users=plan is not None and plan.job_users)
    return DocumentError.exit_code if left_out else 0


def _plan(given: Optional[str]) -> Optional[SitePlan]:
    from plumbline.store.plan import load_plan

    return load_plan(given or PLAN) if given or Path(PLAN).exists() else None


def _history(arguments: argparse.Namespace) -> Optional[Path]:
    """Return the history that is read; None where there is none and none is needed."""
    if arguments.history:
        return Path(arguments.history)
    if arguments.darshan and not Path(HISTORY).exists():
        return None
    return Path(HISTORY)


def _logs(arguments: argparse.Namespace, window: Window) -> tuple[Sequence[Log], list[str]]:
    if not arguments.darshan:
        if arguments.keep or arguments.slow_targets:
            raise UsageError("--keep and --slow-targets need logs; name them with --darshan")
        return (), []
    from plumbline.observe.command import SystemRunner
    from plumbline.observe.darshan_logs import MOST_BYTES, find_logs, read_logs

    paths, left_out = find_logs(arguments.darshan, window.begin)
    read = read_logs(SystemRunner(most_bytes=MOST_BYTES), arguments.python, paths)
    return read.logs, left_out + list(read.left_out)


def _jobs(arguments: argparse.Namespace) -> tuple[list[Job], list[str]]:
    from plumbline.observe.darshan_logs import read_job_times
    from plumbline.observe.jobs import parse_slurm

    reads = []
    if arguments.slurm:
        name = "standard input" if arguments.slurm == "-" else arguments.slurm
        reads.append(parse_slurm(_text(arguments.slurm), name))
    if arguments.times:
        reads.append(read_job_times(Path(arguments.times)))
    jobs = [job for read in reads for job in read.jobs]
    return jobs, [text for read in reads for text in read.left_out]


def _text(name: str) -> str:
    try:
        if name == "-":
            data = sys.stdin.buffer.read(_MOST_BYTES)
        else:
            with open(name, "rb") as file:
                data = file.read(_MOST_BYTES)
    except OSError as error:
        raise DocumentError(f"{name} cannot be read: {error.strerror}") from error
    return data.decode("utf-8", "replace")


def _print_slow(said: JobsSay, left_out: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"schema": 1, **said.to_json(), "left_out": left_out}, allow_nan=False))
        return
    print("\n".join(said.sentences()))
    _print_left_out(left_out)


def _print_left_out(left_out: Sequence[str]) -> None:
    for text in left_out[:_MOST_SAID]:
        print(f"plumbline: {text}", file=sys.stderr)
    if len(left_out) > _MOST_SAID:
        print(f"plumbline: {len(left_out) - _MOST_SAID} more left out", file=sys.stderr)


def _report(used: Used, left_out: Sequence[str], as_json: bool, *, users: bool) -> None:
    if as_json:
        document = used.to_json()
        for job in () if users else document["jobs"].values():
            del job["user"]
        print(json.dumps({"schema": 1, **document, "left_out": left_out}, allow_nan=False))
        return
    _print(used, users)
    _print_left_out(left_out)


def _print(used: Used, users: bool) -> None:
    from plumbline.doors.table import render
    from plumbline.observe.jobs import shown

    headers = ["job", "name", "user", "target", "operation", "moved", "rate", "from", "to"]
    headers += ["below 100 KiB", "unaligned", "by"]
    rows = [_row(usage, used.jobs.get(usage.job)) for usage in used.usages[:_MOST_ROWS]]
    kept = [place for place, header in enumerate(headers) if users or header != "user"]
    if rows:
        print(render([headers[at] for at in kept], [[row[at] for at in kept] for row in rows]))
    if len(used.usages) > _MOST_ROWS:
        print(f"{len(used.usages) - _MOST_ROWS} more rows; --json has all of them")
    requests = used.requests[:_MOST_ROWS]
    if requests:
        headers = ["job", "name", "target", "requests", "rate", "from", "to", "most of them"]
        print(
            render(
                headers,
                [
                    _request_row(job_requests, used.jobs.get(job_requests.job))
                    for job_requests in requests
                ],
            )
        )
    if len(used.requests) > _MOST_ROWS:
        print(f"{len(used.requests) - _MOST_ROWS} more rows of requests; --json has all of them")
    if not rows and not requests:
        print("No job is known to have moved anything on these targets at this time.")
    if used.idle:
        some = ", ".join(shown(job.id) for job in used.idle[:_MOST_SAID])
        more = f" and {len(used.idle) - _MOST_SAID} more" if len(used.idle) > _MOST_SAID else ""
        print(f"Ran too, traffic unknown: {some}{more}")


def _row(usage: JobIo, job: Optional[Job]) -> list[str]:
    from plumbline.model.units import format_bytes, format_rate
    from plumbline.observe.jobs import shown

    return [
        shown(usage.job),
        shown(job.name) if job else "",
        shown(job.user) if job else "",
        shown(usage.target),
        usage.operation.value,
        format_bytes(usage.bytes),
        "" if usage.rate_Bps is None else format_rate(usage.rate_Bps),
        _time(usage.begin),
        _time(usage.end),
        *("" if share is None else f"{share:.0%}" for share in (usage.small, usage.unaligned)),
        usage.source,
    ]


def _request_row(requests: JobRequests, job: Optional[Job]) -> list[str]:
    from plumbline.observe.jobs import shown

    most = sorted(requests.requests.items(), key=lambda item: (-item[1], item[0]))[:_MOST_NAMED]
    return [
        shown(requests.job),
        shown(job.name) if job else "",
        shown(requests.target),
        f"{requests.number:.0f}",
        f"{requests.number / (requests.end - requests.begin):.0f}/s",
        _time(requests.begin),
        _time(requests.end),
        ", ".join(f"{shown(name)} {count:.0f}" for name, count in most),
    ]


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, timezone.utc).astimezone().strftime("%Y-%m-%d %H:%M:%S")
