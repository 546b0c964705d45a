"""One lock per target: no two measurements at once, not even with one that is stuck.

The tools inherit the lock's descriptor on purpose.  When a tool is stuck in the kernel and its
runner has given it up, or when the runner was killed, the target stays locked until the last
process that touches it is gone: the age of the lock is itself the alert.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Iterator, Mapping, NamedTuple, Optional
from urllib.parse import quote

from plumbline.errors import BusyError, StoreError
from plumbline.model.kinds import numbers
from plumbline.run.clock import Clock
from plumbline.units import format_duration

_ORPHAN_WAIT_S = 5.0
_PIDS = range(1, 1 << 22)
"""PID_MAX_LIMIT of the kernel (proc_sys_kernel(5))."""
_LONGEST_NAME = 240
"""No file system of Linux takes more than 255 bytes."""

_FAMILIES = {"fs": "ost", "sweep": "ost"}
"""A parallel run works on the targets that are also measured one by one: one lock for both."""


class StuckError(BusyError):
    """A process of an earlier run is stuck in the kernel and keeps ``component`` locked."""

    def __init__(self, message: str, component: str) -> None:
        super().__init__(message)
        self.component = component


class Holder(NamedTuple):
    """Who wrote a lock file: process, host, and the wall clock in seconds since the epoch."""

    pid: int
    host: str
    since: float


class Locks:
    """The locks of one directory, which only the user of the probes can write."""

    def __init__(
        self, directory: Path, clock: Clock, places: Optional[Mapping[str, str]] = None
    ) -> None:
        """Make the directory when it is missing.

        ``places`` says where components lie whose names are made up: the place is locked then.

        Raises:
            StoreError: it cannot be made or written.
        """
        self.directory = directory
        self._clock = clock
        self._places = places or {}
        try:
            directory.mkdir(mode=0o750, parents=True, exist_ok=True)
        except OSError as error:
            raise self._unusable(error) from error

    @contextmanager
    def hold(self, layer: str, component: str) -> Iterator[int]:
        """Hold a target's lock; give the descriptor that its tools are to inherit.

        Raises:
            BusyError: another run holds it; the message names the process and since when.
            StuckError: what holds it is left over from a run that is gone and cannot be ended.
            StoreError: the lock file cannot be written.
        """
        path = self._path(layer, component)
        descriptor = self._take(path) or self._take_from_orphans(path, component)
        try:
            self._sign(descriptor)
            yield descriptor
        finally:
            # closed, never unlocked: unlocking would take the lock from a stuck tool as well
            os.close(descriptor)
            self._tidy(path)

    def dissolve(self) -> None:
        """Remove what no run holds any more, and the directory if that was all."""
        for path in self.directory.glob("*.lock"):
            self._tidy(path)
        # it stays while another run has a lock in it
        with suppress(OSError):
            self.directory.rmdir()

    def _path(self, layer: str, component: str) -> Path:
        place = self._places.get(component, component)
        family = _FAMILIES.get(layer, layer)
        name = quote(f"{family}-{place}", safe="")
        if len(name) > _LONGEST_NAME:
            name = f"{family}-{sha256(name.encode()).hexdigest()}"
        return self.directory / f"{name}.lock"

    def _take(self, path: Path) -> Optional[int]:
        """Return the descriptor of the locked file, None when somebody else has it."""
        while True:
            descriptor = self._open(path)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(descriptor)
                return None
            except OSError as error:
                os.close(descriptor)
                raise self._unusable(error) from error
            if same_file(descriptor, path):
                return descriptor
            # its holder has just removed it: lock the new file instead
            os.close(descriptor)

    def _open(self, path: Path) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            descriptor = os.open(path, flags, 0o640)
            if os.geteuid() == 0:
                owner = self.directory.stat()
                os.fchown(descriptor, owner.st_uid, owner.st_gid)
        except OSError as error:
            raise self._unusable(error) from error
        return descriptor

    def _take_from_orphans(self, path: Path, component: str) -> int:
        """End the tools of a run that is gone and take over; raise when the holder is alive."""
        holder = _read(path)
        orphans = _processes_with(path)
        if holder is None or holder.pid in orphans or _belongs_to_another_user(holder.pid):
            raise BusyError(self._busy(path, holder))
        for pid in orphans:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        deadline = self._clock.monotonic() + _ORPHAN_WAIT_S
        while self._clock.monotonic() < deadline:
            descriptor = self._take(path)
            if descriptor is not None:
                return descriptor
            self._clock.sleep(0.1)
        if not orphans:
            # what this user cannot see is not known to be stuck
            raise BusyError(self._busy(path, None))
        age = format_duration(max(0.0, self._clock.wall() - holder.since))
        raise StuckError(
            f"process {', '.join(map(str, orphans))} of a run {age} ago is stuck in "
            f"the kernel and keeps {path} locked; look at the target's server, and at the kernel "
            "log here",
            component,
        )

    def _busy(self, path: Path, holder: Optional[Holder]) -> str:
        who = "another run" if holder is None else f"process {holder.pid} on {holder.host}"
        since = self._clock.wall() - holder.since if holder else 0.0
        age = f" for {format_duration(since)}" if since > 0 else ""
        return f"{path.stem} is being measured by {who}{age} (lock {path}); wait for it to end"

    def _sign(self, descriptor: int) -> None:
        holder = Holder(os.getpid(), socket.gethostname(), self._clock.wall())
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(holder._asdict()).encode(), 0)
        except OSError as error:
            raise self._unusable(error) from error

    def _tidy(self, path: Path) -> None:
        """Remove the lock file, unless a stuck tool or the next run holds it by now."""
        with suppress(FileNotFoundError):
            descriptor = self._take(path)
            if descriptor is not None:
                path.unlink()
                os.close(descriptor)

    def _unusable(self, error: OSError) -> StoreError:
        return StoreError(
            f"locks cannot be kept in {self.directory}: {error.strerror}; run as the user "
            "plumbline or root, or name another folder with --locks"
        )


def same_file(descriptor: int, path: Path) -> bool:
    """Return whether a path still names the file that is open."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _read(path: Path) -> Optional[Holder]:
    """Return who signed a lock file; None when it is gone, or not signed in full."""
    try:
        holder = Holder(**json.loads(path.read_text()))
        numbers(since=holder.since)
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return holder if holder.pid in _PIDS else None


def _belongs_to_another_user(pid: int) -> bool:
    """Return whether a process is there and hides what it has open."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except ProcessLookupError:
        return False
    return False


def _processes_with(path: Path) -> list[int]:
    """Return the processes that have a file open, as far as this user may see."""
    real = os.path.realpath(path)
    found = []
    for folder in Path("/proc").glob("[0-9]*/fd"):
        with suppress(OSError):
            if any(os.path.realpath(link) == real for link in folder.iterdir()):
                found.append(int(folder.parent.name))
    return found
