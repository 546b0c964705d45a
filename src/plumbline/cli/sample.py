"""``plumbline sample``: sample counters of this server's devices and targets during a probe."""

from __future__ import annotations

import argparse
import json
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Iterator, Optional, Sequence

from plumbline.cli.options import common, option, until_signalled
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.layers.raw import RAW
from plumbline.model.units import format_rate, parse_duration
from plumbline.store.files import DATABASE

if TYPE_CHECKING:
    from plumbline.measure.sample import Devices, Number, SamplePart, Targets
    from plumbline.model.expectation import Expectations
    from plumbline.model.record import Record
    from plumbline.observe.command import Clock
    from plumbline.observe.job_stats import Jobs

EPILOG = """\
It reads counters and nothing else, stops at its limit, and keeps what it has when it is
ended earlier (SIGTERM or Ctrl-C).  The report draws it beside what the clients of a run saw.

For example: plumbline sample --limit 15m
"""


HELP = "sample the counters of this server, for the report's composite"
DESCRIPTION = """Read the counters of this server's block devices and Lustre targets once a second
while a probe runs elsewhere, and keep the rates in the history of this node."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    option(parser, "--limit TIME", "duration, at most 60 min", default="10 min")
    option(
        parser,
        "--device NAME=PATH",
        "watch this device instead of the planned ones",
        action="append",
        default=[],
    )
    common(parser, "--expectations", "--state")
    option(parser, "--json", "print the records, one a line")


def run(arguments: argparse.Namespace) -> int:
    """Sample, keep, print what moved; return 0."""
    from plumbline.measure.sample import sample
    from plumbline.observe.command import SystemClock
    from plumbline.store.history import History

    limit_s, clock = parse_duration(arguments.limit), SystemClock()
    node = _node(arguments)
    devices, targets = _sources(arguments, node)
    _complain(node, targets)
    shown = _Shown(arguments.json)
    with until_signalled() as enough, History(Path(arguments.state) / DATABASE) as history:
        parts = sample([devices, targets], clock, enough.wait, limit_s)
        with _jobs_followed(targets, clock) as jobs:
            for seconds, records in _records(parts, node.node, targets, jobs):
                for record in records:
                    history.save(record)
                shown.add(seconds, records)
        history.prune_servers(clock.wall())
    shown.end()
    if jobs.trouble:
        print(f"plumbline: {node.node}: {jobs.trouble}", file=sys.stderr)
    return 0


def _records(
    parts: Iterator[SamplePart], host: str, targets: Targets, jobs: Jobs
) -> Iterator[tuple[int, list[Record]]]:
    """Yield the seconds and the records of each part; what may not be read is said in the first."""
    from uuid import uuid4

    from plumbline.measure.sample import Origin, closed, records_of

    origin, unreadable = Origin(host, str(uuid4())), closed(targets)
    for part in parts:
        yield part.seconds, list(records_of(part, origin, unreadable, jobs.drain()))
        unreadable = {}


@contextmanager
def _jobs_followed(targets: Targets, clock: Clock) -> Iterator[Jobs]:
    """Follow the jobs of targets in a thread, which nobody waits for: it may hang in the kernel."""
    from plumbline.observe.command import SystemRunner
    from plumbline.observe.gather import LocalSystem
    from plumbline.observe.job_stats import Jobs

    names = [*targets.names, *targets.metadata]
    jobs, over = Jobs(LocalSystem(SystemRunner()), names, clock), threading.Event()

    def follow() -> None:
        pause_s = jobs.look()
        while pause_s is not None and not over.wait(pause_s):
            pause_s = jobs.look()

    threading.Thread(target=follow, daemon=True).start()
    try:
        yield jobs
    finally:
        over.set()


def _node(arguments: argparse.Namespace) -> Expectations:
    """Return what is known of this node; with devices named by hand its name is enough."""
    import os

    from plumbline.model.expectation import Expectations
    from plumbline.store.snapshot import load_expectations

    if arguments.device and not os.path.lexists(arguments.expectations):
        return Expectations(os.uname().nodename, "", ())
    return load_expectations(arguments.expectations)


def _sources(arguments: argparse.Namespace, node: Expectations) -> tuple[Devices, Targets]:
    """Return what counts here; raise DocumentError when nothing does."""
    from plumbline.measure.sample import Devices, Targets
    from plumbline.observe.command import SystemRunner
    from plumbline.observe.gather import LocalSystem

    files = LocalSystem(SystemRunner())
    numbers = dict(_numbers(_named(arguments.device) if arguments.device else _planned(node)))
    targets = Targets(files)
    if not numbers and not targets.names and not targets.metadata:
        _complain(node, targets)
        raise DocumentError(
            f"{node.node} has neither devices in its expectations nor Lustre targets, so nothing "
            "counts here; name a device with --device NAME=PATH"
        )
    return Devices(numbers, files), targets


def _complain(node: Expectations, targets: Targets) -> None:
    """Say which of Lustre's targets are not watched."""
    from plumbline.measure.sample import unwatched

    for sentence in unwatched(targets, node.served):
        print(f"plumbline: {node.node}: {sentence}", file=sys.stderr)


def _numbers(paths: Sequence[tuple[str, str]]) -> Iterator[tuple[str, Number]]:
    """Yield the number of each device that is there."""
    for name, path in paths:
        number = _number(name, path)
        if number is not None:
            yield name, number


def _number(name: str, path: str) -> Optional[Number]:
    """Return the number of a device; of one that is missing, say so and return None."""
    from plumbline.measure.sample import device_number

    try:
        return device_number(name, path)
    except DocumentError as error:
        print(f"plumbline: {error}; it is not watched", file=sys.stderr)
        return None


def _named(words: Sequence[str]) -> list[tuple[str, str]]:
    found = [word.partition("=") for word in words]
    for name, equals, path in found:
        if not (name and equals and path):
            raise UsageError(f"--device {name}{equals}{path}: write NAME=PATH, as in a=/dev/sdb")
    return [(name, path) for name, _, path in found]


def _planned(node: Expectations) -> list[tuple[str, str]]:
    """Return the devices that this node is to read, each with its path."""
    layer = RAW.name
    if all(entry.get("layer") != layer for entry in node.entries):
        return []
    return [
        (expectation.component, str(expectation.target["device"]))
        for expectation in node.find(layer)
    ]


class _Shown:
    """Output of a sample: records as they come, or a table of all parts at the end."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._seconds = 0
        self._counters: dict[tuple[str, str, str], tuple[float, float]] = {}

    def add(self, seconds: int, records: Sequence[Record]) -> None:
        """Take the records of a part of so many seconds."""
        self._seconds += seconds
        for record in records:
            if self._as_json:
                print(json.dumps(record.to_json(), allow_nan=False), flush=True)
            key = record.component, record.operation.value, _source(record)
            moved, highest = self._counters.get(key, (0.0, 0.0))
            self._counters[key] = moved + record.bytes, max((highest, *record.profile_Bps))

    def end(self) -> None:
        """Print the table."""
        from plumbline.doors.table import render

        if self._as_json:
            return
        rows = [
            (*key, format_rate(moved / self._seconds), format_rate(highest))
            for key, (moved, highest) in self._counters.items()
            if moved
        ]
        if rows:
            headers = ("component", "operation", "counted by", "rate", "highest second")
            print(render(headers, rows))
        print(f"{self._seconds} s watched; {len(rows)} of {len(self._counters)} counters moved")


def _source(record: Record) -> str:
    return str((record.details or {}).get("source", ""))
