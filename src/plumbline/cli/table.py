"""Tables in plain lines."""

from __future__ import annotations

from typing import Sequence


def render(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return ``rows`` under ``headers``, columns aligned."""
    widths = [max(map(len, column)) for column in zip(headers, *rows)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
        for row in (headers, *rows)
    )
