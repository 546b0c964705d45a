"""How far apart the moments of one of systemd's calendars lie, where it has a usual form.

What is not understood here systemd may still know: nothing is said of it.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from itertools import product
from typing import NamedTuple, Optional

from plumbline.units import DAY_S

_WORDS = {
    "hourly": "*-*-* *:00:00",
    "daily": "*-*-* 00:00:00",
    "weekly": "Mon *-*-* 00:00:00",
    "monthly": "*-*-01 00:00:00",
}
_FORM = re.compile(
    r"(?:([A-Za-z.,]+) )?(?:\*-([\d*.,/]+)-([\d*.,/]+) )?"
    r"([\d*.,/]+):([\d*.,/]+)(?::([\d*.,/]+))?(?: [A-Za-z]\S*)?"
)
_PART = re.compile(r"(\*|\d{1,2})(?:\.\.(\d{1,2}))?(?:/([1-9]\d?))?")
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_FIRST, _DAYS = date(2024, 1, 1), 4 * 365 + 1
"""Four years, of which one has a 29th of February."""


class Gaps(NamedTuple):
    """What lies between two moments, in the mean and at most, in seconds."""

    mean_s: float
    longest_s: float


def gaps(calendar: str) -> Optional[Gaps]:
    """Return how far apart the moments of a calendar lie; None where its form is not known."""
    form = _FORM.fullmatch(_WORDS.get(calendar, calendar))
    if form is None:
        return None
    weekdays, months, days, hours, minutes, seconds = form.groups()
    chosen = [
        _weekdays(weekdays or "Mon..Sun"),
        _numbers(months or "*", 1, 12),
        _numbers(days or "*", 1, 31),
        _numbers(hours, 0, 23),
        _numbers(minutes, 0, 59),
        _numbers(seconds or "0", 0, 59),
    ]
    if not all(chosen):
        return None
    moments = [hour * 3600 + minute * 60 + second for hour, minute, second in product(*chosen[3:])]
    return _between(_dates(*chosen[:3]), sorted(moments))


def _dates(weekdays: set[int], months: set[int], days: set[int]) -> list[int]:
    """Return the numbers of the days that are meant, of some years."""
    every = ((number, _FIRST + timedelta(days=number)) for number in range(_DAYS))
    return [
        number
        for number, day in every
        if day.weekday() in weekdays and day.month in months and day.day in days
    ]


def _between(days: list[int], moments: list[int]) -> Optional[Gaps]:
    if len(days) < 2:
        return None
    apart = max(after - before for before, after in zip(days, days[1:]))
    within = [after - before for before, after in zip(moments, moments[1:])]
    longest = max([apart * DAY_S - (moments[-1] - moments[0]), *within])
    return Gaps(_DAYS * DAY_S / (len(days) * len(moments)), longest)


def _weekdays(text: str) -> set[int]:
    """Return the days of the week, Monday first; none where they are not understood."""
    numbered = text
    for number, name in enumerate(_WEEKDAYS):
        numbered = re.sub(rf"\b{name}[a-z]*", str(number), numbered, flags=re.IGNORECASE)
    return _numbers(numbered, 0, 6)


def _numbers(text: str, least: int, most: int) -> set[int]:
    """Return what a list of numbers, ranges and steps names; nothing where one is none."""
    found: set[int] = set()
    for part in map(_PART.fullmatch, text.split(",")):
        if part is None:
            return set()
        first, last, step = part.groups()
        begin = least if first == "*" else int(first)
        end = int(last) if last else most if first == "*" or step else begin
        found.update(range(begin, end + 1, int(step or 1)))
    return found if found and least <= min(found) and max(found) <= most else set()
