"""One rank of a parallel run: ``mpirun ... python3 -m plumbline.parts.parallel.rank JOBFILE``.

Whenever possible, every rank writes a result file for each operation; see :mod:`.job`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Callable, NoReturn, Optional

from plumbline.model.codec import read_document
from plumbline.model.errors import PlumblineError, ToolError
from plumbline.model.validation import read_json
from plumbline.parts.parallel.job import Job
from plumbline.parts.parallel.operation import Ended

_ENDING = (signal.SIGTERM, signal.SIGUSR1)
"""Signals after the death of a rank: the first of Open MPI and Slurm, the second of MPICH."""

_LOWEST = 19
_LOOK_S = 0.2
_STUCK_S = 0.2
"""With _LOOK_S, well below the second after which PMIx ends a rank that lost its server."""
_LAST_S = 4.0


def main(argv: list[str]) -> int:
    """Take part in a run; return 0 when all results of this rank are stored."""
    for number in _ENDING:
        signal.signal(number, _end)
    sys.excepthook = _abort
    # ranks on other hosts do not inherit the launcher's priority
    os.nice(_LOWEST)
    stuck = _watch_launcher()
    # import late: _abort now reports a missing mpi4py
    from plumbline.parts.parallel.mpi import Group, Rank, World

    world = World()
    text = Path(argv[1]).read_text(encoding="utf-8") if world.rank == 0 else ""
    job = read_document(Job, read_json(world.from_first(text)))
    processes = len(job.places) * job.test.processes
    if world.size != processes:
        raise ToolError(
            f"{world.size} ranks have found one another instead of {processes}; "
            "start them with the mpirun of the MPI that mpi4py was built for"
        )
    group = Group(world, job.test)
    if not group.writes:
        group.serve()
        return 0
    rank = Rank(job, world, group)
    stuck.append(rank.keep_unfinished)
    rank.run()
    group.end()
    return 0


def _end(_number: int, _frame: Optional[FrameType]) -> NoReturn:
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)
    raise Ended


def _abort(
    kind: type[BaseException], error: BaseException, _traceback: Optional[TracebackType]
) -> NoReturn:
    """Exit at once; a rank that waits for MPI to finalize would block all others."""
    if isinstance(error, PlumblineError):
        print(f"plumbline: {error}", file=sys.stderr, flush=True)
        os._exit(error.exit_code)
    if isinstance(error, ModuleNotFoundError) and error.name == "mpi4py":
        print(
            f"plumbline: {sys.executable} has no mpi4py; install python3-mpi4py, or name another "
            "Python with --python",
            file=sys.stderr,
            flush=True,
        )
        os._exit(ToolError.exit_code)
    if kind is not Ended:
        sys.__excepthook__(kind, error, _traceback)
    sys.stderr.flush()
    os._exit(1)


def _parents() -> tuple[int, int]:
    """Return the parent process, and its own parent if it is only a wrapper.

    ``setsid`` wraps the ranks of launchers that would otherwise kill them at once.
    """
    parent = os.getppid()
    with suppress(OSError):
        # proc(5): "pid (name) state ppid ..."
        name, _, fields = Path(f"/proc/{parent}/stat").read_text(encoding="utf-8").rpartition(")")
        if name.endswith("(setsid"):
            return parent, int(fields.split()[1])
    return parent, 0


def _watch_launcher() -> list[Callable[[], None]]:
    """Start a thread that ends this rank when its launcher has died.

    If the rank does not end at once, because it waits for a slow target in a call that ignores
    signals, the functions in the returned list are called first.
    """
    parents = _parents()
    stuck: list[Callable[[], None]] = []

    def watch() -> None:
        timer = threading.Event()
        while _parents() == parents:
            timer.wait(_LOOK_S)
        # first SIGTERM, as from the launcher, so the rank can write its results
        os.kill(os.getpid(), signal.SIGTERM)
        timer.wait(_STUCK_S)
        for keep in stuck:
            with suppress(OSError):
                keep()
        timer.wait(_LAST_S)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
    return stuck


if __name__ == "__main__":
    sys.exit(main(sys.argv))
