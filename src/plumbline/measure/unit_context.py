"""Interfaces of a unit: the unit itself, its context, and the journal of records."""

from __future__ import annotations

from typing import Callable, Generator, Mapping, NamedTuple, Optional, Protocol, Union

from plumbline.measure.trial import Recorder, Task
from plumbline.model.command import CommandRunner
from plumbline.model.record import Record
from plumbline.model.series import Running
from plumbline.observe.command import Clock

PAUSE_S = 5.0
"""Pause before a retry, for passing faults such as a lost connection."""


class Journal(Protocol):
    """Store of records and running measurements."""

    def begin(self, run_id: str, running: Running) -> None:
        """Note the start of a measurement."""
        ...

    def end(self, layer: str, component: str) -> None:
        """Note the end of a measurement."""
        ...

    def interrupt(self, layer: str, component: str) -> None:
        """Note the interruption of a measurement."""
        ...

    def running(self) -> tuple[Running, ...]:
        """Return the measurements in progress."""
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
    """Tools and callbacks of one unit.

    ``runners`` has a command runner for each component, with the component's lock.  ``step`` gets
    the title of each finished repeat; ``stop`` ends all current and later commands of the runners,
    until ``go_on``.  ``others_answer`` is True in a retry if all other targets have answered.
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
        """Measure and yield one record for each task, or a retry at the end."""
        ...

    def commands(self) -> tuple[tuple[str, ...], ...]:
        """Return the calls of the tools."""
        ...
