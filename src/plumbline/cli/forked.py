"""Work that is dealt out to processes which begin as copies of this one."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Callable, Iterator, Sequence, TypeVar

from plumbline.errors import ToolError

_T = TypeVar("_T")
_R = TypeVar("_R")


def processors(pieces: int) -> int:
    """Return on how many processors so many pieces of work can be done at once."""
    return min(pieces, len(os.sched_getaffinity(0)))


def forked(work: Callable[[_T], _R], items: Sequence[_T], count: int) -> Iterator[_R]:
    """Yield what ``work`` makes of each item in turn, in ``count`` processes, of one in this one.

    What ``work`` holds may be large, and need not be fit to be sent: each process has it already.

    Raises:
        ToolError: one of the processes was ended from outside.
    """
    if count == 1:
        yield from map(work, items)
        return
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(count, context, _Worker.begin, (work,)) as pool:
        try:
            yield from pool.map(_Worker.do, items)
        except BrokenProcessPool as error:
            raise ToolError(
                "a process that simulated was ended from outside; see whether the machine has run "
                "out of memory (journalctl -k), and run again"
            ) from error


class _Worker:
    """A process that was forked with its work."""

    work: tuple[Callable[[Any], Any], ...] = ()

    @classmethod
    def begin(cls, work: Callable[[Any], Any]) -> None:
        cls.work = (work,)

    @classmethod
    def do(cls, item: Any) -> Any:
        (work,) = cls.work
        return work(item)
