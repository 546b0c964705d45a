"""Print a table."""

from __future__ import annotations

from typing import Sequence


def print_table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print ``rows`` under ``headers``."""
    widths = [max(map(len, column)) for column in zip(headers, *rows)]
    for row in (headers, *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
