"""A moment of the past as the report draws it: what is kept of the time around it."""

from __future__ import annotations

from typing import NamedTuple, Optional

from plumbline.report.figure import MB

OTHERS = "all others"
"""The name of the line that is the sum of what is not drawn itself."""


class Column(NamedTuple):
    """A figure of a series: what a picture shows it in, and whether those of several add up."""

    name: str
    unit: str
    scale: float = 1.0
    adds: bool = True


READ = Column("read", "MB/s", MB)
WRITE = Column("write", "MB/s", MB)
MOVED = Column("moved", "MB/s", MB)
REQUESTS = Column("operations", "operations/s")
LATENCY = Column("mean latency", "ms", 1e-3, adds=False)
COLUMNS = (READ, WRITE, MOVED, REQUESTS, LATENCY)


class Line(NamedTuple):
    """One series: moments in seconds since the epoch, with values in base units."""

    name: str
    points: tuple[tuple[float, float], ...]

    def value(self, at: float) -> Optional[float]:
        """Return what it was at a moment, None where nothing is known of it."""
        return dict(self.points).get(at)


class Chart(NamedTuple):
    """One picture: a figure of the foremost of a kind, such as ``OST``, and of all others."""

    kind: str
    column: Column
    lines: tuple[Line, ...]


class Past(NamedTuple):
    """What is kept of the time around ``at``, from ``begin`` to ``end``; seconds since the epoch.

    ``recovering`` has targets with a line for each status that is neither complete nor inactive.
    ``remarks`` say what is odd or missing, a sentence each.
    """

    at: float
    begin: float
    end: float
    charts: tuple[Chart, ...] = ()
    recovering: tuple[tuple[str, Line], ...] = ()
    remarks: tuple[str, ...] = ()
