"""Time single metadata calls in the working folder; print their rates and times as JSON.

``python3 -IS calls.py OPERATION FILES SECONDS PROOF`` runs the steps of an operation, each call on
another name in a run folder of its own.  SECONDS are shared equally by the steps; a step that
removes takes all names, however long that lasts.  PROOF is JSON, ``null`` or a ``Proof`` of
:mod:`plumbline.model.command`: its commands are called on the run folder and on the first and last
name, outside of the time of any call.
``creation`` creates and removes with a layout, and asks nothing of a file's OST, which may be dead;
``tidy`` calls nothing.

It is a process of its own, because a call on a dead metadata server hangs beyond SIGKILL.  Run
folders of killed runs are removed first: the caller holds the lock of the target, so no run of this
host is alive.  Those of another host are removed when they are old.  A ``creation`` removes none: a
process of the same run may be stuck in the kernel, and its folder would block whoever touches it.
"""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Callable, NoReturn, Optional, Sequence

CREATION, TIDY = "creation", "tidy"
STEPS = {
    "create": ("create", "stat", "open", "unlink"),
    "mknod": ("mknod", "unlink"),
    "unlink": ("mknod", "unlink"),
    "mkdir": ("mkdir", "rmdir"),
    CREATION: ("create", "unlink"),
}
"""Steps of each operation: the first one makes names, the last one removes them."""

MISPLACED = 76
"""Exit code if something was created in another place (sysexits.h, EX_PROTOCOL)."""
NOT_UNDERSTOOD = 65
"""Exit code if a command of the proof prints something else than an index (EX_DATAERR)."""
FAILED = 1

_RUN = re.compile(r"run-(?P<host>.+)-\d+")
_NAME = re.compile(r"[fd]\d{6}")
_INDEX = re.compile(r"-?\d+")
_OLD_S = 3600.0
"""Age at which a run folder of another host is abandoned: no run lasts as long."""
_PROOF_S = 60.0
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class MisplacedError(Exception):
    """Something was created in another place than it should, or its place is not known."""


class NotUnderstoodError(Exception):
    """A command of the proof prints something else than an index."""


def _create(name: str, folder: int) -> None:
    os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600, dir_fd=folder))


def _open(name: str, folder: int) -> None:
    os.close(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder))


def _stat(name: str, folder: int) -> None:
    os.stat(name, dir_fd=folder, follow_symlinks=False)


def _mknod(name: str, folder: int) -> None:
    os.mknod(name, stat.S_IFREG | 0o600, dir_fd=folder)


def _unlink(name: str, folder: int) -> None:
    os.unlink(name, dir_fd=folder)


def _mkdir(name: str, folder: int) -> None:
    os.mkdir(name, 0o700, dir_fd=folder)


def _rmdir(name: str, folder: int) -> None:
    os.rmdir(name, dir_fd=folder)


CALLS: dict[str, Callable[[str, int], None]] = {
    "create": _create,
    "stat": _stat,
    "open": _open,
    "unlink": _unlink,
    "mknod": _mknod,
    "mkdir": _mkdir,
    "rmdir": _rmdir,
}


def measure(operation: str, files: int, seconds: float, proof: Optional[Any]) -> dict[str, Any]:
    """Run the steps of an operation in a new folder and return the figures of each.

    Raises:
        OSError: a call failed; its file name begins with the step.
        MisplacedError: something lies in another place than ``proof`` allows.
        NotUnderstoodError: what its commands print is no index.
    """
    first, *others = STEPS[operation]
    limit_s = seconds / (1 + len(others))
    kind = "d" if first == "mkdir" else "f"
    run = f"run-{os.uname().nodename}-{os.getpid()}"
    os.mkdir(run, 0o700)
    try:
        folder = os.open(run, _FOLDER)
        try:
            _lay_out(proof, run)
            _prove(proof, "folders", [run])
            names = [f"{kind}{number:06d}" for number in range(files)]
            times = {first: _timed(first, names, folder, limit_s)}
            names = names[: len(times[first])]
            of_kind = "folders" if kind == "d" else "files"
            ends = dict.fromkeys((names[0], names[-1]))
            _prove(proof, of_kind, [f"{run}/{name}" for name in ends])
            for step in others:
                limit = float("inf") if step == others[-1] else limit_s
                times[step] = _timed(step, names, folder, limit)
        finally:
            os.close(folder)
    except BaseException:
        # the first error counts
        with suppress(OSError):
            _remove(run)
        raise
    _remove(run)
    return {"steps": {step: _figures(values) for step, values in times.items()}}


def _timed(step: str, names: Sequence[str], folder: int, limit_s: float) -> list[float]:
    """Call a step on each name until the limit; return the seconds of each call, at least one."""
    call, clock = CALLS[step], time.perf_counter
    times: list[float] = []
    end = clock() + limit_s
    for name in names:
        start = clock()
        try:
            call(name, folder)
        except OSError as error:
            error.filename = f"{step} of {name}"
            raise
        now = clock()
        times.append(now - start)
        if now > end:
            break
    return times


def _figures(times: Sequence[float]) -> dict[str, float]:
    """Return number and total of calls, and mean, median, 99th percentile and maximum."""
    ordered, number = sorted(times), len(times)
    return {
        "calls": number,
        "seconds": sum(ordered),
        "mean": sum(ordered) / number,
        "p50": ordered[(number - 1) // 2],
        # nearest rank
        "p99": ordered[-(-99 * number // 100) - 1],
        "max": ordered[-1],
    }


def _lay_out(proof: Optional[Any], run: str) -> None:
    for argv in proof["layout"] if proof else ():
        done = _called([*argv, run])
        if done.returncode:
            raise MisplacedError(f"{' '.join(argv)} {run}: {done.stderr.strip()[:200] or 'failed'}")


def _called(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    # descriptors stay open: a stuck command keeps the lock of the target
    return subprocess.run(
        argv, capture_output=True, text=True, check=False, timeout=_PROOF_S, close_fds=False
    )


def _prove(proof: Optional[Any], kind: str, names: Sequence[str]) -> None:
    for argv, answers in proof[kind] if proof else ():
        for name in names:
            done, call = _called([*argv, name]), f"{' '.join(argv)} {name}"
            printed = done.stdout.strip()
            if done.returncode:
                reason = " ".join(done.stderr.split())[:200] or f"exit code {done.returncode}"
                raise MisplacedError(f"found no proof of the place: {call}: {reason}")
            if not _INDEX.fullmatch(printed):
                raise NotUnderstoodError(f"{' '.join(argv)} printed {printed[:80]!r}, no index")
            if printed not in answers:
                raise MisplacedError(
                    f"created something in another place: {call} printed {printed!r} instead of "
                    f"{' or '.join(answers)}"
                )


def remove_abandoned(now: float) -> None:
    """Remove the run folders of this host, and old ones of others.

    Raises:
        OSError: one cannot be removed.
    """
    for name in os.listdir("."):
        match = _RUN.fullmatch(name)
        if match is None:
            continue
        with suppress(FileNotFoundError):
            age_s = now - os.lstat(name).st_mtime
            if match["host"] == os.uname().nodename or age_s > _OLD_S:
                _remove(name)


def _remove(run: str) -> None:
    """Remove a run folder with the names of its calls, and nothing else."""
    folder = os.open(run, _FOLDER)
    try:
        for name in filter(_NAME.fullmatch, os.listdir(folder)):
            (_rmdir if name[0] == "d" else _unlink)(name, folder)
    finally:
        os.close(folder)
    os.rmdir(run)


def _end(_number: int, _frame: Optional[FrameType]) -> NoReturn:
    # once: the next signal must not interrupt the removal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise SystemExit(128 + signal.SIGTERM)


def main(argv: Sequence[str]) -> int:
    """Measure, print the figures, and return the exit code."""
    _, operation, files, seconds, proof = argv
    signal.signal(signal.SIGTERM, _end)
    try:
        if operation != CREATION:
            remove_abandoned(time.time())
        if operation == TIDY:
            return 0
        figures = measure(operation, int(files), float(seconds), json.loads(proof))
    except MisplacedError as error:
        print(error, file=sys.stderr)
        return MISPLACED
    except NotUnderstoodError as error:
        print(error, file=sys.stderr)
        return NOT_UNDERSTOOD
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return FAILED
    except subprocess.TimeoutExpired as error:
        print(error, file=sys.stderr)
        return FAILED
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
