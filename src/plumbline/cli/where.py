"""``plumbline where``: targets that hold a user's file."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from plumbline.cli.options import common
from plumbline.model.errors import SkipTarget, ToolError
from plumbline.model.layers.ost import OST

if TYPE_CHECKING:
    from plumbline.measure.targets.whereabouts import Whereabouts


HELP = "show the targets that hold a file"
DESCRIPTION = """Print the targets that hold a file, from its layout; its data is not read. To be
asked on a host that measures targets of its file system."""
EPILOG = "For example: plumbline where /scratch/u/results.h5"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("path", metavar="PATH", help="absolute path of a file")
    common(parser, "--expectations", "--json")


def run(arguments: argparse.Namespace) -> int:
    """Print the targets and return 0."""
    from plumbline.measure.targets.whereabouts import whereabouts
    from plumbline.observe.command import SystemRunner
    from plumbline.store.snapshot import load_expectations

    entries = load_expectations(arguments.expectations).find(OST.name)
    known = {expectation.component: expectation.target for expectation in entries}
    try:
        found = whereabouts(SystemRunner(), arguments.path, known)
    except SkipTarget as trouble:
        raise ToolError(str(trouble)) from trouble
    if arguments.json:
        print(json.dumps({"schema": 1, **found.to_json()}, allow_nan=False))
    else:
        print("\n".join(_lines(found)))
    return 0


def _lines(whereabouts: Whereabouts) -> list[str]:
    return [
        holder.component or f"{holder.name} (not measured by this host)"
        for holder in whereabouts.holders
    ]
