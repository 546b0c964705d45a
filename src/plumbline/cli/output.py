"""Output of verbs: a document for programs or text for people, and remarks on standard error."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Iterable, Optional

from plumbline.model.codec import write

CONSOLE_INSTALL = "in a clone of plumbline, pip install '.[console]'"
"""How to install the libraries of the console.

No name for PyPI: what is called plumbline there is another project.
"""


def show(
    arguments: argparse.Namespace,
    document: object,
    lines: Iterable[str],
    indent: Optional[int] = None,
) -> None:
    """Print a document as JSON if ``--json`` is given, else ``lines``."""
    if arguments.json:
        print_json(document, indent)
    else:
        for line in lines:
            print(line)


def print_json(document: object, indent: Optional[int] = None) -> None:
    """Print any value as JSON and flush; raise ValueError for NaN or infinity."""
    print(json.dumps(write(document), indent=indent, allow_nan=False), flush=True)


def remark(*sentences: str) -> None:
    """Print sentences on standard error, separate from the output."""
    for sentence in sentences:
        print(f"plumbline: {sentence}", file=sys.stderr, flush=True)
