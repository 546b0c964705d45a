"""``plumbline probe ost --directory``: a first comparison of targets, with no inventory at all.

Expectations are made up on the spot: the directories are each other's peers.  Nothing stays: the
state is temporary, and the files are removed.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
from pathlib import Path
from socket import gethostname
from statistics import median
from typing import Iterator, Mapping, Sequence

from plumbline.cli.history import DATABASE
from plumbline.cli.measure import SNAPSHOT, Manner, Result, measure, print_commands, print_json
from plumbline.errors import UsageError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.limits import Limits
from plumbline.model.record import Operation
from plumbline.model.reference import Reference
from plumbline.model.spec import ProbeSpec
from plumbline.run.bench import Unit
from plumbline.run.clock import SystemClock
from plumbline.run.command import SystemRunner
from plumbline.run.lock import Locks, OwnLocks
from plumbline.run.ost import TargetUnit
from plumbline.run.temporary import temporary_folder
from plumbline.store.history import History
from plumbline.units import format_rate, format_size

GROUP = "directories"

_SECONDS = 10.0
_GIB = 1 << 30
_REPEATS = 2
_OPERATIONS = ("write/single", "read/single")


def compare(given: Sequence[str], size_bytes: int, arguments: argparse.Namespace) -> int:
    """Measure directories given as NAME=PATH, print how they compare, and return the exit code."""
    directories = named_directories(given)
    entries = [_expectation(name, path, size_bytes) for name, path in directories.items()]
    units = [TargetUnit(entry) for entry in entries]
    if arguments.dry_run:
        return print_commands(units)
    said = caveat(directories, size_bytes, _memory_bytes())
    if said and not arguments.json:
        print(said, flush=True)
    expectations = Expectations(gethostname(), "", tuple(entry.to_json() for entry in entries))
    result = measure_once(expectations, units, own_locks(directories), arguments.quiet)
    if arguments.json:
        print_json(result)
    else:
        print_comparison(result)
    return result.end()


def caveat(directories: Mapping[str, str], size_bytes: int, memory_bytes: int) -> str:
    """Return what the comparison cannot show: devices in common, and what memory holds."""
    devices: dict[str, list[str]] = {}
    for name, path in directories.items():
        devices.setdefault(_device(path), []).append(name)
    parts = [
        f"{', '.join(names)} lie on one device: a difference is noise, unless a parallel file "
        "system places their files on different targets"
        for device, names in devices.items()
        if device and len(names) > 1
    ]
    if size_bytes < memory_bytes:
        enough = math.ceil(2 * memory_bytes / _GIB)
        parts.append(
            f"{format_size(size_bytes)} fit into the page cache: where direct I/O is not honoured, "
            f"rates are those of memory; --bytes {enough}GiB measures the storage"
        )
    return "; ".join(parts)


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _device(path: str) -> str:
    """Return the number of the device of a path; empty where the path gives no answer."""
    completed = SystemRunner()(["stat", "--format=%d", "--", path], 10.0)
    return completed.stdout.strip() if completed.ok else ""


def measure_once(
    expectations: Expectations, units: Sequence[Unit], locks: Locks, quiet: bool
) -> Result:
    """Measure and judge directories of which nothing is known, and keep nothing of it."""
    with temporary_folder() as state:
        manner = Manner(locks, state / SNAPSHOT, quiet, keep_files=False)
        try:
            with History(state / DATABASE) as history:
                return measure(expectations, units, history, manner)
        finally:
            locks.dissolve()


def named_directories(given: Sequence[str], least: int = 2) -> dict[str, str]:
    """Return real paths by name, ``least`` or more.

    Raises:
        UsageError: something is not NAME=PATH, or there twice, or too few are given.
    """
    found: dict[str, str] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise UsageError(f"--directory {text!r} is not NAME=PATH; write for example a=/mnt/a")
        if not name.isprintable():
            raise UsageError(f"--directory {text!r}: its name cannot be printed; choose another")
        if name in found:
            raise UsageError(f"--directory {name} is given twice; name each directory differently")
        found[name] = _real(path)
    if len(found) < least:
        raise UsageError("--directory is given once; give it twice or more, to have a comparison")
    return found


def _real(path: str) -> str:
    """Return the path without links; a mount that does not answer cannot block here."""
    # the working directory is that of the caller
    completed = SystemRunner()(["realpath", "--canonicalize-existing", "--", path], 10.0)
    if not completed.ok:
        reason = "it gives no answer" if completed.timed_out else completed.stderr.strip()
        raise UsageError(f"--directory {path}: {reason}; name a directory that is there")
    return completed.stdout.rstrip("\n")


def _expectation(name: str, path: str, size_bytes: int) -> Expectation:
    return Expectation(
        layer="ost",
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


def print_comparison(result: Result) -> None:
    """Print each directory's rates, their ratios to the others, and below them the verdicts."""
    from plumbline.output.table import render

    headers = ("directory", "write", "of peers", "read", "of peers", "state")
    rows = [
        (
            verdict.component,
            *_rates(result, verdict.component, Operation.WRITE),
            *_rates(result, verdict.component, Operation.READ),
            verdict.state.name,
        )
        for verdict in result.verdicts
    ]
    print(render(headers, rows))
    # below the table, because a terminal has no room for sentences beside it
    for verdict in result.verdicts:
        print(f"{verdict.state.name} {verdict.sentence}")


def _rates(result: Result, component: str, operation: Operation) -> Iterator[str]:
    """Yield the rate and its ratio to the median of the others."""
    rates = {
        record.component: record.rate_Bps
        for record in result.records
        if record.operation is operation and record.rate_Bps is not None
    }
    own = rates.pop(component, None)
    yield "none" if own is None else format_rate(own)
    yield "" if own is None or not rates else f"{own / median(rates.values()):.0%}"
