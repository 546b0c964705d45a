"""What the layers are given to work with, and the interfaces of whom a run reports to."""

from __future__ import annotations

from typing import Callable, Generator, Mapping, NamedTuple, Optional, Protocol, Union

from plumbline.measure.trial import Recorder, Task
from plumbline.model.command import CommandRunner
from plumbline.model.record import Record
from plumbline.model.series import Running
from plumbline.observe.command import Clock

PAUSE_S = 5.0
"""Before a second try: what passes, such as a connection that is made again, has passed by then."""


class Journal(Protocol):
    """Keeps records and says what is running; the history does."""

    def begin(self, run_id: str, running: Running) -> None:
        """Note that a measurement begins."""
        ...

    def end(self, layer: str, component: str) -> None:
        """Note that it has ended."""
        ...

    def interrupt(self, layer: str, component: str) -> None:
        """Note that nothing is left of a measurement that has begun."""
        ...

    def running(self) -> tuple[Running, ...]:
        """Return what has begun and not ended."""
        ...

    def save(self, record: Record) -> None:
        """Keep a record for good."""
        ...


class Step(NamedTuple):
    """How far a run is: ``done`` of ``total`` repeats; ``record`` when a measurement has ended."""

    title: str
    done: int
    total: int
    record: Optional[Record] = None


class UnitContext(NamedTuple):
    """The means of one unit.

    ``runners`` are by component, each passes its own lock on.  ``step`` gets the title of each
    repeat that is over; ``stop`` ends whatever the runners are running or are given, until
    ``go_on``.  ``others_answer`` says in the second try that all other targets have answered.
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
    """What is to be asked again when all other units are done: a unit whose word then is final."""

    unit: Unit


class Unit(Protocol):
    """What is measured under one set of locks."""

    @property
    def tasks(self) -> tuple[Task, ...]:
        """All that the unit has to give a record for, in measuring order."""
        ...

    def measure(self, context: UnitContext) -> Generator[Union[Record, Retry], None, None]:
        """Measure and yield one record for each task, or at last what to ask again later."""
        ...

    def commands(self) -> tuple[tuple[str, ...], ...]:
        """Return what the tools would be called with."""
        ...
