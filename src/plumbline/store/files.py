"""Documents on disk: where they lie, whom they may belong to, how damage shows.

A checksum is the first member of a document that stays plain JSON; a document without one is read
as it is. Line ends behind the document do not count.

Documents of other users are not trusted blindly: a link, a file that anybody may write, one that
belongs to a stranger, or one that was cut short is refused with the remedy.
"""

from __future__ import annotations

import errno
import os
import stat
from zlib import crc32

from plumbline.model.errors import DocumentError
from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.model.units import format_bytes, format_size
from plumbline.model.validation import read_json

if TYPE_CHECKING:
    from typing import Any, NoReturn


STATE = "/var/lib/plumbline"
"""Folder of a node: its history, its snapshot, its verdicts, its symptoms."""

DATABASE = "history.sqlite"
SNAPSHOT_FILE = "snapshot.json"
VERDICTS_FOLDER = "verdicts"
EXPECTATIONS = "/etc/plumbline/expectations.json"
SNAPSHOT = "/var/lib/plumbline/snapshot.json"
VERDICTS = "/var/lib/plumbline/verdicts"
"""Folder of the verdicts that checks read."""

READERS = "plumbline-checks"
"""The group of who runs checks, made by the role agent."""

LOCKS = "/run/plumbline"

HISTORY = "/var/lib/plumbline-console/history.sqlite"
"""History of a whole site."""

PLAN = "/etc/plumbline-console/plan.json"


_KEY = b'"crc32"'
_HEAD = b'{"crc32":"'
_DIGITS = 8
_BODY = len(_HEAD) + _DIGITS + 1
"""Place from which the checksum counts: the comma behind it."""


def seal(text: str) -> str:
    """Return a JSON object, not an empty one, with the checksum of its text in front."""
    body = f",{text.strip()[1:]}"
    return f'{_HEAD.decode()}{crc32(body.encode()):08x}"{body}'


def _refuse_changed(data: bytes, what: str, remedy: str) -> None:
    """Raise DocumentError when a document is not what it was when it was sealed."""
    if _KEY not in data[: len(_HEAD) + len(_KEY)]:
        return
    digits = data[len(_HEAD) : _BODY - 1]
    checksum = b"%08x" % crc32(memoryview(data.rstrip(b"\r\n"))[_BODY:])
    if not data.startswith(_HEAD) or digits != checksum:
        raise DocumentError(f"{what} is damaged (its checksum does not match); {remedy}")


MOST_BYTES = 64 << 20
"""Largest document: a node with 10,000 targets has a snapshot of 50 MB."""


def load(path: str, what: str, remedy: str, most: int = MOST_BYTES) -> dict[str, Any]:
    """Return the JSON object in a file of at most ``most`` bytes.

    Raises:
        DocumentError: there is none that can be trusted, or it is damaged; names ``what`` it is.
    """
    data = _read_bytes(path, what, remedy, most)
    _refuse_changed(data, f"{what} {path}", remedy)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError(f"{what} {path} are not text ({error.reason}); {remedy}") from error
    if not text.strip():
        raise DocumentError(f"{what} {path}: the file is empty; {remedy}")
    return parse(text, path, remedy)


def _read_bytes(path: str, what: str, remedy: str, most: int) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            _trust(status, os.stat(os.path.dirname(path) or "."), path, what)
            # a file may have no end, or hold nothing for a terabyte: its size is asked first
            data = file.read(most + 1) if status.st_size <= most else b""
    except OSError as error:
        refuse(error, path, what, remedy)
    if max(status.st_size, len(data)) > most:
        raise DocumentError(
            f"{what} {path}: {format_bytes(max(status.st_size, len(data)))} are more than "
            f"plumbline writes ({format_size(most)} at most); {remedy}"
        )
    return data


def _permitted(path: str) -> bool:
    """Return whether the permissions of a file let this user read it: something else keeps it."""
    try:
        status = os.stat(path)
    except OSError:
        # who may enter the folder may ask for what is in it, but for SELinux
        return os.access(os.path.dirname(path), os.X_OK)
    mine = status.st_gid in (os.getegid(), *os.getgroups())
    return bool(status.st_mode & (0o040 if mine else 0o004))


def refuse(error: OSError, path: str, what: str, remedy: str) -> NoReturn:
    """Raise DocumentError with why the system does not give a document."""
    if error.errno == errno.ENOENT:
        text = f"{what} {path}: no such file; {remedy}"
    elif error.errno == errno.EACCES:
        cause = f"not readable by user id {os.geteuid()}"
        text = f"{what} {path}: {cause}; add it to the group plumbline-checks"
        if _permitted(path):
            text = f"{what} {path}: {cause}, as its permissions allow; label it for SELinux"
    elif error.errno == errno.ELOOP:
        text = f"{what} {path}: a symbolic link is not followed; name the file itself"
    else:
        text = f"{what} {path}: {error.strerror}; {remedy}"
    raise DocumentError(text) from error


def _trust(file: os.stat_result, folder: os.stat_result, path: str, what: str) -> None:
    """Refuse a file that somebody else than its rightful writers may have put there.

    Those are root, the caller, and the owner of the folder, who could replace the file anyway: for
    the snapshot the user plumbline, without asking a directory service who that is.
    """
    if not stat.S_ISREG(file.st_mode):
        raise DocumentError(f"{what} {path}: not a regular file; name the file itself")
    if file.st_mode & stat.S_IWOTH:
        raise DocumentError(f"{what} {path}: anybody may write it; run chmod o-w {path}")
    if file.st_uid not in (0, os.geteuid(), folder.st_uid):
        raise DocumentError(
            f"{what} {path}: belongs to user id {file.st_uid}, neither root, nor the owner of its "
            f"folder, nor the caller; see who wrote it, then run chown plumbline {path}"
        )


def parse(text: str, path: str, remedy: str) -> dict[str, Any]:
    """Return the JSON object that a document says; raise DocumentError when it is damaged."""
    try:
        raw = read_json(text)
        if not isinstance(raw, dict):
            raise ValueError("no JSON object")
    except ValueError as error:
        raise DocumentError(f"{path} is damaged ({error}); {remedy}") from error
    return raw
