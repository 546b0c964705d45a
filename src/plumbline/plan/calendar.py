"""systemd's calendar as systemd.time(7) has it: whether it is one, and how far apart its times are.

A timer whose calendar systemd does not understand never starts, and one that comes less often than
``every`` leaves results that are too old; both would be seen on a node alone.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from typing import Iterable, NamedTuple, Optional

from plumbline.units import DAY_S

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
    """How far two times are apart, seconds; both None where there are no two."""

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
    found: set[int] = set()
    for item in word.removesuffix(",").split(","):
        ends = [_WEEKDAYS.get(name, -1) for name in re.split(r"\.\.|-", item)]
        if not 1 <= len(ends) <= 2 or min(ends) < 0 or ends[0] > ends[-1]:
            raise _NotOne(f"the day of the week {item!r}")
        found.update(range(ends[0], ends[-1] + 1))
    return frozenset(found)


def _dates(weekdays: frozenset[int], text: str) -> tuple[bool, list[int]]:
    """Return whether every year has them, and the days of some years as numbers."""
    found = _DATE.fullmatch(text)
    if not found:
        raise _NotOne(f"the date {text!r}")
    year, month, sign, day = found.groups("*")
    years = _CYCLE if year == "*" else _numbers(year, 1970, 2199)
    months = _numbers(month, 1, 12)
    days = _numbers(day, 1, 28, backwards=True) if sign == "~" else _numbers(day, 1, 31)
    dates = [
        date(one, each, monthrange(one, each)[1] + 1 - number if sign == "~" else number)
        for one in sorted(years)
        for each in sorted(months)
        for number in sorted(days, reverse=sign == "~")
        if number <= monthrange(one, each)[1]
    ]
    return year == "*", [one.toordinal() for one in dates if one.weekday() in weekdays]


def _times(text: str) -> list[int]:
    """Return the times of a day as seconds."""
    found = _TIME.fullmatch(text)
    if not found:
        raise _NotOne(f"the time {text!r}")
    hour, minute, second = found.groups("0")
    seconds = sorted(_numbers(re.sub(r"(?<=\d)\.\d+", "", second), 0, 59))
    minutes = sorted(_numbers(minute, 0, 59))
    hours = sorted(_numbers(hour, 0, 23))
    return [(one * 60 + two) * 60 + three for one in hours for two in minutes for three in seconds]


def _numbers(text: str, least: int, most: int, *, backwards: bool = False) -> Iterable[int]:
    """Return what ``*``, ``1,15``, ``5..11``, ``0/15`` stands for; ``backwards``: from the end."""
    if text == "*":
        return range(least, most + 1)
    found: set[int] = set()
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
        found.update(range(begin, 0, -step) if down else range(begin, last + 1, step))
    return found


def _apart(dates: list[int], times: list[int]) -> Gaps:
    over_night = times[0] - times[-1]
    steps = [(later - earlier) * DAY_S + over_night for earlier, later in zip(dates, dates[1:])]
    steps += [later - earlier for earlier, later in zip(times, times[1:])]
    return Gaps(min(steps, default=None), max(steps, default=None))
