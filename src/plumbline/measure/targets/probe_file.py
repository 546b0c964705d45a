"""Probe files: create, check, replace and remove the permanent file of each target.

The file is ``BASE/.plumbline/COMPONENT/probe.dat``; nothing outside that folder is ever created or
removed.  Every command works in a folder that was opened without following links and belongs to the
caller, so nobody else can exchange its files; see :mod:`plumbline.observe.folders`.

Dropping caches changes no setting.  The page cache drops only the file, the server only its object;
a client drops all unused locks of the OST.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import NamedTuple, Optional, Sequence

from plumbline.measure.targets.interface import Target
from plumbline.model.command import CommandRunner, Completed, Within
from plumbline.model.errors import DocumentError, SkipTarget
from plumbline.model.names import PATH
from plumbline.model.validation import whole
from plumbline.observe.mounts import Space, mount_holding
from plumbline.observe.query import QUICK_S, SLOW_S, ask, breaks, complaint, objection

NAME = "probe.dat"
"""The file's name in its folder."""
TRIAL = "trial"
"""A short-lived empty file in the same folder."""
TRIALS = (TRIAL, *(f"{TRIAL}-{number}" for number in range(1, 6)))
"""Names of trial files: on some file systems one name may fail and another work."""

OWN = ".plumbline"
_FORMAT = "%s %b %B %d %i %n"
_NOT_OURS = ("Permission denied", "Operation not permitted")
_PLAIN = re.compile(r"[A-Za-z0-9_.-]")


class Status(NamedTuple):
    """Result of stat(1) for the probe file: size, allocated bytes, and inode."""

    size: int
    allocated: int
    inode: int


class ProbeFile(NamedTuple):
    """Path of the file; ``base`` is the mount or directory from the site's topology."""

    base: str
    component: str
    own_folders: bool = False
    """True if the target also holds the folders, instead of a shared metadata server."""
    hidden: str = OWN
    """Name of the folder of all targets."""

    @property
    def own(self) -> str:
        """Return the folder of all targets below this base."""
        return f"{self.base}/{self.hidden}"

    @property
    def name(self) -> str:
        """Return the name of this target's folder."""
        return _escaped(self.component)

    @property
    def folder(self) -> str:
        """Return the folder of this target."""
        return f"{self.own}/{self.name}"

    @property
    def path(self) -> str:
        """Return the path of the file."""
        return f"{self.folder}/{NAME}"

    def within(self, *, make: bool = False) -> Within:
        """Return the folder for a command to work in; ``make`` creates it if missing."""
        return Within(self.base, (self.hidden, self.name), make, NAME)

    def within_own(self) -> Within:
        """Return the folder of all targets below this base, for a command to work in."""
        return Within(self.base, (self.hidden,))

    def opened(self, inode: Optional[int]) -> Within:
        """Return folder and name, for a command with the file as standard input."""
        return self.within()._replace(opened=True, inode=inode)

    def look(self, run: CommandRunner) -> Optional[Status]:
        """Return the file's status, None if it does not exist.

        Raises:
            SkipTarget: part of the path is not from plumbline, or there is no answer.
        """
        rows = self._stat(run, self.within(), ("..", NAME))
        if NAME not in rows:
            return None
        if ".." not in rows:
            raise SkipTarget(f"stat shows {self.path} without {self.own}; look at its folder")
        size, blocks, block_bytes, device, inode = rows[NAME]
        if device != rows[".."][3] and self._mounted_over(run):
            raise SkipTarget(f"{self.path} lies on another file system than {self.own}: unmount it")
        return Status(size, blocks * block_bytes, inode)

    def _mounted_over(self, run: CommandRunner) -> bool:
        """Return True if the file lies in another mount than its folders.

        The device number alone is not enough: an overlay gives files the number of their layer
        (kernel: Documentation/filesystems/overlayfs, "Inode properties").
        """
        return mount_holding(run, self.path) != mount_holding(run, self.own)

    def ask(self, run: CommandRunner, argv: Sequence[str], *, make: bool = False) -> None:
        """Run a command on the file in its folder; ``make`` creates a missing folder.

        Raises:
            BrokenTarget: the target reported an I/O error.
            SkipTarget: the command failed for another reason.
        """
        within = self.within(make=make)
        completed = run(argv, SLOW_S, within)
        if not completed.ok:
            raise objection(completed, own=self._is_own(completed), within=within)

    def resize(self, run: CommandRunner, size_bytes: int) -> None:
        """Give the file its full size, so no tool needs to create it again."""
        self.ask(run, ["truncate", f"--size={size_bytes}", "--", NAME])

    def unlink(self, run: CommandRunner) -> None:
        """Remove the file, and trial files of a killed run."""
        self.ask(run, ["rm", "-f", "--", NAME, *TRIALS])

    def leftovers(self, run: CommandRunner) -> tuple[str, ...]:
        """Return the existing file and folders, deepest first."""
        rows = self._stat(run, self.within(), ("..", ".", NAME))
        if not rows:
            return (self.own,) if self._stat(run, self.within_own(), (".",)) else ()
        paths = {NAME: self.path, ".": self.folder, "..": self.own}
        return tuple(path for name, path in paths.items() if name in rows)

    def remove(self, run: CommandRunner) -> None:
        """Remove the file and its folder, and the shared folder if it is empty.

        A shared folder that an administrator or the role created stays.
        """
        paths = self.leftovers(run)
        if self.folder in paths:
            self.unlink(run)
            ask(run, ["rmdir", "--", self.name], SLOW_S, self.within_own())
        if self.own in paths:
            base = Within(self.base)
            removal = run(["rmdir", "--ignore-fail-on-non-empty", "--", self.hidden], SLOW_S, base)
            if not removal.ok and not removal.stderr.rstrip().endswith(_NOT_OURS):
                raise SkipTarget(complaint(removal, base))

    def _stat(
        self, run: CommandRunner, within: Within, names: tuple[str, ...]
    ) -> dict[str, list[int]]:
        """Return the numbers of existing files by name; empty if the folder is missing."""
        completed = run(["stat", f"--format={_FORMAT}", "--", *names], QUICK_S, within)
        lines = completed.stderr.strip().splitlines()
        # exit code 1 for missing files only is a valid answer
        missing = all(line.endswith("No such file or directory") for line in lines)
        if not completed.ok and (completed.exit_code != 1 or not missing or not lines):
            raise objection(completed, own=self._is_own(completed), within=within)
        rows = [line.split(" ", 5) for line in completed.stdout.splitlines()]
        try:
            return {row[5]: [_number(number) for number in row[:5]] for row in rows}
        except IndexError:
            raise SkipTarget(
                f"stat of {self.path} printed output that is not understood: {completed.stdout!r}"
            ) from None

    def _is_own(self, completed: Completed) -> bool:
        """Return True if an I/O error comes from the target; folders may lie on other targets.

        Messages have the file's name as given, or its path if its folder was opened.
        """
        files = (f"'{NAME}", f"'{TRIAL}", f"{self.path}:")
        messages = filter(breaks, completed.stderr.splitlines())
        return self.own_folders or any(name in line for line in messages for name in files)


def _number(text: str) -> int:
    # inodes of GlusterFS are hashes of 64 bits
    return whole(text, "a number that stat printed", SkipTarget, most=(1 << 64) - 1)


def absolute(path: object, what: str) -> str:
    """Return a path from the site's document without a slash at its end.

    Raises:
        DocumentError: the path is not absolute, or not a plain path.
    """
    text = path.rstrip("/") or "/" if isinstance(path, str) else ""
    PATH.refuse(what, text)
    return text


def _escaped(component: str) -> str:
    """Return a file name that is safe for fio, GlusterFS and a shell: ``:`` becomes ``%3A``."""
    safe = "".join(
        char if _PLAIN.fullmatch(char) else "".join(f"%{byte:02X}" for byte in char.encode())
        for char in component
    )
    return safe if safe.strip(".") else safe.replace(".", "%2E")


def quota(where: str) -> str:
    """Return the remedy for an exceeded quota; ``where`` is the file system or a folder on it."""
    return (
        f"the quota of the measuring user for {where} is used up; raise it, for user plumbline "
        "where a timer measures"
    )


class Cache(NamedTuple):
    """Cache with its ``name``, the command that drops it, and the command's folder."""

    name: str
    argv: tuple[str, ...]
    within: Optional[Within] = None


def page_cache(opened: Optional[Within]) -> Cache:
    """Return the page cache of this host; dd advises the kernel and reads nothing (coreutils)."""
    argv = ("dd", "if=/proc/self/fd/0", "iflag=nocache", "count=0", "status=none")
    return Cache("page cache", argv, opened)


def lock_cache(ost: str) -> Cache:
    """Return the client's locks of an OST (LDLM); the pages that they cover are dropped too.

    ``clear`` cancels unused locks and leaves the setting as it is (lru_size_store in
    lustre/ldlm/ldlm_resource.c); the pattern excludes connections of an MDT to the OST.
    """
    parameter = f"ldlm.namespaces.{ost}-osc-[!M]*.lru_size=clear"
    return Cache("lock cache", ("lctl", "set_param", parameter))


def server_cache(file: ProbeFile, size_bytes: int) -> Cache:
    """Return the server's cache of a Lustre file; ZFS ignores the advice (lfs-ladvise)."""
    span = ("--start=0", f"--length={size_bytes}")
    argv = ("lfs", "ladvise", "--advice=dontneed", *span, NAME)
    return Cache("server cache", argv, file.within())


class Client(NamedTuple):
    """Mount point of a client, and the folder of its files if that is not the mount point.

    ``imports_hidden`` is True if this user may not read the state of its connections.
    """

    mount: str
    folder: str = ""
    imports_hidden: bool = False

    def checked(self, noun: str) -> Client:
        """Return it with plain paths; raise DocumentError if one is not absolute."""
        mount = absolute(self.mount, f"the mount of {noun}")
        return self._replace(mount=mount, folder=absolute(self.folder or mount, "the folder"))


APART = ".plumbline-caches"
_MAX_NAME = 255
"""Most bytes in a folder's name (limits.h, NAME_MAX)."""
_COMPLETE = 0.99
"""Allocated fraction below which a file has holes; some file systems count a little less."""


class FileTarget(Target):
    """Target that is measured through one permanent file."""

    _ALONE = False
    """True if all files below the base lie on this target, which causes all their I/O errors."""

    def __init__(self, base: str, component: str, fill_limit: float) -> None:
        """Take mount or directory, the component's name, and the highest fill, a fraction.

        Raises:
            DocumentError: the component has no name, or a name that is too long for a folder.
        """
        if not component:
            raise DocumentError(f"a target on {base} has no name; give it one")
        self._file = ProbeFile(base, component, own_folders=self._ALONE)
        if len(self._file.folder.rpartition("/")[2]) > _MAX_NAME:
            raise DocumentError(
                f"the name {component[:40]!r}... is too long for a target; shorten it"
            )
        self._fill_limit = fill_limit
        self._size: Optional[int] = None
        self._inode: Optional[int] = None

    @property
    def folder(self) -> tuple[str, Within]:
        """Return the name of the file's folder, and the parent folder of all targets."""
        return self._file.name, self._file.within_own()

    def use_folder_of_root(self) -> None:
        """Use root's own folder, never the one of the probes' user."""
        self._file = self._file._replace(hidden=APART)

    def caches(self, size_bytes: int) -> tuple[Cache, ...]:  # noqa: ARG002
        """Return the caches that may serve a read of the file, nearest to the reader first."""
        return (page_cache(self.within()),)

    @abstractmethod
    def _space(self, run: CommandRunner) -> Space:
        """Return the space of the target."""

    @abstractmethod
    def _create(self, run: CommandRunner) -> None:
        """Create the empty file on the target, and its folder if missing."""

    @abstractmethod
    def _misplaced(self, run: CommandRunner) -> str:
        """Return the fault of the file's placement, empty if it lies on this target."""

    def place(self, run: CommandRunner, size_bytes: int) -> str:
        """Return the path of the file of ``size_bytes``; create it if needed."""
        status = self._usable(run, size_bytes)
        missing = size_bytes - (status.allocated if status else 0)
        self._space(run).refuse_above(self._fill_limit, max(0, missing), self._file.base)
        if status is None:
            self._create(run)
            self._file.resize(run, size_bytes)
        self._size, self._inode = size_bytes, status and status.inode
        self.verify(run, self._file.path)
        return self._file.path

    def within(self) -> Optional[Within]:
        """Return folder and name of the placed file, for a tool's standard input."""
        return self._file.opened(self._inode)

    def find(self, run: CommandRunner, size_bytes: int) -> str:
        """Return the path of a complete file that an earlier run kept.

        Raises:
            SkipTarget: it does not exist, has another size or holes, or lies elsewhere.
        """
        status = self._file.look(run)
        if status is None or status.size != size_bytes:
            state = "is not there" if status is None else f"has {status.size} bytes"
            raise SkipTarget(
                f"{self._file.path} {state}, {size_bytes} bytes are to be read; let a run on the "
                "same terms keep its files first"
            )
        if status.allocated < size_bytes * _COMPLETE:
            raise SkipTarget(
                f"{self._file.path} has holes: the run that wrote it was cut short, and holes are "
                "read too fast; let another one keep its files"
            )
        self._size, self._inode = size_bytes, status.inode
        self.verify(run, self._file.path)
        return self._file.path

    def refuse_without_room(self, run: CommandRunner, size_bytes: int) -> None:
        """Raise SkipTarget if ``size_bytes`` more would fill the target above its limit."""
        self._space(run).refuse_above(self._fill_limit, size_bytes, self._file.base)

    def verify(self, run: CommandRunner, path: str) -> None:
        """Check that the placed file still lies only on this target, at full size."""
        if path != self._file.path or self._size is None:
            raise SkipTarget(f"{path} was not placed on {self._file.component}; place it first")
        status = self._file.look(run)
        if status is None:
            raise SkipTarget(f"{path} is gone; run the probe again to make a new one")
        if status.size != self._size:
            raise SkipTarget(
                f"{path} has {status.size} bytes instead of {self._size}; somebody changed it, "
                "run the probe again to make a new one"
            )
        # remember the inode of a new file from here on
        self._inode = self._inode or status.inode
        if status.inode != self._inode:
            raise SkipTarget(
                f"{path} is another file than the one that was placed; somebody exchanged it, "
                "run the probe again to make a new one"
            )
        fault = self._misplaced(run)
        if fault:
            raise SkipTarget(fault)

    def waits_for_others(self, run: CommandRunner) -> str:  # noqa: ARG002
        """Return the reason: the file's folders may lie on several servers."""
        return "its folders may lie on other servers"

    def cause(self, run: CommandRunner, output: str, since: float) -> str:  # noqa: ARG002
        """Return cause and remedy of a tool's failure by its output; empty if unknown."""
        return quota(self._file.base) if "disk quota exceeded" in output.lower() else ""

    def leftovers(self, run: CommandRunner) -> tuple[str, ...]:
        """Return the paths that plumbline created on this target, deepest first."""
        return self._file.leftovers(run)

    def remove(self, run: CommandRunner) -> None:
        """Remove all of ``leftovers``."""
        self._file.remove(run)

    def _usable(self, run: CommandRunner, size_bytes: int) -> Optional[Status]:
        """Return the file's status; None if it is missing or was removed."""
        status = self._file.look(run)
        if status is None or (status.size == size_bytes and not self._misplaced(run)):
            return status
        self._file.unlink(run)
        if self._file.look(run) is not None:
            raise SkipTarget(
                f"{self._file.path} is still there after it was removed; remove it by hand"
            )
        return None
