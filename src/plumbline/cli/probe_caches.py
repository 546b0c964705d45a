"""Read a target with and without each cache, to tell which of them served it."""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path
from typing import Iterator

from plumbline.cli.options import deployed, named_directories, own_expectations
from plumbline.cli.output import remark, show
from plumbline.cli.progress import print_commands, progress
from plumbline.doors.table import render
from plumbline.measure.caches import CachesUnit
from plumbline.measure.lock import Locks
from plumbline.model.errors import INTERRUPTED, PrivilegeError, UsageError
from plumbline.model.expectation import Expectations
from plumbline.model.layers.ost import OST
from plumbline.model.units import format_rate
from plumbline.model.verdict import State
from plumbline.observe.command import SystemClock
from plumbline.site.caches import Caches, caches_of
from plumbline.site.comparison import FILE_BYTES, expected, measure_once, own_locks


def probe(arguments: argparse.Namespace) -> int:
    """Measure with and without caches; return 0, or 3 if caches cannot be told apart."""
    if arguments.layer != OST.name or arguments.confirm or arguments.limit:
        raise UsageError("--caches goes with plumbline probe ost, without --confirm and --limit")
    expectations, locks = (_directory if arguments.directory else _component)(arguments)
    (entry,) = expectations.find(OST.name)
    unit = CachesUnit(entry)
    if arguments.dry_run:
        return print_commands([unit])
    steps = partial(progress, arguments.quiet)
    result = measure_once(expectations, [unit], locks, steps)
    remark(*map(str, result.busy))
    if result.busy:
        return result.busy[0].exit_code
    caches = caches_of(entry.component, result.records)
    show(arguments, {"schema": 1, **caches.to_json()}, _caches_lines(caches))
    if result.interrupted:
        return INTERRUPTED
    return State.OK if caches.drops else State.UNKNOWN


def _directory(arguments: argparse.Namespace) -> tuple[Expectations, Locks]:
    directories = named_directories(arguments.directory, least=1)
    if len(directories) > 1:
        raise UsageError("--caches tells those of one target apart: give one --directory")
    expectations = expected(directories, arguments.bytes or FILE_BYTES)
    return expectations, own_locks(directories)


def _component(arguments: argparse.Namespace) -> tuple[Expectations, Locks]:
    """Return a target of this node; raise PrivilegeError if its caches may not be dropped."""
    if len(arguments.component or ()) != 1:
        raise UsageError("--caches tells those of one target apart: give one --component")
    expectations = deployed(arguments)
    (entry,) = expectations.find(OST.name, arguments.component[0])
    expectations = own_expectations(arguments, expectations, [entry])
    if not expectations.drops_caches:
        raise PrivilegeError(
            f"{expectations.node} is not named in drop_caches of plumbline_policy, and dropping "
            f"locks takes from all users of a client what it has cached of {entry.component}; name "
            "a client that may, and deploy the role agent"
        )
    if os.geteuid() != 0:
        raise PrivilegeError("caches of Lustre are dropped by root alone; run it as root")
    single = expectations._replace(entries=(entry.to_json(),))
    return single, Locks(Path(arguments.locks), SystemClock())


def _caches_lines(caches: Caches) -> Iterator[str]:
    rows = [
        (
            phase.name,
            "none" if phase.rate_Bps is None else format_rate(phase.rate_Bps),
            phase.reason,
        )
        for phase in caches.phases
    ]
    if rows:
        yield render(("read of a file just written", "rate", "why not"), rows)
    yield from caches.sentences
