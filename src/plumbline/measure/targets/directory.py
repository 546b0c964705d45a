"""Directory as a storage target: BeeGFS, XFS, NFS, a local disk.

The site maps directories to targets; the proof covers that the expected file system is mounted, and
that the file stayed on it.
"""

from __future__ import annotations

from typing import Iterable, Optional

from plumbline.measure.targets.interface import (
    Descriptions,
    Holder,
    Keys,
    Kind,
    TargetState,
    by_component,
    elsewhere,
)
from plumbline.measure.targets.probe_file import NAME, FileTarget, absolute
from plumbline.model.command import CommandRunner
from plumbline.model.errors import SkipTarget
from plumbline.model.validation import whole
from plumbline.observe.mounts import Mount, Room, Space, Traffic, mount_holding, traffic_of
from plumbline.observe.query import ask


class DirectoryTarget(FileTarget):
    """One directory; ``source``, if given, is the device or export that must be mounted there."""

    _ALONE = True

    def __init__(self, directory: str, source: str, component: str, fill_limit: float) -> None:
        """Take the directory; raise DocumentError if its path is not absolute."""
        super().__init__(absolute(directory, "the directory of a target"), component, fill_limit)
        self._directory = self._file.base
        self._source = source
        self._device = ""

    def state(self, run: CommandRunner) -> TargetState:
        """Return the state of an existing directory that is writable and not too full."""
        mount = self._mount(run)
        mount.refuse_read_only()
        real = ask(run, ["realpath", "--canonicalize-existing", "--", self._directory], own=True)
        if real.rstrip("\n") != self._directory:
            raise SkipTarget(
                f"{self._directory} leads to {real.strip()} over a symbolic link; "
                "name that directory itself"
            )
        space = self._space(run)
        space.refuse_above(self._fill_limit, 0, self._directory)
        self._device = mount.device
        return TargetState(space.fill, (), {"filesystem": mount.kind})

    def waits_for_others(self, run: CommandRunner) -> str:  # noqa: ARG002
        """Return nothing: the directory is the entire target."""
        return ""

    def traffic(self, run: CommandRunner) -> Optional[Traffic]:
        """Return the bytes of the underlying block device, None for a network file system."""
        return traffic_of(run, self._mount(run).device)

    def _mount(self, run: CommandRunner) -> Mount:
        mount = mount_holding(run, self._directory)
        if self._source not in ("", mount.source):
            raise SkipTarget(
                f"{self._directory} lies on {mount.source}, not on {self._source}; mount that"
            )
        return mount

    def room(self, run: CommandRunner) -> Room:
        """Return space and inodes; some file systems, such as Btrfs, count no inodes."""
        self._mount(run)
        total, free = self._numbers(run, "%c %d")
        inodes = Space(max(0, total - free), free) if total else None
        return Room(self._space(run), inodes)

    def _space(self, run: CommandRunner) -> Space:
        unit, blocks, free, available = self._numbers(run, "%S %b %f %a")
        return Space(used=(blocks - free) * unit, available=available * unit)

    def _numbers(self, run: CommandRunner, form: str) -> list[int]:
        """Return the numbers of statvfs(3) in a format of ``stat --file-system``."""
        argv = ["stat", "--file-system", f"--format={form}", "--", self._directory]
        text = ask(run, argv, own=True)
        words = text.split()
        if len(words) != len(form.split()):
            raise SkipTarget(f"stat -f of {self._directory} printed {text[:80]!r}")
        subject = f"a number of stat -f of {self._directory}"
        return [whole(word, subject, SkipTarget) for word in words]

    def _create(self, run: CommandRunner) -> None:
        self._file.ask(run, ["touch", "--", NAME], make=True)

    def _misplaced(self, run: CommandRunner) -> str:
        device = self._mount(run).device
        if device != self._device:
            return f"{self._directory} is another file system than before; it was mounted again"
        return ""


def _make(keys: Keys, component: str, fill_limit: float) -> DirectoryTarget:
    return DirectoryTarget(keys["directory"], keys.get("source", ""), component, fill_limit)


def _storage(keys: Keys, component: str) -> tuple[str, ...]:
    """Return the identity of the storage: an export is the same one for all clients."""
    source = keys.get("source", "")
    return (keys["kind"], source) if ":/" in source else by_component(keys, component)


def _find(run: CommandRunner, path: str, mount: Mount, targets: Descriptions) -> tuple[Holder, ...]:
    names = list(_mounted_with(run, mount, targets))
    if not names:
        raise elsewhere(path, mount)
    return tuple(Holder(name, name) for name in names)


def _mounted_with(run: CommandRunner, mount: Mount, targets: Descriptions) -> Iterable[str]:
    for name, keys in targets.items():
        if keys["kind"] == DIRECTORY.name and mount_holding(run, keys["directory"]) == mount:
            yield name


DIRECTORY = Kind(
    "directory",
    frozenset({"directory"}),
    frozenset({"source"}),
    _make,
    find=_find,
    storage=_storage,
)
"""Kind for mounts of all other types."""
