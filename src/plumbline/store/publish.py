"""Publish the snapshot and the verdict files of a node.

Each file is replaced atomically, so that a check reads the old or the new one, never a part.

The owner of the parent folder could replace the verdicts' folder by a link.  Hence it is opened
without following links, checked, and used only through the open descriptor.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE
from typing import Any, Callable, Collection, Iterable, Iterator, Mapping, Optional

from plumbline.model.codec import compact
from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.evidence import Evidence, Subject
from plumbline.model.published import Published
from plumbline.model.record import Record
from plumbline.model.series import Series, Snapshot
from plumbline.model.validation import read_json
from plumbline.model.verdict_files import MAX_BYTES, stamp
from plumbline.observe.folders import UnsafeError
from plumbline.store.database import keep_owner
from plumbline.store.files import READERS, load, seal
from plumbline.store.history import History
from plumbline.store.recent import Groups, Recent
from plumbline.store.replacing import replace, writing
from plumbline.store.verdicts import VERDICT_REMEDY as REMEDY

_LOCK_WAIT_S = 30.0
_KEPT = ("form", "unnamed")
"""Details of a record that checks need."""


Weigh = Callable[[Recent], Mapping[Subject, Evidence]]
"""Returns the evidence of the last runs for components and groups."""


class Publisher:
    """Writes the snapshot of one history; ``groups`` has the expected components and their peers.

    ``then`` is called with each written snapshot, before another process can write the next one.
    """

    locks = ""
    """Folder of the locks of this run, for the snapshot; empty for the usual one."""

    def __init__(
        self,
        history: History,
        path: Path,
        host: str,
        groups: Groups,
        then: Callable[[Snapshot], object] = lambda _snapshot: None,
    ) -> None:
        self._then = then
        self._history = history
        self._path = path
        self._host = host
        self._groups = groups
        self._recent: Optional[Recent] = None

    def __call__(self, now: float, weigh: Optional[Weigh] = None) -> Snapshot:
        """Write and return the snapshot at the wall clock's ``now``, as :meth:`build` does.

        Raises:
            StoreError: it cannot be written, or the history cannot be read.
        """
        # the lock includes reading: of two runs that end together, the second must see both
        with writing(self._path), _locked(self._path.with_suffix(".lock")):
            snapshot = self.build(now, weigh)
            replace(self._path, seal(compact(snapshot)), group=READERS)
            self._then(snapshot)
            return snapshot

    def build(self, now: float, weigh: Optional[Weigh] = None) -> Snapshot:
        """Return the snapshot of the history.

        With ``weigh``, at the end of a run, the evidence of the last runs is computed and stored
        first; without it, the stored evidence is used.
        """
        recent = self._recent = Recent(self._history, self._groups, self._recent)
        if weigh:
            self._history.keep_evidence(weigh(recent))
        all_evidence = self._history.evidence()
        groups = {
            f"{layer}/{name}": entry._asdict()
            for (layer, name, is_group), entry in all_evidence.items()
            if is_group
        }
        series: dict[str, Mapping[str, Any]] = {}
        for layer, component in self._groups:
            operations = [operation_entry(entry) for entry in recent.of(layer, component)]
            evidence = all_evidence.get((layer, component, False))
            if operations:
                series[f"{layer}/{component}"] = {
                    "evidence": evidence and evidence._asdict(),
                    "operations": operations,
                }
        return Snapshot(self._host, now, recent.running, groups, series, self.locks)


def operation_entry(series: Series) -> dict[str, Any]:
    """Return a series in the form of a snapshot."""
    return {"latest": _light(series.latest).to_json(), "samples": tuple(series.samples)}


def _light(record: Record) -> Record:
    """Return the record without the parts that no check reads: profile, ranks, argv, spec."""
    tool = record.tool and record.tool._replace(argv=())
    details = {
        key: record.details[key] for key in _KEPT if record.details and key in record.details
    }
    return record._replace(profile=(), tool=tool, spec=None, details=details or None)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock file; raise StoreError if another process keeps it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o640)
    try:
        keep_owner(path)
        deadline = time.monotonic() + _LOCK_WAIT_S
        while not _try_lock(descriptor):
            if time.monotonic() > deadline:
                raise StoreError(
                    f"another process has kept {path} locked for {_LOCK_WAIT_S:.0f} s; "
                    f"find it with: fuser {path}"
                )
            time.sleep(0.05)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


_MODE = 0o751
"""Checks may enter the folder but not list it; each file has its own permissions."""
_OTHERS_WRITE = 0o022
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NO_CONTENT = ("crc32", "judged_at", "ahead")


class VerdictFiles:
    """The verdict files of a node; remembers those that this process has written or read."""

    def __init__(self, folder: Path) -> None:
        """Start without any remembered file."""
        self._folder = folder
        self._seen: dict[str, tuple[Published, str]] = {}

    def write(self, verdicts: Iterable[Published]) -> int:
        """Write the changed verdicts and return their number; remove obsolete files.

        Raises:
            StoreError: they cannot be written, or other users could replace them.
        """
        try:
            with _opened(self._folder) as folder:
                by_file = {verdict.file: verdict for verdict in verdicts}
                written = [
                    name for name, verdict in by_file.items() if self._write(folder / name, verdict)
                ]
                _remove_obsolete(folder, by_file)
        except OSError as error:
            reason = str(error) if isinstance(error, UnsafeError) else os.strerror(error.errno or 0)
            raise StoreError(
                f"verdicts in {self._folder} cannot be written: {reason}; see that "
                f"{self._folder.parent} has space and belongs to the user plumbline"
            ) from error
        return len(written)

    def _write(self, path: Path, published: Published) -> bool:
        """Write a verdict unless the file differs only in the time of judging."""
        # fast path: most of a node's hundreds of verdicts have not changed
        if (published, _stamp(path)) == self._seen.get(path.name):
            return False
        text = compact(published)
        changed = _content(_existing(path)) != _content(read_json(text))
        if changed:
            replace(path, seal(text), mode=0o640, group=READERS)
        self._seen[path.name] = published, _stamp(path)
        return changed


def _stamp(path: Path) -> str:
    """Return the stamp of the current file at a path, empty if there is none."""
    try:
        return stamp(os.lstat(path))
    except FileNotFoundError:
        return ""


def _content(raw: Optional[dict[str, object]]) -> Optional[dict[str, object]]:
    return raw and {key: value for key, value in raw.items() if key not in _NO_CONTENT}


def _existing(path: Path) -> Optional[dict[str, object]]:
    """Return the content of a verdict file; None if it is missing or damaged."""
    try:
        return load(str(path), "verdict", REMEDY, MAX_BYTES)
    except DocumentError:
        return None


def _remove_obsolete(path: Path, names: Collection[str]) -> None:
    """Remove the verdicts of services that the node no longer has."""
    for name in os.listdir(path):
        if name.endswith(".json") and name not in names and not name.startswith("."):
            with suppress(FileNotFoundError):
                os.unlink(path / name)


@contextmanager
def _opened(folder: Path) -> Iterator[Path]:
    """Open the folder, creating it if missing; yield a path that nobody can replace."""
    above = os.open(folder.parent, _FOLDER)
    try:
        descriptor = _enter(above, folder)
        try:
            _check(descriptor, above, folder)
            yield Path(f"/proc/self/fd/{descriptor}")
        finally:
            os.close(descriptor)
    finally:
        os.close(above)


def _enter(above: int, folder: Path) -> int:
    created = False
    with suppress(FileExistsError):
        os.mkdir(folder.name, 0o700, dir_fd=above)
        created = True
    try:
        descriptor = os.open(folder.name, _FOLDER | os.O_NOFOLLOW, dir_fd=above)
    except NotADirectoryError:
        raise UnsafeError("it is not a folder, and plumbline follows no links: remove it") from None
    # the owner of the folder above may have exchanged it for one with files of root
    if created and not os.listdir(descriptor):
        os.fchmod(descriptor, _MODE)
        if os.geteuid() == 0:
            owner = os.fstat(above)
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor


def _check(descriptor: int, above: int, folder: Path) -> None:
    """Refuse a folder in which users other than its rightful writers may replace files."""
    status = os.fstat(descriptor)
    if status.st_uid not in (0, os.geteuid(), os.fstat(above).st_uid):
        raise UnsafeError(f"it belongs to user id {status.st_uid}: see who made it, and remove it")
    if S_IMODE(status.st_mode) & _OTHERS_WRITE:
        raise UnsafeError(f"others may write to it: run chmod go-w {folder}")
