"""What the roles do as root: give the user of the probes ``.plumbline`` on each file system.

``python3 -m plumbline.measure.own_folders USER BASE...`` prints what it has
changed.  What others have
made or can write to is never handed over, because they may hold it open or have put links into it:
it is set aside under another name, and a new folder is made.  So is what root keeps for itself:
where everybody may rename, a tree of root's can have been given the name of ours.
"""

from __future__ import annotations

import os
import pwd
import secrets
import sys
from contextlib import suppress
from stat import S_IMODE, S_ISDIR, S_ISREG
from typing import Iterator, NamedTuple, Optional, Sequence

from plumbline.measure.targets.probe_file import NAME, TRIALS
from plumbline.observe.folders import open_base

OWN = ".plumbline"

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_MODE = 0o700
_OTHERS_WRITE = 0o022
_TRIES = 5
"""Other clients of the same file system may do the same at the same time."""


class User(NamedTuple):
    """Who the folders are for."""

    name: str
    uid: int
    gid: int

    def trusts(self, found: os.stat_result) -> bool:
        """Return whether nobody but this user and root can have changed a folder or file."""
        plain = S_ISREG(found.st_mode) and found.st_nlink == 1
        closed = S_ISDIR(found.st_mode) and not S_IMODE(found.st_mode) & _OTHERS_WRITE
        return found.st_uid in (0, self.uid) and (plain or closed)


def give(base: str, user: User) -> Iterator[str]:
    """Give a user its folder in ``base``; yield in words what was changed.

    Raises:
        OSError: that is not possible.
    """
    path = f"{base.rstrip('/')}/{OWN}"
    above = open_base(base)
    try:
        for _ in range(_TRIES):
            # another client was faster with one of the steps: what it has left is looked at
            with suppress(FileExistsError, FileNotFoundError):
                yield from _given(above, path, user)
                return
        raise OSError(f"{path} changes all the time; see who else works on it")
    finally:
        os.close(above)


def _given(above: int, path: str, user: User) -> Iterator[str]:
    with suppress(FileNotFoundError):
        foreign = _foreign(above, path, user)
        if not foreign:
            yield from _handed_over(above, path, user)
            return
        aside = f"{OWN}-set-aside-{secrets.token_hex(4)}"
        os.rename(OWN, aside, src_dir_fd=above, dst_dir_fd=above)
        yield (
            f"{path} is set aside as {aside}, because {foreign}; see who made it, and remove it "
            "when nobody needs it"
        )
    _make(above, path, user)
    yield f"{path} is made for {user.name}"


def _make(above: int, path: str, user: User) -> None:
    os.mkdir(OWN, _MODE, dir_fd=above)
    folder = os.open(OWN, _OPEN, dir_fd=above)
    try:
        result = os.fstat(folder)
        mine = result.st_uid == os.geteuid() and not S_IMODE(result.st_mode) & ~_MODE & 0o777
        if not mine or os.listdir(folder):
            raise FileExistsError(f"{path} was exchanged while it was made")
        os.fchown(folder, user.uid, user.gid)
    finally:
        os.close(folder)


def _foreign(above: int, path: str, user: User) -> str:
    """Return why what is there cannot be used, empty when it can.

    A root that the servers do not let in sees the folder alone, which keeps all others out as well.
    """
    result = os.stat(OWN, dir_fd=above, follow_symlinks=False)
    if not (S_ISDIR(result.st_mode) and user.trusts(result)):
        return _said(path, result)
    for below, folder, name in _walk(above):
        result = os.stat(name, dir_fd=folder, follow_symlinks=False)
        where = f"{os.path.dirname(path)}/{below}/{name}"
        if not user.trusts(result):
            return _said(where, result)
        if result.st_uid != user.uid and not _is_ours(below, name, result):
            return f"{where} belongs to root, and no probe makes such a file or folder"
    return ""


def _is_ours(below: str, name: str, result: os.stat_result) -> bool:
    """Return whether a probe makes this: the folder of a component, or a file in it."""
    if S_ISDIR(result.st_mode):
        return below == OWN
    return os.path.dirname(below) == OWN and name in (NAME, *TRIALS)


def _handed_over(above: int, path: str, user: User) -> Iterator[str]:
    """Give what root has left in a folder that root and the user alone can write to."""
    changed = _chown(above, OWN, user)
    for _, folder, name in _walk(above):
        changed += _chown(folder, name, user)
    if changed:
        yield f"{path}: {changed} of root's are given to {user.name}"


def _walk(above: int) -> Iterator[tuple[str, int, str]]:
    """Yield path, descriptor of the folder, and name for all that lies below; nothing is followed.

    Raises:
        OSError: a folder cannot be read, for another reason than that root is not let in.
    """

    def refuse(error: OSError) -> None:
        raise error

    with suppress(PermissionError):
        for below, folders, files, folder in os.fwalk(OWN, dir_fd=above, onerror=refuse):
            for name in (*folders, *files):
                yield below, folder, name


def _chown(folder: int, name: str, user: User) -> int:
    """Give one folder or file that is root's; return how many were."""
    descriptor = os.open(name, _LOOK, dir_fd=folder)
    try:
        result = os.fstat(descriptor)
        if result.st_uid == user.uid or not user.trusts(result):
            return 0
        os.chown(f"/proc/self/fd/{descriptor}", user.uid, user.gid)
    finally:
        os.close(descriptor)
    return 1


def _said(path: str, result: os.stat_result) -> str:
    owner: Optional[str] = None
    with suppress(KeyError):
        owner = pwd.getpwuid(result.st_uid).pw_name
    who = owner or f"user {result.st_uid}"
    if not S_ISDIR(result.st_mode) and result.st_nlink == 1 and S_ISREG(result.st_mode):
        return f"{path} belongs to {who}"
    if not S_ISDIR(result.st_mode):
        return f"{path} of {who} is no folder and no plain file with one name"
    return f"{path} belongs to {who} (mode {S_IMODE(result.st_mode):04o})"


def main(argv: Sequence[str]) -> int:
    """Give the user its folders; return 1 with a sentence where one cannot be given."""
    _, name, *bases = argv
    entry = pwd.getpwnam(name)
    user = User(name, entry.pw_uid, entry.pw_gid)
    return max((_given_or_said(base, user) for base in bases), default=0)


def _given_or_said(base: str, user: User) -> int:
    try:
        for line in give(base, user):
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
