"""Write the verdicts of a node, one file a service, each replaced as a whole.

Whoever owns the folder above can put a link in the place of this one, hence it is opened without
links and checked, and all is done within what was opened.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE
from typing import Collection, Iterable, Iterator, Optional

from plumbline.errors import DocumentError, StoreError
from plumbline.folders import UnsafeError
from plumbline.model.json_text import read_json
from plumbline.model.published import Published
from plumbline.store.places import READERS
from plumbline.store.replacing import replace
from plumbline.store.sealed import seal
from plumbline.store.trusted import parse, read
from plumbline.store.verdicts import MOST_BYTES, REMEDY, file_name, stamp

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
                named = {file_name((one.layer, one.name, one.group)): one for one in every}
                written = [name for name, one in named.items() if self._write(place / name, one)]
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
        found = parse(read(str(path), "verdict", REMEDY, MOST_BYTES), str(path), REMEDY)
    except DocumentError:
        return None
    return found if isinstance(found, dict) else None


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
    found = os.fstat(descriptor)
    if found.st_uid not in (0, os.geteuid(), os.fstat(above).st_uid):
        raise UnsafeError(f"it belongs to user id {found.st_uid}: see who made it, and remove it")
    if S_IMODE(found.st_mode) & _OTHERS_WRITE:
        raise UnsafeError(f"others may write to it: run chmod go-w {folder}")
