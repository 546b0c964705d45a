"""Options of a run and its history, common to all verbs that measure."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import ContextManager

from plumbline.cli.options import spelled
from plumbline.cli.progress import progress
from plumbline.measure.lock import Locks
from plumbline.model.errors import UsageError
from plumbline.model.layers import LAYERS
from plumbline.observe.command import SystemClock
from plumbline.site import measure as runs
from plumbline.site.checks import published_by
from plumbline.store.files import DATABASE, EXPECTATIONS, SNAPSHOT_FILE
from plumbline.store.history import History

_DEFAULTS = {
    "test": "ost",
    "ranks": 1,
    "seconds": 60.0,
    "budget": 64 << 30,
    "launcher": "mpirun",
    "stripes": "1",
}

_OPTIONS_WITHOUT_DEFAULT = (
    *("clients", "hostfile", "fixed_time", "transfer", "gather", "direct", "profile", "work"),
    *("python", "launcher_option", "file_system", "keep", "reread_kept", "next"),
)


def run_options(arguments: argparse.Namespace, *, keep_files: bool = False) -> runs.RunOptions:
    """Return the options of a run of this node."""
    state = Path(arguments.state)
    # checks do not ask this node about another node's targets
    own = not arguments.another_client
    return runs.RunOptions(
        Locks(Path(arguments.locks), SystemClock()),
        state / SNAPSHOT_FILE,
        partial(progress, arguments.quiet),
        arguments.limit,
        keep_files,
        verdicts=published_by(arguments.expectations or EXPECTATIONS, state) if own else None,
    )


def history_of_run(arguments: argparse.Namespace) -> ContextManager[History]:
    """Return the history for a run, which leaves a note for check_node if it is not recorded."""
    state = Path(arguments.state)
    if arguments.another_client:
        # check_node looks after the runs of this node
        return History(state / DATABASE)
    return runs.recording(arguments.layer, state, Path(arguments.locks))


def refuse_parallel(arguments: argparse.Namespace) -> None:
    """Raise UsageError if an option belongs to ``fs`` only; set the defaults of ``fs``."""
    for name in (*_DEFAULTS, *_OPTIONS_WITHOUT_DEFAULT):
        value = getattr(arguments, name)
        if not LAYERS[arguments.layer].by_ranks and is_given(value):
            raise UsageError(f"{spelled(name)} belongs to plumbline probe fs; leave it out")
    fill_in(arguments)


def is_given(value: object) -> bool:
    """Return whether an option was given; a switch that is off was not."""
    return value is not None and value is not False


def fill_in(arguments: argparse.Namespace) -> None:
    """Set the defaults of options that were not given."""
    for name, value in _DEFAULTS.items():
        if getattr(arguments, name, None) is None:
            setattr(arguments, name, value)
