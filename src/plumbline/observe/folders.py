"""Safely open plumbline's working folders on a shared file system, without following links.

Many file systems are world-writable at the root, and the owner or a writer of a folder can replace
its content by a link between a check and a write.  Hence each folder is opened relative to its
parent, the open descriptor is checked, and only the descriptor is used.

As a program it is the helper of :mod:`plumbline.observe.starter`: for each request from its
standard input, a socket, it forks a process that does this, makes the folder its working directory
and the file its standard input, and executes a command.  It is a separate process, because access
to a dead file system may hang beyond SIGKILL.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from stat import S_IMODE, S_ISDIR, S_ISREG, S_ISVTX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from socket import socket
    from typing import Any, Mapping, NoReturn, Optional, Sequence

REFUSED = 77
"""Exit code of the program if a folder or file is not safe (sysexits.h, EX_NOPERM)."""
PROGRAM = "folders"
"""The process name in the kernel while folders are opened."""
MARK = "plumbline: refused: "
"""Prefix of the printed reason."""

_MODE = 0o700
_OTHERS_WRITE = 0o022
_NOT_FOUND = 127
# O_PATH does not open the content: it does not block on a FIFO and needs no read permission
_LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = _LOOK | os.O_DIRECTORY


class UnsafeError(PermissionError):
    """A folder or file that others could replace, or that is of the wrong kind."""


def open_base(path: str) -> int:
    """Return a descriptor of a configured folder, reached without any link.

    Raises:
        UnsafeError: a part of the path is a link.
        OSError: the folder is missing or cannot be entered.
    """
    descriptor, current = os.open("/", _FOLDER), ""
    for name in filter(None, path.split("/")):
        above, current = descriptor, f"{current}/{name}"
        try:
            descriptor = _open(current, _FOLDER, above)
        except NotADirectoryError:
            raise UnsafeError(
                f"{path} leads over a symbolic link or a file; name the folder itself"
            ) from None
        finally:
            os.close(above)
    return descriptor


def enter(above: int, path: str, *, make: bool = False) -> int:
    """Return a descriptor of a folder that the caller or root owns and no other user may write to.

    ``above`` is closed; ``make`` creates the folder if it is missing.

    Raises:
        UnsafeError: it is a link, belongs to another user, or is writable by others.
        OSError: it is missing, or cannot be created or entered.
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
    """Check that others cannot rename or remove the caller's files in a folder.

    Unlike ``enter`` this accepts world-writable folders with the sticky bit, such as /tmp.  All
    folders above are checked too: renaming one of them replaces everything below.

    Raises:
        UnsafeError: others can do so.
        OSError: the folder is missing.
    """
    os.stat(path)
    current = os.path.realpath(path)
    while True:
        status = os.lstat(current)
        if not (status.st_uid in (0, os.geteuid()) and status.st_mode & S_ISVTX):
            _check_folder(status, current, made=False)
        if current == "/":
            return
        current = os.path.dirname(current)


def check_file(folder: int, path: str) -> Optional[os.stat_result]:
    """Return the status of a regular file of the caller with one name; None if it is missing.

    Raises:
        UnsafeError: it is anything else.
    """
    try:
        status = os.stat(os.path.basename(path), dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        error.filename = path
        raise
    _check_file(status, path)
    return status


def open_file(path: str, flags: int) -> int:
    """Return a descriptor of ``BASE/.plumbline/COMPONENT/FILE``; check each part of the path.

    Raises:
        UnsafeError: the file, or a folder below the base, is not safe.
        OSError: it is missing or cannot be opened.
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
    """Return a descriptor of the folder of ``BASE/.plumbline/COMPONENT/FILE``, as ``open_file``."""
    folder = os.path.dirname(path)
    own = os.path.dirname(folder)
    return enter(enter(open_base(os.path.dirname(own)), own), folder)


def _open(path: str, flags: int, above: int) -> int:
    """Open the last name of a path in a folder; errors name the whole path."""
    try:
        return os.open(os.path.basename(path), flags, dir_fd=above)
    except OSError as error:
        error.filename = path
        raise


def _make(path: str, above: int) -> bool:
    """Create a folder for the caller only; return whether it was missing."""
    try:
        os.mkdir(os.path.basename(path), _MODE, dir_fd=above)
    except FileExistsError:
        return False
    except PermissionError as error:
        raise UnsafeError(
            f"{path} cannot be made: {error.strerror}; the role ost_probe makes .plumbline for "
            f"its user, or root does: install -d -o {user_name(os.geteuid())} -m 0700 {path}"
        ) from error
    except OSError as error:
        # while a brick is down, GlusterFS returns another error for an existing folder
        if _exists(path, above):
            return False
        error.filename = path
        raise
    return True


def _exists(path: str, above: int) -> bool:
    with suppress(OSError):
        os.close(os.open(os.path.basename(path), _FOLDER, dir_fd=above))
        return True
    return False


def _check_folder(status: os.stat_result, path: str, *, made: bool) -> None:
    mode = f"{S_IMODE(status.st_mode):04o}"
    owner, me = user_name(status.st_uid), user_name(os.geteuid())
    if not S_ISDIR(status.st_mode):
        raise UnsafeError(f"{path} is not a folder; plumbline follows no links: remove it")
    if made and status.st_uid != os.geteuid():
        raise UnsafeError(
            f"{path} belongs to {owner} although {me} has made it: this file system gives away "
            f"what {me} makes, or somebody exchanged it; run as a user who keeps what he makes"
        )
    if status.st_uid not in (0, os.geteuid()):
        raise UnsafeError(
            f"{path} belongs to {owner} (mode {mode}) and not to {me}: its owner can "
            f"exchange what is in it; run as {owner} if that is plumbline's user, else remove it"
        )
    if S_IMODE(status.st_mode) & _OTHERS_WRITE:
        raise UnsafeError(
            f"{path} of {owner} (mode {mode}) may be written by others, who can exchange what is "
            f"in it; remove it, or chmod go-w it if nobody else has used it"
        )


def _check_file(status: os.stat_result, path: str) -> None:
    if not S_ISREG(status.st_mode) or status.st_nlink != 1:
        raise UnsafeError(
            f"{path} is no plain file with one name, which plumbline alone makes: remove it"
        )
    if status.st_uid != os.geteuid():
        raise UnsafeError(
            f"{path} belongs to {user_name(status.st_uid)} "
            f"(mode {S_IMODE(status.st_mode):04o}), not to "
            f"{user_name(os.geteuid())}: remove it, or run as its owner"
        )


def user_name(number: int) -> str:
    """Return the name of a user by number, e.g. ``user 1234`` if there is none."""
    import pwd  # needed only in messages

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def _prepare(where: Mapping[str, Any]) -> None:
    """Make the folder the working directory and the file, if any, standard input."""
    path = where["base"]
    descriptor = open_base(path)
    for name in where["names"]:
        path = f"{path.rstrip('/')}/{name}"
        descriptor = enter(descriptor, path, make=where["make"])
    os.fchdir(descriptor)
    if where["file"]:
        path = f"{path}/{where['file']}"
        status = (_become_input if where["opened"] else check_file)(descriptor, path)
        if status is not None and where["inode"] not in (None, status.st_ino):
            raise UnsafeError(
                f"{path} is another file than before: somebody has exchanged it; see who may work "
                "in its folder, and run the probe again"
            )


def _become_input(folder: int, path: str) -> os.stat_result:
    file = _open(path, _LOOK, folder)
    status = os.fstat(file)
    _check_file(status, path)
    os.dup2(file, 0)
    return status


_NUMBER_BYTES = 8
MAX_DESCRIPTORS = 250
"""Descriptors in one message; the kernel's limit is 253 (SCM_MAX_FD)."""


def number(value: int) -> bytes:
    """Return a number as helpers send and read it."""
    return value.to_bytes(_NUMBER_BYTES, "big")


def receive(channel: socket) -> int:
    """Return the next number; raise ConnectionError if the other side has ended."""
    return int.from_bytes(_read(channel, _NUMBER_BYTES), "big")


def _read(channel: socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = channel.recv(size - len(data))
        if not part:
            raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
        data += part
    return data


def _serve(channel: socket) -> NoReturn:
    """Start a command for each request; send its process, and its status after its end.

    Raises:
        ConnectionError: the other side has ended.
    """
    import json
    import signal

    while True:
        size, descriptors = _read_descriptors(channel)
        request = json.loads(_read(channel, size))
        process = os.fork()
        if process == 0:
            # Python ignores them; a command that writes into a closed pipe ends, as by subprocess
            for name in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(name, signal.SIG_DFL)
            _become(request, descriptors)
        with suppress(OSError):
            # the command does the same: a signal to the group must not come too early
            os.setpgid(process, process)
        for descriptor in descriptors:
            os.close(descriptor)
        channel.sendall(number(process))
        channel.sendall(number(os.waitpid(process, 0)[1]))


def _read_descriptors(channel: socket) -> tuple[int, list[int]]:
    """Return the size of the next request, which comes with the last descriptors, and all."""
    import socket

    flags = socket.MSG_WAITALL | socket.MSG_CMSG_CLOEXEC
    size, descriptors = 0, []
    while not size:
        head, more, _, _ = socket.recv_fds(channel, _NUMBER_BYTES, MAX_DESCRIPTORS, flags)
        if not head:
            raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
        size = int.from_bytes(head, "big")
        descriptors += more
    return size, descriptors


def _become(request: Mapping[str, Any], descriptors: Sequence[int]) -> NoReturn:
    """Become the command of a request; print the reason if that fails."""
    output, errors, folder, *kept = descriptors
    argv = request["argv"]
    try:
        os.setpgid(0, 0)
        for place, descriptor in enumerate((os.open(os.devnull, os.O_RDONLY), output, errors)):
            os.dup2(descriptor, place)
        for descriptor in kept:
            os.set_inheritable(descriptor, True)
        if request["within"]:
            _prepare(request["within"])
        else:
            os.fchdir(folder)
    except UnsafeError as error:
        _fail(f"{MARK}{error}", REFUSED)
    except OSError as error:
        _fail(f"{error.filename or argv[0]}: {error.strerror}", 1)
    try:
        os.execve(argv[0], argv, request["environment"])  # noqa: S606
    except OSError as error:
        _fail(f"{argv[0]}: {error.strerror}", _NOT_FOUND)


def _fail(sentence: str, code: int) -> NoReturn:
    os.write(2, f"{sentence}\n".encode(errors="backslashreplace"))
    os._exit(code)


def _main() -> None:
    import socket

    # the name of a stuck process shows that it moves no target's bytes; commands have their own
    with suppress(OSError), open("/proc/self/comm", "w", encoding="ascii") as name:
        name.write(PROGRAM)
    with suppress(ConnectionError):
        _serve(socket.socket(fileno=0))


if __name__ == "__main__":
    _main()
