"""Make the probe's folders on metadata targets of Lustre; the role mdt_probe runs it as root.

``python3 -m plumbline.measure.metadata_folders USER MOUNT/.plumbline/FS-MDT000N...`` prints each
change.  Only root may choose a metadata target (``lfs mkdir -i``).  ``.plumbline`` exists already,
see :mod:`plumbline.measure.own_folders`.

The user may exchange what is in its own folder.  So each folder is opened without following links,
and lfs works in the open folder by a plain name; a folder is given away only if it is root's, and
empty.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from typing import Iterator, Sequence

from plumbline.measure.own_folders import User, for_user
from plumbline.measure.targets.lustre import PLACEMENT
from plumbline.model.command import CommandRunner
from plumbline.model.errors import PlumblineError
from plumbline.model.names import MDT
from plumbline.model.validation import whole
from plumbline.observe.command import SystemRunner
from plumbline.observe.folders import open_base

_MODE = 0o700
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LFS_S = 60.0


class RefusedError(PlumblineError):
    """The folder cannot be made or used; the message has the reason."""


def give(path: str, owner: User, run: CommandRunner) -> Iterator[str]:
    """Make a folder on the metadata target of its name; yield a sentence for each change.

    An empty folder on another metadata target is replaced.

    Raises:
        OSError: the folder above is missing, or a call failed.
        RefusedError: lfs refused, or the folder holds something and lies elsewhere.
        ToolError: lfs is not installed.
    """
    name = os.path.basename(path)
    index = int(MDT.match("the metadata target", name)["index"], 16)
    before, above = os.open(".", os.O_PATH), _open_own(os.path.dirname(path), owner)
    try:
        os.fchdir(above)
        if _is_there(name, owner):
            if _lies_on(name, index, run):
                return
            try:
                os.rmdir(name)
            except OSError as error:
                raise RefusedError(
                    f"it lies on another metadata target, and is not empty ({error.strerror})"
                ) from error
            yield f"{path} lay on another metadata target and is removed"
        _make(name, str(index), owner, run)
        yield f"{path} is made for {owner.name} on MDT{index:04x}"
    finally:
        os.fchdir(before)
        os.close(before)
        os.close(above)


def _open_own(path: str, owner: User) -> int:
    """Open ``MOUNT/.plumbline``; it must be the user's or root's, and closed to others."""
    base = open_base(os.path.dirname(path))
    try:
        own = os.open(os.path.basename(path), _OPEN, dir_fd=base)
    finally:
        os.close(base)
    status = os.fstat(own)
    if not owner.trusts(status):
        os.close(own)
        raise RefusedError(f"{path} is not {owner.name}'s own; deploy the role again")
    return own


def _is_there(name: str, owner: User) -> bool:
    """Return whether the user's folder exists; raise RefusedError for anything else."""
    try:
        folder = os.open(name, _OPEN)
    except FileNotFoundError:
        return False
    status = os.fstat(folder)
    os.close(folder)
    if not owner.trusts(status):
        raise RefusedError("it belongs to somebody else; see who made it, and remove it")
    return status.st_uid == owner.uid


def _lies_on(name: str, index: int, run: CommandRunner) -> bool:
    match = PLACEMENT.search(_lfs(run, "getdirstripe", name))
    if match is None:
        return False
    stripes, place = (whole(match[number], "a stripe of lfs getdirstripe") for number in (1, 2))
    return stripes <= 1 and place == index


def _make(name: str, index: str, owner: User, run: CommandRunner) -> None:
    # what an interrupted deployment left is root's, and empty
    with suppress(FileNotFoundError):
        os.rmdir(name)
    _lfs(run, "mkdir", "-i", index, "-c", "1", "-o", f"{_MODE:o}", name)
    folder = os.open(name, _OPEN)
    try:
        status = os.fstat(folder)
        if status.st_uid != os.geteuid() or os.listdir(folder):
            raise RefusedError("it was exchanged while it was made; deploy the role again")
        os.fchdir(folder)
        _lfs(run, "setdirstripe", "-D", "-i", index, "-c", "1", ".")
        _lfs(run, "setstripe", "-c", "1", ".")
        os.fchmod(folder, _MODE)
        os.fchown(folder, owner.uid, owner.gid)
    finally:
        os.close(folder)


def _lfs(run: CommandRunner, *arguments: str) -> str:
    completed = run(["lfs", *arguments], _LFS_S)
    if not completed.ok:
        lines = re.findall(r"\S.*", completed.stderr)
        reason = lines[-1] if lines else f"exit code {completed.exit_code}"
        raise RefusedError(f"lfs {' '.join(arguments)}: {reason}")
    return completed.stdout


def main(argv: Sequence[str]) -> int:
    """Make the folders; return 1 and print a sentence if one cannot be made."""
    return for_user(argv, _exit_code_of)


def _exit_code_of(path: str, owner: User) -> int:
    try:
        for line in give(path, owner, SystemRunner()):
            print(line, flush=True)
    except (OSError, PlumblineError) as error:
        reason = f"{error.strerror}: {error.filename}" if isinstance(error, OSError) else error
        print(f"plumbline: {path} cannot be made for {owner.name}: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
