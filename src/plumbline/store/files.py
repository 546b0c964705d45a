"""Documents on disk: paths, accepted owners, checksums.

The checksum is the first member of a document, which stays plain JSON; a document without one is
accepted.  Newlines after the document do not count.

Refused with a remedy: links, world-writable files, files of other users, and truncated files.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Any, NoReturn, Optional, TypeVar
from zlib import crc32

from plumbline.model import verdict_files
from plumbline.model.codec import FORMS, read_document
from plumbline.model.errors import DocumentError
from plumbline.model.units import format_bytes, format_size
from plumbline.model.validation import Each, read_json

T = TypeVar("T")


_GROWTH_BYTES = 1 << 20
"""Room for a file that grows while it is read; it is refused as damaged if it grows by more."""

STATE = "/var/lib/plumbline"
"""State folder of a node: history, snapshot, verdicts, symptoms."""

DATABASE = "history.sqlite"
SNAPSHOT_FILE = "snapshot.json"
VERDICTS_FOLDER = "verdicts"
EXPECTATIONS = verdict_files.EXPECTATIONS
SNAPSHOT = "/var/lib/plumbline/snapshot.json"
VERDICTS = verdict_files.VERDICTS

READERS = "plumbline-checks"
"""The group of users that run checks, created by the role agent."""

LOCKS = "/run/plumbline"

HISTORY = "/var/lib/plumbline-console/history.sqlite"
"""History of a whole site."""

PLAN = "/etc/plumbline-console/plan.json"

COMMANDS = "/etc/plumbline/symptom-commands.json"
"""The site's own commands; the role symptoms writes the file even without any."""


def own_state() -> str:
    """Return the folder of what plumbline keeps for this user, where nothing is deployed."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(base, "plumbline")


_KEY = b'"crc32"'
_HEAD = b'{"crc32":"'
_DIGITS = 8
_BODY = len(_HEAD) + _DIGITS + 1
"""Offset at which the checksummed text begins: the comma after the checksum."""


def seal(text: str) -> str:
    """Add the checksum to the front of a JSON object that is not empty."""
    body = f",{text.strip()[1:]}"
    return f'{_HEAD.decode()}{crc32(body.encode()):08x}"{body}'


def _refuse_changed(data: bytes, what: str, remedy: str) -> None:
    """Raise DocumentError if a document changed after it was sealed."""
    if _KEY not in data[: len(_HEAD) + len(_KEY)]:
        return
    digits = data[len(_HEAD) : _BODY - 1]
    checksum = b"%08x" % crc32(memoryview(data.rstrip(b"\r\n"))[_BODY:])
    if not data.startswith(_HEAD) or digits != checksum:
        raise DocumentError(f"{what} is damaged (its checksum does not match); {remedy}")


MAX_BYTES = 64 << 20
"""Limit of a document: a node with 10,000 targets has a snapshot of 50 MB."""


def load(
    path: str, what: str, remedy: str, most: int = MAX_BYTES, each: Optional[Each] = None
) -> dict[str, Any]:
    """Return the JSON object in a file of at most ``most`` bytes; ``each`` as for ``read_json``.

    Raises:
        DocumentError: it is missing, not trusted or damaged; ``what`` names it in the message.
    """
    data = read_bytes(path, what, remedy, most)
    _refuse_changed(data, f"{what} {path}", remedy)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError(f"{what} {path} are not text ({error.reason}); {remedy}") from error
    if not text or text.isspace():
        raise DocumentError(f"{what} {path}: the file is empty; {remedy}")
    # the objects of a large document need the memory
    del data
    return parse(text, path, remedy, each)


def load_document(
    kind: type[T], path: str, most: int = MAX_BYTES, each: Optional[Each] = None
) -> T:
    """Return the document in a file; raise DocumentError as ``load`` does."""
    form = FORMS[kind]
    raw = load(path, form.noun, form.remedy, most, each)
    return read_document(kind, raw, f"{form.noun} {path}")


def read_bytes(path: str, what: str, remedy: str, most: int) -> bytes:
    """Return the content of a file; raise DocumentError as ``load`` does."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            _trust(status, os.stat(os.path.dirname(path) or "."), path, what)
            # check the size first: a file may be endless, or a terabyte of zeros; and ask for
            # little more than it, since Python reserves memory for all that it is asked for
            room = min(most, status.st_size + _GROWTH_BYTES) + 1
            data = file.read(room) if status.st_size <= most else b""
    except OSError as error:
        refuse(error, path, what, remedy)
    if max(status.st_size, len(data)) > most:
        raise DocumentError(
            f"{what} {path}: {format_bytes(max(status.st_size, len(data)))} are more than "
            f"plumbline writes ({format_size(most)} at most); {remedy}"
        )
    return data


def _permitted(path: str) -> bool:
    """Return whether a file's permissions allow reading, so that something else prevents it."""
    try:
        status = os.stat(path)
    except OSError:
        # stat fails in spite of access to the folder only under SELinux
        return os.access(os.path.dirname(path), os.X_OK)
    in_group = status.st_gid in (os.getegid(), *os.getgroups())
    return bool(status.st_mode & (0o040 if in_group else 0o004))


def refuse(error: OSError, path: str, what: str, remedy: str) -> NoReturn:
    """Raise DocumentError with the system's reason for refusing a document."""
    if error.errno == errno.ENOENT:
        # what was never there is not written again
        text = f"{what} {path}: no such file; {remedy.replace(' again', '')}"
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
    """Refuse a file that may come from another user than its rightful writers.

    These are root, the caller, and the owner of the folder, who could replace the file anyway: for
    the snapshot the user plumbline, found without a query to a directory service.
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


def parse(text: str, path: str, remedy: str, each: Optional[Each] = None) -> dict[str, Any]:
    """Parse a document as a JSON object; raise DocumentError if it is damaged."""
    try:
        raw = read_json(text, each)
        if not isinstance(raw, dict):
            raise ValueError("no JSON object")
    except ValueError as error:
        raise DocumentError(f"{path} is damaged ({error}); {remedy}") from error
    return raw
