"""The course of a rate as numbers: how it begins and ends, whether it declines, sags or trails off.

A mean says none of it: of two reads with one mean the first may begin at full speed and decline
steadily while the second is flat after an initial drop (Edison report, figure 7).
"""

from __future__ import annotations

from itertools import accumulate
from statistics import median
from typing import Any, NamedTuple, Optional, Sequence

from plumbline.profile.distance import SHORTEST
from plumbline.robust import deviation

_TENTH = 10
_MOST_POINTS = 60
"""Of a curve that the line is laid through: their pairs are counted."""

_TRAILING = 0.5
"""Of the usual rate: seconds below it at the end are a tail."""

_EDGE = 0.75
"""Of the rate before: what falls less within a tenth of the time declines, and is no tail."""


class Shape(NamedTuple):
    """The course of a curve; rates in bytes per second.

    ``start_Bps`` and ``end_Bps`` are the median rates of the first tenth of the seconds and of the
    last one before the tail.  ``decline``, ``sag`` and ``spread`` are fractions.

    ``decline`` is (first - last) / max(first, last) of a robust line through the curve (Theil and
    Sen: its slope is the median of the slopes of all pairs): 0.6 ends with 40 % of what it began
    with, a negative one rises.  An initial spike does not tilt the line.
    ``sag`` is how far the rate falls below that line in the deepest tenth, as a part of the line;
    its middle is ``sag_at_s`` seconds after the begin.
    ``spread`` is how much single seconds differ: 1.4826 x the median distance from the line, as a
    part of the median rate.
    ``tail_s`` counts the seconds at the end in which the rate has dropped, not declined, below half
    of the rate at which the median byte moved: most had finished, and some had not.
    """

    start_Bps: float
    end_Bps: float
    decline: float
    sag: float
    sag_at_s: float
    spread: float
    tail_s: int

    def to_json(self) -> dict[str, Any]:
        """Return the document form: rates rounded to bytes, fractions to a part in a thousand."""
        raw = {name: round(value, 3) for name, value in self._asdict().items()}
        return {**raw, "start_Bps": round(self.start_Bps), "end_Bps": round(self.end_Bps)}


class _Line(NamedTuple):
    """A rate as a line: at the middle of the first second, and how it changes in each."""

    first: float
    slope: float

    def at(self, second: int) -> float:
        """Return the rate in a second; none is negative."""
        return max(0.0, self.first + self.slope * second)


def shape(curve: Sequence[float]) -> Optional[Shape]:
    """Return the shape of bytes of whole seconds; None of fewer than 5, or without any bytes."""
    if len(curve) < SHORTEST or not sum(curve) > 0:
        return None
    tail = _tail(curve)
    body = curve[: len(curve) - tail]
    window = max(1, len(body) // _TENTH)
    line = _line(body)
    first, last = line.at(0), line.at(len(body) - 1)
    sag, middle = _sag(body, line, window)
    return Shape(
        start_Bps=median(body[:window]),
        end_Bps=median(body[-window:]),
        decline=(first - last) / max(first, last) if first or last else 0.0,
        sag=sag,
        sag_at_s=middle,
        spread=_spread(body, line),
        tail_s=tail,
    )


def _tail(curve: Sequence[float]) -> int:
    """Return the number of seconds of the tail, 0 where there is none."""
    low = _TRAILING * _usual(curve)
    begin = len(curve)
    while curve[begin - 1] < low:
        begin -= 1
    window = max(1, len(curve) // _TENTH)
    before, after = curve[max(0, begin - window) : begin], curve[begin : begin + window]
    dropped = bool(after) and sum(after) / len(after) < _EDGE * sum(before) / len(before)
    return len(curve) - begin if dropped and begin >= SHORTEST else 0


def _usual(curve: Sequence[float]) -> float:
    """Return the rate at which the median byte moved, which few bytes of a long tail do not."""
    left = sum(curve) / 2
    for rate in sorted(curve):
        left -= rate
        if left <= 0:
            return rate
    return max(curve)


def _line(body: Sequence[float]) -> _Line:
    step = -(-len(body) // _MOST_POINTS)
    points = [
        (place + (len(part) - 1) / 2, sum(part) / len(part))
        for place in range(0, len(body), step)
        for part in [body[place : place + step]]
    ]
    slope = median(
        (later - rate) / (then - when)
        for index, (when, rate) in enumerate(points)
        for then, later in points[index + 1 :]
    )
    return _Line(median(rate - slope * when for when, rate in points), slope)


def _sag(body: Sequence[float], line: _Line, window: int) -> tuple[float, float]:
    """Return depth and middle of the deepest ``window`` seconds below the line."""
    moved = [0.0, *accumulate(body)]
    expected = [0.0, *accumulate(line.at(second) for second in range(len(body)))]
    deepest, middle = 0.0, 0.0
    for place in range(len(body) - window + 1):
        usual = expected[place + window] - expected[place]
        found = moved[place + window] - moved[place]
        depth = 1 - found / usual if usual > 0 else 0.0
        if depth > deepest:
            deepest, middle = depth, place + window / 2
    return deepest, middle


def _spread(body: Sequence[float], line: _Line) -> float:
    usual = median(body)
    away = deviation((rate - line.at(second) for second, rate in enumerate(body)), 0.0)
    return away / usual if usual else 0.0
