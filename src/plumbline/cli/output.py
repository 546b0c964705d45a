"""Output of verbs: a document for programs or text for people, and remarks on standard error.

Sentences quote nodes, tools and users, who could move the cursor, forge lines or turn the direction
of writing.  All text for people passes through :func:`say`, :func:`note` or :func:`remark`, which
replace such characters.  In JSON they are escaped.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Iterable, Optional

from plumbline.doors.table import ScreenText
from plumbline.model.codec import write
from plumbline.model.command import printable

CONSOLE_INSTALL = "in a clone of plumbline, pip install '.[console]'"
"""Call that installs the libraries of the console.

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
        say(*lines)


def print_json(document: object, indent: Optional[int] = None) -> None:
    """Print any value as JSON and flush; raise ValueError for NaN or infinity."""
    print(json.dumps(write(document), indent=indent, allow_nan=False), flush=True)


def say(*lines: str) -> None:
    """Print lines on standard output; only a :class:`ScreenText` may have line breaks."""
    for line in lines:
        print(_safe(line))
    sys.stdout.flush()


def note(*lines: str) -> None:
    """Print lines on standard error, at once."""
    for line in lines:
        print(_safe(line), file=sys.stderr, flush=True)


def remark(*sentences: str) -> None:
    """Print sentences on standard error, separate from the output."""
    note(*(f"plumbline: {sentence}" for sentence in sentences))


def _safe(line: str) -> str:
    return line if isinstance(line, ScreenText) else printable(line)
