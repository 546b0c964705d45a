"""Dates and times as a person types them in an option."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from plumbline.errors import UsageError

_HOUR = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])|24:00")
_MOMENTS = (
    'write for example "2026-11-20 03:12", 2026-11-20T03:12+01:00, or 03:12 for the last such'
)


def parse_date(text: str, option: str) -> datetime:
    """Return a date or time that a person has typed; raise UsageError with an example."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(
            f"{option} {text!r} is no date; write for example 2026-11-20 or 2026-11-20T14:00"
        ) from error


def parse_span(text: str, option: str, now: float) -> tuple[float, float]:
    """Return begin and end of ``TIME to TIME``, in seconds since the epoch.

    Hours alone are the last such that have begun; an end that is not later than the begin is on the
    next day.

    Raises:
        UsageError: it is no such time.
    """
    first, to, second = text.partition(" to ")
    first, second = first.strip(), second.strip()
    if not to:
        raise UsageError(f'{option} {text!r} is no time; write for example "02:00 to 03:00"')
    today = datetime.fromtimestamp(now, timezone.utc).astimezone().replace(tzinfo=None)
    begin = _moment(first, option, today)
    if _HOUR.fullmatch(first) and begin > today:
        begin -= timedelta(days=1)
    end = _moment(second, option, begin)
    if _HOUR.fullmatch(second) and end <= begin:
        end += timedelta(days=1)
    if end <= begin:
        raise UsageError(f"{option} {text!r} ends before it begins")
    return begin.timestamp(), end.timestamp()


def parse_moment(text: str, option: str, now: float) -> float:
    """Return a moment that has passed, in seconds since the epoch; hours alone are the last such.

    Raises:
        UsageError: it is no such time, or has not come yet.
    """
    today = datetime.fromtimestamp(now, timezone.utc).astimezone().replace(tzinfo=None)
    try:
        found = _moment(text.strip(), option, today)
        if _HOUR.fullmatch(text.strip()) and found > today:
            found -= timedelta(days=1)
        at = found.timestamp()
    except (UsageError, ValueError, OverflowError, OSError) as error:
        raise UsageError(f"{option} {text!r} is no time; {_MOMENTS}") from error
    if not 0 < at <= now:
        raise UsageError(f"{option} {text!r} is no time that has passed; {_MOMENTS}")
    return at


def _moment(text: str, option: str, day: datetime) -> datetime:
    """Return a time of this host's zone; hours alone are those of a day."""
    if not _HOUR.fullmatch(text):
        return parse_date(text, option).replace(tzinfo=None)
    hour, minute = (int(part) for part in text.split(":"))
    midnight = day.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + timedelta(hours=hour, minutes=minute)
