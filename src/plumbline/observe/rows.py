"""Rows of a CSV file by the names of its header, each as long as the header says.

A column of row numbers without a name, as pandas writes its index, is left out: its name is empty
in the header, or is missing there so that every row has one cell more.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Iterator, Mapping, Sequence, TextIO

from plumbline.model.errors import DocumentError

_TRAILING = (
    "every row ends with an empty cell for which the header has no name; remove the cell, or name "
    "all columns"
)


class Rows:
    """The rows of an open file; ``columns`` are the names of its header."""

    def __init__(self, path: Path, file: TextIO) -> None:
        """Read the header; raise DocumentError where two columns have the same name."""
        self._path = path
        self._reader = csv.reader(file)
        self.columns: Sequence[str] = next(self._reader, [])
        named = [name for name in self.columns if name]
        for name in dict.fromkeys(named):
            if named.count(name) > 1:
                raise self.wrong(f"the header names the column {name} twice; rename one")

    def wrong(self, problem: str) -> DocumentError:
        """Return the error for the line that was read last; the header is line 1."""
        return DocumentError(f"{self._path} line {self._reader.line_num}: {problem}")

    def __iter__(self) -> Iterator[Mapping[str, str]]:
        """Yield each row that is not an empty line.

        Raises:
            DocumentError: a row is longer or shorter than the header says.
        """
        numbered, filled = False, True
        for place, row in enumerate(row for row in self._reader if row):
            if place == 0 and len(row) == len(self.columns) + 1:
                numbered, filled = row[0].isdecimal(), False
            if len(row) != len(self.columns) + numbered:
                raise self.wrong(self._length(row, numbered))
            filled = filled or bool(row[-1])
            yield dict(zip(self.columns, row[numbered:]))
        if not filled:
            raise self.wrong(_TRAILING)

    def _length(self, row: Sequence[str], numbered: bool) -> str:
        """Return the sentence on a row of another length."""
        more = " besides the row number" if numbered else ""
        return (
            f"the row has {len(row)} cells, the header {len(self.columns)}{more}; complete the "
            "row, or put a cell that holds a comma into quotes"
        )
