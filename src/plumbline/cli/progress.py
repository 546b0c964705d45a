"""How far a run is, on standard error: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import Callable, Iterator

from plumbline.model.record import Outcome, Record
from plumbline.run.unit_context import Step
from plumbline.units import format_rate


@contextmanager
def progress(quiet: bool) -> Iterator[Callable[[Step], None]]:
    """Give the function that shows each step."""
    if quiet:
        yield _ignore
    elif sys.stderr.isatty() and _rich_is_installed():
        with _bar() as show:
            yield show
    else:
        yield _line


def describe(record: Record) -> str:
    """Return one line about a record, e.g. ``scratch-OST0003 read 201.3 MB/s``."""
    what = f"{record.component} {record.operation.value}"
    if record.scenario.value != "single":
        what += f" {record.scenario.value}"
    if record.partner:
        what += f" with {record.partner}"
    if record.outcome is Outcome.OK and record.rate_Bps is not None:
        return f"{what} {format_rate(record.rate_Bps)}"
    return f"{what} {record.outcome.value}: {record.reason}"


def _ignore(step: Step) -> None:
    """Show nothing."""


def _line(step: Step) -> None:
    if step.record is not None:
        print(describe(step.record), file=sys.stderr, flush=True)


def _rich_is_installed() -> bool:
    from importlib.util import find_spec

    return find_spec("rich") is not None


@contextmanager
def _bar() -> Iterator[Callable[[Step], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("begin", total=None)

        def show(step: Step) -> None:
            bar.update(task, description=step.title, completed=step.done, total=step.total)
            if step.record is not None:
                bar.console.print(describe(step.record), markup=False, highlight=False)

        yield show
