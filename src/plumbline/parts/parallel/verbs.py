"""``plumbline probe fs``: all targets at once, planned or given as directories.

A planned run takes the targets, the whole file system and the launcher from the expectations of
this node. Other runs take the node's targets, or directories, and the options.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from socket import gethostname
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.cli.measuring import history_of_run, is_given, run_options
from plumbline.cli.options import deployed, own_expectations, spelled
from plumbline.cli.output import remark, show
from plumbline.cli.progress import end, print_commands, progress, show_result
from plumbline.doors.ranks import table
from plumbline.judge.fs import FileSystem, file_systems, judge_whole, next_test
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.layers import LAYERS
from plumbline.model.layers.fs import FS
from plumbline.model.ranks import (
    named_test,
)
from plumbline.model.units import format_bytes
from plumbline.model.verdict import Verdict
from plumbline.observe.command import SystemRunner
from plumbline.parts.parallel import runs as fs
from plumbline.parts.parallel.choices import (
    files_of,
    locks_of,
    members_of,
    profile_of,
    terms_of,
    work_of,
)
from plumbline.parts.parallel.launch import Client, Launch, by_slurm, find_launcher
from plumbline.parts.parallel.run import Course, FsUnit
from plumbline.site import measure as runs
from plumbline.site.comparison import caveat, measure_once, memory_bytes
from plumbline.store.files import SNAPSHOT_FILE
from plumbline.store.snapshot import load_snapshot

_PLANNED_OPTIONS = frozenset(
    (
        *("verb", "run", "layer", "expectations", "state", "locks", "dry_run", "json", "quiet"),
        *("limit", "file_system", "next", "python", "launcher_option", "profile"),
    )
)
"""Options allowed with a planned run; any other option chooses a run by options."""


class PlannedRuns(NamedTuple):
    """Planned runs of this node: its expectations, and units by the name of the file system."""

    document: Expectations
    units: Mapping[str, FsUnit]


def planned(arguments: argparse.Namespace) -> Optional[PlannedRuns]:
    """Return the planned runs, None if there are none or the options choose another run.

    Call it before ``fill_in`` sets defaults.

    Raises:
        DocumentError: the expectations of this node are missing or damaged.
        UsageError: there is no such file system, or one profile would get several file systems.
    """
    used = {name for name, value in vars(arguments).items() if is_given(value)}
    if not used <= _PLANNED_OPTIONS:
        if arguments.next:
            options = ", ".join(map(spelled, sorted(used - _PLANNED_OPTIONS)))
            raise UsageError(f"--next runs a planned test on its own terms; leave out {options}")
        return None
    document = deployed(arguments)
    if all(not LAYERS[entry["layer"]].by_ranks for entry in document.entries):
        return None
    systems, chosen = list(file_systems(document.find(FS.name))), arguments.file_system
    names = ", ".join(system.whole.component for system in systems)
    if arguments.next and chosen is not None:
        raise UsageError("--next chooses the test of each file system; leave out --file-system")
    if arguments.next:
        tests = _next_tests(arguments, systems)
    elif chosen is None:
        tests = [(system, system.whole) for system in systems]
    else:
        driven = [(system, test) for system in systems for test in system.driven]
        tests = [pair for pair in driven if pair[1].component == chosen]
    if not tests:
        raise UsageError(
            f"this node drives the file systems {names}; choose one with --file-system NAME, or "
            "one of its tests with NAME:TEST"
        )
    own_expectations(arguments, document, [item for system, _ in tests for item in system.members])
    if arguments.profile and len(tests) > 1:
        raise UsageError(
            f"--profile {arguments.profile} keeps the calls of one file system; choose one of "
            f"{names} with --file-system"
        )
    units = {
        system.whole.component: FsUnit(
            test, system.members, _course(document, test, system.members, arguments)
        )
        for system, test in tests
    }
    return PlannedRuns(document, units)


def _next_tests(
    arguments: argparse.Namespace, systems: Sequence[FileSystem]
) -> list[tuple[FileSystem, Expectation]]:
    """Return the next test of each file system; the first test if this node has not run yet.

    A damaged snapshot does not prevent the run, which writes it again.
    """
    path = Path(arguments.state) / SNAPSHOT_FILE
    now = time.time()
    try:
        memory = load_snapshot(str(path)) if path.exists() else None
        return [
            (system, next_test(system, memory, now) if memory else system.whole)
            for system in systems
        ]
    except DocumentError as error:
        remark(f"{error}; each file system has its first test")
        return [(system, system.whole) for system in systems]


def probe_planned(plan: PlannedRuns, arguments: argparse.Namespace) -> int:
    """Measure all planned tests, print the results, and return the exit code."""
    units = list(plan.units.values())
    if arguments.dry_run:
        return print_commands(units)
    options, entries = run_options(arguments), plan.document.find(FS.name)
    with history_of_run(arguments) as history:
        measured = runs.measure(plan.document, units, history, options)
        memory = load_snapshot(str(options.snapshot))
        recorded = {record.component for record in measured.records}
        judged = {
            system.whole.component: judge_whole(system, memory, memory.written_at)
            for system in file_systems(entries)
            if recorded.intersection(test.component for test in system.driven)
        }
    # the verdict on the file system replaces the verdict on its single test
    member_verdicts = [verdict for verdict in measured.verdicts if verdict.component not in judged]
    result = measured._replace(verdicts=(*member_verdicts, *judged.values()))
    show(arguments, result, _tables(entries, measured, member_verdicts, judged))
    return end(measured._replace(verdicts=tuple(judged.values())))


def _course(
    document: Expectations,
    whole: Expectation,
    members: Sequence[Expectation],
    arguments: argparse.Namespace,
) -> Course:
    """Return the course of a run on a whole file system, from its expectation."""
    terms: Mapping[str, Any] = whole.target
    try:
        test = named_test(terms["test"])._replace(transfer=whole.spec.transfer_bytes)
        launcher, work = str(terms["launcher"]), terms["work"]
        ranks = int(terms["ranks_per_target"]) * len(members)
        names = tuple(str(name) for name in terms["clients"])
    except (KeyError, TypeError, ValueError, UsageError) as error:
        raise DocumentError(
            f"expectations of {document.node}: fs {whole.component} does not say how it is driven "
            f"({error!r}); deploy the role agent again"
        ) from error
    # a run on this host only needs no client names, except with Slurm
    slurm = by_slurm(launcher)
    local_only = names == (document.node,) and not slurm
    # a launcher knows its own host by its hostname
    own_name = document.node if slurm else gethostname()
    clients = tuple(Client(own_name if name == document.node else name) for name in names)
    return Course(
        test,
        ranks,
        Launch(
            launcher,
            () if local_only else clients,
            arguments.python or "",
            tuple(arguments.launcher_option or ()),
        ),
        {entry.component: entry.host for entry in members},
        folder=work,
        calls=profile_of(arguments),
    )


def _tables(
    entries: Sequence[Expectation],
    measured: runs.Result,
    member_verdicts: Sequence[Verdict],
    judged: Mapping[str, Verdict],
) -> Iterator[str]:
    for system in file_systems(entries):
        name = system.whole.component
        names = {entry.component for entry in system.entries}
        verdicts = [verdict for verdict in member_verdicts if verdict.component in names]
        if name in judged:
            records = tuple(record for record in measured.records if record.component in names)
            result = measured._replace(records=records, verdicts=(*verdicts, judged[name]))
            yield from table(result, name)


def probe_fs(arguments: argparse.Namespace) -> int:
    """Measure all targets at once, print the results, and return the exit code."""
    members = members_of(arguments)
    terms = terms_of(arguments, len(members.entries))
    course = Course(
        terms.test,
        terms.ranks,
        terms.launch,
        members.servers,
        terms.fixed,
        work_of(arguments, terms.launch),
        profile_of(arguments),
        files=files_of(arguments),
    )
    members = fs.in_stripes(members, terms)
    entries = fs.entries_of(members, terms)
    unit = FsUnit(entries[-1], entries[:-1], course)
    planned, budget = unit.planned_bytes, arguments.budget
    if planned > budget:
        raise UsageError(
            f"the run would write {format_bytes(planned)}, its budget is {format_bytes(budget)}; "
            "lower --bytes or --ranks, or raise --budget"
        )
    if arguments.keep and planned > arguments.keep:
        raise UsageError(
            f"the run would keep {format_bytes(planned)}, --keep allows "
            f"{format_bytes(arguments.keep)}; lower --bytes or --ranks, or raise --keep"
        )
    if arguments.dry_run:
        return print_commands([unit])
    if arguments.directory:
        # report a missing launcher once, not for each directory
        course = course._replace(launcher=find_launcher(terms.launch, SystemRunner()))
        unit = FsUnit(entries[-1], entries[:-1], course)
    if arguments.directory and not arguments.json:
        directories = {entry.component: str(entry.target["directory"]) for entry in members.entries}
        size = planned // terms.ranks
        written = size * max(1, terms.ranks // terms.launch.hosts)
        if limits := caveat(directories, written, memory_bytes(), size):
            remark(limits)
    result = _measured(arguments, members, entries, unit)
    if arguments.directory:
        # the sum of directories has no baseline to be judged by
        verdicts = tuple(verdict for verdict in result.verdicts if verdict.component != fs.ALL)
        result = result._replace(verdicts=verdicts)
    return show_result(arguments, result, lambda result: table(result, members.name))


def _measured(
    arguments: argparse.Namespace,
    members: fs.Members,
    entries: tuple[Expectation, ...],
    unit: FsUnit,
) -> runs.Result:
    expectations = fs.document_of(members, entries)
    locks = locks_of(arguments, members)
    if arguments.directory:
        return measure_once(expectations, [unit], locks, partial(progress, arguments.quiet))
    with history_of_run(arguments) as history:
        options = run_options(arguments)._replace(locks=locks)
        return runs.measure(_with_rest(arguments, expectations), [unit], history, options)


def _with_rest(arguments: argparse.Namespace, own: Expectations) -> Expectations:
    """Return the expectations of a run plus all others of this node, for its snapshot."""
    expectations = deployed(arguments)
    places = {(entry["layer"], entry["component"]) for entry in own.entries}
    rest = [
        entry
        for entry in expectations.entries
        if (entry.get("layer"), entry.get("component")) not in places
    ]
    return expectations._replace(entries=(*rest, *own.entries))
