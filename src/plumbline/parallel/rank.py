"""One rank of a parallel run: ``mpirun ... python3 -m plumbline.parallel.rank JOBFILE``.

Whatever happens, every rank that can leaves a file for each operation; see :mod:`.job`.
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

from plumbline.model.errors import PlumblineError, ToolError
from plumbline.model.validation import read_json
from plumbline.parallel.job import Job
from plumbline.parallel.operation import Ended

_ENDING = (signal.SIGTERM, signal.SIGUSR1)
"""From Open MPI and Slurm the one, from MPICH the other when a rank has died, on any client."""

_LOWEST = 19
_LOOK_S = 0.2
_STUCK_S = 0.2
"""Both together are short against the second after which PMIx ends a rank that lost its server."""
_LAST_S = 4.0


def main(argv: list[str]) -> int:
    """Take part in a run; return 0 when all results of this rank are kept."""
    for number in _ENDING:
        signal.signal(number, _end)
    sys.excepthook = _abort
    # a launcher hands its own priority on, but not to other hosts
    os.nice(_LOWEST)
    stuck = _watch_launcher()
    # where mpi4py is missing there is something by now that says so
    from plumbline.parallel.mpi import Group, Rank, World

    world = World()
    text = Path(argv[1]).read_text(encoding="utf-8") if world.rank == 0 else ""
    job = Job.from_json(read_json(world.from_first(text)))
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
    """End at once; a rank that waits for MPI to finalize would block all others."""
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
    """Return the process that started this rank, and its parent if it is only a wrapper.

    A launcher that would kill its ranks at once does not have them as its own children.
    """
    parent = os.getppid()
    with suppress(OSError):
        # proc(5): "pid (name) state ppid ..."
        name, _, rest = Path(f"/proc/{parent}/stat").read_text(encoding="utf-8").rpartition(")")
        if name.endswith("(setsid"):
            return parent, int(rest.split()[1])
    return parent, 0


def _watch_launcher() -> list[Callable[[], None]]:
    """End this rank when its launcher is gone: a killed mpirun must leave no writer.

    What is in the list that is returned is called first where the rank does not end at once: it
    waits for a slow target, in a call that no signal ends.
    """
    parents = _parents()
    stuck: list[Callable[[], None]] = []

    def watch() -> None:
        never = threading.Event()
        while _parents() == parents:
            never.wait(_LOOK_S)
        # first as the launcher would have done it, so that what was measured is written down
        os.kill(os.getpid(), signal.SIGTERM)
        never.wait(_STUCK_S)
        for keep in stuck:
            with suppress(OSError):
                keep()
        never.wait(_LAST_S)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
    return stuck


if __name__ == "__main__":
    sys.exit(main(sys.argv))
