"""Work in several forked processes, which share the parent's memory at the start."""

from __future__ import annotations

import multiprocessing
import os
import signal
from multiprocessing.connection import Connection
from typing import Any, Callable, Iterator, Sequence, TypeVar

from plumbline.model.errors import PlumblineError, ToolError

_T = TypeVar("_T")
_R = TypeVar("_R")


def on_all_processors(work: Callable[[_T], _R], items: Sequence[_T]) -> Iterator[_R]:
    """Yield the result of ``work`` for each item in order; raise as ``forked`` does."""
    count = min(len(items), len(os.sched_getaffinity(0)))
    return map(work, items) if count == 1 else forked(work, items, count)


def forked(work: Callable[[_T], _R], items: Sequence[_T], count: int) -> Iterator[_R]:
    """Yield the result of ``work`` for each item in order, from ``count`` processes.

    Only results are sent between processes; items and the data of ``work`` are not copied.

    Raises:
        ToolError: a process was killed.
        PlumblineError: ``work`` raised it.
    """
    context = multiprocessing.get_context("fork")
    workers = []
    # Ctrl-C reaches parent and children: children ignore it, and the parent ends them after all of
    # them have started
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        for place in range(count):
            receiver, sender = context.Pipe(duplex=False)
            share = work, items[place::count], sender
            process = context.Process(target=_work_through, args=share, daemon=True)
            process.start()
            # the receiver then sees the end when the process ends
            sender.close()
            workers.append((process, receiver))
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for number in range(len(items)):
            yield _result(workers[number % count][1])
    finally:
        for process, receiver in workers:
            process.terminate()
            process.join()
            receiver.close()
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _result(receiver: Connection) -> Any:
    try:
        result = receiver.recv()
    except (EOFError, OSError) as error:
        raise ToolError(
            "a process of plumbline was ended from outside; see whether the machine has run out "
            "of memory (journalctl -k), and run again"
        ) from error
    if isinstance(result, PlumblineError):
        raise result
    return result


def _work_through(work: Callable[[_T], _R], items: Sequence[_T], sender: Connection) -> None:
    try:
        for item in items:
            sender.send(work(item))
    except PlumblineError as error:
        sender.send(error)
