"""``plumbline probe``: measure now what this node is to measure, or some directories at once."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Sequence

from plumbline.cli.another_client import add_another_client, own_expectations, refuse_elsewhere
from plumbline.cli.parallel_options import add_parallel, refuse_parallel
from plumbline.errors import UsageError
from plumbline.layers import LAYERS, ON_TARGETS, PAIRED, SINGLE_TARGETS, WHOLE
from plumbline.store.places import DATABASE, EXPECTATIONS, LOCKS, SNAPSHOT_FILE, STATE
from plumbline.units import parse_bytes, parse_duration

if TYPE_CHECKING:
    from plumbline.model.expectation import Expectation, Expectations
    from plumbline.run.unit_context import Unit
    from plumbline.site.measure import Result

_EPILOG = """\
Exit codes: the worst verdict, 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN; 75 when another run holds
one of the targets, 77 when this user may not measure one; see plumbline --help for the others.

TIME is written 90s, 10m or 10min, 36h; SIZE 512MiB or 1GB.

One target now: plumbline probe ost --component scratch-OST0003
Without inventory and root: plumbline probe ost --directory a=/mnt/a --directory b=/mnt/b
"""


def add(subparsers: Any) -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "probe",
        help="measure now and judge",
        description="Measure what this node is to measure in a layer, keep the records, and judge "
        "them.\nWith --directory: compare directories, and keep nothing.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("layer", choices=LAYERS, help="what to measure")
    parser.add_argument("--component", action="append", metavar="NAME", help="this one alone, ...")
    parser.add_argument("--slot", type=int, metavar="N", help="pair hosts as in slot N (net)")
    parser.add_argument(
        "--confirm",
        action="store_true",
        help="measure again what was low, beside healthy peers (ost, raw); with --dry-run: show "
        "what is in question and why",
    )
    parser.add_argument("--limit", metavar="TIME", help="begin nothing after this, e.g. 1h")
    parser.add_argument("--expectations", metavar="PATH", help="what this node is to measure")
    parser.add_argument("--state", metavar="DIR", default=STATE, help="default: %(default)s")
    parser.add_argument("--locks", metavar="DIR", default=LOCKS, help="default: %(default)s")
    parser.add_argument("--dry-run", action="store_true", help="print the commands alone")
    parser.add_argument("--json", action="store_true", help="print records and verdicts")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument(
        "--directory",
        action="append",
        metavar="NAME=PATH",
        help="compare directories, one per target, without an inventory (ost, fs)",
    )
    parser.add_argument(
        "--bytes", metavar="SIZE", help="of each file in a directory, 256MiB; of each rank (fs)"
    )
    parser.add_argument(
        "--caches",
        action="store_true",
        help="read a file just written, then without page cache, Lustre's locks and the server's "
        "cache in turn, and keep nothing (ost, one --component or --directory)",
    )
    add_another_client(parser)
    add_parallel(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure, print, and return the exit code."""
    if arguments.caches:
        _refuse_contradictions(arguments)
        from plumbline.cli.caches import tell_apart

        return tell_apart(arguments)
    if arguments.layer in WHOLE and not arguments.confirm:
        return _parallel(arguments)
    _refuse_contradictions(arguments)
    if arguments.directory:
        from plumbline.cli.compare import compare

        size = parse_bytes(arguments.bytes or "256MiB")
        return compare(arguments.directory, size, arguments)
    return _probe(arguments)


def _parallel(arguments: argparse.Namespace) -> int:
    from plumbline.cli.parallel import probe_fs
    from plumbline.cli.parallel_planned import planned, probe_planned

    found = planned(arguments)
    _refuse_contradictions(arguments)
    return probe_fs(arguments) if found is None else probe_planned(found, arguments)


def _refuse_contradictions(arguments: argparse.Namespace) -> None:
    if arguments.confirm:
        from plumbline.cli.confirm import refuse_confirm

        refuse_confirm(arguments)
    if arguments.slot is not None and arguments.layer not in PAIRED:
        raise UsageError(f"--slot pairs hosts; layer {arguments.layer} has none: leave it out")
    if arguments.directory and arguments.layer not in ON_TARGETS:
        raise UsageError("--directory compares storage targets: call plumbline probe ost or fs")
    refuse_parallel(arguments)
    if arguments.directory and (arguments.component or arguments.expectations):
        raise UsageError("--directory needs no --component and no --expectations: leave them out")
    if arguments.another_client and (
        arguments.layer not in SINGLE_TARGETS or not arguments.expectations
    ):
        raise UsageError(
            "--another-client measures the targets of another client: call plumbline probe ost "
            "with its --expectations"
        )
    if arguments.bytes and not arguments.directory and arguments.layer not in WHOLE:
        raise UsageError("--bytes belongs to --directory; otherwise the policy says how much")


def _probe(arguments: argparse.Namespace) -> int:
    from plumbline.store.snapshot import load_expectations

    expectations = load_expectations(arguments.expectations or EXPECTATIONS)
    if arguments.confirm:
        from plumbline.cli.confirm import confirm

        return confirm(expectations, arguments)
    chosen = _chosen(expectations, arguments)
    expectations = own_expectations(arguments, expectations, chosen)
    units = _units(arguments, chosen)
    if arguments.dry_run:
        from plumbline.cli.results import print_commands

        return print_commands(units)
    if not units:
        return 0
    return _print(_measure(arguments, expectations, units), arguments.json)


def _chosen(expectations: Expectations, arguments: argparse.Namespace) -> list[Expectation]:
    """Return the expectations to measure, in measuring order; refuse an unknown name."""
    if not arguments.component:
        return list(expectations.find(arguments.layer))
    for name in arguments.component:
        refuse_elsewhere(expectations, arguments.layer, name)
    found = [
        entry for name in arguments.component for entry in expectations.find(arguments.layer, name)
    ]
    return list({entry.component: entry for entry in found}.values())


def _units(arguments: argparse.Namespace, entries: Sequence[Expectation]) -> list[Unit]:
    if arguments.layer in PAIRED:
        return _pairs(entries, arguments.slot)
    from plumbline.run.units import units_of

    return units_of(arguments.layer, entries)


def _pairs(entries: Sequence[Expectation], number: Optional[int]) -> list[Unit]:
    """Return the pairs of this slot; say why when there are none."""
    import time

    from plumbline.run.net import PairUnit, slot_of

    units: list[Unit] = []
    for entry in entries:
        slot = slot_of(entry, time.time(), number)
        if slot.turn is None or slot.idle(entry.component):
            print(slot.idle(entry.component))
        else:
            units.append(PairUnit(entry, slot.turn.partner))
    return units


def _measure(
    arguments: argparse.Namespace, expectations: Expectations, units: Sequence[Unit]
) -> Result:
    from functools import partial

    from plumbline.cli.progress import progress
    from plumbline.run.clock import SystemClock
    from plumbline.run.lock import Locks
    from plumbline.site.measure import RunOptions, measure
    from plumbline.site.verdicts import published_by
    from plumbline.store.history import History

    state = Path(arguments.state)
    options = RunOptions(
        locks=Locks(Path(arguments.locks), SystemClock()),
        snapshot=state / SNAPSHOT_FILE,
        progress=partial(progress, arguments.quiet),
        limit_s=parse_duration(arguments.limit) if arguments.limit else None,
        # nobody asks this node about the targets of another one
        verdicts=None
        if arguments.another_client
        else published_by(arguments.expectations or EXPECTATIONS, state),
    )
    with History(state / DATABASE) as history:
        return measure(expectations, units, history, options)


def _print(result: Result, as_json: bool) -> int:
    from plumbline.cli.results import end, print_json

    if as_json:
        print_json(result)
    else:
        from plumbline.output.table import render

        rows = [(verdict.state.name, verdict.sentence) for verdict in result.verdicts]
        print(render(("state", "verdict"), rows))
    return end(result)
