"""Read CSV rows by column name, checking each row's length against the header.

An unnamed column of row numbers, as pandas writes its index, is left out: its name in the header
is empty, or missing so that every row has one more cell.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Iterator, Mapping, Sequence, TextIO

from plumbline.model.errors import DocumentError, reason_in
from plumbline.observe.given import given_lines

_TRAILING = (
    "every row ends with an empty cell for which the header has no name; remove the cell, or name "
    "all columns"
)


def unreadable(path: Path, error: Exception) -> DocumentError:
    """Return the error for a CSV file that cannot be read."""
    return DocumentError(f"{path} cannot be read: {reason_in(error)}; name a CSV file")


class Rows:
    """The rows of an open CSV file; ``columns`` are the names in its header."""

    def __init__(self, path: Path, file: TextIO) -> None:
        """Read the header; raise DocumentError if two columns have the same name."""
        self._path = path
        self._reader = csv.reader(given_lines(file))
        self.columns: Sequence[str] = next(self._reader, [])
        named = [name for name in self.columns if name]
        for name in dict.fromkeys(named):
            if named.count(name) > 1:
                raise self.wrong(f"the header names the column {name} twice; rename one")

    def wrong(self, problem: str) -> DocumentError:
        """Return the error for the current line; the header is line 1."""
        return DocumentError(f"{self._path} line {self._reader.line_num}: {problem}")

    def __iter__(self) -> Iterator[Mapping[str, str]]:
        """Yield each non-empty row.

        Raises:
            DocumentError: a row is longer or shorter than the header.
        """
        numbered, filled = False, True
        for number, row in enumerate(row for row in self._reader if row):
            if number == 0 and len(row) == len(self.columns) + 1:
                numbered, filled = row[0].isdecimal(), False
            if len(row) != len(self.columns) + numbered:
                raise self.wrong(self._length(row, numbered))
            filled = filled or bool(row[-1])
            yield dict(zip(self.columns, row[numbered:]))
        if not filled:
            raise self.wrong(_TRAILING)

    def _length(self, row: Sequence[str], numbered: bool) -> str:
        more = " besides the row number" if numbered else ""
        return (
            f"the row has {len(row)} cells, the header {len(self.columns)}{more}; complete the "
            "row, or put a cell that holds a comma into quotes"
        )
