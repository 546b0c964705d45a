"""Durations and ages in a text: filled in at once, or when somebody reads it.

A verdict is judged when a run ends, and read for hours.  If it is judged at an
:class:`OpenMoment`, its texts have marks in place of ages; :func:`plumbline.model.published.parts`
splits a text at the marks, and ``filled`` inserts the ages at the time of reading.

The checks load this module, which therefore imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable, Sequence

CLOCK_STEP_S = 60.0
"""Accepted lead of a record over the clock; time services correct clocks in smaller steps."""

NEW_S = 600.0
"""Age above which a figure is shown with its age."""

OPEN = "\x02s"
"""Unit of a figure with an open age: its value is a moment, to be shown as an age in seconds."""

_LARGER = (("d", 86400.0), ("h", 3600.0), ("min", 60.0))


class OpenMoment(float):
    """Time of judging, in epoch seconds, that leaves ages in texts open."""

    __slots__ = ()


def format_duration(seconds: float) -> str:
    """Return a duration in the largest unit that gives at least 2, e.g. ``36 h``, ``90 s``."""
    for unit, size_s in _LARGER:
        if seconds >= 2 * size_s:
            return f"{seconds / size_s:.0f} {unit}"
    return f"{seconds:.0f} s"


def seconds_since(at: float, now: float) -> tuple[float, str]:
    """Return value and unit of a figure with the age of a moment; open if ``now`` is."""
    if isinstance(now, OpenMoment):
        return at, OPEN
    return max(0, round(now - at)), "s"


def age(at: float, now: float) -> str:
    """Return the age of a moment, ``3 h ago``, or its lead over the clock, ``3 h ahead``.

    ``at`` and ``now`` are in epoch seconds.
    """
    if isinstance(now, OpenMoment):
        return f"\x02{float(at):.3f}\x03"
    past_s = now - at
    if past_s < -CLOCK_STEP_S:
        return f"{format_duration(-past_s)} ahead"
    return f"{format_duration(max(0.0, past_s))} ago"


def minutes(at: float, now: float) -> str:
    """Return the age of a moment in minutes, ``67 min ago`` or ``7 min ahead of now``."""
    past_min = (now - at) / 60
    return f"{past_min:.0f} min ago" if past_min > 0 else f"{-past_min:.0f} min ahead of now"


def filled(pieces: Iterable[str | float | Sequence[float]], now: float) -> str:
    """Join the pieces of a text, with the ages at ``now``; a moment in a list is in minutes."""
    return "".join(
        piece
        if isinstance(piece, str)
        else age(piece, now)
        if isinstance(piece, (int, float))
        else minutes(piece[0], now)
        for piece in pieces
    )
