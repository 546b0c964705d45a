"""``plumbline probe fs`` without terms of its own: the runs that the console has planned.

Of each file system this node has the targets, the whole, and how to drive them.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from socket import gethostname
from typing import Any, Mapping, NamedTuple, Optional, Sequence

from plumbline.cli.another_client import own_expectations
from plumbline.cli.parallel_terms import profile_of
from plumbline.cli.progress import progress
from plumbline.cli.results import end, print_commands, print_json
from plumbline.errors import DocumentError, UsageError
from plumbline.judge.fs import judge_whole, wholes
from plumbline.layers import WHOLE
from plumbline.layers.fs import FS
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.verdict import Verdict
from plumbline.output.ranks_table import table
from plumbline.ranks.tests import named_test
from plumbline.run.clock import SystemClock
from plumbline.run.fs import FsUnit
from plumbline.run.launch import Client, Launch, by_slurm
from plumbline.run.lock import Locks
from plumbline.run.parallel import Course
from plumbline.site.measure import Result, RunOptions, measure
from plumbline.site.verdicts import published_by
from plumbline.store.history import History
from plumbline.store.places import DATABASE, EXPECTATIONS, SNAPSHOT_FILE
from plumbline.store.snapshot import load_expectations, load_snapshot
from plumbline.units import parse_duration

_GOES_WITH = frozenset(
    (
        *("verb", "run", "layer", "expectations", "state", "locks", "dry_run", "json", "quiet"),
        *("limit", "file_system", "python", "launcher_option", "profile"),
    )
)
"""What a planned run may be told; with any other option it is another run."""


class Planned(NamedTuple):
    """What this node is to drive: its document, and a unit for each file system by its name."""

    document: Expectations
    units: Mapping[str, FsUnit]


def planned(arguments: argparse.Namespace) -> Optional[Planned]:
    """Return what is planned, None where nothing is, or where the options say another run.

    To be asked before options that were left out have their defaults.

    Raises:
        DocumentError: the expectations of this node are missing or damaged.
        UsageError: there is no such file system, or one file is to keep the calls of several.
    """
    said = {name for name, value in vars(arguments).items() if value not in (None, False)}
    if not said <= _GOES_WITH:
        return None
    document = load_expectations(arguments.expectations or EXPECTATIONS)
    if all(entry.get("layer") not in WHOLE for entry in document.entries):
        return None
    chosen = _chosen(document, arguments.file_system)
    own_expectations(arguments, document, [one for _, members in chosen for one in members])
    if arguments.profile and len(chosen) > 1:
        raise UsageError(
            f"--profile {arguments.profile} keeps the calls of one file system; choose one of "
            f"{', '.join(whole.component for whole, _ in chosen)} with --file-system"
        )
    units = {
        whole.component: FsUnit(whole, members, _course(document, whole, members, arguments))
        for whole, members in chosen
    }
    return Planned(document, units)


def probe_planned(plan: Planned, arguments: argparse.Namespace) -> int:
    """Measure all that is planned, print what came of it, and return the exit code."""
    units = list(plan.units.values())
    if arguments.dry_run:
        return print_commands(units)
    state = Path(arguments.state)
    options = RunOptions(
        Locks(Path(arguments.locks), SystemClock()),
        state / SNAPSHOT_FILE,
        partial(progress, arguments.quiet),
        parse_duration(arguments.limit) if arguments.limit else None,
        keep_files=False,
        verdicts=published_by(arguments.expectations or EXPECTATIONS, state),
    )
    with History(state / DATABASE) as history:
        measured = measure(plan.document, units, history, options)
        judged = _judged(plan, measured, str(options.snapshot))
        for verdict in judged.values():
            history.save_verdict(measured.run_id, time.time(), verdict)
    _print(plan, measured, judged, as_json=arguments.json)
    return end(measured._replace(verdicts=tuple(judged.values())))


def _chosen(
    document: Expectations, name: Optional[str]
) -> list[tuple[Expectation, tuple[Expectation, ...]]]:
    found = list(wholes(document.find(FS.name)))
    names = [whole.component for whole, _ in found]
    if name is not None and name not in names:
        raise UsageError(
            f"this node drives the file systems {', '.join(names)}; choose one with --file-system"
        )
    return [pair for pair in found if name in (None, pair[0].component)]


def _course(
    document: Expectations,
    whole: Expectation,
    members: Sequence[Expectation],
    arguments: argparse.Namespace,
) -> Course:
    """Return how a whole is to be driven, as its expectation says it."""
    said: Mapping[str, Any] = whole.target
    try:
        test = named_test(said["test"])._replace(transfer=whole.spec.transfer_bytes)
        launcher, ranks, work = str(said["launcher"]), int(said["ranks_per_target"]), said["work"]
        names = tuple(str(name) for name in said["clients"])
    except (KeyError, TypeError, ValueError, UsageError) as error:
        raise DocumentError(
            f"expectations of {document.node}: fs {whole.component} does not say how it is driven "
            f"({error!r}); deploy the role agent again"
        ) from error
    # what runs here alone needs no way to itself, but Slurm has to be told the host
    slurm = by_slurm(launcher)
    here = names == (document.node,) and not slurm
    # a launcher knows its own host by the name that the host gives itself
    own = document.node if slurm else gethostname()
    clients = tuple(Client(own if name == document.node else name) for name in names)
    return Course(
        test,
        ranks,
        Launch(
            launcher,
            () if here else clients,
            arguments.python or "",
            tuple(arguments.launcher_option or ()),
        ),
        {entry.component: entry.host for entry in members},
        folder=work,
        calls=profile_of(arguments),
    )


def _judged(plan: Planned, measured: Result, snapshot: str) -> dict[str, Verdict]:
    """Return the verdicts on the file systems that were measured."""
    recorded = {record.component for record in measured.records}
    memory, entries = load_snapshot(snapshot), plan.document.find(FS.name)
    return {
        name: judge_whole(entries, name, memory, memory.written_at)
        for name in plan.units
        if name in recorded
    }


def _print(
    plan: Planned, measured: Result, judged: Mapping[str, Verdict], *, as_json: bool
) -> None:
    """Print each file system as one table; its verdict has the place of the whole's own."""
    own = [one for one in measured.verdicts if one.component not in judged]
    if as_json:
        print_json(measured._replace(verdicts=(*own, *judged.values())))
        return
    for whole, members in wholes(plan.document.find(FS.name)):
        name = whole.component
        names = {name, *(each.component for each in members)}
        verdicts = [one for one in own if one.component in names]
        if name in judged:
            records = tuple(one for one in measured.records if one.component in names)
            one = measured._replace(records=records, verdicts=(*verdicts, judged[name]))
            print(table(one, name))
