"""Units of measuring: their interface, their means, and the interfaces of their reports."""

from __future__ import annotations

from typing import Callable, Generator, Mapping, NamedTuple, Optional, Protocol, Union

from plumbline.measure.trial import Recorder, Task
from plumbline.model.command import CommandRunner
from plumbline.model.record import Record
from plumbline.model.series import Running
from plumbline.observe.command import Clock

PAUSE_S = 5.0
"""Pause before a second try, for faults that pass, such as a lost connection."""


class Journal(Protocol):
    """Store of records and running measurements."""

    def begin(self, run_id: str, running: Running) -> None:
        """Note the begin of a measurement."""
        ...

    def end(self, layer: str, component: str) -> None:
        """Note the end of a measurement."""
        ...

    def interrupt(self, layer: str, component: str) -> None:
        """Note the interruption of a measurement."""
        ...

    def running(self) -> tuple[Running, ...]:
        """Return the measurements that have begun and not ended."""
        ...

    def save(self, record: Record) -> None:
        """Save a record."""
        ...


class Step(NamedTuple):
    """Progress of a run: ``done`` of ``total`` repeats; ``record`` at the end of a measurement."""

    title: str
    done: int
    total: int
    record: Optional[Record] = None


class UnitContext(NamedTuple):
    """The means of one unit.

    ``runners`` are by component, each with its own lock.  ``step`` gets the title of each finished
    repeat; ``stop`` ends all present and later commands of the runners, until ``go_on``.
    ``others_answer`` is True in the second try if all other targets have answered.
    """

    recorder: Recorder
    clock: Clock
    runners: Mapping[str, CommandRunner]
    step: Callable[[str], None]
    stop: Callable[[], None]
    go_on: Callable[[], None]
    keep_files: bool = True
    others_answer: bool = False


class Retry(NamedTuple):
    """Request to measure a unit again after all others; its second result is final."""

    unit: Unit


class Unit(Protocol):
    """Components measured under one set of locks."""

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Tasks with a record each, in measuring order."""
        ...

    def measure(self, context: UnitContext) -> Generator[Union[Record, Retry], None, None]:
        """Measure and yield one record for each task, or at last a retry."""
        ...

    def commands(self) -> tuple[tuple[str, ...], ...]:
        """Return the calls of the tools."""
        ...
