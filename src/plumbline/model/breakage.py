"""I/O errors by which broken storage shows: their numbers and the kernel's words for them.

What a tool prints in the locale C are the words of strerror(3).  Which of them a block device gives
is in the kernel's block/blk-core.c (blk_errors): ENODATA is a medium error, EREMOTEIO an error of
the target, ENOLINK one of the transport, ETIMEDOUT a time-out, EILSEQ a failed protection check.
ESTALE, ENOTCONN, ESHUTDOWN and EHOSTDOWN are those of network file systems, EUCLEAN and EBADMSG say
that a file system found itself damaged, EROFS that it gave up writing.
"""

from __future__ import annotations

import errno
import re

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


def breaks(said: str, number: int = 0) -> bool:
    """Return whether words, or an error number, are those of broken storage."""
    return number in _WORDS or _SAID.search(said) is not None


def lacks_space(said: str, number: int = 0) -> bool:
    """Return whether words, or an error number, say that no space is left."""
    return number == errno.ENOSPC or _NO_SPACE in said


def is_dead(said: str) -> bool:
    """Return whether words are those of a mount whose daemon is gone."""
    return _DEAD in said
