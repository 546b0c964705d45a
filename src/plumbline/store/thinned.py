"""Daily figures: what is left of the runs of a series on one day, and how it stands in a history.

A row holds the figures of one series for a month, so that a year of a large site is read in a
second.  A day is one of UTC, as the report counts days.
"""

from __future__ import annotations

import sys
from array import array
from typing import Iterable, Iterator, NamedTuple

from plumbline.units import DAY_S

THINNED = """CREATE TABLE told (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
);
CREATE TABLE days (
    layer TEXT NOT NULL,
    component TEXT NOT NULL,
    operation TEXT NOT NULL,
    scenario TEXT NOT NULL,
    partner TEXT NOT NULL,
    month INTEGER NOT NULL,
    figures BLOB NOT NULL,
    PRIMARY KEY (layer, component, operation, scenario, partner, month)
) WITHOUT ROWID;"""

FIGURES = (
    "SELECT figures FROM days WHERE layer = ? AND component = ? AND operation = ? AND scenario = ? "
    "AND partner = ? AND month = ?"
)
"""The row of a series that has the figures of a month."""

_MONTH_DAYS = 30


class Day(NamedTuple):
    """The runs of one series on one day.

    ``at`` is when the last one began, seconds since the epoch; ``rate_Bps`` is the median of those
    that gave a rate, NaN where none did.  ``told`` is the row of table ``told`` with what the last
    one said of host and versions.
    """

    at: float
    runs: float
    rate_Bps: float
    told: float


_WIDTH = len(Day._fields)


def day_of(at: float) -> int:
    """Return the number of the day of a moment."""
    return int(at // DAY_S)


def month_of(at: float) -> int:
    """Return the number of the row that has the figures of a moment."""
    return day_of(at) // _MONTH_DAYS


def packed(days: Iterable[Day]) -> bytes:
    """Return figures as they stand in a row: numbers of eight bytes, the least byte first."""
    values = array("d", (value for one in days for value in one))
    return _little(values).tobytes()


def columns(figures: bytes) -> array[float]:
    """Return the numbers of a row; those of a field are every fourth one from its place on."""
    values = array("d")
    values.frombytes(figures[: len(figures) // (8 * _WIDTH) * (8 * _WIDTH)])
    return _little(values)


def figured(figures: bytes, *fields: str) -> list[array[float]]:
    """Return some fields of the figures of a row, each a column, in few steps."""
    values = columns(figures)
    return [values[Day._fields.index(field) :: _WIDTH] for field in fields]


def unpacked(figures: bytes) -> Iterator[Day]:
    """Yield the figures of a row."""
    values = columns(figures)
    return map(Day._make, zip(*(values[place::_WIDTH] for place in range(_WIDTH))))


def _little(values: array[float]) -> array[float]:
    if sys.byteorder == "big":
        values.byteswap()
    return values
