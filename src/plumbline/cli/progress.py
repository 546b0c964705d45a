"""Progress of a run on standard error, and its result at the end."""

from __future__ import annotations

import argparse
import shlex
import sys
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Callable, Iterable, Iterator, Optional, Sequence

from plumbline.cli.output import note, remark, say, show
from plumbline.doors.table import render
from plumbline.measure.unit_context import Step, Unit
from plumbline.model.command import printable
from plumbline.model.errors import INTERRUPTED
from plumbline.model.record import Outcome, Record, step_name
from plumbline.model.units import format_duration
from plumbline.model.verdict import worst
from plumbline.observe.command import Clock, SystemClock
from plumbline.site.measure import Result


@contextmanager
def progress(quiet: bool, clock: Optional[Clock] = None) -> Iterator[Callable[[Step], None]]:
    """Yield a function that shows a step; ``clock`` is the machine's own by default."""
    if quiet:
        yield lambda _step: None
    elif sys.stderr.isatty() and find_spec("rich") is not None:
        with _bar() as update:
            yield update
    else:
        yield _Lines(clock or SystemClock())


def describe(record: Record) -> str:
    """Return a record as one line, e.g. ``scratch-OST0003 read 201.3 MB/s``."""
    line = f"{record.component} {step_name(record.operation.value, record.scenario.value)}"
    if record.partner:
        line += f" with {record.partner}"
    if record.outcome is Outcome.OK and record.rate is not None:
        return f"{line} {record.operation.quantity.format(record.rate)}"
    return f"{line} {record.outcome.value}: {record.reason}"


_NOTED_EVERY_S = 10.0


class _Lines:
    """Prints each measurement, and now and then how long the others will take."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._begun = self._noted = clock.monotonic()

    def __call__(self, step: Step) -> None:
        if step.record is None:
            return
        note(describe(step.record))
        now = self._clock.monotonic()
        if now - self._noted >= _NOTED_EVERY_S and 0 < step.done < step.total:
            self._noted = now
            left = (now - self._begun) * (step.total - step.done) / step.done
            note(f"{step.done / step.total:.0%} measured, about {format_duration(left)} left")


@contextmanager
def _bar() -> Iterator[Callable[[Step], None]]:
    from rich import progress as bars
    from rich.console import Console

    columns = (
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("begin", total=None)

        def update(step: Step) -> None:
            bar.update(
                task, description=printable(step.title), completed=step.done, total=step.total
            )
            if step.record is not None:
                line = printable(describe(step.record))
                bar.console.print(line, markup=False, highlight=False)

        yield update


_MAX_BUSY = 5


def end(result: Result) -> int:
    """Return the exit code: the worst state, unless interrupted or busy."""
    if result.interrupted:
        remark("interrupted; this is what was measured before")
        return INTERRUPTED
    remark(*map(str, result.busy[:_MAX_BUSY]))
    if len(result.busy) > _MAX_BUSY:
        remark(f"{len(result.busy) - _MAX_BUSY} more not measured")
    if result.busy:
        return result.busy[0].exit_code
    return int(worst(verdict.state for verdict in result.verdicts))


def print_commands(units: Sequence[Unit]) -> int:
    """Print the commands of the tools, quoted for a shell; return 0."""
    return print_calls(argv for unit in units for argv in unit.commands())


def print_calls(calls: Iterable[Sequence[str]]) -> int:
    """Print the calls of tools, quoted for a shell; return 0."""
    for argv in calls:
        say(" ".join(word if word == "<>" else shlex.quote(word) for word in argv))
    return 0


def verdict_table(*results: Result) -> list[str]:
    """Return the verdicts of runs as one table."""
    verdicts = (verdict for result in results for verdict in result.verdicts)
    rows = [(verdict.state.name, verdict.sentence) for verdict in verdicts]
    return [render(("state", "verdict"), rows)]


def show_result(
    arguments: argparse.Namespace, result: Result, lines: Callable[[Result], Iterable[str]]
) -> int:
    """Print records and verdicts as JSON or as ``lines``; return the exit code."""
    show(arguments, result, lines(result))
    return end(result)
