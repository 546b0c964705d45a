"""Read the two documents of a node, expectations and snapshot, for the checks and ``judge``.

Neither is believed blindly: a link, a file that anybody may write, one that belongs to a stranger,
or one that was cut short is refused with the remedy.
"""

from __future__ import annotations

import errno
import json
import os
import stat

from plumbline.errors import DocumentError
from plumbline.model.expectation import Expectations
from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.model.series import Running, Snapshot
from plumbline.store.excerpt import entry_alone, refuse_constant, series_alone

if TYPE_CHECKING:
    from typing import Any, NoReturn, Optional

EXPECTATIONS = "/etc/plumbline/expectations.json"
SNAPSHOT = "/var/lib/plumbline/snapshot.json"

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
    text = read(path, "snapshot", _PROBE)
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


def read(path: str, what: str, remedy: str) -> str:
    """Return the text of a document; raise DocumentError when there is none that can be trusted."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(descriptor, "rb") as file:
            _trust(os.fstat(descriptor), os.stat(os.path.dirname(path) or "."), path, what)
            text = file.read().decode("utf-8")
    except OSError as error:
        _refuse(error, path, what, remedy)
    except UnicodeDecodeError as error:
        raise DocumentError(f"{what} {path} are not text ({error.reason}); {remedy}") from error
    if not text.strip():
        raise DocumentError(f"{what} {path}: the file is empty; {remedy}")
    return text


def _refuse(error: OSError, path: str, what: str, remedy: str) -> NoReturn:
    if error.errno == errno.ENOENT:
        text = f"{what} {path}: no such file; {remedy}"
    elif error.errno == errno.EACCES:
        text = (
            f"{what} {path}: not readable by user id {os.geteuid()}; add it to the group plumbline"
        )
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
        return json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"{path} is damaged ({error}); {remedy}") from error
