"""Mounted file systems, from the kernel's list, which can be read even if they hang."""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

from plumbline.model.command import CommandRunner
from plumbline.model.errors import BrokenTarget, NoMount, SkipTarget, ToolError
from plumbline.model.units import format_bytes
from plumbline.model.validation import whole
from plumbline.observe.query import ask

_OCTAL = re.compile(r"\\([0-7]{3})")
_SECTOR_BYTES = 512
"""The unit of /sys/class/block/*/stat for all devices (kernel: Documentation/block/stat.rst)."""


class Space(NamedTuple):
    """Used and free bytes of a target, both without the space reserved for root."""

    used: int
    available: int

    @property
    def fill(self) -> float:
        """Return used / (used + available), as ``df`` does."""
        return self.used / max(1, self.used + self.available)

    def refuse_above(self, limit: float, more_bytes: int, where: str) -> None:
        """Raise SkipTarget if ``more_bytes`` would fill the target above ``limit``."""
        if not self.used + self.available:
            raise SkipTarget(
                f"{where} has no space for files (0 B in all); choose a place on storage"
            )
        after = Space(self.used + more_bytes, self.available - more_bytes)
        if self.fill > limit or after.fill > limit or after.available < 0:
            more = f" and {format_bytes(more_bytes)} more are needed" if more_bytes else ""
            fewer = ", or measure fewer bytes" if self.fill <= limit else ""
            raise SkipTarget(
                f"{where} is {self.fill:.0%} full{more}, the limit is {limit:.0%}; "
                f"free space there{fewer}"
            )


class Room(NamedTuple):
    """Space of a target, and its inodes, None if they are not known."""

    space: Space
    inodes: Optional[Space] = None


class Traffic(NamedTuple):
    """Bytes read from and written to storage by all, counted since it was attached."""

    read: int
    written: int

    @property
    def bytes(self) -> int:
        """Return the bytes of both directions."""
        return self.read + self.written


class Mount(NamedTuple):
    """One mount; ``device`` is ``major:minor``, ``root`` the mounted folder of ``source``.

    ``own`` are the options of the mount, ``of_system`` those of its file system.
    """

    device: str
    root: str
    point: str
    kind: str
    source: str
    own: frozenset[str]
    of_system: frozenset[str]

    def refuse_read_only(self) -> None:
        """Raise SkipTarget for a read-only mount, BrokenTarget if an error made it read-only.

        After an error the kernel sets only the file system read-only; a person sets both.
        """
        if "rw" in self.own and "ro" in self.of_system:
            raise BrokenTarget(
                f"{self.point} was made read-only by the kernel after an error; look into the "
                "kernel log, repair the file system and mount it again"
            )
        if "ro" in self.own | self.of_system:
            raise SkipTarget(f"{self.point} is mounted read-only; look why in the kernel log")


def mount_at(run: CommandRunner, point: str) -> Mount:
    """Return the mount exactly at ``point``; raise NoMount if there is none."""
    at_point = [mount for mount in mounts(run) if mount.point == point]
    if not at_point:
        raise NoMount(f"nothing is mounted at {point}; mount the file system")
    return at_point[-1]


def mount_holding(run: CommandRunner, path: str) -> Mount:
    """Return the mount of a path without symbolic links; raise SkipTarget if there is none."""
    holding = [
        mount for mount in mounts(run) if f"{path}/".startswith(f"{mount.point.rstrip('/')}/")
    ]
    if not holding:
        raise SkipTarget(f"no mount holds {path}; look at /proc/self/mountinfo")
    longest = max(len(mount.point) for mount in holding)
    return [mount for mount in holding if len(mount.point) == longest][-1]


def traffic_of(run: CommandRunner, device: str) -> Optional[Traffic]:
    """Return the bytes read from and written to a block device since it was attached.

    ``device`` is ``major:minor``; None if it is no local block device, as for a network file
    system.
    """
    completed = run(["cat", f"/sys/dev/block/{device}/stat"], 5.0)
    fields = completed.stdout.split()
    if not completed.ok or len(fields) < 7:
        return None
    try:
        read, written = (whole(fields[place], "a counter") * _SECTOR_BYTES for place in (2, 6))
        return Traffic(read, written)
    except ToolError:
        return None


def is_rotating(run: CommandRunner, device: str) -> Optional[bool]:
    """Return whether the kernel calls a block device, ``major:minor``, a rotating disk.

    A partition has no queue: its disk's counts.  None if the kernel does not tell.
    """
    folder = f"/sys/dev/block/{device}"
    places = [f"{folder}/{place}/rotational" for place in ("queue", "../queue")]
    completed = run(["cat", *places], 5.0)
    return {"0": False, "1": True}.get(completed.stdout.strip())


def mounts(run: CommandRunner) -> tuple[Mount, ...]:
    """Return all mounts, those mounted later below those that they hide."""
    text = ask(run, ["cat", "/proc/self/mountinfo"])
    # only a line feed ends a line: users name mount points, and the kernel escapes no other end
    return tuple(parse_mount(line) for line in text.split("\n") if line)


def parse_mount(line: str) -> Mount:
    """Parse a line of proc_pid_mountinfo(5); raise SkipTarget for any other line.

    The optional fields end with a lone hyphen.
    """
    fields = line.split(" ")
    try:
        end = fields.index("-", 6)
        kind, source, options = fields[end + 1 : end + 4]
    except ValueError:
        raise SkipTarget(
            f"/proc/self/mountinfo has a line that is not understood: {line!r}"
        ) from None
    own, of_system = (frozenset(text.split(",")) for text in (fields[5], options))
    root, point, source = map(_plain, (fields[3], fields[4], source))
    return Mount(fields[2], root, point, kind, source, own, of_system)


def _plain(text: str) -> str:
    return _OCTAL.sub(lambda match: chr(whole(match[1], "an escaped letter", base=8)), text)
