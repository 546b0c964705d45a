"""``plumbline probe fs``: all targets at once, from an inventory or given as directories.

The targets are those that this node measures one by one; what a parallel run needs beyond that is
said by its options.  What the console has planned is another module's.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from plumbline.cli.parallel_members import locks_of, members_of
from plumbline.cli.parallel_terms import files_of, profile_of, terms_of, work_of
from plumbline.cli.progress import progress
from plumbline.cli.results import end, print_commands, print_json
from plumbline.errors import UsageError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.output.ranks_table import table
from plumbline.run.fs import FsUnit
from plumbline.run.parallel import Course
from plumbline.site.compare import measure_once
from plumbline.site.measure import Result, RunOptions, measure
from plumbline.site.parallel import ALL, Members, document_of, entries_of, in_stripes
from plumbline.site.verdicts import published_by
from plumbline.store.history import History
from plumbline.store.places import DATABASE, EXPECTATIONS, SNAPSHOT_FILE
from plumbline.store.snapshot import load_expectations
from plumbline.units import format_bytes, parse_bytes


def probe_fs(arguments: argparse.Namespace) -> int:
    """Measure all targets at once, print what came of it, and return the exit code."""
    members = members_of(arguments)
    terms = terms_of(arguments, len(members.entries))
    course = Course(
        terms.test,
        terms.ranks_per_target,
        terms.launch,
        members.servers,
        terms.fixed,
        work_of(arguments, terms.launch),
        profile_of(arguments),
        files=files_of(arguments),
    )
    members = in_stripes(members, terms)
    entries = entries_of(members, terms)
    unit = FsUnit(entries[-1], entries[:-1], course)
    _refuse_too_much(unit.planned_bytes, parse_bytes(arguments.budget))
    if arguments.keep:
        _refuse_to_keep(unit.planned_bytes, parse_bytes(arguments.keep))
    if arguments.dry_run:
        return print_commands([unit])
    result = _measured(arguments, members, entries, unit)
    if arguments.directory:
        # a sum without a baseline has nothing to be judged by
        kept = tuple(one for one in result.verdicts if one.component != ALL)
        result = result._replace(verdicts=kept)
    if arguments.json:
        print_json(result)
    else:
        print(table(result, members.name))
    return end(result)


def _refuse_too_much(planned: int, budget: int) -> None:
    if planned > budget:
        raise UsageError(
            f"the run would write {format_bytes(planned)}, its budget is {format_bytes(budget)}; "
            "lower --bytes or --ranks, or raise --budget"
        )


def _refuse_to_keep(planned: int, most: int) -> None:
    if planned > most:
        raise UsageError(
            f"the run would keep {format_bytes(planned)}, --keep allows {format_bytes(most)}; "
            "lower --bytes or --ranks, or raise --keep"
        )


def _measured(
    arguments: argparse.Namespace, members: Members, entries: tuple[Expectation, ...], unit: FsUnit
) -> Result:
    expectations = document_of(members, entries)
    locks = locks_of(arguments, members)
    shown = partial(progress, arguments.quiet)
    if arguments.directory:
        return measure_once(expectations, [unit], locks, shown)
    state = Path(arguments.state)
    with History(state / DATABASE) as history:
        options = RunOptions(
            locks,
            state / SNAPSHOT_FILE,
            shown,
            keep_files=False,
            verdicts=published_by(arguments.expectations or EXPECTATIONS, state),
        )
        return measure(_beside_all(arguments, expectations), [unit], history, options)


def _beside_all(arguments: argparse.Namespace, own: Expectations) -> Expectations:
    """Return a run's expectations with all else that this node measures and its snapshot keeps."""
    known = load_expectations(arguments.expectations or EXPECTATIONS)
    taken = {(entry["layer"], entry["component"]) for entry in own.entries}
    others = [one for one in known.entries if (one.get("layer"), one.get("component")) not in taken]
    return known._replace(entries=(*others, *own.entries))
