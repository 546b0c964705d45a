"""The one permanent probe file of a target, and all that may be done to it.

``BASE/.plumbline/COMPONENT/probe.dat``: nothing outside of that folder is ever made or removed, and
nothing is followed that is a symbolic link.
"""

from __future__ import annotations

import re
from stat import S_ISDIR, S_ISREG
from typing import NamedTuple, Optional

from plumbline.errors import DocumentError, SkipTarget
from plumbline.model.breakage import breaks
from plumbline.model.command import CommandRunner, Completed
from plumbline.targets.ask import QUICK_S, SLOW_S, ask, ask_own, complaint, refusal
from plumbline.targets.mounts import mount_holding
from plumbline.units import format_bytes

_FORMAT = "%f %s %b %B %h %d %n"
_NOT_OURS = ("Permission denied", "Operation not permitted")
_PLAIN = re.compile(r"[A-Za-z0-9_.-]")
_PATH = re.compile(r"(/[^/\x00-\x1f\x7f]+)+|/")


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
    """What stat(1) says of the probe file: size, bytes really allocated, and its device number."""

    size: int
    allocated: int
    device: str


class ProbeFile(NamedTuple):
    """Where the file lies; ``base`` is the mount or directory given by the site."""

    base: str
    component: str
    own_folders: bool = False
    """Whether the folders lie on the target too, not on whatever keeps those of all targets."""

    @property
    def own(self) -> str:
        """Return the folder of all targets below this base."""
        return f"{self.base}/.plumbline"

    @property
    def folder(self) -> str:
        """Return the folder of this target."""
        return f"{self.own}/{_escaped(self.component)}"

    @property
    def path(self) -> str:
        """Return the path of the file."""
        return f"{self.folder}/probe.dat"

    @property
    def trial(self) -> str:
        """Return the path of an empty file that lives for a moment."""
        return f"{self.folder}/trial"

    def look(self, run: CommandRunner) -> Optional[Status]:
        """Return the file's status, None when it is not there yet.

        Raises:
            SkipTarget: something on the way is not what plumbline makes, or there is no answer.
        """
        found = self._stat(run)
        for folder in (self.own, self.folder):
            if folder in found and not S_ISDIR(int(found[folder][0], 16)):
                raise SkipTarget(f"{folder} is not a folder; plumbline follows no links: remove it")
        if self.path not in found:
            return None
        mode, size, blocks, block_bytes, links, device = found[self.path]
        if not S_ISREG(int(mode, 16)) or links != "1":
            raise SkipTarget(
                f"{self.path} is no plain file, which plumbline never makes: remove it"
            )
        if device != found[self.own][5] and self._mounted_over(run):
            raise SkipTarget(f"{self.path} lies on another file system than {self.own}: unmount it")
        return Status(int(size), int(blocks) * int(block_bytes), device)

    def _mounted_over(self, run: CommandRunner) -> bool:
        """Return whether the file lies in another mount than its folders.

        The number of its device alone does not tell: an overlay gives files that of the layer that
        they lie in (kernel: Documentation/filesystems/overlayfs, "Inode properties").
        """
        return mount_holding(run, self.path) != mount_holding(run, self.own)

    def make_folder(self, run: CommandRunner) -> None:
        """Make the folder of this target where it is missing."""
        completed = run(["mkdir", "-p", "--", self.folder], SLOW_S)
        if completed.ok:
            return
        broken = breaks(completed.stderr)
        # GlusterFS refuses to make a folder that is there while another brick is down
        if not broken or self.folder not in self._stat(run):
            remedy = "" if broken else f"; the role ost_probe makes {self.own} for its user"
            raise refusal(completed, own=self._is_own(completed), remedy=remedy)

    def resize(self, run: CommandRunner, size_bytes: int) -> None:
        """Give the file its full size, so that nothing needs to create it anew."""
        ask_own(run, ["truncate", f"--size={size_bytes}", "--", self.path], SLOW_S)

    def unlink(self, run: CommandRunner) -> None:
        """Remove the file and whatever a killed run left beside it."""
        ask_own(run, ["rm", "-f", "--", self.path, self.trial], SLOW_S)

    def leftovers(self, run: CommandRunner) -> tuple[str, ...]:
        """Return what is there of file and folders, deepest first."""
        found = self._stat(run)
        return tuple(path for path in (self.path, self.folder, self.own) if path in found)

    def remove(self, run: CommandRunner) -> None:
        """Remove the file and its folder, and the shared folder when it is empty and ours.

        Where an administrator or the role made the shared folder, its maker removes it.
        """
        found = self.leftovers(run)
        self.look(run)
        if self.folder in found:
            self.unlink(run)
            ask(run, ["rmdir", "--", self.folder], SLOW_S)
        if self.own in found:
            shared = run(["rmdir", "--ignore-fail-on-non-empty", "--", self.own], SLOW_S)
            if not shared.ok and not shared.stderr.rstrip().endswith(_NOT_OURS):
                raise SkipTarget(complaint(shared))

    def _stat(self, run: CommandRunner) -> dict[str, list[str]]:
        paths = (self.own, self.folder, self.path)
        completed = run(["stat", f"--format={_FORMAT}", "--", *paths], QUICK_S)
        lines = completed.stderr.strip().splitlines()
        # exit code 1 with nothing but missing files is an answer
        missing = all(line.endswith("No such file or directory") for line in lines)
        if not completed.ok and (completed.exit_code != 1 or not missing or not lines):
            raise refusal(completed, own=self._is_own(completed))
        rows = [line.split(" ", 6) for line in completed.stdout.splitlines()]
        if any(len(row) != 7 for row in rows):
            raise SkipTarget(
                f"stat of {self.path} printed what is not understood: {completed.stdout!r}"
            )
        return {row[6]: row[:6] for row in rows}

    def _is_own(self, completed: Completed) -> bool:
        """Return whether an I/O error is one of the target: folders may be on others as well."""
        lines = completed.stderr.splitlines()
        return self.own_folders or any(breaks(ln) and f"{self.path}'" in ln for ln in lines)


def absolute(path: object, what: str) -> str:
    """Return a path of the site's document without a slash at its end.

    Raises:
        DocumentError: it is not absolute, or would lead elsewhere than it says.
    """
    text = path.rstrip("/") or "/" if isinstance(path, str) else ""
    if not _PATH.fullmatch(text) or {".", ".."} & set(text.split("/")):
        raise DocumentError(
            f"{what} {path!r} is not an absolute path; write for example /mnt/scratch"
        )
    return text


def _escaped(component: str) -> str:
    """Return a file name that means nothing to fio, GlusterFS or a shell: ``:`` becomes ``%3A``."""
    safe = "".join(
        char if _PLAIN.fullmatch(char) else "".join(f"%{byte:02X}" for byte in char.encode())
        for char in component
    )
    return safe if safe.strip(".") else safe.replace(".", "%2E")
