"""``plumbline sample``: the byte counters of this server, second by second."""

from __future__ import annotations

import argparse
import os
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator, Optional, Sequence
from uuid import uuid4

from plumbline.cli.options import until_signalled
from plumbline.cli.output import print_json, remark, say
from plumbline.doors.table import render
from plumbline.measure import sample as sampling
from plumbline.measure.sample import Devices, SamplePart, Targets
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectations
from plumbline.model.layers.raw import RAW
from plumbline.model.record import Operation, Record
from plumbline.observe.command import Clock, LocalSystem, SystemClock, SystemRunner
from plumbline.observe.job_stats import Jobs
from plumbline.store.files import DATABASE
from plumbline.store.history import History
from plumbline.store.snapshot import load_expectations


def sample(arguments: argparse.Namespace) -> int:
    """Sample, keep the records, print the counters that moved; return 0."""
    clock, node = SystemClock(), _node(arguments)
    devices, targets = _sources(arguments, node)
    output = _SampleOutput(arguments.json)
    with until_signalled() as ended, History(Path(arguments.state) / DATABASE) as history:
        parts = sampling.sample([devices, targets], clock, ended.wait, arguments.limit)
        with _jobs_followed(targets, clock) as jobs:
            for seconds, records in _records(parts, node.node, targets, jobs):
                for record in records:
                    history.save(record)
                output.add(seconds, records)
        history.prune_servers(clock.wall())
    output.end()
    if jobs.trouble:
        remark(f"{node.node}: {jobs.trouble}")
    return 0


def _records(
    parts: Iterator[SamplePart], host: str, targets: Targets, jobs: Jobs
) -> Iterator[tuple[int, list[Record]]]:
    """Yield the seconds and records of each part; the first part names unreadable files."""
    origin, unreadable = sampling.Origin(host, str(uuid4())), sampling.closed(targets)
    for part in parts:
        yield part.seconds, list(sampling.records_of(part, origin, unreadable, jobs.drain()))
        unreadable = {}


@contextmanager
def _jobs_followed(targets: Targets, clock: Clock) -> Iterator[Jobs]:
    """Follow the jobs of targets in a daemon thread, because it may hang in the kernel."""
    names = [*targets.names, *targets.metadata]
    jobs, ended = Jobs(LocalSystem(SystemRunner()), names, clock), threading.Event()

    def follow() -> None:
        pause_s = jobs.look()
        while pause_s is not None and not ended.wait(pause_s):
            pause_s = jobs.look()

    threading.Thread(target=follow, daemon=True).start()
    try:
        yield jobs
    finally:
        ended.set()


def _node(arguments: argparse.Namespace) -> Expectations:
    """Return the expectations of this node; only its name if devices are given by hand."""
    if arguments.device and not os.path.lexists(arguments.expectations):
        return Expectations(os.uname().nodename, "", ())
    return load_expectations(arguments.expectations)


def _sources(arguments: argparse.Namespace, node: Expectations) -> tuple[Devices, Targets]:
    """Return the devices and targets of this host; report those that are not watched.

    Raises:
        DocumentError: the host has neither devices nor Lustre targets.
    """
    files = LocalSystem(SystemRunner())
    paths = arguments.device or _planned(node)
    all_numbers = {name: _number(name, path) for name, path in paths}
    numbers = {name: number for name, number in all_numbers.items() if number}
    targets = Targets(files)
    remark(*(f"{node.node}: {text}" for text in sampling.unwatched(targets, node.served)))
    if not numbers and not targets.names and not targets.metadata:
        raise DocumentError(
            f"{node.node} has neither devices in its expectations nor Lustre targets, so nothing "
            "counts here; name a device with --device NAME=PATH"
        )
    return Devices(numbers, files), targets


def _number(name: str, path: str) -> Optional[tuple[int, int]]:
    """Return the number of a device; if it is missing, report it and return None."""
    try:
        return sampling.device_number(name, path)
    except DocumentError as error:
        remark(f"{error}; it is not watched")
        return None


def _planned(node: Expectations) -> Iterator[tuple[str, str]]:
    """Yield the planned devices of this node, each with its path."""
    if any(entry.get("layer") == RAW.name for entry in node.entries):
        for expectation in node.find(RAW.name):
            yield expectation.component, str(expectation.target["device"])


class _SampleOutput:
    """Output of a sample: records at once as JSON, or a table of all parts at the end."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._seconds = 0
        self._counters: dict[tuple[str, str, str], tuple[float, float]] = {}

    def add(self, seconds: int, records: Sequence[Record]) -> None:
        """Add the records of a part of ``seconds``."""
        self._seconds += seconds
        for record in records:
            if self._as_json:
                print_json(record)
            source = str((record.details or {}).get("source", ""))
            key = record.component, record.operation.value, source
            moved, highest = self._counters.get(key, (0.0, 0.0))
            amount = (record.rate or 0.0) * (record.seconds or 0.0)
            self._counters[key] = moved + amount, max((highest, *record.profile))

    def end(self) -> None:
        if self._as_json:
            return
        rows = [
            (*key, shown(moved / self._seconds), shown(highest))
            for key, (moved, highest) in self._counters.items()
            if moved
            for shown in [Operation(key[1]).quantity.format]
        ]
        if rows:
            headers = ("component", "operation", "counted by", "rate", "highest second")
            say(render(headers, rows))
        say(f"{self._seconds} s watched; {len(rows)} of {len(self._counters)} counters moved")
