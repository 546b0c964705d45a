"""What a server's devices and storage targets have moved, by the counters of kernel and Lustre.

Both are read as files, a few microseconds each: no command is started for them.  Any user may read
the kernel's; newer releases of Lustre keep theirs in debugfs.
"""

from __future__ import annotations

import os
import re
import stat
from typing import Iterator, Mapping, NamedTuple, Protocol, Sequence

from plumbline.counters.places import METADATA, ROOTS, STORAGE
from plumbline.errors import DocumentError, ToolError
from plumbline.model.printed import whole
from plumbline.model.record import Operation
from plumbline.targets.lustre_counters import OPERATIONS, lustre_stats

DISKSTATS = "/proc/diskstats"
LUSTRE = tuple(f"{root}/obdfilter" for root in ROOTS)
"""Where Lustre's servers keep a folder with statistics for each storage target, by release."""
_METADATA = ("/sys/fs/lustre/mdt", *(f"{root}/mdt" for root in ROOTS))
NEEDS_DEBUGFS = (
    "Lustre keeps their statistics in debugfs, which this user may not enter; set "
    "agent_lustre_capabilities of the role agent to [CAP_DAC_READ_SEARCH]"
)

_SERVED = ("/sys/fs/lustre/obdfilter", *LUSTRE)
"""Where any user sees which targets a server has, by release."""
_SECTOR_BYTES = 512
"""Of /proc/diskstats, whatever the device says of its own (Documentation/admin-guide/iostats)."""
_READ_PLACE, _WRITTEN_PLACE = 5, 9

Number = tuple[int, int]
"""Major and minor number of a device."""


class Counter(NamedTuple):
    """One direction of one component; ``source`` says who counts, ``diskstats`` or ``lustre``."""

    component: str
    operation: Operation
    source: str


Reading = Mapping[Counter, int]
"""Bytes that each counter stands at; one that could not be read is not there."""


class Source(Protocol):
    """Something that counts bytes."""

    def read(self) -> Reading:
        """Return where its counters stand now; raise ToolError if that is not understood."""
        ...


class Files(Protocol):
    """The files of a node, as :class:`plumbline.run.system.LocalSystem` reads them."""

    def read(self, path: str) -> str:
        """Return a small file's text, empty if it cannot be read."""
        ...

    def names(self, folder: str) -> tuple[str, ...]:
        """Return what lies in a folder, nothing where there is none."""
        ...


class Devices:
    """Block devices, by the counters of the kernel."""

    def __init__(self, numbers: Mapping[str, Number], files: Files) -> None:
        """Take the number of each component's device."""
        self._numbers = numbers
        self._files = files

    def read(self) -> Reading:
        """Return what each device has moved; raise ToolError for lines that are not understood."""
        moved = diskstats(self._files.read(DISKSTATS))
        return {
            Counter(name, operation, "diskstats"): count
            for name, number in self._numbers.items()
            if number in moved
            for operation, count in zip((Operation.READ, Operation.WRITE), moved[number])
        }


class Targets:
    """Lustre's storage targets on this server, by what they have given to and taken of clients."""

    def __init__(self, files: Files) -> None:
        """Look once which targets there are, and which of them may be read."""
        self._files = files
        self.names: dict[str, str] = {
            name: f"{folder}/{name}/stats"
            for folder in LUSTRE
            for name in files.names(folder)
            if files.read(f"{folder}/{name}/stats")
        }
        served = {name for folder in _SERVED for name in files.names(folder)}
        self.closed: tuple[str, ...] = tuple(
            sorted(name for name in served - set(self.names) if re.fullmatch(STORAGE, name))
        )
        """Those that this server has and of which this user may not read the statistics."""
        found = {name for folder in _METADATA for name in files.names(folder)}
        self.metadata: tuple[str, ...] = tuple(
            sorted(name for name in found if re.fullmatch(METADATA, name))
        )
        """Metadata targets, whose jobs are followed: they move no bytes to speak of."""

    def read(self) -> Reading:
        """Return what each target has moved; raise ToolError for text that is not understood."""
        return {
            Counter(name, operation, "lustre"): count
            for name, path in self.names.items()
            if (text := self._files.read(path))
            for operation, count in lustre_stats(text, path).items()
        }


def closed(targets: Targets) -> dict[Counter, str]:
    """Return the counters of targets that this user may not read, with the reason."""
    return {
        Counter(name, operation, "lustre"): NEEDS_DEBUGFS
        for name in targets.closed
        for operation in OPERATIONS
    }


def unwatched(targets: Targets, planned: Sequence[str]) -> Iterator[str]:
    """Yield a sentence on targets that may not be read, and on ``planned`` ones that are not here.

    ``planned`` are those that the topology puts on this server.
    """
    if targets.closed:
        every = len(targets.names) + len(targets.closed)
        yield f"{len(targets.names) or 'none'} of {every} OSTs watched: {NEEDS_DEBUGFS}"
    absent = sorted(set(planned) - set(targets.names) - set(targets.closed))
    if absent:
        yield (
            f"{', '.join(absent)} not watched: this server does not have what the topology puts "
            "on it; unmounted, or failed over to another server"
        )


def diskstats(text: str) -> dict[Number, tuple[int, int]]:
    """Return bytes read and written by device number; raise ToolError if not understood."""
    try:
        return dict(_device(line.split()) for line in text.splitlines())
    except (IndexError, ToolError) as error:
        raise ToolError(
            f"{DISKSTATS} is not understood ({error}); this kernel counts in another way"
        ) from error


def _device(words: Sequence[str]) -> tuple[Number, tuple[int, int]]:
    major, minor, read, written = (
        whole(words[place], DISKSTATS) for place in (0, 1, _READ_PLACE, _WRITTEN_PLACE)
    )
    return (major, minor), (read * _SECTOR_BYTES, written * _SECTOR_BYTES)


def device_number(component: str, path: str) -> Number:
    """Return the number of a block device, whatever link leads to it.

    Raises:
        DocumentError: there is no such device, naming component and path.
    """
    try:
        found = os.stat(path)
    except OSError as error:
        raise DocumentError(
            f"{component}: {path} cannot be found ({error.strerror}); see lsblk"
        ) from error
    if not stat.S_ISBLK(found.st_mode):
        raise DocumentError(f"{component}: {path} is no block device; see lsblk")
    return os.major(found.st_rdev), os.minor(found.st_rdev)
