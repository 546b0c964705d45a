"""Short questions to the system; no answer, or a refusal, means: do not measure.

Tools in the locale C print the words of strerror(3).  Which of them a block device gives
is in the kernel's block/blk-core.c (blk_errors): ENODATA is a medium error, EREMOTEIO an error of
the target, ENOLINK one of the transport, ETIMEDOUT a time-out, EILSEQ a failed protection check.
ESTALE, ENOTCONN, ESHUTDOWN and EHOSTDOWN are those of network file systems, EUCLEAN and EBADMSG say
that a file system found itself damaged, EROFS that it gave up writing.
"""

from __future__ import annotations

import errno
import re
from typing import Callable, Optional, Sequence

from plumbline.model.command import CommandRunner, Completed, Within, lines
from plumbline.model.errors import BrokenTarget, DisturbedTarget, SkipTarget

_WORDS = {
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
_SAID = re.compile(
    "|".join(map(re.escape, _WORDS.values()))
    # sense keys of SCSI, as sg3_utils names them (sg_lib_data.c)
    + r"|\bmedium (?:or hardware )?error\b|\bhardware error\b",
    re.IGNORECASE,
)
_NO_SPACE = "No space left on device"
_DEAD = "Transport endpoint is not connected"


def breaks(words: str, number: int = 0) -> bool:
    """Return whether words, or an error number, are those of broken storage."""
    return number in _WORDS or _SAID.search(words) is not None


def lacks_space(words: str, number: int = 0) -> bool:
    """Return whether words, or an error number, say that no space is left."""
    return number == errno.ENOSPC or _NO_SPACE in words


def is_dead(words: str) -> bool:
    """Return whether words are those of a mount whose daemon is gone."""
    return _DEAD in words


QUICK_S = 10.0
"""Seconds in which a healthy system answers."""

SLOW_S = 60.0
"""For what creates or removes: it may wait for other servers."""

QUESTIONS = frozenset(
    ("cat", "find", "getent", "getfattr", "lctl", "lfs", "realpath", "rm", "rmdir")
    + ("stat", "test", "touch", "truncate", "folders")
)
"""The programs by which targets are asked and files made; all others move a target's bytes.

``folders`` opens the folder that any of them works in, see ``PROGRAM``."""


def ask(
    run: CommandRunner,
    argv: Sequence[str],
    timeout_s: float = QUICK_S,
    within: Optional[Within] = None,
) -> str:
    """Return what a command prints; raise SkipTarget in its own words unless it succeeds."""
    completed = run(argv, timeout_s, within)
    if not completed.ok:
        raise objection(completed, own=False, within=within)
    return completed.stdout


def ask_own(run: CommandRunner, argv: Sequence[str]) -> str:
    """Do the same with what lies on one target alone; raise BrokenTarget for an I/O error there."""
    completed = run(argv, QUICK_S)
    if not completed.ok:
        raise objection(completed, own=True)
    return completed.stdout


def objection(completed: Completed, *, own: bool, within: Optional[Within] = None) -> SkipTarget:
    """Return the error of a command on a target's file or device, its own or shared with others."""
    answered = not completed.timed_out and not completed.hung
    kind = SkipTarget
    if answered and breaks(completed.stderr):
        kind = BrokenTarget if own else DisturbedTarget
    return kind(complaint(completed, within))


def complaint(completed: Completed, within: Optional[Within] = None) -> str:
    """Return in one line what a command that did not succeed was, where, and said."""
    place = f" in {within.path}" if within else ""
    called = " ".join(completed.argv) + place
    if completed.timed_out or completed.hung:
        stuck = " and cannot be ended: it is stuck in the kernel" if completed.hung else ""
        return f"{called} gave no answer in {completed.seconds:.0f} s{stuck}"
    output = lines(completed.stderr) or lines(completed.stdout) or ["without a word"]
    reason = reason_of(completed)
    if reason and completed.argv[0].rpartition("/")[2] in _ABOUT_FILES:
        # what a person would be told about the file, and not how it was looked at
        what = output[-1].split(": ")[-2:-1] or [called]
        return f"{what[0]}: {reason}{place if what[0].find('/') < 0 else ''}"
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
    """Return why the system refused a command that did not succeed, empty where it did not say."""
    output = lines(completed.stderr)
    reason = output[-1].rpartition(": ")[2] if output else ""
    return reason if reason in _REFUSALS else ""


NEEDS_DEBUGFS = (
    "Lustre keeps it in debugfs, which this user may not enter; set agent_lustre_capabilities of "
    "the role agent to [CAP_DAC_READ_SEARCH]"
)

# Through the folder: test(1) asks access(2), which leaves capabilities of a user out.
_INSIDE = "/sys/kernel/debug/."


def debugfs_is_closed(run: Callable[[Sequence[str], float], Completed]) -> bool:
    """Return whether this process, with all its capabilities, may not enter debugfs."""
    return "Permission denied" in run(["stat", "--format=%n", _INSIDE], QUICK_S).stderr
