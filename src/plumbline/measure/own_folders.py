"""Create the folder ``.plumbline`` of the probes' user on file systems; the roles run it as root.

``python3 -m plumbline.measure.own_folders USER BASE...`` prints each change.

A folder that others made or can write to never changes its owner, because they may hold files open
or have put links into it: it is renamed, and a new folder is made.  The same happens to a folder
with files that no probe makes: in a place where everybody may rename, it may be a tree of root's
that somebody renamed to ``.plumbline``.

Since Lustre 2.15 new folders are spread over the metadata targets (``lfs getdirstripe -D /MOUNT``).
The folder is made on the metadata target of its file system's mount, with all folders in it, so
that no other one can take the probes of an OST with it.
"""

from __future__ import annotations

import os
import pwd
import secrets
import sys
from contextlib import suppress
from stat import S_IMODE, S_ISDIR, S_ISREG
from typing import Callable, Iterator, NamedTuple, Optional, Sequence

from plumbline.measure.targets.probe_file import NAME, TRIALS
from plumbline.model.command import CommandRunner
from plumbline.model.errors import ToolError
from plumbline.model.validation import whole
from plumbline.observe.command import SystemRunner
from plumbline.observe.folders import open_base

OWN = ".plumbline"

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE = 0o700
_OTHERS_WRITE = 0o022
_LFS_S = 60.0
"""Time for one call of lfs."""
_TRIES = 5
"""Tries: other clients of the same file system may do the same at the same time."""


class User(NamedTuple):
    """Owner of the folders."""

    name: str
    uid: int
    gid: int

    def trusts(self, status: os.stat_result) -> bool:
        """Return True if only this user and root can write a folder or file."""
        plain = S_ISREG(status.st_mode) and status.st_nlink == 1
        closed = S_ISDIR(status.st_mode) and not S_IMODE(status.st_mode) & _OTHERS_WRITE
        return status.st_uid in (0, self.uid) and (plain or closed)


def give(base: str, user: User, run: CommandRunner) -> Iterator[str]:
    """Give a user its folder in ``base``; yield a sentence for each change.

    Raises:
        OSError: the folder cannot be created or given.
    """
    path = f"{base.rstrip('/')}/{OWN}"
    above = open_base(base)
    try:
        for _ in range(_TRIES):
            # another client was faster: start again from its result
            with suppress(FileExistsError, FileNotFoundError):
                yield from _give(above, path, user, run)
                return
        raise OSError(f"{path} changes all the time; see who else works on it")
    finally:
        os.close(above)


def _give(above: int, path: str, user: User, run: CommandRunner) -> Iterator[str]:
    with suppress(FileNotFoundError):
        # opened once: where everybody may rename, the name may lead elsewhere a moment later
        folder = os.open(OWN, _LOOK, dir_fd=above)
        try:
            foreign = _foreign(folder, path, user)
            if not foreign:
                yield from _hand_over(folder, path, user)
                return
        finally:
            os.close(folder)
        aside = f"{OWN}-set-aside-{secrets.token_hex(4)}"
        os.rename(OWN, aside, src_dir_fd=above, dst_dir_fd=above)
        yield (
            f"{path} is set aside as {aside}, because {foreign}; see who made it, and remove it "
            "when nobody needs it"
        )
    pinned = _make_pinned(above, run)
    if not pinned:
        os.mkdir(OWN, _MODE, dir_fd=above)
    _take(above, user)
    yield f"{path} is made for {user.name}{pinned}"


def _make_pinned(above: int, run: CommandRunner) -> str:
    """Make a folder of Lustre on the metadata target of its mount, with all folders in it.

    Return the metadata target after ``on``; empty without making anything if this is no Lustre, or
    if its release refuses.  ``lfs`` works in open folders by plain names, since a path may lead
    elsewhere a moment later where everybody may rename.
    """
    before = os.open(".", os.O_PATH | os.O_CLOEXEC)
    try:
        os.fchdir(above)
        asked = run(["lfs", "getdirstripe", "-m", "."], _LFS_S)
        index = asked.stdout.strip()
        if not (asked.ok and index.isascii() and index.isdecimal()):
            return ""
        pin = ["-i", index, "-c", "1"]
        if not run(["lfs", "mkdir", *pin, "-o", f"{_MODE:o}", OWN], _LFS_S).ok:
            return ""
        folder = _open_made(above)
        try:
            os.fchdir(folder)
            # a release before 2.8 has no default, and no round robin either
            run(["lfs", "setdirstripe", "-D", *pin, "."], _LFS_S)
        finally:
            os.close(folder)
        return f" on MDT{whole(index, 'the index of a metadata target'):04x}"
    except ToolError:
        # lfs is not installed
        return ""
    finally:
        os.fchdir(before)
        os.close(before)


def _take(above: int, user: User) -> None:
    folder = _open_made(above)
    try:
        os.fchown(folder, user.uid, user.gid)
    finally:
        os.close(folder)


def _open_made(above: int) -> int:
    """Open the folder just made; raise FileExistsError if somebody has exchanged it."""
    try:
        folder = os.open(OWN, _OPEN, dir_fd=above)
    except OSError as error:
        raise FileExistsError(f"{OWN} was exchanged while it was made") from error
    result = os.fstat(folder)
    mine = result.st_uid == os.geteuid() and not S_IMODE(result.st_mode) & ~_MODE & 0o777
    if mine and not os.listdir(folder):
        return folder
    os.close(folder)
    raise FileExistsError(f"{OWN} was exchanged while it was made")


def _foreign(own: int, path: str, user: User) -> str:
    """Return the reason why an existing folder is unusable, empty if it is usable.

    With root squash root cannot look inside; the folder's mode keeps all others out as well.
    """
    result = os.fstat(own)
    if not (S_ISDIR(result.st_mode) and user.trusts(result)):
        return _ownership(path, result)
    for below, folder, name in _walk(own):
        result = os.stat(name, dir_fd=folder, follow_symlinks=False)
        where = os.path.normpath(f"{path}/{below}/{name}")
        if not user.trusts(result):
            return _ownership(where, result)
        if result.st_uid != user.uid and not _is_probe_path(below, name, result):
            return f"{where} belongs to root, and no probe makes such a file or folder"
    return ""


def _is_probe_path(below: str, name: str, result: os.stat_result) -> bool:
    """Return True for a component's folder or a probe file in it."""
    if S_ISDIR(result.st_mode):
        return below == "."
    return os.path.dirname(below) == "." and name in (NAME, *TRIALS)


def _hand_over(own: int, path: str, user: User) -> Iterator[str]:
    """Give the user all files of root in the folder; yield a sentence if there were any."""
    changed = _chown(own, user)
    for _, folder, name in _walk(own):
        descriptor = os.open(name, _LOOK, dir_fd=folder)
        try:
            changed += _chown(descriptor, user)
        finally:
            os.close(descriptor)
    if changed:
        yield f"{path}: {changed} of root's are given to {user.name}"


def _walk(own: int) -> Iterator[tuple[str, int, str]]:
    """Yield path and descriptor of the folder, and name, of all entries below; follow no link.

    Raises:
        OSError: a folder cannot be read; with root squash the walk ends without an error.
    """

    def refuse(error: OSError) -> None:
        raise error

    with suppress(PermissionError):
        for below, folders, files, folder in os.fwalk(".", dir_fd=own, onerror=refuse):
            for name in (*folders, *files):
                yield below, folder, name


def _chown(descriptor: int, user: User) -> int:
    """Give the user one folder or file of root; return 1 if its owner changed, else 0."""
    result = os.fstat(descriptor)
    if result.st_uid == user.uid or not user.trusts(result):
        return 0
    os.chown(f"/proc/self/fd/{descriptor}", user.uid, user.gid)
    return 1


def _ownership(path: str, result: os.stat_result) -> str:
    owner: Optional[str] = None
    with suppress(KeyError):
        owner = pwd.getpwuid(result.st_uid).pw_name
    owner_name = owner or f"user {result.st_uid}"
    if not S_ISDIR(result.st_mode) and result.st_nlink == 1 and S_ISREG(result.st_mode):
        return f"{path} belongs to {owner_name}"
    if not S_ISDIR(result.st_mode):
        return f"{path} of {owner_name} is no folder and no plain file with one name"
    return f"{path} belongs to {owner_name} (mode {S_IMODE(result.st_mode):04o})"


def main(argv: Sequence[str]) -> int:
    """Give the user its folders; return 1 and print a sentence if a folder cannot be given."""
    return for_user(argv, _exit_code_of)


def for_user(argv: Sequence[str], give_one: Callable[[str, User], int]) -> int:
    """Call a function on each path after the name of a user; return the worst exit code."""
    _, name, *paths = argv
    # lfs mkdir has no folder but by its path
    os.umask(~_MODE & 0o777)
    entry = pwd.getpwnam(name)
    user = User(name, entry.pw_uid, entry.pw_gid)
    return max((give_one(path, user) for path in paths), default=0)


def _exit_code_of(base: str, user: User) -> int:
    try:
        for line in give(base, user, SystemRunner()):
            print(line, flush=True)
    except OSError as error:
        reason = f"{error.strerror}: {error.filename}" if error.strerror else str(error)
        print(
            f"plumbline: {base}/{OWN} cannot be given to {user.name}: {reason}; make it by hand: "
            f"install -d -o {user.name} -g {user.name} -m 0700 {base}/{OWN}",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
