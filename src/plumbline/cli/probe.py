"""``plumbline probe``: measure this node's components now, or compare directories."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Mapping, NamedTuple, Optional, Sequence

from plumbline.cli.options import (
    add_another_client,
    common,
    named_directories,
    option,
    own_expectations,
    refuse_elsewhere,
)
from plumbline.cli.parallel import (
    add_parallel,
    planned,
    probe_fs,
    probe_planned,
    refuse_parallel,
    run_options,
)
from plumbline.cli.progress import end, print_commands, print_json, print_verdicts, progress
from plumbline.doors.ranks import comparison
from plumbline.doors.table import render
from plumbline.judge.confirm import Place
from plumbline.judge.phrases import odds, several
from plumbline.measure.caches import CachesUnit
from plumbline.measure.lock import Locks
from plumbline.measure.ost import TargetUnit
from plumbline.model.errors import INTERRUPTED, PrivilegeError, UsageError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.layers import LAYERS
from plumbline.model.layers.ost import OST
from plumbline.model.units import format_bytes, format_rate, parse_bytes
from plumbline.model.verdict import worst
from plumbline.observe.command import SystemClock
from plumbline.site import confirm as use_case
from plumbline.site.compare import (
    Caches,
    caveat,
    expected,
    measure_once,
    memory_bytes,
    own_locks,
    told_apart,
)
from plumbline.site.measure import Result, measure
from plumbline.store.files import DATABASE, EXPECTATIONS
from plumbline.store.history import History
from plumbline.store.ledgers import Confirmed
from plumbline.store.snapshot import load_expectations

if TYPE_CHECKING:
    from plumbline.measure.unit_context import Unit


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
    print(json.dumps({"schema": _SCHEMA, **found.to_json()})) if arguments.json else _print_caches(
        found
    )
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


def _print_caches(found: Caches) -> None:
    rows = [
        (
            phase.name,
            "none" if phase.rate_Bps is None else format_rate(phase.rate_Bps),
            phase.reason,
        )
        for phase in found.phases
    ]
    if rows:
        print(render(("read of a file just written", "rate", "why not"), rows))
    for sentence in found.sentences:
        print(sentence)


def compare(given: Sequence[str], size_bytes: int, arguments: argparse.Namespace) -> int:
    """Measure directories given as NAME=PATH, print how they compare, and return the exit code."""
    directories = named_directories(given)
    expectations = expected(directories, size_bytes)
    units = [TargetUnit(entry) for entry in expectations.find(OST.name)]
    if arguments.dry_run:
        return print_commands(units)
    said = caveat(directories, size_bytes, memory_bytes())
    if said and not arguments.json:
        print(said, flush=True)
    result = measure_once(
        expectations, units, own_locks(directories), partial(progress, arguments.quiet)
    )
    if arguments.json:
        print_json(result)
    else:
        print(comparison(result))
    return end(result)


_NOTHING = "nothing to confirm"


def refuse_confirm(arguments: argparse.Namespace) -> None:
    """Refuse what makes no sense beside ``--confirm``; raise UsageError."""
    if not LAYERS[arguments.layer].confirmable:
        others = (layer.name for layer in LAYERS.values() if layer.confirmable)
        raise UsageError(
            f"--confirm measures single targets and devices again; layer {arguments.layer} has "
            f"none: call plumbline probe {' or '.join(others)}"
        )
    beside = {
        "--component": arguments.component,
        "--directory": arguments.directory,
        "--another-client": arguments.another_client,
        "--json": arguments.json,
    }
    for name, given in beside.items():
        if given:
            raise UsageError(f"--confirm chooses what it measures; leave out {name}")


def confirm(expectations: Expectations, arguments: argparse.Namespace) -> int:
    """Measure what is due, print the verdicts, and return the worst of them."""
    path = Path(arguments.state) / DATABASE
    if not path.exists():
        print(f"{_NOTHING}: history {path}: nothing was measured here yet")
        return 0
    with History(path) as history, Confirmed(path) as confirmed:
        kept = history, confirmed
        if arguments.dry_run:
            print(show(use_case.look(expectations, arguments.layer, kept, time.time())))
            return 0
        if busy := use_case.busy(history):
            print(f"another run measures {several(busy)}; the next moment of the timer confirms")
            return 0
        options = run_options(arguments, keep_files=True)
        return _print_confirmed(use_case.confirm(expectations, arguments.layer, kept, options))


def show(moment: use_case.Moment) -> str:
    """Return the queue in words: who is in question, why, and what happens next."""
    trouble = [moment.trouble] if moment.trouble else []
    if not moment.queue:
        return "\n".join([*trouble, _NOTHING])
    beside = {
        target.component: several([expectation.component for expectation in turn.controls])
        or "nobody"
        for turn in moment.due
        for target in turn.targets
    }
    lines = [_line(place, beside) for place in moment.queue]
    left = format_bytes(round(max(0.0, moment.left_bytes)))
    return "\n".join([*trouble, *lines, f"{left} can be moved now"])


def _line(queued: Place, beside: Mapping[str, str]) -> str:
    one, terms = queued.candidate, queued.candidate.entry.confirm
    name = one.entry.component
    after = f"{queued.runs} of {terms.runs} runs"
    if queued.obstacle:
        what = f"waits: {queued.obstacle}"
    elif name in beside:
        what = f"measured now beside {beside[name]}"
    else:
        what = "waits: the bytes of confirmation are used up"
    return f"{name}: odds {odds(one.evidence.odds)} to 1, {after}, {what}; {one.sentence}"


def _print_confirmed(results: Sequence[Result]) -> int:
    verdicts = [verdict for result in results for verdict in result.verdicts]
    if not results:
        print(_NOTHING)
        return 0
    print_verdicts(verdicts)
    codes = [end(result) for result in results if result.busy or result.interrupted]
    return codes[0] if codes else int(worst(verdict.state for verdict in verdicts))


EPILOG = """\
Exit codes: the worst verdict, 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN; 75 when another run holds
one of the targets, 77 when this user may not measure one; see plumbline --help for the others.

TIME is written 90s, 10m or 10min, 36h; SIZE 512MiB or 1GB.

One target now: plumbline probe ost --component scratch-OST0003
Without inventory and root: plumbline probe ost --directory a=/mnt/a --directory b=/mnt/b
"""


HELP = "measure now and judge"
DESCRIPTION = """Measure what this node is to measure in a layer, keep the records, and judge them.
With --directory: compare directories, and keep nothing."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("layer", choices=LAYERS, help="what to measure")
    option(parser, "--component NAME", "only this component; repeatable", action="append")
    option(parser, "--slot N", "pair hosts as in slot N (net)", type=int)
    option(parser, "--confirm", "measure again what was low, with healthy peers (ost, raw)")
    option(parser, "--limit TIME", "start nothing after this time, such as 1h")
    option(parser, "--expectations PATH", "expectations of this node")
    option(parser, "--dry-run", "print the commands, measure nothing")
    option(parser, "--json", "print records and verdicts")
    common(parser, "--state", "--locks", "--quiet")
    option(
        parser,
        "--directory NAME=PATH",
        "compare directories, without an inventory (ost, fs)",
        action="append",
    )
    option(parser, "--bytes SIZE", "of each file in a directory, 256MiB; of each rank (fs)")
    option(parser, "--caches", "read a file with and without each cache (ost, one target)")
    add_another_client(parser)
    add_parallel(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure, print, and return the exit code."""
    if arguments.caches:
        _refuse_contradictions(arguments)
        return tell_apart(arguments)
    if LAYERS[arguments.layer].by_ranks and not arguments.confirm:
        return _parallel(arguments)
    _refuse_contradictions(arguments)
    if arguments.directory:
        size = parse_bytes(arguments.bytes or "256MiB")
        return compare(arguments.directory, size, arguments)
    return _probe(arguments)


def _parallel(arguments: argparse.Namespace) -> int:
    plan = planned(arguments)
    _refuse_contradictions(arguments)
    return probe_fs(arguments) if plan is None else probe_planned(plan, arguments)


def _refuse_contradictions(arguments: argparse.Namespace) -> None:
    if arguments.confirm:
        refuse_confirm(arguments)
    if arguments.slot is not None and not LAYERS[arguments.layer].paired:
        raise UsageError(f"--slot pairs hosts; layer {arguments.layer} has none: leave it out")
    if arguments.directory and not LAYERS[arguments.layer].on_targets:
        raise UsageError("--directory compares storage targets: call plumbline probe ost or fs")
    refuse_parallel(arguments)
    if arguments.directory and (arguments.component or arguments.expectations):
        raise UsageError("--directory needs no --component and no --expectations: leave them out")
    if arguments.another_client and (
        not LAYERS[arguments.layer].per_target or not arguments.expectations
    ):
        raise UsageError(
            "--another-client measures the targets of another client: call plumbline probe ost "
            "with its --expectations"
        )
    if arguments.bytes and not arguments.directory and not LAYERS[arguments.layer].by_ranks:
        raise UsageError("--bytes belongs to --directory; otherwise the policy says how much")


def _probe(arguments: argparse.Namespace) -> int:
    expectations = load_expectations(arguments.expectations or EXPECTATIONS)
    if arguments.confirm:
        return confirm(expectations, arguments)
    chosen = _chosen(expectations, arguments)
    expectations = own_expectations(arguments, expectations, chosen)
    units = _units(arguments, chosen)
    if arguments.dry_run:
        return print_commands(units)
    if not units:
        return 0
    with History(Path(arguments.state) / DATABASE) as history:
        result = measure(expectations, units, history, run_options(arguments, keep_files=True))
    if arguments.json:
        print_json(result)
    else:
        print_verdicts(result.verdicts)
    return end(result)


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
    if LAYERS[arguments.layer].paired:
        return _pairs(entries, arguments.slot)
    from plumbline.measure.units import units_of

    return units_of(arguments.layer, entries)


def _pairs(entries: Sequence[Expectation], number: Optional[int]) -> list[Unit]:
    """Return the pairs of this slot; say why when there are none."""
    from plumbline.measure.net import PairUnit, slot_of

    units: list[Unit] = []
    for entry in entries:
        slot = slot_of(entry, time.time(), number)
        if slot.turn is None or slot.idle(entry.component):
            print(slot.idle(entry.component))
        else:
            units.append(PairUnit(entry, slot.turn.partner))
    return units
