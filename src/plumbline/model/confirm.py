"""Confirmation: measuring a component that was low again within hours, and what that may cost."""

from __future__ import annotations

from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.validation import counts, within
from plumbline.units import LARGEST

if TYPE_CHECKING:
    from typing import Any, Mapping

MOST_RUNS = 100


class Confirm(NamedTuple):
    """How a component that was low is measured again between two planned runs.

    ``runs`` is how often at most, 0 never, and ``every_s`` how far apart at least.  ``daily_bytes``
    is what all confirmation of a node and layer may move in a day on average, ``most_bytes`` what
    it may have saved up of that.
    """

    runs: int = 0
    every_s: float = 3600.0
    daily_bytes: float = 0.0
    most_bytes: float = 0.0

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Confirm:
        """Build from the document form; raise TypeError or DocumentError for wrong values."""
        found = cls(**raw)
        counts(runs=found.runs)
        within(0, MOST_RUNS, runs=found.runs)
        within(0, LARGEST, every_s=found.every_s)
        within(0, LARGEST, daily_bytes=found.daily_bytes, most_bytes=found.most_bytes)
        return found


OFF = Confirm()


class Measured(NamedTuple):
    """A measurement that confirmation has begun, whatever became of it.

    ``at`` is in seconds since the epoch; ``bytes`` is what it may move at most; ``control`` says
    that a healthy peer was measured for comparison.
    """

    run_id: str
    at: float
    layer: str
    component: str
    bytes: int
    control: bool
