"""Schedules: systemd's calendar expressions, and slots.

A timer with an invalid calendar never starts, and one that runs less often than ``every`` leaves
outdated results.  Both are checked here, because otherwise they would be noticed only on a node.

By default no two layers measure at the same time: each layer with a calendar has its own hour,
starts after the window of the host pairs, and ends before the next window.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from typing import Annotated, Any, Iterable, Iterator, Mapping, NamedTuple, Optional

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
"""A period of 28 years, after which dates fall on the same weekdays again."""


class _InvalidPart(Exception):
    """A part of a calendar is not understood; the message names the part."""


class Gaps(NamedTuple):
    """Gaps between successive times in seconds; both None unless there are two times."""

    shortest_s: Optional[float]
    longest_s: Optional[float]


def gaps(text: str) -> Gaps:
    """Return the gaps between the times of a calendar, in local time.

    Both are None if the calendar names years, because it ends.

    Raises:
        ValueError: systemd does not accept the calendar, or it never elapses.
    """
    try:
        weekdays, day, time = _split(text)
        repeats, dates = _dates(weekdays, day)
        times = _times(time)
    except _InvalidPart as part:
        raise ValueError(
            f"calendar {text!r} is not a calendar of systemd, which does not understand {part}; "
            "write it as systemd.time(7) says, for example '*-*-* 02:06'"
        ) from None
    if not dates:
        raise ValueError(f"calendar {text!r} never comes, for no year has such a day; correct it")
    return _gaps(dates, times) if repeats else Gaps(None, None)


def collisions(schedule: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield a note on each layer that its calendar may start while pairs of hosts are tested.

    ``schedule`` is that of a plan.  Minutes are compared, as slots are in UTC and hours are not.
    """
    paired = [timer for timer in schedule.values() if "window_s" in timer]
    others = {layer: timer for layer, timer in schedule.items() if timer not in paired}
    for slots in paired:
        windows = _minutes(slots["calendar"])
        for layer, timer in others.items():
            starts = _minutes(timer["calendar"])
            delay_s = timer["randomized_delay_s"]
            after = min((start - slot) % 3600 for start in starts for slot in windows)
            before = min((slot - start) % 3600 for start in starts for slot in windows)
            if after < slots["window_s"] or before < delay_s:
                spread = f" or up to {format_duration(delay_s)} later" if delay_s else ""
                yield (
                    f"{layer} starts at {timer['calendar']}{spread}, while hosts are tested in "
                    f"pairs for {format_duration(slots['window_s'])} ({slots['calendar']}), and "
                    f"both would be slow; start {layer} after that, such as at six minutes past "
                    "the hour"
                )


def _minutes(calendar: str) -> set[int]:
    """Return the seconds past the hour at which a calendar comes."""
    return {second % 3600 for second in _times(_split(calendar)[2])}


def _split(text: str) -> tuple[frozenset[int], str, str]:
    """Return weekdays, date and time of a calendar."""
    words = text.lower().split()
    if len(words) > 1 and _ZONE.fullmatch(words[-1]):
        words.pop()
    if len(words) == 1:
        words = _WORDS.get(words[0], words[0]).split()
    weekdays = _weekdays(words.pop(0)) if words[0][0].isalpha() else frozenset(range(7))
    day = words.pop(0) if words and ":" not in words[0] else "*-*-*"
    time = words.pop(0) if words else "0:0"
    if words:
        raise _InvalidPart(repr(words[0]))
    return weekdays, day, time


def _weekdays(word: str) -> frozenset[int]:
    days: set[int] = set()
    for item in word.removesuffix(",").split(","):
        ends = [_WEEKDAYS.get(name, -1) for name in re.split(r"\.\.|-", item)]
        if not 1 <= len(ends) <= 2 or min(ends) < 0 or ends[0] > ends[-1]:
            raise _InvalidPart(f"the day of the week {item!r}")
        days.update(range(ends[0], ends[-1] + 1))
    return frozenset(days)


def _dates(weekdays: frozenset[int], text: str) -> tuple[bool, list[int]]:
    """Return whether the dates repeat each year, and the dates of one cycle as day numbers."""
    matched = _DATE.fullmatch(text)
    if not matched:
        raise _InvalidPart(f"the date {text!r}")
    year_text, month_text, sign, day_text = matched.groups("*")
    years = _CYCLE if year_text == "*" else _numbers(year_text, 1970, 2199)
    months = _numbers(month_text, 1, 12)
    days = _numbers(day_text, 1, 28, backwards=True) if sign == "~" else _numbers(day_text, 1, 31)
    dates = [
        date(year, month, monthrange(year, month)[1] + 1 - number if sign == "~" else number)
        for year in sorted(years)
        for month in sorted(months)
        for number in sorted(days, reverse=sign == "~")
        if number <= monthrange(year, month)[1]
    ]
    return year_text == "*", [day.toordinal() for day in dates if day.weekday() in weekdays]


def _times(text: str) -> list[int]:
    matched = _TIME.fullmatch(text)
    if not matched:
        raise _InvalidPart(f"the time {text!r}")
    hour_text, minute_text, second_text = matched.groups("0")
    seconds = sorted(_numbers(re.sub(r"(?<=\d)\.\d+", "", second_text), 0, 59))
    minutes = sorted(_numbers(minute_text, 0, 59))
    hours = sorted(_numbers(hour_text, 0, 23))
    return [
        (hour * 60 + minute) * 60 + second
        for hour in hours
        for minute in minutes
        for second in seconds
    ]


def _numbers(text: str, least: int, most: int, *, backwards: bool = False) -> Iterable[int]:
    """Expand ``*``, ``1,15``, ``5..11`` or ``0/15``; ``backwards`` counts from the end."""
    if text == "*":
        return range(least, most + 1)
    numbers: set[int] = set()
    for item in text.split(","):
        match = _NUMBERS.fullmatch(item)
        if not match:
            raise _InvalidPart(f"{item!r}")
        begin, step = int(match[1]), int(match[3] or 1)
        last = int(match[2] or (most if match[3] else begin))
        repeats = not match[3] or 1 <= step <= most - begin
        if not (least <= begin <= last <= most and repeats):
            raise _InvalidPart(f"{item!r}, where {least} to {most} can stand")
        descending = backwards and match[3]
        numbers.update(range(begin, 0, -step) if descending else range(begin, last + 1, step))
    return numbers


def _gaps(dates: list[int], times: list[int]) -> Gaps:
    overnight = times[0] - times[-1]
    steps = [(later - earlier) * DAY_S + overnight for earlier, later in zip(dates, dates[1:])]
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
    """Schedule of a layer: systemd's calendar, and its period ``every``."""

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
        """Raise ValueError if ``every`` or the age limit does not fit the gaps of the calendar."""
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
        """Return the period in which each component is measured, in seconds."""
        return self.every

    def stale_after_s(self, _members: int = 1, /) -> float:
        """Return the age at which a result is outdated, by default 1.5 periods, in seconds."""
        return self.stale_after or 1.5 * self.every


class EarlyTimer(Timer):
    """Default for metadata, an hour before the targets, whose bytes would slow its calls."""

    calendar: Calendar = "*-*-* 01:06"


class FirstTimer(Timer):
    """Default for targets on their servers, before anything else measures these."""

    calendar: Calendar = "*-*-* 00:06"


class LaterTimer(Timer):
    """Default for devices, an hour later: they are read while their targets are idle."""

    calendar: Calendar = "*-*-* 03:06"


class LastTimer(Timer):
    """Default for whole file systems, two hours later: after targets and devices."""

    calendar: Calendar = "*-*-* 04:06"


class TwoDaysTimer(Timer):
    """Default for shared parts, before all others; they take turns by the clock.

    Four low runs make an alarm, so a loss is found within two weeks.
    """

    calendar: Calendar = "Tue,Thu,Sun *-*-* 00:36:30"
    every: Duration = 2 * DAY_S
    stale_after: Optional[Duration] = 4 * DAY_S
    randomized_delay: Duration = 0.0
    limit: Duration = 10800.0


class Slots(Strict):
    """Slots of host pairs: they are tested at the start of each slot, for the window.

    ``after`` is the time from the start of a slot to its window.
    """

    slot: Duration = 3600.0
    window: Duration = 300.0
    after: Duration = 0.0
    stale_after: Optional[Duration] = None

    @model_validator(mode="after")
    def _fits_the_clock(self) -> Slots:
        divides_hour = not self.slot % 60 and not 3600 % self.slot
        divides_day = not self.slot % 3600 and not DAY_S % self.slot
        if not (divides_hour or divides_day):
            raise ValueError(
                "slot must divide an hour or a day evenly, for example 15 min, 1 h or 4 h"
            )
        if self.after + self.window >= self.slot:
            raise ValueError("window must be shorter than slot, with after if there is one")
        if self.after % 1 or self.after >= _SLOT_STEP_S:
            raise ValueError("after must be whole seconds, and shorter than 1 h")
        if self.stale_after is not None and self.stale_after < self.slot:
            raise ValueError("stale_after is shorter than slot, so each result would go stale")
        return self

    def period_s(self) -> float:
        """Return the period of pair tests in seconds."""
        return self.slot

    def stale_after_s(self, members: int, /) -> float:
        """Return the age at which a result is outdated, in seconds.

        The default is 1.5 times the slots that a host needs for its tests with several of the
        ``members`` hosts.
        """
        return self.stale_after or 1.5 * span(members) * self.slot

    def calendar(self) -> str:
        """Return the windows as systemd's calendar; UTC, because slots count from the epoch."""
        minute, second = divmod(round(self.after), 60)
        if self.slot < _SLOT_STEP_S:
            return f"*-*-* *:{minute}/{self.slot / 60:.0f}:{second:02} UTC"
        hours = "00" if self.slot == DAY_S else f"0/{self.slot / _SLOT_STEP_S:.0f}"
        return f"*-*-* {hours}:{minute:02}:{second:02} UTC"


_SLOT_STEP_S = 3600.0
"""Slots divide an hour, or are whole hours."""


class LaterSlots(Slots):
    """Default for RDMA: the rest of the window of host pairs, whose TCP has ended by then."""

    window: Duration = 180.0
    after: Duration = 120.0
