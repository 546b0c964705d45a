"""A first comparison of targets, with no inventory at all.

Expectations are made up on the spot: directories are each other's peers.  Nothing stays: the state
is temporary, and the files are removed.
"""

from __future__ import annotations

import math
import os
import tempfile
from pathlib import Path
from socket import gethostname
from typing import Mapping, Sequence

from plumbline.layers.ost import OST
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.limits import Limits
from plumbline.model.reference import Reference
from plumbline.model.spec import ProbeSpec
from plumbline.run.clock import SystemClock
from plumbline.run.command import SystemRunner
from plumbline.run.lock import Locks, OwnLocks
from plumbline.run.temporary import temporary_folder
from plumbline.run.unit_context import Unit
from plumbline.site.measure import Progress, Result, RunOptions, measure
from plumbline.store.history import History
from plumbline.store.places import DATABASE, SNAPSHOT_FILE
from plumbline.units import format_size

GROUP = "directories"

_SECONDS = 10.0
_GIB = 1 << 30
_REPEATS = 2
_OPERATIONS = ("write/single", "read/single")


def expected(directories: Mapping[str, str], size_bytes: int) -> Expectations:
    """Return what is expected of directories by their names, with files of so many bytes."""
    entries = [_expectation(name, path, size_bytes) for name, path in directories.items()]
    return Expectations(gethostname(), "", tuple(entry.to_json() for entry in entries))


def measure_once(
    expectations: Expectations, units: Sequence[Unit], locks: Locks, progress: Progress
) -> Result:
    """Measure and judge what is not to be compared with anything else, and keep nothing of it."""
    with temporary_folder() as state:
        options = RunOptions(locks, state / SNAPSHOT_FILE, progress, keep_files=False)
        try:
            with History(state / DATABASE) as history:
                return measure(expectations, units, history, options)
        finally:
            locks.dissolve()


def caveat(directories: Mapping[str, str], size_bytes: int, memory: int) -> str:
    """Return what the comparison cannot show: devices in common, and what ``memory`` bytes hold."""
    devices: dict[str, list[str]] = {}
    for name, path in directories.items():
        devices.setdefault(_device(path), []).append(name)
    parts = [
        f"{', '.join(names)} lie on one device: a difference is noise, unless a parallel file "
        "system places their files on different targets"
        for device, names in devices.items()
        if device and len(names) > 1
    ]
    if size_bytes < memory:
        enough = math.ceil(2 * memory / _GIB)
        parts.append(
            f"{format_size(size_bytes)} fit into the page cache: where direct I/O is not honoured, "
            f"rates are those of memory; --bytes {enough}GiB measures the storage"
        )
    return "; ".join(parts)


def memory_bytes() -> int:
    """Return the memory of this host."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _device(path: str) -> str:
    """Return the number of the device of a path; empty where the path gives no answer."""
    completed = SystemRunner()(["stat", "--format=%d", "--", path], 10.0)
    return completed.stdout.strip() if completed.ok else ""


def _expectation(name: str, path: str, size_bytes: int) -> Expectation:
    return Expectation(
        layer=OST.name,
        component=name,
        host=gethostname(),
        group=GROUP,
        target={"kind": "directory", "directory": path},
        path=(gethostname(), name),
        spec=ProbeSpec("fio", size_bytes, _SECONDS, repeats=_REPEATS),
        references={operation: Reference(None, None) for operation in _OPERATIONS},
        limits=Limits(),
    )


def own_locks(places: Mapping[str, str]) -> OwnLocks:
    """Return the locks of this user, which two comparisons at once both use."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    base = runtime if os.path.isdir(runtime) else tempfile.gettempdir()
    return OwnLocks(Path(base) / f"plumbline-{os.geteuid()}", SystemClock(), places)
