"""A first comparison of targets without an inventory, and which cache served a read.

Expectations are made up on the spot: directories are each other's peers.  Nothing stays: the state
is temporary, and the files are removed.
"""

from __future__ import annotations

import math
import os
import tempfile
from itertools import accumulate
from pathlib import Path
from socket import gethostname
from typing import Any, Mapping, NamedTuple, Optional, Sequence

from plumbline.measure.caches import WITHOUT
from plumbline.measure.lock import Locks, OwnLocks
from plumbline.measure.temporary import temporary_folder
from plumbline.measure.unit_context import Unit
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.layers.ost import OST
from plumbline.model.limits import Limits, Reference
from plumbline.model.record import Operation, Record
from plumbline.model.spec import ProbeSpec
from plumbline.model.units import format_rate, format_size
from plumbline.observe.command import SystemClock, SystemRunner
from plumbline.site.measure import Progress, Result, RunOptions, measure
from plumbline.store.files import DATABASE, SNAPSHOT_FILE
from plumbline.store.history import History

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


_SERVED, _SAME = 1.5, 1.2
"""So many times as fast as without a cache is a read that it serves, and one that it does not.

What lies between may be noise.
"""

SERVER = "server cache"


class Phase(NamedTuple):
    """One read: the cache that was dropped last before it, its rate, and why there is none."""

    without: str
    rate_Bps: Optional[float]
    reason: str

    @property
    def name(self) -> str:
        """Return what the read is called."""
        return f"read without {self.without}" if self.without else "read at once"


class Drop(NamedTuple):
    """Gain of a cache: how many times as fast a read was with it."""

    cache: str
    times: float

    @property
    def served(self) -> Optional[bool]:
        """Return whether the cache served the read, None where that is not certain."""
        return True if self.times >= _SERVED else False if self.times < _SAME else None


class Caches(NamedTuple):
    """Reads of one target; ``write`` is None if it was not begun."""

    component: str
    write: Optional[Record]
    phases: tuple[Phase, ...]

    @property
    def drops(self) -> tuple[Drop, ...]:
        """Return what each cache that could be dropped was worth, the nearest to the reader first.

        The slowest read so far counts: no cache makes a read slower.
        """
        known = [(phase.without, phase.rate_Bps) for phase in self.phases if phase.rate_Bps]
        slowest = accumulate((rate for _, rate in known), min)
        return tuple(Drop(name, before / rate) for before, (name, rate) in zip(slowest, known[1:]))

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return which caches served the reads, and what that means for probes."""
        if self.write is None or self.write.rate_Bps is None:
            reason = self.write.reason if self.write else "it was not begun"
            return (f"{self.component}: nothing is known of its caches, {reason}.",)
        if not self.drops:
            return (f"{self.component}: nothing is known of its caches, none could be dropped.",)
        size = format_size(self.write.bytes)
        said = [
            f"The {drop.cache} served {size} just written: {drop.times:.1f} times the rate without "
            "it."
            for drop in self.drops
            if drop.served
        ]
        said += [
            f"Whether the {drop.cache} served it is not certain: {drop.times:.1f} times the rate "
            "without it may be noise; try again, or with more bytes."
            for drop in self.drops
            if drop.served is None
        ]
        none = f"No cache that was dropped had served {size} just written."
        return (*(said or [none]), self._worth(size), self._below())

    def _worth(self, size: str) -> str:
        """Return what ``plumbline probe ost`` measures, which passes its own client's caches."""
        last = format_rate(min(phase.rate_Bps for phase in self.phases if phase.rate_Bps))
        server = next((drop for drop in self.drops if drop.cache == SERVER), None)
        if server and server.served:
            return (
                f"A probe of {size} reads from the server's memory, not from its storage, which "
                f"gives {last}: raise bytes of the layer ost above what the server caches."
            )
        what = "the storage" if server and server.served is False else size
        return f"A probe that passes this client's caches reads {what} at {last}."

    def _below(self) -> str:
        known = any(drop.cache == SERVER for drop in self.drops)
        return f"What {'an array' if known else 'a server or array'} caches was not dropped."

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {
            "component": self.component,
            "bytes": self.write.bytes if self.write else None,
            "write_Bps": self.write.rate_Bps if self.write else None,
            "reads": [phase._asdict() for phase in self.phases],
            "caches": [{**drop._asdict(), "served": drop.served} for drop in self.drops],
            "sentences": list(self.sentences),
        }


def told_apart(component: str, records: Sequence[Record]) -> Caches:
    """Return what the records of one target say of its caches."""
    own = [record for record in records if record.component == component]
    writes = [record for record in own if record.operation is Operation.WRITE]
    phases = (
        Phase(str((record.details or {}).get(WITHOUT, "")), record.rate_Bps, record.reason)
        for record in own
        if record.operation is Operation.READ
    )
    return Caches(component, writes[0] if writes else None, tuple(phases))
