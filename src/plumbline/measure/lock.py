"""One lock per target: it keeps two measurements apart, even if one of them is stuck.

The tools inherit the lock's descriptor on purpose.  If a tool is stuck in the kernel and its runner
has given up, or if the runner was killed, the target stays locked until the last process that uses
it has ended; an old lock is itself a symptom.
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
from stat import S_ISDIR, S_ISREG
from typing import Iterator, Mapping, NamedTuple, Optional
from urllib.parse import quote, unquote

from plumbline.model.errors import BusyError, StoreError
from plumbline.model.layers import LAYERS
from plumbline.model.layers.ost import OST
from plumbline.model.units import format_duration
from plumbline.model.validation import numbers, read_json
from plumbline.observe.command import Clock

_PIDS = range(1, 1 << 22)
"""PID_MAX_LIMIT of the kernel (proc_sys_kernel(5))."""


class Holder(NamedTuple):
    """Holder of a lock, as written in its file: process, host, start in seconds since the epoch."""

    pid: int
    host: str
    since: float


class AbandonedLock(NamedTuple):
    """Lock of a dead run, and the orphans that still hold it."""

    holder: Holder
    orphans: tuple[int, ...]


def read_holder(path: Path) -> Optional[Holder]:
    """Return the holder in a lock file; None if the file or a valid holder is missing."""
    try:
        holder = Holder(**read_json(path.read_text()))
        numbers(since=holder.since)
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return holder if holder.pid in _PIDS else None


def abandoned_lock(path: Path) -> Optional[AbandonedLock]:
    """Return a lock if its run is dead; None if the run is or may be alive."""
    holder = read_holder(path)
    if holder is None or holder.host != socket.gethostname():
        return None
    orphans = tuple(_processes_with(path))
    if holder.pid in orphans or _belongs_to_another_user(holder.pid):
        return None
    return AbandonedLock(holder, orphans)


def name_of(pid: int) -> str:
    """Return the program name of a process; empty if the process has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
    return ""


def _belongs_to_another_user(pid: int) -> bool:
    """Return True if a process exists, but hides its open files from this user."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except ProcessLookupError:
        return False
    return False


def _processes_with(path: Path) -> Iterator[int]:
    """Yield the processes, visible to this user, that have a file open."""
    real = os.path.realpath(path)
    for folder in Path("/proc").glob("[0-9]*/fd"):
        with suppress(OSError):
            if any(_leads_to(link, real) for link in folder.iterdir()):
                yield int(folder.parent.name)


def _leads_to(link: Path, path: str) -> bool:
    """Return whether a descriptor is open on a path; a container may have another file there.

    The name is compared first: stat on a file of a target that does not answer would hang.
    """
    try:
        return os.readlink(link) == path and os.path.samestat(link.stat(), os.stat(path))
    except OSError:
        # closed in the meantime
        return False


_ORPHAN_WAIT_S = 5.0
_SIGNED_WITHIN_S = 0.2
_LOOKS = 25
"""Number of looks, _SIGNED_WITHIN_S apart; together they last _ORPHAN_WAIT_S."""

_FORKED_S = 0.02
_TRIES = 5
"""Tries: a tool started by another thread holds all descriptors until its exec."""

_DISSOLVE_WAIT_S = 0.5
"""Wait for killed tools, which hold their locks until the kernel has removed the process."""

_MAX_NAME = 240
"""Below the limit of Linux file systems, 255 bytes."""

_SWEEP = "sweep"
"""The layer of a sweep's locks."""


class StuckError(BusyError):
    """Processes stuck in the kernel keep ``component`` locked.

    ``programs`` are the names of their programs.
    """

    def __init__(self, message: str, component: str, programs: frozenset[str]) -> None:
        super().__init__(message)
        self.component = component
        self.programs = programs


class Locks:
    """Locks in one directory, which only the user of the probes can write.

    Checks may enter it, for the notes of runs, but not list it.
    """

    _MODE = 0o751

    def __init__(
        self, directory: Path, clock: Clock, places: Optional[Mapping[str, str]] = None
    ) -> None:
        """Create the directory if it is missing.

        ``places`` maps made-up component names to their places, which are locked instead.

        Raises:
            StoreError: the directory cannot be created or written.
        """
        self.directory = directory
        self._clock = clock
        self._places = places or {}
        self._make()

    @contextmanager
    def hold(self, layer: str, component: str) -> Iterator[int]:
        """Hold a target's lock; yield the descriptor that its tools must inherit.

        Raises:
            BusyError: another run holds it; the message names the process and the age.
            StuckError: tools of a dead run, or queries of this run, hold it and cannot be killed.
            StoreError: the lock file cannot be written.
        """
        path = self._path(layer, component)
        descriptor = self._take(path) or self._take_from_orphans(path, component)
        try:
            self._sign(descriptor)
            yield descriptor
        finally:
            # close only: unlocking would take the lock from a stuck tool as well
            os.close(descriptor)
            for _ in range(_TRIES):
                if self._tidy(path):
                    break
                self._clock.sleep(_FORKED_S)

    def dissolve(self) -> None:
        """Remove private locks (see OwnLocks); the system's locks stay."""

    def _make(self) -> None:
        try:
            self.directory.mkdir(mode=self._MODE, parents=True, exist_ok=True)
        except OSError as error:
            raise self._unusable(error) from error

    def _path(self, layer: str, component: str) -> Path:
        place = self._places.get(component, component)
        # parallel runs and runs of single targets use the same targets: one lock for both
        family = OST.name if LAYERS[layer].on_targets or layer == _SWEEP else layer
        name = quote(f"{family}-{place}", safe="")
        if len(name) > _MAX_NAME:
            name = f"{family}-{sha256(name.encode()).hexdigest()}"
        return self.directory / f"{name}.lock"

    def _take(self, path: Path) -> Optional[int]:
        """Lock the file and return its descriptor; None if another process has the lock."""
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
            # the holder has just removed it: lock the new file instead
            os.close(descriptor)

    def _open(self, path: Path) -> int:
        """Open a lock file, or create it for the owner of the directory.

        Raises:
            StoreError: it cannot be opened, or may be another user's; it is unchanged.
        """
        try:
            descriptor = self._open_file(path)
        except OSError as error:
            raise self._unusable(error) from error
        try:
            self._keep_owner(descriptor)
        except OSError as error:
            os.close(descriptor)
            raise self._unusable(error) from error
        except StoreError:
            os.close(descriptor)
            raise
        return descriptor

    def _open_file(self, path: Path) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            return os.open(path, flags, 0o640)
        except FileNotFoundError:
            # another run has just ended and removed the directory
            self._make()
            return os.open(path, flags, 0o640)

    def _keep_owner(self, descriptor: int) -> None:
        """Give a lock that root has made to the owner of the directory; refuse foreign files."""
        result = os.fstat(descriptor)
        # a lock that was just removed has no name
        if not S_ISREG(result.st_mode) or result.st_nlink > 1:
            raise StoreError(
                f"a lock in {self.directory} is no plain file with one name, which plumbline alone "
                "makes: see who made it, and remove it"
            )
        # root has just made an empty one; one with content was given away before it was signed
        if os.geteuid() == 0 and result.st_size == 0:
            owner = self.directory.stat()
            os.fchown(descriptor, owner.st_uid, owner.st_gid)

    def _take_from_orphans(self, path: Path, component: str) -> int:
        """Kill the tools of a dead run and take its lock; raise if the holder is alive."""
        deadline = self._clock.monotonic() + _ORPHAN_WAIT_S
        while True:
            # repeat: orphans may start other tools
            abandoned = self._abandoned(path)
            for pid in abandoned.orphans if abandoned else ():
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            descriptor = self._take(path)
            if descriptor is not None:
                return descriptor
            if abandoned is None:
                raise BusyError(self._busy(path, read_holder(path)))
            if self._clock.monotonic() > deadline:
                break
        if not abandoned.orphans:
            # this user cannot see the process, which may not be stuck
            raise BusyError(self._busy(path, None))
        age = format_duration(max(0.0, self._clock.wall() - abandoned.holder.since))
        run = "this run" if abandoned.holder.pid == os.getpid() else "a run"
        raise StuckError(
            f"process {', '.join(map(str, abandoned.orphans))} of {run} {age} ago is stuck in the "
            f"kernel and keeps {path} locked; look at the target's server, and at the kernel log "
            "here",
            component,
            frozenset(filter(None, map(name_of, abandoned.orphans))),
        )

    def _abandoned(self, path: Path) -> Optional[AbandonedLock]:
        """Return the lock if its run is dead; None if it is alive.

        Two looks must agree: a live run looks dead until it has signed its lock, and the orphans
        of a killed run may be about to end.
        """
        current = abandoned_lock(path)
        for _ in range(_LOOKS):
            if current is None:
                break
            self._clock.sleep(_SIGNED_WITHIN_S)
            previous, current = current, abandoned_lock(path)
            if current == previous:
                return current
        return None

    def _busy(self, path: Path, holder: Optional[Holder]) -> str:
        holder_name = "another run" if holder is None else f"process {holder.pid} on {holder.host}"
        since = self._clock.wall() - holder.since if holder else 0.0
        age = f" for {format_duration(since)}" if since > 0 else ""
        name = unquote(path.stem)
        return f"{name} is being measured by {holder_name}{age} (lock {path}); wait for it to end"

    def _sign(self, descriptor: int) -> None:
        holder = Holder(os.getpid(), socket.gethostname(), self._clock.wall())
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps(holder._asdict()).encode(), 0)
        except OSError as error:
            raise self._unusable(error) from error

    def _tidy(self, path: Path) -> bool:
        """Remove the lock file; return False if a stuck tool or another run holds it."""
        descriptor = self._take(path)
        if descriptor is None:
            return False
        with suppress(FileNotFoundError):
            path.unlink()
        os.close(descriptor)
        return True

    def _unusable(self, error: OSError) -> StoreError:
        return StoreError(
            f"locks cannot be kept in {self.directory}: {error.strerror}; run as the user "
            "plumbline or root, or name another folder with --locks"
        )


class OwnLocks(Locks):
    """Locks in a private directory of this user, which is removed when no lock is held.

    It may lie in a place that anybody can write to; another user's directory is refused.
    """

    _MODE = 0o700

    def dissolve(self) -> None:
        """Remove the free locks, and the directory if it is empty."""
        deadline = self._clock.monotonic() + _DISSOLVE_WAIT_S
        while True:
            for path in self.directory.glob("*.lock"):
                self._tidy(path)
            # this fails while another run has a lock in it
            with suppress(OSError):
                self.directory.rmdir()
            if self._clock.monotonic() > deadline or not self.directory.exists():
                return
            self._clock.sleep(_DISSOLVE_WAIT_S / 5)

    def _make(self) -> None:
        super()._make()
        result = self.directory.lstat()
        if result.st_uid != os.geteuid() or not S_ISDIR(result.st_mode):
            raise StoreError(
                f"{self.directory} belongs to somebody else; see who made it, and remove it"
            )


def same_file(descriptor: int, path: Path) -> bool:
    """Return True if a path still leads to the open file."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
