"""Ages in a text: filled in at once, or when somebody reads it.

A verdict is judged when a run ends, and read for hours.  If it is judged at an
:class:`OpenMoment`, its texts have marks in place of ages; ``parts`` splits a text at the marks,
and ``filled`` inserts the ages at the time of reading.
"""

from __future__ import annotations

import re

from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.model.units import format_duration

if TYPE_CHECKING:
    from typing import Sequence, Union

    from plumbline.model.verdict import Figure

    Parts = tuple[Union[str, float], ...]

CLOCK_STEP_S = 60.0
"""Accepted lead of a record over the clock; time services correct clocks in smaller steps."""

NEW_S = 600.0
"""Age above which a figure is shown with its age."""

OPEN = "\x02s"
"""Unit of a figure with an open age: its value is a moment, to be shown as an age in seconds."""

_MARK = re.compile("\x02([0-9]{1,12}(?:[.][0-9]+)?)\x03")


class OpenMoment(float):
    """Time of judging, in epoch seconds, that leaves ages in texts open."""

    __slots__ = ()


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


def filled_figure(figure: Figure, now: float) -> Figure:
    """Return a figure with its age at ``now``; as it is unless the age is open."""
    if figure.unit != OPEN or figure.value is None:
        return figure
    value, unit = seconds_since(figure.value, now)
    return figure._replace(value=value, unit=unit)


def parts(text: str) -> Parts:
    """Split a text at its open ages; return texts and moments in turn."""
    pieces = _MARK.split(text)
    return tuple(float(piece) if place % 2 else piece for place, piece in enumerate(pieces))


def filled(pieces: Sequence[Union[str, float]], now: float) -> str:
    """Join the pieces of a text, with the ages at ``now``."""
    return "".join(piece if isinstance(piece, str) else age(piece, now) for piece in pieces)
