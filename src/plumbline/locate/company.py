"""What measurements of one file system lost on each day, whoever made them.

A node compares what it measures with its siblings there; a server with two disks has one.  Where
all records are together, the disks behind a file system are siblings wherever they are.
"""

from __future__ import annotations

from math import log
from statistics import median

from plumbline.judge.measured import contended
from plumbline.model.named_tuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Iterable, Mapping

    from plumbline.locate.measurables import Nodes, Placed
    from plumbline.model.series import Series

    Key = tuple[str, str, str]

DAY_S = 86400.0
LEAST = 6
"""Members, of which five are beside each: one slow sibling among fewer makes all look fast."""

_ALONE = ("ost", "raw")
"""Layers whose measurements meet the traffic of a file system; a network has its own."""


class Company:
    """The middle of the losses of all measurements of a kind, by file system and day."""

    def __init__(self, nodes: Nodes) -> None:
        """Find which file system a part belongs to: the one whose targets alone cross it."""
        self._systems: dict[str, set[str]] = {}
        for found in nodes.values():
            for one in found:
                if one.layer == "ost":
                    for name in one.path:
                        self._systems.setdefault(name, set()).add(one.group)
        self._losses: dict[Key, dict[int, dict[str, float]]] = {}
        self._middles: dict[Key, dict[int, float]] = {}

    def add(self, measured: Iterable[tuple[Placed, Series]]) -> None:
        """Take in what a node has measured; what has no baseline or is contended does not count."""
        for placed, series in measured:
            one = placed.expectation
            baseline = one.reference(placed.operation, placed.scenario).baseline
            if one.layer not in _ALONE or not baseline:
                continue
            days = self._losses.setdefault(self._key(placed), {})
            for sample in series.samples:
                if sample.rate_Bps and not contended(sample.coverage, one.limits):
                    loss = log(sample.rate_Bps / baseline.median_Bps)
                    days.setdefault(day_of(sample.started_at), {})[one.component] = loss

    def of(self, placed: Placed) -> Mapping[int, float]:
        """Return by day the logarithm of measured / expected in the middle of all of the kind.

        Days on which there were fewer than ``LEAST`` are left out.
        """
        key = self._key(placed)
        if key not in self._middles:
            days = self._losses.get(key, {})
            self._middles[key] = {
                day: median(found.values()) for day, found in days.items() if len(found) >= LEAST
            }
        return self._middles[key]

    def _key(self, placed: Placed) -> Key:
        one = placed.expectation
        systems = self._systems.get(one.component, set())
        system = next(iter(systems)) if len(systems) == 1 else ""
        return one.layer, placed.of.operation, one.group if one.layer == "ost" else system


def day_of(moment: float) -> int:
    """Return the day of a moment, in days since the epoch."""
    return int(moment // DAY_S)
