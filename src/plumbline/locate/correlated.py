"""Which measurements of a node are slow together when one part is: these may speak together.

A mild loss may be in the noise of each of them and yet be certain, for chance does not make the
same nights low in all of them.
"""

from __future__ import annotations

from typing import Hashable, Sequence

from plumbline.layers import ON_DEVICES
from plumbline.locate.measurables import PlannedMeasurement
from plumbline.model.record import Scenario


def correlated(measured: Sequence[PlannedMeasurement]) -> list[tuple[int, ...]]:
    """Return sets of measurements of one node (indices), each of two or more.

    All that is measured of one component, or between two hosts; and what devices give that are read
    together, for each part that they share.
    """
    found: dict[Hashable, list[int]] = {}
    for index, placed in enumerate(measured):
        of = placed.of
        found.setdefault((of.layer, of.component, placed.partner), []).append(index)
        if of.layer in ON_DEVICES and placed.scenario is Scenario.TOGETHER:
            for part in of.path[:-1]:
                found.setdefault(part, []).append(index)
    return list(dict.fromkeys(tuple(each) for each in found.values() if len(each) > 1))
