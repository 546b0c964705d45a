"""Short queries of the system; without an answer, or after a refusal, nothing is measured.

Tools in the locale C print the messages of strerror(3).  Block devices return the errors in the
kernel's block/blk-core.c (blk_errors): ENODATA is a medium error, EREMOTEIO a target error, ENOLINK
a transport error, ETIMEDOUT a time-out, EILSEQ a failed protection check.  Network file systems
return ESTALE, ENOTCONN, ESHUTDOWN and EHOSTDOWN.  EUCLEAN and EBADMSG mean a damaged file system,
EROFS one that became read-only.
"""

from __future__ import annotations

import errno
import re
from typing import Callable, Optional, Sequence

from plumbline.model.command import CommandRunner, Completed, Within, lines
from plumbline.model.errors import BrokenTarget, DisturbedTarget, SkipTarget

_MESSAGES = {
    errno.EIO: "Input/output error",
    errno.ENXIO: "No such device or address",
    errno.ENODEV: "No such device",
    errno.EROFS: "Read-only file system",
    errno.ENODATA: "No data available",
    errno.ENOLINK: "Link has been severed",
    errno.EBADMSG: "Bad message",
    errno.EILSEQ: "Invalid or incomplete multibyte or wide character",
    errno.ENOTCONN: "Transport endpoint is not connected",
    errno.ESHUTDOWN: "Cannot send after transport endpoint shutdown",
    errno.ETIMEDOUT: "Connection timed out",
    errno.EHOSTDOWN: "Host is down",
    errno.ESTALE: "Stale file handle",
    errno.EUCLEAN: "Structure needs cleaning",
    errno.EREMOTEIO: "Remote I/O error",
    errno.ENOMEDIUM: "No medium found",
}
_STORAGE_ERROR = re.compile(
    "|".join(map(re.escape, _MESSAGES.values()))
    # sense keys of SCSI, as sg3_utils names them (sg_lib_data.c)
    + r"|\bmedium (?:or hardware )?error\b|\bhardware error\b",
    re.IGNORECASE,
)
_NO_SPACE = "No space left on device"
_DAEMON_GONE = "Transport endpoint is not connected"


def breaks(text: str, number: int = 0) -> bool:
    """Return whether a text or an error number reports broken storage."""
    return number in _MESSAGES or _STORAGE_ERROR.search(text) is not None


def lacks_space(text: str, number: int = 0) -> bool:
    """Return whether a text or an error number reports that no space is left."""
    return number == errno.ENOSPC or _NO_SPACE in text


def is_dead(text: str) -> bool:
    """Return whether a text reports a mount whose daemon is gone."""
    return _DAEMON_GONE in text


QUICK_S = 10.0
"""Seconds in which a healthy system answers."""

SLOW_S = 60.0
"""For creating and removing files, which may wait for other servers."""

QUESTIONS = frozenset(
    ("cat", "find", "getent", "getfattr", "lctl", "lfs", "lsblk", "realpath", "rm", "rmdir")
    + ("stat", "test", "touch", "truncate", "folders")
)
"""Programs that query targets and create files; all others move a target's bytes.

``folders`` opens the working folder of any of them, see ``PROGRAM``."""


def ask(
    run: CommandRunner,
    argv: Sequence[str],
    timeout_s: float = QUICK_S,
    within: Optional[Within] = None,
    *,
    own: bool = False,
) -> str:
    """Return the output of a command; raise SkipTarget with its own message if it fails.

    For the ``own`` file or device of a target, raise BrokenTarget for an I/O error.
    """
    completed = run(argv, timeout_s, within)
    if not completed.ok:
        raise objection(completed, own=own, within=within)
    return completed.stdout


def objection(completed: Completed, *, own: bool, within: Optional[Within] = None) -> SkipTarget:
    """Return the error of a failed command; ``own``: its file or device belongs to one target."""
    answered = not completed.timed_out and not completed.hung
    kind = SkipTarget
    if answered and breaks(completed.stderr):
        kind = BrokenTarget if own else DisturbedTarget
    return kind(complaint(completed, within))


def complaint(completed: Completed, within: Optional[Within] = None) -> str:
    """Return one line on a failed command: the command, its folder, and its message."""
    place = f" in {within.path}" if within else ""
    called = " ".join(completed.argv) + place
    if completed.timed_out or completed.hung:
        stuck = " and cannot be ended: it is stuck in the kernel" if completed.hung else ""
        return f"{called} gave no answer in {completed.seconds:.0f} s{stuck}"
    output = lines(completed.stderr) or lines(completed.stdout) or ["without a word"]
    reason = reason_of(completed)
    if reason and completed.argv[0].rpartition("/")[2] in _ABOUT_FILES:
        # a person needs the file and the reason, not the command
        subject = output[-1].split(": ")[-2:-1] or [called]
        return f"{subject[0]}: {reason}{place if subject[0].find('/') < 0 else ''}"
    return f"{called} failed with exit code {completed.exit_code}: {output[-1]}"


_ABOUT_FILES = frozenset(("cat", "find", "realpath", "rm", "rmdir", "stat", "touch", "truncate"))
_REFUSALS = (
    "No such file or directory",
    "Not a directory",
    "Operation not permitted",
    "Permission denied",
    "Read-only file system",
    "Too many levels of symbolic links",
)


def reason_of(completed: Completed) -> str:
    """Return the system's reason for refusing a command, empty if it gave none."""
    output = lines(completed.stderr)
    reason = output[-1].rpartition(": ")[2] if output else ""
    return reason if reason in _REFUSALS else ""


NEEDS_DEBUGFS = (
    "Lustre keeps it in debugfs, which this user may not enter; set agent_lustre_capabilities of "
    "the role agent to [CAP_DAC_READ_SEARCH]"
)

# Through the folder: test(1) uses access(2), which ignores a user's capabilities.
_INSIDE = "/sys/kernel/debug/."


def debugfs_is_closed(run: Callable[[Sequence[str], float], Completed]) -> bool:
    """Return whether debugfs is closed to this process, in spite of its capabilities."""
    return "Permission denied" in run(["stat", "--format=%n", _INSIDE], QUICK_S).stderr
