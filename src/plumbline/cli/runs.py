"""How many runs vote together: an option of all verbs that name suspects."""

from __future__ import annotations

import argparse

from plumbline.errors import UsageError
from plumbline.locate import RUNS


def add_runs(parser: argparse.ArgumentParser) -> None:
    """Declare how many runs vote together, the same for all that name suspects."""
    parser.add_argument(
        "--runs",
        metavar="N",
        type=int,
        default=RUNS,
        help="judge the last N runs together, against their peers, default %(default)s; "
        "1 while looking for a fault that is there now",
    )


def asked_runs(arguments: argparse.Namespace) -> int:
    """Return how many runs vote together; raise UsageError for what is no number of runs."""
    runs: int = arguments.runs
    if runs < 1:
        raise UsageError(f"--runs {runs} is no number of runs; give 1 or more")
    return runs
