"""What measurements of one file system lost on each day, whoever made them.

A node compares what it measures with its siblings there; a server with two disks has one.  Where
all records are together, the disks behind a file system are siblings wherever they are.
"""

from __future__ import annotations

from math import hypot, log
from statistics import median

from plumbline.judge.measured import contended
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.robust import deviation, error_of_median
from plumbline.units import DAY_S

if TYPE_CHECKING:
    from typing import Iterable, Mapping, Optional, Sequence

    from plumbline.locate.measurables import Nodes, Placed
    from plumbline.model.series import Series

    Key = tuple[str, str, str, Optional[float]]
    _Days = dict[int, dict[str, float]]

LEAST = 5
"""Members, of which four are beside each: two slow siblings among fewer make all look fast."""

_ALONE = ("ost", "raw")
"""Layers whose measurements meet the traffic of a file system; a network has its own."""


class Day(NamedTuple):
    """The middle of what all of a kind gave on a day, and their standard deviation, logarithms."""

    middle: float
    spread: float


class Beside(NamedTuple):
    """What all of a kind gave on the days on which there were at least ``LEAST``.

    ``losses`` are logarithms of measured / baseline, ``rates`` of B/s.  ``apart`` is what the
    members differ by for good, a standard deviation of logarithms.  ``measured`` is how much is
    measured at the whole site.
    """

    losses: Mapping[int, Day]
    rates: Mapping[int, Day]
    apart: float
    measured: int


MANY = 10_000
"""Measurements of a site of which nobody has said how many it has."""
ERROR_BESIDE_PEERS = 0.05
"""Good siblings differ by up to this (ORNL's acceptance limit), so a rate beside them does."""
NOBODY = Beside({}, {}, ERROR_BESIDE_PEERS, MANY)
_ENOUGH = 20
"""With fewer members, or days of each, what they differ by for good is not known."""


class Company:
    """What all measurements of a kind gave, by file system and day."""

    def __init__(self, nodes: Nodes) -> None:
        """Find which file system a part belongs to: the one whose targets alone cross it."""
        every = [one for found in nodes.values() for one in found]
        self._measured = sum(len(one.references) * max(1, len(one.partners)) for one in every)
        self._systems: dict[str, set[str]] = {}
        for one in every:
            if one.layer == "ost":
                for name in one.path:
                    self._systems.setdefault(name, set()).add(one.group)
        self._losses: dict[Key, _Days] = {}
        self._rates: dict[Key, _Days] = {}
        self._found: dict[Key, Beside] = {}

    def add(self, measured: Iterable[tuple[Placed, Series]]) -> None:
        """Take in what a node has measured; what is contended does not count."""
        for placed, series in measured:
            one = placed.expectation
            if one.layer not in _ALONE:
                continue
            key = self._key(placed)
            baseline = one.reference(placed.operation, placed.scenario).baseline
            rates = self._rates.setdefault(key, {})
            losses = self._losses.setdefault(key, {})
            for sample in series.samples:
                if sample.rate_Bps and not contended(sample.coverage, one.limits):
                    day, rate = day_of(sample.started_at), log(sample.rate_Bps)
                    rates.setdefault(day, {})[one.component] = rate
                    if baseline:
                        loss = rate - log(baseline.median_Bps)
                        losses.setdefault(day, {})[one.component] = loss

    def of(self, placed: Placed) -> Beside:
        """Return what all of the kind gave, the measurement itself included."""
        key = self._key(placed)
        if key not in self._found:
            rates = self._rates.get(key, {})
            middles = _middles(rates)
            self._found[key] = Beside(
                _middles(self._losses.get(key, {})), middles, _apart(rates, middles), self._measured
            )
        return self._found[key]

    def _key(self, placed: Placed) -> Key:
        """Return what those have in common that should give the same: their ceiling too."""
        one = placed.expectation
        systems = self._systems.get(one.component, set())
        system = next(iter(systems)) if len(systems) == 1 else ""
        group = one.group if one.layer == "ost" else system
        ceiling = one.reference(placed.operation, placed.scenario).ceiling
        return one.layer, placed.of.operation, group, ceiling.rate_Bps if ceiling else None


def _middles(days: _Days) -> dict[int, Day]:
    return {day: _day(tuple(found.values())) for day, found in days.items() if len(found) >= LEAST}


def _day(values: Sequence[float]) -> Day:
    """Return the middle, and what one more value beside it would differ by.

    A deviation of few values is too small in the mean (Croux and Rousseeuw, 1992: n / (n - 0.8)),
    and their middle is uncertain itself.
    """
    middle, count = median(values), len(values)
    spread = deviation(values, middle) * count / (count - 0.8)
    return Day(middle, hypot(spread, error_of_median(spread, count)))


def _apart(days: _Days, middles: Mapping[int, Day]) -> float:
    """Return what members differ by on most days; at least what good siblings may if few tell."""
    beside: dict[str, list[float]] = {}
    for day, middle in middles.items():
        for name, rate in days[day].items():
            beside.setdefault(name, []).append(rate - middle.middle)
    levels = [median(found) for found in beside.values() if len(found) >= LEAST]
    if len(levels) < LEAST:
        return ERROR_BESIDE_PEERS
    found = _day(levels).spread
    return found if len(levels) >= _ENOUGH else max(found, ERROR_BESIDE_PEERS)


def day_of(moment: float) -> int:
    """Return the day of a moment, in days since the epoch."""
    return int(moment // DAY_S)
