"""The folders on a shared file system that plumbline works in: opened without links, then checked.

Everybody may write at the root of many file systems, and whoever owns a folder or may write to it
can put a link in the place of what is in it, between a look and a write.  Hence each folder is
opened through the one above it, what was opened is checked, and only that is used.

As a program, ``python3 -IS folders.py WHERE -- COMMAND...`` does so, makes the folder its working
directory and the file its standard input, and becomes COMMAND.  This is a process of its own and
nothing of a run, because whatever touches a dead file system may hang beyond SIGKILL.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from stat import S_IMODE, S_ISDIR, S_ISREG, S_ISVTX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, NoReturn, Optional, Sequence

REFUSED = 77
"""Exit code of the program where something is not safe to work in (sysexits.h, EX_NOPERM)."""
PROGRAM = "folders"
"""The name of the program while it opens folders, as the kernel shows it."""
MARK = "plumbline: refused: "
"""Beginning of the reason that it prints."""

_MADE_WITH = 0o700
_OTHERS_WRITE = 0o022
_NOT_FOUND = 127
# O_PATH opens nothing: it waits for no FIFO and needs no right to read
_LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = _LOOK | os.O_DIRECTORY


class UnsafeError(PermissionError):
    """A folder or file that somebody else could exchange, or that is not what it should be."""


def open_base(path: str) -> int:
    """Return a descriptor of a folder that the site has named, reached without any link.

    Raises:
        UnsafeError: the path leads over a link.
        OSError: it is not there, or not to be entered.
    """
    descriptor, here = os.open("/", _FOLDER), ""
    for name in filter(None, path.split("/")):
        above, here = descriptor, f"{here}/{name}"
        try:
            descriptor = _open(here, _FOLDER, above)
        except NotADirectoryError:
            raise UnsafeError(
                f"{path} leads over a symbolic link or a file; name the folder itself"
            ) from None
        finally:
            os.close(above)
    return descriptor


def enter(above: int, path: str, *, make: bool = False) -> int:
    """Return a descriptor of a folder that the caller or root owns and nobody else may write to.

    It is opened in place of ``above``, which is closed; ``make`` makes it where it is missing.

    Raises:
        UnsafeError: it is a link, another's, or open to others.
        OSError: it is not there, or cannot be made or entered.
    """
    try:
        made = make and _make(path, above)
        try:
            descriptor = _open(path, _FOLDER, above)
        except NotADirectoryError:
            raise UnsafeError(
                f"{path} is not a folder; plumbline follows no links: remove it"
            ) from None
        try:
            _check_folder(os.fstat(descriptor), path, made=made)
        except UnsafeError:
            os.close(descriptor)
            if made:
                with suppress(OSError):
                    os.rmdir(os.path.basename(path), dir_fd=above)
            raise
    finally:
        os.close(above)
    return descriptor


def check_place(path: str) -> None:
    """Return if what the caller makes in a folder cannot be renamed or removed by others.

    Unlike ``enter`` this takes folders where all may write, if they are sticky as /tmp is.  Those
    above it count as well: who may rename one of them can exchange all that is below.

    Raises:
        UnsafeError: others can.
        OSError: it is not there.
    """
    os.stat(path)
    here = os.path.realpath(path)
    while True:
        result = os.lstat(here)
        if not (result.st_uid in (0, os.geteuid()) and result.st_mode & S_ISVTX):
            _check_folder(result, here, made=False)
        if here == "/":
            return
        here = os.path.dirname(here)


def check_file(folder: int, path: str) -> Optional[os.stat_result]:
    """Return the status of a file that is the caller's own and has one name; None where none is.

    Raises:
        UnsafeError: it is anything else.
    """
    try:
        result = os.stat(os.path.basename(path), dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        error.filename = path
        raise
    _check_file(result, path)
    return result


def open_file(path: str, flags: int) -> int:
    """Return a descriptor of ``BASE/.plumbline/COMPONENT/FILE``, opened and checked all the way.

    Raises:
        UnsafeError: a folder below the base or the file is not the caller's own.
        OSError: it is not there or cannot be opened.
    """
    folder = open_folder_of(path)
    try:
        if check_file(folder, path) is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        descriptor = _open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, folder)
    finally:
        os.close(folder)
    try:
        _check_file(os.fstat(descriptor), path)
    except UnsafeError:
        os.close(descriptor)
        raise
    return descriptor


def open_folder_of(path: str) -> int:
    """Return a descriptor of the folder of ``BASE/.plumbline/COMPONENT/FILE``; raise as above."""
    folder = os.path.dirname(path)
    own = os.path.dirname(folder)
    return enter(enter(open_base(os.path.dirname(own)), own), folder)


def _open(path: str, flags: int, above: int) -> int:
    """Open the last name of a path in a folder; what is raised names the whole path."""
    try:
        return os.open(os.path.basename(path), flags, dir_fd=above)
    except OSError as error:
        error.filename = path
        raise


def _make(path: str, above: int) -> bool:
    """Make a folder of the caller alone; return whether it was missing."""
    try:
        os.mkdir(os.path.basename(path), _MADE_WITH, dir_fd=above)
    except FileExistsError:
        return False
    except PermissionError as error:
        raise UnsafeError(
            f"{path} cannot be made: {error.strerror}; the role ost_probe makes .plumbline for "
            f"its user, or root does: install -d -o {_name(os.geteuid())} -m 0700 {path}"
        ) from error
    except OSError as error:
        # GlusterFS refuses to make a folder that is there while one of its bricks is down
        if _is_there(path, above):
            return False
        error.filename = path
        raise
    return True


def _is_there(path: str, above: int) -> bool:
    with suppress(OSError):
        os.close(os.open(os.path.basename(path), _FOLDER, dir_fd=above))
        return True
    return False


def _check_folder(result: os.stat_result, path: str, *, made: bool) -> None:
    mode = f"{S_IMODE(result.st_mode):04o}"
    owner, me = _name(result.st_uid), _name(os.geteuid())
    if not S_ISDIR(result.st_mode):
        raise UnsafeError(f"{path} is not a folder; plumbline follows no links: remove it")
    if made and result.st_uid != os.geteuid():
        raise UnsafeError(
            f"{path} belongs to {owner} although {me} has made it: this file system gives away "
            f"what {me} makes, or somebody exchanged it; run as a user who keeps what he makes"
        )
    if result.st_uid not in (0, os.geteuid()):
        raise UnsafeError(
            f"{path} belongs to {owner} (mode {mode}) and not to {me}: its owner can "
            f"exchange what is in it; run as {owner} if that is plumbline's user, else remove it"
        )
    if S_IMODE(result.st_mode) & _OTHERS_WRITE:
        raise UnsafeError(
            f"{path} of {owner} (mode {mode}) may be written by others, who can exchange what is "
            f"in it; remove it, or chmod go-w it if nobody else has used it"
        )


def _check_file(result: os.stat_result, path: str) -> None:
    if not S_ISREG(result.st_mode) or result.st_nlink != 1:
        raise UnsafeError(
            f"{path} is no plain file with one name, which plumbline alone makes: remove it"
        )
    if result.st_uid != os.geteuid():
        raise UnsafeError(
            f"{path} belongs to {_name(result.st_uid)} "
            f"(mode {S_IMODE(result.st_mode):04o}), not to "
            f"{_name(os.geteuid())}: remove it, or run as its owner"
        )


def _name(number: int) -> str:
    import pwd  # for a sentence alone

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def _prepare(where: Mapping[str, Any]) -> None:
    """Make the folder the working directory and the file, if it is asked for, standard input."""
    path = where["base"]
    descriptor = open_base(path)
    for name in where["names"]:
        path = f"{path.rstrip('/')}/{name}"
        descriptor = enter(descriptor, path, make=where["make"])
    os.fchdir(descriptor)
    if where["file"]:
        path = f"{path}/{where['file']}"
        result = (_become_input if where["opened"] else check_file)(descriptor, path)
        if result is not None and where["inode"] not in (None, result.st_ino):
            raise UnsafeError(
                f"{path} is another file than before: somebody has exchanged it; see who may work "
                "in its folder, and run the probe again"
            )


def _become_input(folder: int, path: str) -> os.stat_result:
    file = _open(path, _LOOK, folder)
    result = os.fstat(file)
    _check_file(result, path)
    os.dup2(file, 0)
    return result


def _main(argv: Sequence[str]) -> NoReturn:
    import json

    # who finds it stuck sees by its name that it touches no target's bytes; COMMAND has its own
    with suppress(OSError), open("/proc/self/comm", "w", encoding="ascii") as name:
        name.write(PROGRAM)
    try:
        _prepare(json.loads(argv[1]))
    except UnsafeError as error:
        sys.exit(_fail(f"{MARK}{error}", REFUSED))
    except OSError as error:
        sys.exit(_fail(f"{error.filename or argv[1]}: {error.strerror}", 1))
    try:
        os.execv(argv[3], list(argv[3:]))  # noqa: S606
    except OSError as error:
        sys.exit(_fail(f"{argv[3]}: {error.strerror}", _NOT_FOUND))


def _fail(sentence: str, code: int) -> int:
    print(sentence, file=sys.stderr)
    return code


if __name__ == "__main__":
    _main(sys.argv)
