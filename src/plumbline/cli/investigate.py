"""``plumbline investigate``: the next step of looking for a fault, for the debug playbook.

The playbook debug_slow_storage asks after each step.  All that is known comes in one document, so
nothing is kept between two calls.
"""

from __future__ import annotations

import argparse
import json

from plumbline.cli.options import common, option

HELP = "choose the next measurement; for debug_slow_storage.yml"
DESCRIPTION = """Read a question and what was measured since it was asked; print the next step,
or what was found, as JSON."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    common(parser, "--plan")
    option(parser, "--request FILE", "question and progress", required=True)
    option(
        parser,
        "--records FILE",
        "output of plumbline history --json on the nodes",
        nargs="*",
        default=[],
    )
    option(
        parser,
        "--snapshots FILE",
        "earlier snapshots of the nodes, as references",
        nargs="*",
        default=[],
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the answer and return 0."""
    from plumbline.doors.table import render
    from plumbline.locate.sentences import HEADERS
    from plumbline.site.documents import read_records
    from plumbline.site.investigate import investigate, read_earlier, read_request
    from plumbline.store.plan import load_plan

    plan = load_plan(arguments.plan)
    request = read_request(arguments.request)
    before = read_earlier(arguments.snapshots)
    answer = investigate(plan, request, read_records(arguments.records), before)
    table = [line for rows in answer.evidence for line in render(HEADERS, list(rows)).splitlines()]
    print(json.dumps({**answer.document, "table": table}, allow_nan=False))
    return 0
