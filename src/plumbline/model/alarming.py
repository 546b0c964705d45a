"""The alarms of a site at a moment, as who looks for suspects day after day must know them."""

from __future__ import annotations

from typing import Collection, Mapping, NamedTuple, Sequence

from plumbline.model.expectation import Expectation
from plumbline.model.memory import Weighable


class Alarming(NamedTuple):
    """What each node expects and what was measured until ``now``, in epoch seconds.

    ``alarms`` are the places of the services in alarm in the plan, ``new`` those of them that were
    in none the day before.
    """

    nodes: Mapping[str, Sequence[Expectation]]
    memory: Weighable
    now: float
    alarms: Collection[int]
    new: Collection[int]
