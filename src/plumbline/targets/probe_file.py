"""The one permanent probe file of a target, and all that may be done to it.

``BASE/.plumbline/COMPONENT/probe.dat``: nothing outside of that folder is ever made or removed.
Every command works in a folder that was opened without links and belongs to the caller, so that
nobody else can exchange what it works on; see :mod:`plumbline.folders`.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Optional, Sequence

from plumbline.errors import SkipTarget
from plumbline.model.allowed import PATH
from plumbline.model.breakage import breaks
from plumbline.model.command import CommandRunner, Completed, Within
from plumbline.model.printed import whole
from plumbline.targets.mounts import mount_holding
from plumbline.targets.query import QUICK_S, SLOW_S, ask, complaint, objection
from plumbline.units import format_bytes

NAME = "probe.dat"
"""The file's name in its folder."""
TRIAL = "trial"
"""An empty file beside it that lives for a moment."""
TRIALS = (TRIAL, *(f"{TRIAL}-{number}" for number in range(1, 6)))
"""Its names, for a kind of file system on which one name may fail where another does not."""

_OWN = ".plumbline"
_FORMAT = "%s %b %B %d %i %n"
_NOT_OURS = ("Permission denied", "Operation not permitted")
_PLAIN = re.compile(r"[A-Za-z0-9_.-]")


class Space(NamedTuple):
    """How full a target is, in bytes; what is reserved for root counts as neither."""

    used: int
    available: int

    @property
    def fill(self) -> float:
        """Return used / (used + available), the fraction that ``df`` shows."""
        return self.used / max(1, self.used + self.available)

    def refuse_above(self, limit: float, more_bytes: int, where: str) -> None:
        """Raise SkipTarget when ``more_bytes`` would fill the target above ``limit``."""
        after = Space(self.used + more_bytes, self.available - more_bytes)
        if self.fill > limit or after.fill > limit or after.available < 0:
            more = f" and {format_bytes(more_bytes)} more are needed" if more_bytes else ""
            raise SkipTarget(
                f"{where} is {self.fill:.0%} full{more}, the limit is {limit:.0%}; "
                "free space, or raise fill_limit"
            )


class Status(NamedTuple):
    """What stat(1) says of the probe file: size, bytes allocated, and the number of its inode."""

    size: int
    allocated: int
    inode: int


class ProbeFile(NamedTuple):
    """Where the file lies; ``base`` is the mount or directory given by the site."""

    base: str
    component: str
    own_folders: bool = False
    """Whether the folders lie on the target too, not on whatever keeps those of all targets."""
    hidden: str = _OWN
    """The name of the folder of all targets."""

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
        """Return the folder as commands work in it; ``make`` makes it where it is missing."""
        return Within(self.base, (self.hidden, self.name), make, NAME)

    def within_own(self) -> Within:
        """Return the folder of all targets below this base, as commands work in it."""
        return Within(self.base, (self.hidden,))

    def opened(self, inode: Optional[int]) -> Within:
        """Return where a command finds the file as its standard input."""
        return self.within()._replace(opened=True, inode=inode)

    def look(self, run: CommandRunner) -> Optional[Status]:
        """Return the file's status, None when it is not there yet.

        Raises:
            SkipTarget: something on the way is not what plumbline makes, or there is no answer.
        """
        found = self._stat(run, self.within(), ("..", NAME))
        if NAME not in found:
            return None
        if ".." not in found:
            raise SkipTarget(f"stat shows {self.path} without {self.own}; look at its folder")
        size, blocks, block_bytes, device, inode = found[NAME]
        if device != found[".."][3] and self._mounted_over(run):
            raise SkipTarget(f"{self.path} lies on another file system than {self.own}: unmount it")
        return Status(size, blocks * block_bytes, inode)

    def _mounted_over(self, run: CommandRunner) -> bool:
        """Return whether the file lies in another mount than its folders.

        The number of its device alone does not tell: an overlay gives files that of the layer that
        they lie in (kernel: Documentation/filesystems/overlayfs, "Inode properties").
        """
        return mount_holding(run, self.path) != mount_holding(run, self.own)

    def ask(self, run: CommandRunner, argv: Sequence[str], *, make: bool = False) -> None:
        """Do something with the file, in its folder, which ``make`` makes where it is missing.

        Raises:
            BrokenTarget: the target gave an I/O error.
            SkipTarget: it did not succeed for another reason.
        """
        within = self.within(make=make)
        completed = run(argv, SLOW_S, within)
        if not completed.ok:
            raise objection(completed, own=self._is_own(completed), within=within)

    def resize(self, run: CommandRunner, size_bytes: int) -> None:
        """Give the file its full size, so that nothing needs to create it again."""
        self.ask(run, ["truncate", f"--size={size_bytes}", "--", NAME])

    def unlink(self, run: CommandRunner) -> None:
        """Remove the file and whatever a killed run left beside it."""
        self.ask(run, ["rm", "-f", "--", NAME, *TRIALS])

    def leftovers(self, run: CommandRunner) -> tuple[str, ...]:
        """Return what is there of file and folders, deepest first."""
        found = self._stat(run, self.within(), ("..", ".", NAME))
        if not found:
            return (self.own,) if self._stat(run, self.within_own(), (".",)) else ()
        paths = {NAME: self.path, ".": self.folder, "..": self.own}
        return tuple(path for name, path in paths.items() if name in found)

    def remove(self, run: CommandRunner) -> None:
        """Remove the file and its folder, and the shared folder when it is empty and ours.

        Where an administrator or the role made the shared folder, its maker removes it.
        """
        found = self.leftovers(run)
        if self.folder in found:
            self.unlink(run)
            ask(run, ["rmdir", "--", self.name], SLOW_S, self.within_own())
        if self.own in found:
            base = Within(self.base)
            shared = run(["rmdir", "--ignore-fail-on-non-empty", "--", self.hidden], SLOW_S, base)
            if not shared.ok and not shared.stderr.rstrip().endswith(_NOT_OURS):
                raise SkipTarget(complaint(shared, base))

    def _stat(
        self, run: CommandRunner, within: Within, names: tuple[str, ...]
    ) -> dict[str, list[int]]:
        """Return numbers by name for what is there; nothing where the folder is missing."""
        completed = run(["stat", f"--format={_FORMAT}", "--", *names], QUICK_S, within)
        lines = completed.stderr.strip().splitlines()
        # exit code 1 with nothing but missing files is an answer
        missing = all(line.endswith("No such file or directory") for line in lines)
        if not completed.ok and (completed.exit_code != 1 or not missing or not lines):
            raise objection(completed, own=self._is_own(completed), within=within)
        rows = [line.split(" ", 5) for line in completed.stdout.splitlines()]
        try:
            return {row[5]: [_number(number) for number in row[:5]] for row in rows}
        except IndexError:
            raise SkipTarget(
                f"stat of {self.path} printed what is not understood: {completed.stdout!r}"
            ) from None

    def _is_own(self, completed: Completed) -> bool:
        """Return whether an I/O error is one of the target: folders may be on others as well.

        Commands name the file as they are given it, what opens its folder by its path.
        """
        files = (f"'{NAME}", f"'{TRIAL}", f"{self.path}:")
        said = filter(breaks, completed.stderr.splitlines())
        return self.own_folders or any(name in line for line in said for name in files)


def _number(text: str) -> int:
    # inodes of GlusterFS are hashes of 64 bits
    return whole(text, "a number that stat printed", SkipTarget, most=(1 << 64) - 1)


def absolute(path: object, what: str) -> str:
    """Return a path of the site's document without a slash at its end.

    Raises:
        DocumentError: it is not absolute, or would lead elsewhere than it says.
    """
    text = path.rstrip("/") or "/" if isinstance(path, str) else ""
    PATH.refuse(what, text)
    return text


def _escaped(component: str) -> str:
    """Return a file name that means nothing to fio, GlusterFS or a shell: ``:`` becomes ``%3A``."""
    safe = "".join(
        char if _PLAIN.fullmatch(char) else "".join(f"%{byte:02X}" for byte in char.encode())
        for char in component
    )
    return safe if safe.strip(".") else safe.replace(".", "%2E")


def quota(where: str) -> str:
    """Return what an exceeded quota takes; ``where`` is the file system or what lies on it."""
    return f"the quota of the measuring user for {where} is used up; raise it for user plumbline"
