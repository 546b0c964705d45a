"""A figure as data: plots for Plotly, the numbers as a table, the same as CSV, and what it says."""

from __future__ import annotations

from html import escape
from math import isfinite
from typing import Any, Iterable, NamedTuple, Optional, Sequence, Union

Cell = Union[str, float, int, None]

_SHOWN = 44
"""Characters of a name in a picture; the table has all of them."""

MB = 1e6


class Row(NamedTuple):
    """One row of a table; ``anchor`` is the place that Nagios leads to, empty for none.

    ``to`` is the place in the page to which its last cell leads.
    """

    cells: tuple[str, ...]
    anchor: str = ""
    to: str = ""


class Table(NamedTuple):
    """The numbers under a picture; every row is as long as ``headers``."""

    headers: tuple[str, ...]
    rows: Sequence[Row]


class Plot(NamedTuple):
    """One picture: traces and layout as Plotly's JSON has them, and its height in pixels."""

    title: str
    data: Sequence[dict[str, Any]]
    layout: dict[str, Any]
    height: int = 380


class Figure(NamedTuple):
    """One figure of the report.

    ``id`` is its stable place in the page and the name of its CSV, whose first row of ``numbers``
    is the header.  ``about`` says what the picture shows, ``finding`` what is to be seen in it.
    ``absent`` is set where there is nothing to draw, and says why.
    """

    id: str
    title: str
    about: str
    finding: str = ""
    plots: Sequence[Plot] = ()
    table: Table = Table((), ())
    numbers: Iterable[Sequence[Cell]] = ()
    absent: str = ""


def shown(name: str) -> str:
    """Return a name as Plotly may have it: short, and without anything that it would interpret."""
    plain = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in name)
    if len(plain) > _SHOWN:
        half = _SHOWN // 2
        plain = f"{plain[: half - 1]}\N{HORIZONTAL ELLIPSIS}{plain[-half:]}"
    return escape(plain, quote=False)


def unique(names: Sequence[str]) -> list[str]:
    """Return names as ``shown``, numbered where two of them would read the same."""
    found: dict[str, None] = {}
    for name in names:
        text, number = shown(name), 1
        while text in found:
            number += 1
            text = f"{shown(name)} ({number})"
        found[text] = None
    return list(found)


def megabytes(rate_Bps: Optional[float]) -> Optional[float]:
    """Return a rate in MB/s for a picture, None where there is none."""
    if rate_Bps is None or not isfinite(rate_Bps):
        return None
    return round(rate_Bps / MB, 3)


def steps(begin_s: float, rates_Bps: Sequence[float]) -> dict[str, Any]:
    """Return where a line of one-second rates is drawn: level from the begin of each to its end.

    Its shape is ``hv``; a run of a single second would be a point of no width otherwise.
    """
    heights = [megabytes(rate) for rate in rates_Bps]
    ends = range(len(heights) + 1)
    return {"x": [round(begin_s + second, 2) for second in ends], "y": heights + heights[-1:]}


def percent(ratio: Optional[float]) -> str:
    """Return a ratio in words, empty where there is none."""
    return "" if ratio is None else f"{100 * ratio:.0f} %"


def counted(number: int, noun: str) -> str:
    """Return e.g. ``1 target`` or ``3 targets``."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
