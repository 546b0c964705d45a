"""Output of verbs: a document for programs or text for people, and remarks beside either."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Iterable, Optional


def show(
    arguments: argparse.Namespace,
    document: object,
    lines: Iterable[str],
    indent: Optional[int] = None,
) -> None:
    """Print a document where ``--json`` was given, else ``lines``, which no program waits for."""
    if arguments.json:
        print_json(document, indent)
    else:
        for line in lines:
            print(line)


def print_json(document: object, indent: Optional[int] = None) -> None:
    """Print a document at once; raise ValueError for a number that JSON does not have."""
    print(json.dumps(document, indent=indent, allow_nan=False), flush=True)


def remark(*sentences: str) -> None:
    """Print sentences on standard error, where they are in nobody's way."""
    for sentence in sentences:
        print(f"plumbline: {sentence}", file=sys.stderr, flush=True)
