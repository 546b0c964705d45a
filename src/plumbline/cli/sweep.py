"""``plumbline sweep``: how rates change with writers, transfers, stripes and over-subscription."""

from __future__ import annotations

import argparse
from typing import Any

from plumbline.cli.parallel_options import add_ranks
from plumbline.store.places import LOCKS

_EPILOG = """\
Lists are numbers or sizes with commas: --writers 1,2,4,8 --transfer 10000B,1MiB.  Every combination
is one point, the ends of all lists first.  The same call again goes on where the last one ended.

TIME is written 90s, 10m or 10min, 36h; SIZE 512MiB or 1GB.

Exit codes: 0 when every measured point has its figures, 3 when one has none; 75 when another run
holds one of the targets; see plumbline --help for the others.

Without inventory and root: plumbline sweep --directory a=/mnt/a --directory b=/mnt/b
"""


def add(subparsers: Any) -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "sweep",
        help="measure all targets at once, with other writers, transfers, stripes each time",
        description="Drive all targets of a file system at once, again and again with "
        "other numbers of\nwriters, sizes of calls and stripes, and say where more brings nothing.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    axes = parser.add_argument_group("what changes from point to point")
    axes.add_argument(
        "--writers", metavar="LIST", default="1,2,4,8", help="on each target, default: %(default)s"
    )
    axes.add_argument("--transfer", metavar="LIST", help="of one call; default: the test's")
    axes.add_argument(
        "--stripes", metavar="LIST", default="1", help="targets of one file, or all (Lustre)"
    )
    axes.add_argument(
        "--oversubscribe", metavar="LIST", default="1", help="the same ranks on 1/N of the targets"
    )
    axes.add_argument("--alone", action="store_true", help="one target or stripe set, others idle")
    ranks = parser.add_argument_group("what all points have in common")
    add_ranks(ranks)
    ranks.add_argument("--bytes", metavar="SIZE", help="of each point, shared by its writers")
    ranks.add_argument(
        "--limit", metavar="TIME", default="30min", help="of the sweep, default: %(default)s"
    )
    parser.add_argument("--component", action="append", metavar="NAME", help="this target, ...")
    parser.add_argument(
        "--directory", action="append", metavar="NAME=PATH", help="a target, without an inventory"
    )
    parser.add_argument("--expectations", metavar="PATH", help="what this node is to measure")
    parser.add_argument("--state", metavar="DIR", help="keeps records and what is done")
    parser.add_argument("--locks", metavar="DIR", default=LOCKS, help="default: %(default)s")
    parser.add_argument("--again", action="store_true", help="forget what is done, measure again")
    parser.add_argument("--dry-run", action="store_true", help="print the points, bytes, seconds")
    parser.add_argument("--json", action="store_true", help="print points and knees")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Carry the sweep on, print what is known of it, and return the exit code."""
    from plumbline.cli.sweep_course import carry_on, look_ahead
    from plumbline.cli.sweep_plan import plan_of

    plan = plan_of(arguments)
    return look_ahead(arguments, plan) if arguments.dry_run else carry_on(arguments, plan)
