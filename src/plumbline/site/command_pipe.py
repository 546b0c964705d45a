"""Hand a batch of commands to a running Nagios through its command pipe.

One line goes through the pipe, ``PROCESS_FILE;FILE;1``: Nagios carries out the commands in the file
and deletes it, which shows that it has accepted them.  Nothing here can hang: a pipe without a
reader is refused, and every wait has a limit.

The folder belongs to the user of Nagios, who can exchange everything in it at any moment.  Hence
root writes and removes the file with that user's rights alone.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from pwd import getpwuid
from typing import Callable, Iterator, TypeVar

from plumbline.model.errors import PlumblineError, StoreError, ToolError, UsageError
from plumbline.store.replacing import replace

_PREFIX = "plumbline-batch-"
_ABANDONED_S = 3600.0
_POLL_S = 0.02
_UNUSABLE = set(";\n\r")

_T = TypeVar("_T")


def hand_over(text: str, pipe: Path, spool: Path, wait_s: float) -> None:
    """Make Nagios carry out ``text``, one command per line, and wait until it has done so.

    The file is in ``spool``, where the daemon's user must be able to read and delete it.

    Raises:
        UsageError: Nagios does not accept the path.
        ToolError: no daemon reads the pipe, or takes the file, within ``wait_s`` seconds.
        StoreError: the pipe or the file cannot be written.
    """
    if _UNUSABLE.intersection(str(spool)):
        raise UsageError(f"--spool {str(spool)!r}: Nagios takes no such name; use another folder")
    descriptor = _open(pipe, wait_s)
    try:
        with _as_owner(os.fstat(descriptor)):
            file = _write_batch(text, spool.absolute())
            try:
                _send(descriptor, f"[{time.time():.0f}] PROCESS_FILE;{file};1\n", pipe, wait_s)
                _await_deletion(file, pipe, wait_s)
            finally:
                file.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


@contextmanager
def _as_owner(pipe: os.stat_result) -> Iterator[None]:
    """Give root the rights of the pipe's owner, the user of Nagios, and no others."""
    if os.geteuid() != 0:
        yield
        return
    groups, group = os.getgroups(), os.getegid()
    _become(pipe)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(group)
        os.setgroups(groups)


def _become(pipe: os.stat_result) -> None:
    try:
        os.setgroups(_groups_of(pipe))
        os.setegid(pipe.st_gid)
        os.seteuid(pipe.st_uid)
    except OSError as error:
        raise StoreError(
            f"root may not take the rights of user id {pipe.st_uid}, who owns the pipe: "
            f"{error.strerror}; run as that user"
        ) from error


def _groups_of(pipe: os.stat_result) -> list[int]:
    """Return the groups of the pipe's owner; only that of the pipe if the owner has no name."""
    try:
        owner = getpwuid(pipe.st_uid)
    except KeyError:
        return [pipe.st_gid]
    return os.getgrouplist(owner.pw_name, owner.pw_gid)


def _write_batch(text: str, spool: Path) -> Path:
    """Write a batch into a folder and return its path.

    It appears under its name when complete.  Anybody may read it, like the pages of Nagios.
    """
    _sweep(spool)
    path = spool / f"{_PREFIX}{os.getpid()}-{time.monotonic_ns()}"
    try:
        replace(path, text, mode=0o644)
    except OSError as error:
        raise StoreError(
            f"no batch can be written to {spool}: {error.strerror}; name with --spool a folder "
            "in which you and the user of Nagios may write and delete"
        ) from error
    return path


def _sweep(spool: Path) -> None:
    """Remove batches left by killed calls."""
    for name in (f"{_PREFIX}*", f".{_PREFIX}*"):
        for path in spool.glob(name):
            # the file may belong to another user, or be gone meanwhile
            with suppress(OSError):
                if time.time() - path.lstat().st_mtime > _ABANDONED_S:
                    path.unlink()


def _open(pipe: Path, wait_s: float) -> int:
    """Open the pipe for writing; wait up to ``wait_s`` for it and its reader during a restart."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            descriptor = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError as error:
            may_restart = error.errno in (errno.ENXIO, errno.ENOENT) and pipe.parent.is_dir()
            if not may_restart or time.monotonic() > deadline:
                raise _refusal(error, pipe) from error
            time.sleep(_POLL_S)
            continue
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        raise _refusal(OSError(errno.ELOOP, ""), pipe)


def _refusal(error: OSError, pipe: Path) -> PlumblineError:
    """Return the error for a pipe that cannot be opened, with the remedy."""
    if error.errno == errno.ENXIO:
        return ToolError(
            f"no daemon reads {pipe}; start it (systemctl start nagios4), and see that nagios.cfg "
            "has check_external_commands=1"
        )
    if error.errno == errno.ENOENT:
        return ToolError(
            f"there is no command pipe {pipe}: Nagios makes it when it starts with "
            "check_external_commands=1; start it, or name with --pipe its command_file"
        )
    if error.errno in (errno.ELOOP, errno.EISDIR):
        return ToolError(
            f"{pipe} is no pipe, nothing was written to it; name with --pipe the command_file of "
            "nagios.cfg, and remove a plain file that stands in its place"
        )
    return StoreError(
        f"command pipe {pipe}: {error.strerror} for user id {os.geteuid()}; run as the user of "
        "Nagios, as a member of the pipe's group, or as root"
    )


def _send(descriptor: int, line: str, pipe: Path, wait_s: float) -> None:
    data = os.fsencode(line)
    remedy = f"Nagios does not read {pipe}, which is full; see whether it hangs, and its log"
    try:
        # at most PIPE_BUF bytes, which are written completely or not at all
        _within(wait_s, lambda: os.write(descriptor, data), remedy)
    except BrokenPipeError as error:
        raise ToolError(f"Nagios closed {pipe}; see its log and run again") from error


def _await_deletion(file: Path, pipe: Path, wait_s: float) -> None:
    def gone() -> None:
        if os.path.lexists(file):
            raise BlockingIOError

    _within(
        wait_s,
        gone,
        f"Nagios has not taken {file} within {wait_s:g} s of the word through {pipe}; see its log, "
        "and that its user may read and delete there (--spool)",
    )


def _within(wait_s: float, attempt: Callable[[], _T], trouble: str) -> _T:
    """Repeat an attempt until it does not block; raise ToolError after ``wait_s`` seconds."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            return attempt()
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                raise ToolError(trouble) from error
        time.sleep(_POLL_S)
