"""Dates and times as a person types them in an option."""

from __future__ import annotations

from datetime import datetime

from plumbline.errors import UsageError


def parse_date(text: str, option: str) -> datetime:
    """Return a date or time that a person has typed; raise UsageError with an example."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(
            f"{option} {text!r} is no date; write for example 2026-11-20 or 2026-11-20T14:00"
        ) from error
