"""When what was low is measured again between two planned runs, as the policy says it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from plumbline.model.confirm import MOST_RUNS
from plumbline.plan.schedule import Calendar
from plumbline.topology.strict import Duration, Percent, Strict


class ConfirmPolicy(Strict):
    """How often at most, how far apart, in which hours, and for how many bytes.

    ``bytes`` is a share of what the planned runs of the layer move.  ``runs: 0`` switches it off.
    """

    runs: Annotated[int, Field(ge=0, le=MOST_RUNS)] = 7
    every: Duration = 3600.0
    bytes: Percent = 0.05
    calendar: Calendar = "*-*-* 05..11:06"
    randomized_delay: Duration = 300.0
    limit: Duration = 1500.0

    @model_validator(mode="after")
    def _has_bytes(self) -> ConfirmPolicy:
        if self.runs and not self.bytes:
            raise ValueError("confirm has no bytes; write runs: 0 to switch it off")
        return self


class LaterConfirmPolicy(ConfirmPolicy):
    """The same, half an hour later: devices are read when nothing crosses their targets."""

    calendar: Calendar = "*-*-* 05..11:36"
    limit: Duration = 1200.0
