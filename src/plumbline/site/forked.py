"""Work for several processes, each of which begins as a copy of this one with all that it holds."""

from __future__ import annotations

import signal
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
    before = {child.pid for child in multiprocessing.active_children()}
    with ProcessPoolExecutor(count, context, _Worker.begin, (work,)) as pool:
        try:
            yield from pool.map(_Worker.run, items)
        except BrokenProcessPool as error:
            raise ToolError(
                "a process of plumbline was ended from outside; see whether the machine has run "
                "out of memory (journalctl -k), and run again"
            ) from error
        except BaseException:
            # an interrupted user does not wait for work that nobody needs any more
            for child in multiprocessing.active_children():
                if child.pid not in before:
                    child.terminate()
            raise


class _Worker:
    """The work of a forked process."""

    work: tuple[Callable[[Any], Any], ...] = ()

    @classmethod
    def begin(cls, work: Callable[[Any], Any]) -> None:
        # Ctrl-C reaches parent and child alike, and the parent ends the child
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        cls.work = (work,)

    @classmethod
    def run(cls, item: Any) -> Any:
        (work,) = cls.work
        return work(item)
