"""Work for several processes, each of which begins as a copy of this one with all that it holds."""

from __future__ import annotations

from typing import Any, Callable, Iterator, Sequence, TypeVar

from plumbline.model.errors import ToolError

_T = TypeVar("_T")
_R = TypeVar("_R")


def forked(work: Callable[[_T], _R], items: Sequence[_T], count: int) -> Iterator[_R]:
    """Yield the result of ``work`` for each item in turn, from ``count`` processes.

    Items and results are sent between processes; what ``work`` holds is not, however large it is.

    Raises:
        ToolError: a process was killed.
        PlumblineError: an item could not be worked on.
    """
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(count, context, _Worker.begin, (work,)) as pool:
        try:
            yield from pool.map(_Worker.run, items)
        except BrokenProcessPool as error:
            raise ToolError(
                "a process of plumbline was ended from outside; see whether the machine has run "
                "out of memory (journalctl -k), and run again"
            ) from error


class _Worker:
    """The work of a forked process."""

    work: tuple[Callable[[Any], Any], ...] = ()

    @classmethod
    def begin(cls, work: Callable[[Any], Any]) -> None:
        cls.work = (work,)

    @classmethod
    def run(cls, item: Any) -> Any:
        (work,) = cls.work
        return work(item)
