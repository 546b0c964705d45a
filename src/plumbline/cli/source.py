"""Where that lies which is judged: the documents of this node, or plan and history of a site."""

from __future__ import annotations

import argparse

from plumbline.errors import UsageError
from plumbline.store.places import EXPECTATIONS, SNAPSHOT


def add_source(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments, the same for all verbs that judge a node or a site."""
    for name, path in (("--expectations", EXPECTATIONS), ("--snapshot", SNAPSHOT)):
        parser.add_argument(name, metavar="FILE", default=path, help="default: %(default)s")
    add_site(parser)


def add_site(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that mean a whole site in the place of a node."""
    parser.add_argument(
        "--plan", metavar="FILE", help="of a whole site: what plumbline plan --json printed"
    )
    parser.add_argument(
        "--history", metavar="FILE", help="with --plan: the history of all its nodes"
    )


def asks_for_site(arguments: argparse.Namespace) -> bool:
    """Return whether a whole site is meant; raise UsageError for half of what that needs."""
    if bool(arguments.plan) is not bool(arguments.history):
        raise UsageError("--plan and --history belong together: give both, or neither")
    return bool(arguments.plan)
