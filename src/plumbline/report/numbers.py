"""The numbers of figures as CSV, line by line: those of a large site are longer than its page."""

from __future__ import annotations

import csv
from typing import Iterable, Iterator, Sequence

from plumbline.report.figure import Cell, Figure

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class _Line:
    """What :mod:`csv` writes a line to, which hands it back."""

    def write(self, text: str) -> str:
        return text


def numbers(figures: Sequence[Figure]) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield the name of a file for each figure that has numbers, with its lines."""
    for one in figures:
        if one.numbers:
            yield f"data/{one.id}.csv", _lines(one.numbers)


def _lines(rows: Iterable[Sequence[Cell]]) -> Iterator[str]:
    # with both characters as the end of a line (RFC 4180) a cell that holds one of them is quoted
    writer = csv.writer(_Line(), lineterminator="\r\n")
    for row in rows:
        yield writer.writerow([_harmless(cell) if isinstance(cell, str) else cell for cell in row])


def _harmless(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
