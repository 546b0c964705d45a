"""Where the site's Prometheus is: options that verbs declare alike."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plumbline.collect.prometheus import Prometheus


def add_prometheus(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--prometheus", metavar="URL", required=required, help="address of the site's Prometheus"
    )
    parser.add_argument("--token-file", metavar="FILE", type=Path, help="bearer token, one line")
    parser.add_argument(
        "--ca", metavar="FILE", type=Path, help="certificate of its authority (default: system's)"
    )


def prometheus_of(arguments: argparse.Namespace) -> Prometheus:
    """Return the Prometheus that the arguments name.

    Raises:
        UsageError: the address is none of a server.
        DocumentError: a file cannot be used.
    """
    from plumbline.collect.prometheus import Prometheus

    return Prometheus(arguments.prometheus, arguments.token_file, arguments.ca)
