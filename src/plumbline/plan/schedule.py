"""Schedules: systemd's calendar expressions and slots.

A timer whose calendar systemd does not understand never starts, and one that comes less often than
``every`` leaves results that are too old; both would be seen on a node alone.

By default no two layers measure at the same time: each that goes by the calendar has an hour of its
own, begins in it when the window of the host pairs is over, and has ended before the next opens.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from typing import Annotated, Iterable, NamedTuple, Optional

from pydantic import AfterValidator, model_validator

from plumbline.model.errors import DocumentError
from plumbline.model.names import CALENDAR
from plumbline.model.rounds import span
from plumbline.model.units import DAY_S, format_duration
from plumbline.topology.strict import Duration, Strict

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAYS = {name: day for day, full in enumerate(_DAYS) for name in (full, full[:3])}
_HALF_YEARLY = "*-1,7-1 0:0"
_WORDS = {
    "minutely": "*:*",
    "hourly": "*:0",
    "daily": "0:0",
    "weekly": "mon 0:0",
    "monthly": "*-1 0:0",
    "quarterly": "*-1,4,7,10-1 0:0",
    **dict.fromkeys(("yearly", "annually", "anually"), "1-1 0:0"),
    **dict.fromkeys(("semiannually", "semi-annually", "biannually", "bi-annually"), _HALF_YEARLY),
}
_ZONE = re.compile(r"utc|[a-z]\w*(?:/[\w+-]+)+", re.IGNORECASE)
_DATE = re.compile(r"(?:([^-~]+)-)??([^-~]+)([-~])([^-~]+)")
_TIME = re.compile(r"([^:]+):([^:]+)(?::([^:]+))?")
_NUMBERS = re.compile(r"(\d{1,9})(?:\.\.(\d{1,9}))?(?:/(\d{1,9}))?")
_CYCLE = range(2000, 2028)
"""After so many years dates fall on the same days of the week again."""


class _NotOne(Exception):
    """A part is not understood; it names the part."""


class Gaps(NamedTuple):
    """Distance of two times, seconds; both None unless there are two."""

    shortest_s: Optional[float]
    longest_s: Optional[float]


def gaps(text: str) -> Gaps:
    """Return how far the times of a calendar are apart, by the clock of the wall.

    Of one that names years nothing is known, for it ends some day.

    Raises:
        ValueError: systemd has no such calendar, or it never comes.
    """
    try:
        weekdays, day, time = _split(text)
        endless, dates = _dates(weekdays, day)
        times = _times(time)
    except _NotOne as part:
        raise ValueError(
            f"calendar {text!r} is not a calendar of systemd, which does not understand {part}; "
            "write it as systemd.time(7) says, for example '*-*-* 02:06'"
        ) from None
    if not dates:
        raise ValueError(f"calendar {text!r} never comes, for no year has such a day; correct it")
    return _apart(dates, times) if endless else Gaps(None, None)


def _split(text: str) -> tuple[frozenset[int], str, str]:
    """Return days of the week, date and time."""
    words = text.lower().split()
    if len(words) > 1 and _ZONE.fullmatch(words[-1]):
        words.pop()
    if len(words) == 1:
        words = _WORDS.get(words[0], words[0]).split()
    weekdays = _weekdays(words.pop(0)) if words[0][0].isalpha() else frozenset(range(7))
    day = words.pop(0) if words and ":" not in words[0] else "*-*-*"
    time = words.pop(0) if words else "0:0"
    if words:
        raise _NotOne(repr(words[0]))
    return weekdays, day, time


def _weekdays(word: str) -> frozenset[int]:
    days: set[int] = set()
    for item in word.removesuffix(",").split(","):
        ends = [_WEEKDAYS.get(name, -1) for name in re.split(r"\.\.|-", item)]
        if not 1 <= len(ends) <= 2 or min(ends) < 0 or ends[0] > ends[-1]:
            raise _NotOne(f"the day of the week {item!r}")
        days.update(range(ends[0], ends[-1] + 1))
    return frozenset(days)


def _dates(weekdays: frozenset[int], text: str) -> tuple[bool, list[int]]:
    """Return whether every year has them, and the days of some years as numbers."""
    matched = _DATE.fullmatch(text)
    if not matched:
        raise _NotOne(f"the date {text!r}")
    year, month, sign, day = matched.groups("*")
    years = _CYCLE if year == "*" else _numbers(year, 1970, 2199)
    months = _numbers(month, 1, 12)
    days = _numbers(day, 1, 28, backwards=True) if sign == "~" else _numbers(day, 1, 31)
    dates = [
        date(in_year, each, monthrange(in_year, each)[1] + 1 - number if sign == "~" else number)
        for in_year in sorted(years)
        for each in sorted(months)
        for number in sorted(days, reverse=sign == "~")
        if number <= monthrange(in_year, each)[1]
    ]
    return year == "*", [day.toordinal() for day in dates if day.weekday() in weekdays]


def _times(text: str) -> list[int]:
    """Return the times of a day as seconds."""
    matched = _TIME.fullmatch(text)
    if not matched:
        raise _NotOne(f"the time {text!r}")
    hour, minute, second = matched.groups("0")
    seconds = sorted(_numbers(re.sub(r"(?<=\d)\.\d+", "", second), 0, 59))
    minutes = sorted(_numbers(minute, 0, 59))
    hours = sorted(_numbers(hour, 0, 23))
    return [
        (each_hour * 60 + each_minute) * 60 + each_second
        for each_hour in hours
        for each_minute in minutes
        for each_second in seconds
    ]


def _numbers(text: str, least: int, most: int, *, backwards: bool = False) -> Iterable[int]:
    """Return what ``*``, ``1,15``, ``5..11``, ``0/15`` stands for; ``backwards``: from the end."""
    if text == "*":
        return range(least, most + 1)
    numbers: set[int] = set()
    for item in text.split(","):
        match = _NUMBERS.fullmatch(item)
        if not match:
            raise _NotOne(f"{item!r}")
        begin, step = int(match[1]), int(match[3] or 1)
        last = int(match[2] or (most if match[3] else begin))
        repeats = not match[3] or 1 <= step <= most - begin
        if not (least <= begin <= last <= most and repeats):
            raise _NotOne(f"{item!r}, where {least} to {most} can stand")
        down = backwards and match[3]
        numbers.update(range(begin, 0, -step) if down else range(begin, last + 1, step))
    return numbers


def _apart(dates: list[int], times: list[int]) -> Gaps:
    over_night = times[0] - times[-1]
    steps = [(later - earlier) * DAY_S + over_night for earlier, later in zip(dates, dates[1:])]
    steps += [later - earlier for earlier, later in zip(times, times[1:])]
    return Gaps(min(steps, default=None), max(steps, default=None))


def _calendar(text: str) -> str:
    try:
        CALENDAR.refuse("calendar", text)
    except DocumentError as error:
        raise ValueError(str(error)) from error
    gaps(text)
    return text


Calendar = Annotated[str, AfterValidator(_calendar)]
"""Calendar of a timer, as systemd writes it: ``*-*-* 02:06``."""


class Timer(Strict):
    """Schedule of a layer: systemd's calendar, and how often that is."""

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


class LastTimer(Timer):
    """The same, two hours later unless told: when targets and devices were measured alone."""

    calendar: Calendar = "*-*-* 04:06"


class Slots(Strict):
    """Slots in which pairs of hosts meet: at the start of each slot, for the window."""

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
