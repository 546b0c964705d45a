"""When a layer runs, as the policy says it: by systemd's calendar, or in slots.

By default no two layers measure at the same time: each that goes by the calendar has an hour of its
own, begins in it when the window of the host pairs is over, and has ended before the next opens.
"""

from __future__ import annotations

from typing import Annotated, Optional

from pydantic import AfterValidator, model_validator

from plumbline.errors import DocumentError
from plumbline.model.allowed import CALENDAR
from plumbline.plan.calendar import gaps
from plumbline.plan.rounds import span
from plumbline.topology.strict import Duration, Strict
from plumbline.units import DAY_S, format_duration


def _calendar(text: str) -> str:
    try:
        CALENDAR.refuse("calendar", text)
    except DocumentError as error:
        raise ValueError(str(error)) from error
    gaps(text)
    return text


Calendar = Annotated[str, AfterValidator(_calendar)]
"""When a timer fires, as systemd writes it: ``*-*-* 02:06``."""


class Timer(Strict):
    """When a layer runs: systemd's calendar, and how often that is."""

    calendar: Calendar = "*-*-* 02:06"
    every: Duration = DAY_S
    randomized_delay: Duration = 600.0
    limit: Duration = 2400.0
    stale_after: Optional[Duration] = None

    @model_validator(mode="after")
    def _says_how_often(self) -> Timer:
        if ("calendar" in self.model_fields_set) != ("every" in self.model_fields_set):
            raise ValueError(
                "calendar and every belong together, for example calendar '*-*-* 02:06', every 1 d"
            )
        if self.stale_after is not None and self.stale_after < self.every:
            raise ValueError("stale_after is shorter than every, so each result would go stale")
        if self.randomized_delay >= self.every:
            raise ValueError("randomized_delay is as long as every, so two runs would meet")
        if "calendar" in self.model_fields_set:
            self._agree()
        return self

    def _agree(self) -> None:
        """Raise ValueError where the calendar comes more often or more seldom than ``every``."""
        shortest, longest = gaps(self.calendar)
        if shortest is None or longest is None:
            return
        comes = format_duration(shortest)
        if longest > shortest:
            comes += f" to {format_duration(longest)}"
        if not shortest <= self.every <= longest:
            raise ValueError(
                f"every is {format_duration(self.every)}, but between two times of calendar "
                f"{self.calendar!r} there are {comes}; correct one of them"
            )
        if longest > self.stale_after_s():
            raise ValueError(
                f"a result is too old after {format_duration(self.stale_after_s())}, but between "
                f"two times of calendar {self.calendar!r} there are {comes}; give stale_after"
            )

    def period_s(self) -> float:
        """Return how often a component is measured."""
        return self.every

    def stale_after_s(self, _members: int = 1, /) -> float:
        """Return the age that is too old: given, or half as long again as the period."""
        return self.stale_after or 1.5 * self.every


class LaterTimer(Timer):
    """The same, an hour later unless told: devices are read when nothing crosses their targets."""

    calendar: Calendar = "*-*-* 03:06"


class WeeklyTimer(Timer):
    """The same, once a week unless told: what loads all targets at once is seldom."""

    calendar: Calendar = "Sun *-*-* 04:06"
    every: Duration = 7.0 * DAY_S


class Slots(Strict):
    """When pairs of hosts meet: at the start of each slot, for the window."""

    slot: Duration = 3600.0
    window: Duration = 300.0
    stale_after: Optional[Duration] = None

    @model_validator(mode="after")
    def _fits_the_clock(self) -> Slots:
        divides_hour = not self.slot % 60 and not 3600 % self.slot
        divides_day = not self.slot % 3600 and not DAY_S % self.slot
        if not (divides_hour or divides_day):
            raise ValueError(
                "slot must divide an hour or a day evenly, for example 15 min, 1 h or 4 h"
            )
        if self.window >= self.slot:
            raise ValueError("window must be shorter than slot")
        if self.stale_after is not None and self.stale_after < self.slot:
            raise ValueError("stale_after is shorter than slot, so each result would go stale")
        return self

    def period_s(self) -> float:
        """Return how often pairs meet."""
        return self.slot

    def stale_after_s(self, members: int, /) -> float:
        """Return the age that is too old: given, or half as long again as a host takes.

        It is judged by its tests with several of ``members`` hosts, which takes several slots.
        """
        return self.stale_after or 1.5 * span(members) * self.slot

    def calendar(self) -> str:
        """Return the slots as systemd's calendar; UTC, because slots count from the epoch."""
        if self.slot < 3600:
            return f"*-*-* *:0/{self.slot / 60:.0f}:00 UTC"
        if self.slot == DAY_S:
            return "*-*-* 00:00:00 UTC"
        return f"*-*-* 0/{self.slot / 3600:.0f}:00:00 UTC"
