"""What the layers need to measure in tests: a clock that is set, expectations, a context."""

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
from plumbline.model.limits import Limits, Reference
from plumbline.model.record import Record
from plumbline.model.spec import ProbeSpec
from plumbline.observe.command import Clock
from tests.package.fakes import answer

NONE = Reference(None, None)
SIZE = 1 << 20


class FakeClock:
    """A clock that tests set; it runs only while somebody sleeps."""

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
    """Return what is expected of a directory that is written and read twice."""
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
    """Return whether no process holds a target's lock, without touching who does."""
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
    """Return the records of a unit, all commands answered by one runner.

    What is to be asked again is asked at the end.
    """
    runners = {task.entry.component: runner for task in unit.tasks}
    recorder = Recorder("run-1", "client1", clock)
    context = UnitContext(
        recorder, clock, runners, lambda title: None, lambda: None, lambda: None, keep_files
    )
    records, units = [], [unit]
    for one in units:
        for came in one.measure(context):
            if isinstance(came, Retry):
                units.append(came.unit)
            else:
                records.append(came)
    return records


def fio_report(argv: tuple[str, ...], rate_MBps: float, moved: int = SIZE) -> Completed:
    """Return what fio leaves that moved some bytes at a rate."""
    direction = next(word[5:] for word in argv if word.startswith("--rw="))
    part = {"io_bytes": moved, "runtime": moved / rate_MBps / 1000}
    report = {"jobs": [{"error": 0, direction: part}]}
    return answer(json.dumps(report))
