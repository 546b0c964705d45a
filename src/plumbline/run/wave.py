"""Units that are measured at the same time: each in a thread, and one thread hears of them all.

A unit talks to nobody but its own tools; what it finds is handed over, so that whoever keeps
records, locks and the list of what runs does so alone.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from queue import SimpleQueue
from typing import Iterator, NamedTuple, Optional, Union

from plumbline.model.record import Record
from plumbline.run.unit_context import Later, Unit, UnitContext


class Repeated(NamedTuple):
    """A repeat is over; ``title`` is that of its task."""

    title: str


class Ended(NamedTuple):
    """A unit is done; ``error`` is what has ended it early."""

    error: Optional[BaseException]


Said = Union[Record, Later, Repeated, Ended]


class Wave:
    """Measures units at the same time; iterate over it to hear of them, close it to end them."""

    def __init__(self, units: int) -> None:
        """Take how many there are at most."""
        self._threads = ThreadPoolExecutor(units, thread_name_prefix="plumbline-unit")
        self._said: SimpleQueue[tuple[Unit, Said]] = SimpleQueue()
        self._contexts: list[UnitContext] = []
        self._measured = 0
        self._closed = threading.Event()

    def begin(self, unit: Unit, context: UnitContext) -> None:
        """Begin to measure a unit."""
        own = context._replace(step=lambda title: self._said.put((unit, Repeated(title))))
        self._contexts.append(own)
        self._measured += 1
        future = self._threads.submit(self._measure, unit, own)
        future.add_done_callback(lambda done: self._said.put((unit, Ended(done.exception()))))

    def __iter__(self) -> Iterator[tuple[Unit, Said]]:
        """Yield what comes of the units until all of them are done."""
        while self._measured:
            unit, said = self._said.get()
            if isinstance(said, Ended):
                self._measured -= 1
            yield unit, said

    def close(self) -> None:
        """End the tools of all units that are not done, and wait for their threads.

        What they would still say is not heard: a measurement that was ended has no result.
        """
        self._closed.set()
        for context in self._contexts:
            context.stop()
        self._threads.shutdown()

    def _measure(self, unit: Unit, context: UnitContext) -> None:
        with closing(unit.measure(context)) as came:
            for one in came:
                if self._closed.is_set():
                    # its file may have to be removed yet
                    context.go_on()
                    return
                self._said.put((unit, one))
