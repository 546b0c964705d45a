"""``plumbline probe ost --caches``: which cache serves the read of a file just written."""

from __future__ import annotations

import argparse
import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import NamedTuple

from plumbline.cli.another_client import own_expectations
from plumbline.cli.directories import named_directories
from plumbline.cli.progress import progress
from plumbline.cli.results import print_commands
from plumbline.errors import INTERRUPTED, PrivilegeError, UsageError
from plumbline.layers.ost import OST
from plumbline.model.expectation import Expectation, Expectations
from plumbline.run.caches import CachesUnit
from plumbline.run.clock import SystemClock
from plumbline.run.lock import Locks
from plumbline.site.caches import Caches, told_apart
from plumbline.site.compare import expected, measure_once, own_locks
from plumbline.store.places import EXPECTATIONS
from plumbline.store.snapshot import load_expectations
from plumbline.units import format_rate, parse_bytes

_SCHEMA = 1
_UNKNOWN = 3


class _Asked(NamedTuple):
    """The target that is read, and the locks that keep others from it."""

    expectations: Expectations
    entry: Expectation
    locks: Locks


def tell_apart(arguments: argparse.Namespace) -> int:
    """Measure, print, and return 0, or 3 where nothing is known of the caches."""
    if arguments.layer != OST.name or arguments.confirm or arguments.limit:
        raise UsageError("--caches goes with plumbline probe ost, without --confirm and --limit")
    asked = _directory(arguments) if arguments.directory else _component(arguments)
    unit = CachesUnit(asked.entry)
    if arguments.dry_run:
        return print_commands([unit])
    show = partial(progress, arguments.quiet)
    result = measure_once(asked.expectations, [unit], asked.locks, show)
    for error in result.busy:
        print(f"plumbline: {error}", file=sys.stderr)
    if result.busy:
        return result.busy[0].exit_code
    found = told_apart(asked.entry.component, result.records)
    print(json.dumps({"schema": _SCHEMA, **found.to_json()})) if arguments.json else _print(found)
    if result.interrupted:
        return INTERRUPTED
    return 0 if found.drops else _UNKNOWN


def _directory(arguments: argparse.Namespace) -> _Asked:
    directories = named_directories(arguments.directory, least=1)
    if len(directories) > 1:
        raise UsageError("--caches tells those of one target apart: give one --directory")
    expectations = expected(directories, parse_bytes(arguments.bytes or "256MiB"))
    (entry,) = expectations.find(OST.name)
    return _Asked(expectations, entry, own_locks(directories))


def _component(arguments: argparse.Namespace) -> _Asked:
    """Return a target of this node; raise PrivilegeError where its caches may not be dropped."""
    if len(arguments.component or ()) != 1:
        raise UsageError("--caches tells those of one target apart: give one --component")
    expectations = load_expectations(arguments.expectations or EXPECTATIONS)
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
    alone = expectations._replace(entries=(entry.to_json(),))
    return _Asked(alone, entry, Locks(Path(arguments.locks), SystemClock()))


def _print(found: Caches) -> None:
    from plumbline.output.table import render

    rows = [
        (one.name, "none" if one.rate_Bps is None else format_rate(one.rate_Bps), one.reason)
        for one in found.phases
    ]
    if rows:
        print(render(("read of a file just written", "rate", "why not"), rows))
    for sentence in found.sentences:
        print(sentence)
