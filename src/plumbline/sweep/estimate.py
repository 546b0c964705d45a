"""How long a point will take: from the points that are there, else the limit of each operation."""

from __future__ import annotations

from math import log2
from typing import NamedTuple

from plumbline.model.record import Operation
from plumbline.sweep.grid import Point
from plumbline.sweep.ledger import Ledger

START_S = 3.0
"""Making the files, starting and ending the ranks, on few targets."""


class Load(NamedTuple):
    """The operations of each point, none of which lasts over ``seconds``.

    With ``fixed_time`` each one lasts so long.
    """

    seconds: float
    operations: tuple[Operation, ...]
    fixed_time: bool = False


class Estimate(NamedTuple):
    """Seconds of a point; ``at_most``: nothing like it is known, so this is the limit."""

    seconds: float
    at_most: bool


def estimate(point: Point, load: Load, ledger: Ledger) -> Estimate:
    """Return how long a point will take, by the rates of the measured point most like it."""
    known = [one for one in ledger.done if one.rates]
    nearest = min(known, key=lambda known_point: _distance(point, known_point.point), default=None)
    if load.fixed_time or nearest is None:
        longest = START_S + len(load.operations) * load.seconds
        return Estimate(longest, not load.fixed_time)
    # what the nearest took beside its operations, it is likely to take again
    rates = [nearest.rates.get(operation) for operation in load.operations]
    moving = sum(
        min(load.seconds, ledger.point_bytes / rate_Bps) if rate_Bps else load.seconds
        for rate_Bps in rates
    )
    beside = max(START_S, nearest.seconds - moving)
    return Estimate(beside + moving, at_most=False)


def _distance(point: Point, other: Point) -> float:
    """Return how far two points are apart, in doublings along all axes."""
    return sum(abs(log2(a / b)) for a, b in zip(point, other))
