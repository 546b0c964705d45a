"""The points of a sweep, the coarse picture first.

Whatever part of them is measured before a budget ends it, they are spread over the whole grid: the
ends of all axes come first, then the middles, then the quarters.
"""

from __future__ import annotations

from itertools import product
from typing import Mapping, NamedTuple, Sequence

from plumbline.errors import UsageError
from plumbline.units import format_size


class Point(NamedTuple):
    """One run of a sweep.

    ``writers``: ranks for each target, or for each set of targets that files are striped over.
    ``transfer``: bytes of one call.  ``stripes``: targets of one file.  ``oversubscription``: as
    many ranks on a part of the targets only, 4 for a quarter of them.
    """

    writers: int
    transfer: int
    stripes: int = 1
    oversubscription: int = 1

    def words(self) -> str:
        """Return the point as a person calls it, e.g. ``4 writers, 1 MiB``."""
        return ", ".join(
            phrase(axis, getattr(self, axis))
            for axis in AXES
            if axis in ("writers", "transfer") or getattr(self, axis) > 1
        )


AXES = Point._fields


def phrase(axis: str, value: int) -> str:
    """Return one value of an axis in words."""
    plural = "" if value == 1 else "s"
    return {
        "writers": f"{value} writer{plural}",
        "transfer": format_size(value),
        "stripes": f"{value} stripe{plural}",
        "oversubscription": f"{value}-fold over-subscription",
    }[axis]


class Grid(NamedTuple):
    """All values of each axis; the points are all their combinations."""

    writers: tuple[int, ...]
    transfer: tuple[int, ...]
    stripes: tuple[int, ...] = (1,)
    oversubscription: tuple[int, ...] = (1,)

    def points(self) -> tuple[Point, ...]:
        """Return all points in the order of measuring."""
        levels = [_levels(values) for values in self]
        found = [Point(*values) for values in product(*(sorted(set(values)) for values in self))]

        def coarse_first(point: Point) -> tuple[int, int]:
            own = [of[value] for of, value in zip(levels, point)]
            return max(own), sum(own)

        # sorting is stable: within a level small values come first
        return tuple(sorted(found, key=coarse_first))

    def moving(self) -> tuple[str, ...]:
        """Return the names of the axes that have more than one value."""
        return tuple(axis for axis in AXES if len(set(getattr(self, axis))) > 1)


def _levels(values: Sequence[int]) -> Mapping[int, int]:
    """Return for each value in which round of halving it is reached, 0 for both ends."""
    ordered = sorted(set(values))
    levels = {ordered[0]: 0, ordered[-1]: 0}
    gaps, level = [(0, len(ordered) - 1)], 0
    while gaps:
        level += 1
        found = [(low, high, (low + high) // 2) for low, high in gaps if high - low > 1]
        levels.update((ordered[middle], level) for _, _, middle in found)
        gaps = [gap for low, high, middle in found for gap in ((low, middle), (middle, high))]
    return levels


class Layout(NamedTuple):
    """Where the ranks of a point work: ``sets`` of ``stripes`` targets, ``ranks`` on each set."""

    sets: int
    stripes: int
    ranks: int

    @property
    def targets(self) -> int:
        """Return the number of targets in use."""
        return self.sets * self.stripes

    @property
    def all_ranks(self) -> int:
        """Return the number of ranks in all."""
        return self.sets * self.ranks


def layout(point: Point, targets: int, alone: bool) -> Layout:
    """Return where the ranks of a point work that has so many ``targets`` at hand.

    ``alone`` takes one target, or one set of them, and leaves the others idle.

    Raises:
        UsageError: the targets are too few for the point.
    """
    in_use = targets // point.oversubscription
    if in_use < point.stripes or not in_use:
        left = f"; {point.oversubscription}-fold over-subscription leaves {in_use} of them"
        raise UsageError(
            f"the point of {point.words()} needs more than the {targets} targets"
            f"{left if point.oversubscription > 1 else ''}; lower --stripes or --oversubscription"
        )
    sets = 1 if alone else in_use // point.stripes
    return Layout(sets, point.stripes, point.writers * point.oversubscription)


def spread(servers: Sequence[str]) -> tuple[int, ...]:
    """Return the indices of targets, given by their servers, one of each server before a second.

    So few targets use as many servers as they can, as in section IV.B of the Red Storm report.
    """
    turns: dict[str, int] = {}
    keyed = []
    for index, server in enumerate(servers):
        turns[server] = turns.get(server, 0) + 1
        keyed.append((turns[server], index))
    return tuple(index for _, index in sorted(keyed))
