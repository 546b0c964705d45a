"""Comparisons of directories, which need no inventory.

Expectations are created for it, directories are each other's peers, and no records are kept.
"""

from __future__ import annotations

import math
import os
import tempfile
from pathlib import Path
from socket import gethostname
from typing import Mapping, Optional, Sequence

from plumbline.measure.lock import Locks, OwnLocks
from plumbline.measure.targets.directory import DIRECTORY
from plumbline.measure.targets.metadata import DIRECTORY_METADATA
from plumbline.measure.targets.server_folder import SERVER_FOLDER
from plumbline.measure.temporary import temporary_folder
from plumbline.measure.unit_context import Unit
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.layers.layer import Layer
from plumbline.model.layers.ost import OST
from plumbline.model.limits import Limits, Reference
from plumbline.model.record import Operation, Scenario
from plumbline.model.spec import ProbeSpec
from plumbline.model.units import format_size
from plumbline.observe.command import SystemClock, SystemRunner
from plumbline.site.measure import Progress, Result, RunOptions, measure
from plumbline.store.files import DATABASE, SNAPSHOT_FILE
from plumbline.store.history import History

GROUP = "directories"

FILE_BYTES = 256 << 20
"""Bytes of each file, unless the caller says another size."""
SECONDS = 10.0
_GIB = 1 << 30
REPEATS = 2
OPERATIONS = ("write/single", "read/single")


def expected(
    directories: Mapping[str, str],
    size_bytes: int,
    layer: Layer = OST,
    operations: Optional[Sequence[Operation]] = None,
) -> Expectations:
    """Return expectations of directories by name; targets have files of ``size_bytes``.

    ``operations`` are those of the layer by default.
    """
    keys = {name: _keys(layer, path) for name, path in directories.items()}
    spec = layer.spec if layer.of_metadata else ProbeSpec("fio", size_bytes, SECONDS)
    measured = layer.operations if operations is None else operations
    entries = [_expectation(layer, name, keys[name], spec, measured) for name in directories]
    return Expectations(gethostname(), "", tuple(entry.to_json() for entry in entries))


def measure_once(
    expectations: Expectations, units: Sequence[Unit], locks: Locks, progress: Progress
) -> Result:
    """Measure and judge units without earlier records, and keep no records."""
    with temporary_folder() as state:
        options = RunOptions(locks, state / SNAPSHOT_FILE, progress, keep_files=False)
        try:
            with History(state / DATABASE) as history:
                return measure(expectations, units, history, options)
        finally:
            locks.dissolve()


def caveat(
    directories: Mapping[str, str], written_bytes: int, memory: int, option_bytes: int
) -> str:
    """Return limits of a measurement: shared devices, and files that fit into ``memory`` bytes.

    A host writes ``written_bytes`` before it reads the first of them; ``option_bytes`` is the value
    of ``--bytes`` for that.
    """
    devices: dict[str, list[str]] = {}
    for name, path in directories.items():
        devices.setdefault(_device(path), []).append(name)
    parts = [
        f"{', '.join(names)} lie on one device: a difference is noise, unless a parallel file "
        "system places their files on different targets"
        for device, names in devices.items()
        if device and len(names) > 1
    ]
    # a re-read writes nothing
    if 0 < written_bytes < memory:
        enough = math.ceil(2 * memory * option_bytes / written_bytes / _GIB)
        parts.append(
            f"{format_size(written_bytes)} fit into the page cache: where direct I/O is not "
            f"honoured, rates are those of memory; --bytes {enough}GiB measures the storage"
        )
    return "; ".join(parts)


def memory_bytes() -> int:
    """Return the memory of this host."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _device(path: str) -> str:
    """Return the device number of a path; empty if the path does not answer."""
    completed = SystemRunner()(["stat", "--format=%d", "--", path], 10.0)
    return completed.stdout.strip() if completed.ok else ""


def _keys(layer: Layer, path: str) -> Mapping[str, str]:
    local = SERVER_FOLDER if layer.on_servers else DIRECTORY
    kind = DIRECTORY_METADATA if layer.of_metadata else local
    return {"kind": kind.name, "directory": path}


def _expectation(
    layer: Layer,
    name: str,
    keys: Mapping[str, str],
    spec: ProbeSpec,
    operations: Sequence[Operation],
) -> Expectation:
    steps = (f"{operation.value}/{Scenario.SINGLE.value}" for operation in operations)
    return Expectation(
        layer=layer.name,
        component=name,
        host=gethostname(),
        group=GROUP,
        target=keys,
        path=(gethostname(), name),
        spec=spec._replace(repeats=REPEATS),
        references={step: Reference(None, None) for step in steps},
        limits=Limits(baselines=False),
    )


def own_locks(places: Mapping[str, str]) -> OwnLocks:
    """Return the locks of this user, shared by simultaneous comparisons."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    base = runtime if os.path.isdir(runtime) else tempfile.gettempdir()
    return OwnLocks(Path(base) / f"plumbline-{os.geteuid()}", SystemClock(), places)
