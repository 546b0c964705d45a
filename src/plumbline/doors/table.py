"""Tables: with colour on a terminal if rich is installed, otherwise plain columns.

Output to a file or pipe is always plain, so it can be searched and cut.
"""

from __future__ import annotations

import sys
from itertools import chain, islice
from typing import Iterable, Iterator, Optional, Sequence

from plumbline.model.command import printable


class ScreenText(str):
    """Text for a terminal whose line breaks and colours are plumbline's own, all else printable."""

    __slots__ = ()


_STYLES = {"OK": "green", "WARNING": "yellow", "CRITICAL": "bold red", "UNKNOWN": "magenta"}


def render(
    headers: Sequence[str], rows: Sequence[Sequence[str]], terminal: Optional[bool] = None
) -> ScreenText:
    """Return a table without a final newline; every row is as long as ``headers``.

    If ``terminal`` is None, standard output decides.
    """
    # names and notes come from other authors
    rows = [[printable(cell) for cell in row] for row in rows]
    if sys.stdout.isatty() if terminal is None else terminal:
        try:
            return ScreenText(_rich(headers, rows))
        except ImportError:
            # a node does not have rich
            return ScreenText(_plain(headers, rows))
    return ScreenText(_plain(headers, rows))


_FIRST_ROWS = 1000
"""Rows that decide on the form and the widths of a long table."""


def stream(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[ScreenText]:
    """Yield a table in parts; of a long one only the first rows are kept.

    A longer cell of a later row widens its column from there on.
    """
    source = iter(rows)
    first = list(islice(source, _FIRST_ROWS))
    rest = next(source, None)
    if rest is None:
        yield render(headers, first)
        return
    yield render(headers, first, terminal=False)
    widths = [len(header) for header in headers]
    for row in first:
        widths = [max(width, len(cell)) for width, cell in zip(widths, map(printable, row))]
    for row in chain([rest], source):
        cells = [printable(cell) for cell in row]
        widths = [max(width, len(cell)) for width, cell in zip(widths, cells)]
        yield ScreenText(_line(cells, widths))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip()


def _plain(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headers, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headers))]
    return "\n".join(_line(line, widths) for line in lines)


def _rich(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*headers, box=SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(cell, style=_STYLES.get(cell, "")) for cell in row))
    console = Console(force_terminal=True)
    with console.capture() as capture:
        console.print(table)
    return capture.get().strip("\n")
