"""Snapshot and verdict files of a node, each replaced as a whole.

The file is replaced as a whole, so that a check sees the old or the new one, never a part.

Whoever owns the folder above can put a link in the place of this one, hence it is opened without
links and checked, and all is done within what was opened.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE
from typing import Any, Callable, Collection, Iterable, Iterator, Mapping, Optional

from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.evidence import Evidence, Subject
from plumbline.model.published import Published
from plumbline.model.record import Record
from plumbline.model.series import Series, Snapshot
from plumbline.model.validation import read_json
from plumbline.observe.folders import UnsafeError
from plumbline.store.database import keep_owner
from plumbline.store.files import READERS, load, seal
from plumbline.store.history import History
from plumbline.store.recent import Groups, Recent
from plumbline.store.replacing import replace, writing
from plumbline.store.verdicts import MOST_BYTES, file_name, stamp
from plumbline.store.verdicts import VERDICT_REMEDY as REMEDY

_LOCK_WAIT_S = 30.0
_READ = ("form", "unnamed")
"""Details that checks read."""


Weigh = Callable[[Recent], Mapping[Subject, Evidence]]
"""Finds what the last runs of components and groups say together."""


Then = Callable[[Snapshot], object]


def _nothing(_snapshot: Snapshot) -> None:
    """Do nothing: where no check asks."""


class Publisher:
    """Writes the snapshot of one history; ``groups`` says what is expected and who are peers.

    ``then`` takes each snapshot that was written, before anybody else writes the next one.
    """

    def __init__(
        self, history: History, path: Path, host: str, groups: Groups, then: Then = _nothing
    ) -> None:
        self._then = then
        self._history = history
        self._path = path
        self._host = host
        self._groups = groups
        self._recent: Optional[Recent] = None

    def __call__(self, now: float, weigh: Optional[Weigh] = None) -> Snapshot:
        """Write the snapshot of the wall clock's ``now`` and return it, as :meth:`build` does.

        Raises:
            StoreError: it cannot be written, or the history cannot be read.
        """
        # the lock covers reading too: of two that finish together the later must see both
        with writing(self._path), _locked(self._path.with_suffix(".lock")):
            snapshot = self.build(now, weigh)
            text = json.dumps(snapshot.to_json(), separators=(",", ":"))
            replace(self._path, seal(text), group=READERS)
            self._then(snapshot)
            return snapshot

    def build(self, now: float, weigh: Optional[Weigh] = None) -> Snapshot:
        """Return the snapshot of what the history holds.

        With ``weigh``, at the end of a run, the last runs are weighed before, and what they say
        together is kept; without, what was kept last stands.
        """
        recent = self._recent = Recent(self._history, self._groups, self._recent)
        if weigh:
            self._history.keep_evidence(weigh(recent))
        weighed = self._history.evidence()
        groups = {
            f"{layer}/{name}": entry._asdict()
            for (layer, name, is_group), entry in weighed.items()
            if is_group
        }
        series: dict[str, Mapping[str, Any]] = {}
        for layer, component in self._groups:
            operations = [operation_entry(entry) for entry in recent.of(layer, component)]
            evidence = weighed.get((layer, component, False))
            if operations:
                series[f"{layer}/{component}"] = {
                    "evidence": evidence and evidence._asdict(),
                    "operations": operations,
                }
        return Snapshot(self._host, now, recent.running, groups, series)


def operation_entry(series: Series) -> dict[str, Any]:
    """Return a series in the form that a snapshot has it."""
    return {
        "latest": _light(series.latest).to_json(),
        "samples": series.samples,
    }


def _light(record: Record) -> Record:
    """Return the record without what no check reads: profile, ranks, argv and specification."""
    tool = record.tool and record.tool._replace(argv=())
    details = {
        key: record.details[key] for key in _READ if record.details and key in record.details
    }
    return record._replace(profile=(), tool=tool, spec=None, details=details or None)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock file for a moment; raise StoreError when somebody does not let go."""
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
"""Passed through by who checks, listed by nobody else; each file in it says who may read it."""
_OTHERS_WRITE = 0o022
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NO_CONTENT = ("crc32", "judged_at")


class VerdictFiles:
    """The verdicts of a node in a folder, and which of them this process has written or seen."""

    def __init__(self, folder: Path) -> None:
        """Know of no file yet."""
        self._folder = folder
        self._seen: dict[str, tuple[Published, str]] = {}

    def write(self, every: Iterable[Published]) -> int:
        """Write those verdicts that have changed, and return how many; remove those of nobody.

        Raises:
            StoreError: they cannot be written, or somebody else could exchange them.
        """
        try:
            with _opened(self._folder) as place:
                named = {
                    file_name((verdict.layer, verdict.name, verdict.group)): verdict
                    for verdict in every
                }
                written = [
                    name for name, verdict in named.items() if self._write(place / name, verdict)
                ]
                _remove_others(place, named)
        except OSError as error:
            why = str(error) if isinstance(error, UnsafeError) else os.strerror(error.errno or 0)
            raise StoreError(
                f"verdicts in {self._folder} cannot be written: {why}; see that "
                f"{self._folder.parent} has space and belongs to the user plumbline"
            ) from error
        return len(written)

    def _write(self, path: Path, published: Published) -> bool:
        """Write a verdict unless the same is there, only judged at another time."""
        # a node has hundreds, and of most nothing has changed since this process looked
        if (published, _stamp(path)) == self._seen.get(path.name):
            return False
        text = json.dumps(published.to_json(), allow_nan=False, separators=(",", ":"))
        changed = _content(_there(path)) != _content(read_json(text))
        if changed:
            replace(path, seal(text), mode=0o640, group=READERS)
        self._seen[path.name] = published, _stamp(path)
        return changed


def _stamp(path: Path) -> str:
    """Return what tells a file from others that were in its place, nothing where there is none."""
    try:
        return stamp(os.lstat(path))
    except FileNotFoundError:
        return ""


def _content(raw: Optional[dict[str, object]]) -> Optional[dict[str, object]]:
    return raw and {key: value for key, value in raw.items() if key not in _NO_CONTENT}


def _there(path: Path) -> Optional[dict[str, object]]:
    """Return what a file says; None where there is none, or it is damaged and to be replaced."""
    try:
        return load(str(path), "verdict", REMEDY, MOST_BYTES)
    except DocumentError:
        return None


def _remove_others(path: Path, names: Collection[str]) -> None:
    """Remove the verdicts of services that this node no longer has."""
    for name in os.listdir(path):
        if name.endswith(".json") and name not in names and not name.startswith("."):
            with suppress(FileNotFoundError):
                os.unlink(path / name)


@contextmanager
def _opened(folder: Path) -> Iterator[Path]:
    """Give the folder, made where it is missing, by a name that nobody can exchange."""
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
    made = False
    with suppress(FileExistsError):
        os.mkdir(folder.name, 0o700, dir_fd=above)
        made = True
    try:
        descriptor = os.open(folder.name, _FOLDER | os.O_NOFOLLOW, dir_fd=above)
    except NotADirectoryError:
        raise UnsafeError("it is not a folder, and plumbline follows no links: remove it") from None
    if made:
        os.fchmod(descriptor, _MODE)
        if os.geteuid() == 0:
            owner = os.fstat(above)
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
    return descriptor


def _check(descriptor: int, above: int, folder: Path) -> None:
    """Refuse a folder in which somebody else than its rightful writers may exchange files."""
    result = os.fstat(descriptor)
    if result.st_uid not in (0, os.geteuid(), os.fstat(above).st_uid):
        raise UnsafeError(f"it belongs to user id {result.st_uid}: see who made it, and remove it")
    if S_IMODE(result.st_mode) & _OTHERS_WRITE:
        raise UnsafeError(f"others may write to it: run chmod go-w {folder}")
