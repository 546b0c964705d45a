"""Read the two documents of a node, expectations and snapshot, for the checks and ``judge``.

Neither is believed blindly: a link, a file that anybody may write, one that belongs to a stranger,
or one that was cut short is refused with the remedy.
"""

from __future__ import annotations

import errno
import os
import stat

from plumbline.errors import DocumentError
from plumbline.model.expectation import Expectations
from plumbline.model.json_text import read_json
from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.model.series import Running, Snapshot
from plumbline.store.excerpt import entry_alone, series_alone
from plumbline.store.sealed import refuse_changed
from plumbline.units import format_bytes, format_size

if TYPE_CHECKING:
    from typing import Any, NoReturn, Optional

EXPECTATIONS = "/etc/plumbline/expectations.json"
SNAPSHOT = "/var/lib/plumbline/snapshot.json"

MOST_BYTES = 64 << 20
"""Of a document that a check reads: a node with 10,000 targets has a snapshot of 50 MB."""

_DEPLOY = "deploy the role agent again"
_PROBE = "run a probe to write it, for example: systemctl start plumbline-ost.service"


def load_expectations(
    path: str = EXPECTATIONS, only: Optional[tuple[str, str]] = None
) -> Expectations:
    """Return what this node measures.

    With ``only``, a layer and a component, the other entries are left out where that can be done
    without parsing them: a check of one target then takes no longer on a node with many.

    Raises:
        DocumentError: naming file and remedy.
    """
    text = read(path, "expectations", _DEPLOY)
    raw = entry_alone(text, *only) if only else None
    return Expectations.from_json(parse(text, path, _DEPLOY) if raw is None else raw)


def load_snapshot(path: str = SNAPSHOT, only: Optional[tuple[str, str]] = None) -> Snapshot:
    """Return what this node has measured; ``only`` and errors as of ``load_expectations``."""
    data = read_bytes(path, "snapshot", _PROBE)
    refuse_changed(data, f"snapshot {path}", _PROBE)
    text = _decoded(data, path, "snapshot", _PROBE)
    raw = series_alone(text, *only) if only else None
    snapshot = Snapshot.from_json(parse(text, path, _PROBE) if raw is None else raw)
    return snapshot._replace(running=tuple(map(settled, snapshot.running)))


def settled(running: Running) -> Running:
    """Return what runs on this node, as interrupted where nothing of it is left."""
    if running.interrupted or running.process is None:
        return running
    # most checks find nothing that runs and do not need it
    from plumbline.run.process import lives

    return running._replace(interrupted=not lives(running.process))


def read(path: str, what: str, remedy: str, most: int = MOST_BYTES) -> str:
    """Return the text of a document of at most ``most`` bytes.

    Raises:
        DocumentError: there is none that can be trusted.
    """
    return _decoded(read_bytes(path, what, remedy, most), path, what, remedy)


def read_bytes(path: str, what: str, remedy: str, most: int = MOST_BYTES) -> bytes:
    """Return a document as it lies in its file; raise as ``read`` does."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            _trust(status, os.stat(os.path.dirname(path) or "."), path, what)
            # a file may have no end, or hold nothing for a terabyte: its size is asked first
            data = file.read(most + 1) if status.st_size <= most else b""
    except OSError as error:
        _refuse(error, path, what, remedy)
    if max(status.st_size, len(data)) > most:
        raise DocumentError(
            f"{what} {path}: {format_bytes(max(status.st_size, len(data)))} are more than "
            f"plumbline writes ({format_size(most)} at most); {remedy}"
        )
    return data


def _decoded(data: bytes, path: str, what: str, remedy: str) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError(f"{what} {path} are not text ({error.reason}); {remedy}") from error
    if not text.strip():
        raise DocumentError(f"{what} {path}: the file is empty; {remedy}")
    return text


def _refuse(error: OSError, path: str, what: str, remedy: str) -> NoReturn:
    if error.errno == errno.ENOENT:
        text = f"{what} {path}: no such file; {remedy}"
    elif error.errno == errno.EACCES:
        who = f"not readable by user id {os.geteuid()}"
        text = f"{what} {path}: {who}; add it to the group plumbline-checks"
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


def parse(text: str, path: str, remedy: str) -> Any:
    """Return what a JSON document says; raise DocumentError when it is damaged."""
    try:
        return read_json(text)
    except ValueError as error:
        raise DocumentError(f"{path} is damaged ({error}); {remedy}") from error
