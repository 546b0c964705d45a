"""Ages within a text: said at once, or left open until somebody reads it.

A verdict is judged when a run ends and read for hours: who judges it at an :class:`OpenMoment` gets
texts whose ages are marked, ``parts`` takes these apart, and ``filled`` says them at its own time.
"""

from __future__ import annotations

import re

from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.model.units import format_duration

if TYPE_CHECKING:
    from typing import Sequence, Union

    Parts = tuple[Union[str, float], ...]

CLOCK_STEP_S = 60.0
"""A record may be this far ahead of the clock: steps of a time service are smaller."""

NEW_S = 600.0
"""A figure that is older than this is shown with its age."""

OPEN = "\x02s"
"""The unit of a figure that is left open: its value is a moment, of which the age in seconds is
to be said."""

_MARK = re.compile("\x02([0-9]{1,12}(?:[.][0-9]+)?)\x03")


class OpenMoment(float):
    """A moment to judge at, in epoch seconds, whose texts keep their ages open."""

    __slots__ = ()


def seconds_since(at: float, now: float) -> tuple[float, str]:
    """Return the value and unit of a figure: how long ago a moment was, open at an open moment."""
    if isinstance(now, OpenMoment):
        return at, OPEN
    return max(0, round(now - at)), "s"


def age(at: float, now: float) -> str:
    """Return how long ago a moment was, ``3 h ago``, or how far it lies ahead, ``3 h ahead``.

    Both are in epoch seconds.
    """
    if isinstance(now, OpenMoment):
        return f"\x02{float(at):.3f}\x03"
    past_s = now - at
    if past_s < -CLOCK_STEP_S:
        return f"{format_duration(-past_s)} ahead"
    return f"{format_duration(max(0.0, past_s))} ago"


def parts(text: str) -> Parts:
    """Return a text with open ages as what stands between them, and their moments."""
    pieces = _MARK.split(text)
    return tuple(float(piece) if place % 2 else piece for place, piece in enumerate(pieces))


def filled(pieces: Sequence[Union[str, float]], now: float) -> str:
    """Return a text that was taken apart, with its ages at a moment."""
    return "".join(piece if isinstance(piece, str) else age(piece, now) for piece in pieces)
