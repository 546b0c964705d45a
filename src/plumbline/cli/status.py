"""``plumbline status``: verdicts and recent rates on one screen, on a node or on the console."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Optional

from plumbline.cli.options import add_source, asks_for_site, common, option
from plumbline.model.verdict import worst

if TYPE_CHECKING:
    from plumbline.doors.status import Screen
    from plumbline.site.status import Status

_OTHER_LINES = 4
"""Of the screen: the counts, the head of the table, how many are left, and the prompt."""

_NO_TERMINAL = (200, 40)
"""Columns and lines where nobody says how large the screen is."""


HELP = "show on one screen what is not OK; exit code is the worst state"
DESCRIPTION = """Judge what was measured last, as plumbline judge does, and show the states of
all layers and what is not OK with its course."""
EPILOG = "For example: plumbline status --all"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_source(parser)
    option(parser, "--all", "show all components, not one screen")
    common(parser, "--json")


def run(arguments: argparse.Namespace) -> int:
    """Print the screen and return the exit code of the worst verdict."""
    from plumbline.doors.status import status

    site = asks_for_site(arguments)
    now = time.time()
    name, (lines, silent) = _site(arguments, now) if site else _node(arguments, now)
    if arguments.json:
        document = {"schema": 1, "of": name, "components": [line.to_json() for line in lines]}
        print(json.dumps({**document, "unanswered": [node.to_json() for node in silent]}))
    else:
        rows = len(lines) + len(silent) if arguments.all else None
        text = status(name, lines, _screen(rows), silent)
        print(_written(text, sys.stdout.encoding))
    return worst(line.verdict.state for line in lines)


def _written(text: str, encoding: str) -> str:
    """Return text as a terminal of any encoding can show it; without bars it has digits."""
    from plumbline.doors.status import DIGITS

    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(DIGITS).encode(encoding, "replace").decode(encoding)
    return text


def _screen(rows: Optional[int]) -> Screen:
    """Return the terminal's size, with room for ``rows`` where they are given."""
    from plumbline.doors.status import Screen

    columns, height = shutil.get_terminal_size(_NO_TERMINAL)
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return Screen(height - _OTHER_LINES if rows is None else rows, columns, colour)


def _node(arguments: argparse.Namespace, now: float) -> tuple[str, Status]:
    from plumbline.site.status import Status, status_of_node
    from plumbline.store.snapshot import load_expectations, load_snapshot

    expectations = load_expectations(arguments.expectations)
    snapshot = load_snapshot(arguments.snapshot)
    return expectations.node, Status(status_of_node(expectations, snapshot, now), ())


def _site(arguments: argparse.Namespace, now: float) -> tuple[str, Status]:
    from plumbline.site.status import status_of_site
    from plumbline.store.plan import load_plan

    plan = load_plan(arguments.plan)
    return plan.site, status_of_site(plan, Path(arguments.history), now)
