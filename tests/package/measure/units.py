"""Helpers to measure in tests: a settable clock, expectations, a context."""

from __future__ import annotations

import fcntl
import json
from typing import Any
from urllib.parse import quote

from plumbline.measure.lock import Locks
from plumbline.measure.trial import Recorder
from plumbline.measure.unit_context import Retry, Unit, UnitContext
from plumbline.model.command import CommandRunner, Completed
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Baseline, Limits, Reference
from plumbline.model.record import Record
from plumbline.model.spec import ProbeSpec
from plumbline.observe.command import Clock
from tests.package.fakes import answer

NONE = Reference(None, None)
USUAL = Reference(
    None, Baseline(200e6, 0.02, 12, "2026-11-01", "2026-11-20", "abc", {}, "ada", "new")
)
"""A baseline of 200 MB/s."""
SIZE = 1 << 20


class FakeClock:
    """A clock that tests set; it advances only in ``sleep``."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.stepped_back = 0.0

    def wall(self) -> float:
        return self.now - self.stepped_back

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def expectation(component: str, **changes: Any) -> Expectation:
    """Return the expectation of a directory that is written and read twice."""
    values: dict[str, Any] = {
        "layer": "ost",
        "component": component,
        "host": "oss1",
        "group": "scratch",
        "target": {"kind": "directory", "directory": "/mnt/a"},
        "path": ("client1", component),
        "spec": ProbeSpec("fio", SIZE, 10.0, repeats=2),
        "references": {"write/single": NONE, "read/single": NONE},
        "limits": Limits(),
    }
    return Expectation(**{**values, **changes})


def is_free(locks: Locks, layer: str, component: str) -> bool:
    """Return whether no process holds a target's lock, without disturbing the holder."""
    name = f"{quote(f'{layer}-{component}', safe='')}.lock"
    try:
        with (locks.directory / name).open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return True
    except BlockingIOError:
        return False
    return True


def measured(
    unit: Unit, runner: CommandRunner, clock: Clock, *, keep_files: bool = True
) -> list[Record]:
    """Return the records of a unit whose commands one runner answers.

    Retries come at the end.
    """
    runners = {task.entry.component: runner for task in unit.tasks}
    recorder = Recorder("run-1", "client1", clock)
    context = UnitContext(
        recorder, clock, runners, lambda title: None, lambda: None, lambda: None, keep_files
    )
    records, units = [], [unit]
    for next_unit in units:
        for result in next_unit.measure(context):
            if isinstance(result, Retry):
                units.append(result.unit)
            else:
                records.append(result)
    return records


def fio_report(argv: tuple[str, ...], rate_MBps: float, moved: int = SIZE) -> Completed:
    """Return a report of fio with bytes and rate."""
    direction = next(word[5:] for word in argv if word.startswith("--rw=")).replace("rand", "")
    part = {"io_bytes": moved, "runtime": moved / rate_MBps / 1000}
    report = {"jobs": [{"error": 0, direction: part}]}
    return answer(json.dumps(report))
