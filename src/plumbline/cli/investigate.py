"""``plumbline investigate``: the next step of looking for a fault, for the debug playbook.

The playbook debug_slow_storage asks after each step.  All that is known comes in one document, so
nothing is kept between two calls.
"""

from __future__ import annotations

import argparse
import json
from typing import Any


def add(subparsers: Any) -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "investigate",
        help="choose the next measurement; for debug_slow_storage.yml",
        description="Read a question and what was measured since it was asked; print the next "
        "step, or what was found, as JSON.",
    )
    parser.add_argument(
        "--plan", metavar="FILE", required=True, help="output of plumbline plan --json"
    )
    parser.add_argument("--request", metavar="FILE", required=True, help="question and progress")
    parser.add_argument(
        "--records",
        metavar="FILE",
        nargs="*",
        default=[],
        help="output of plumbline history --json on the nodes",
    )
    parser.add_argument(
        "--snapshots",
        metavar="FILE",
        nargs="*",
        default=[],
        help="snapshots of the nodes from before the beginning: references that do not vote",
    )
    parser.set_defaults(run=run)


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
