"""Ages within a text: said at once, or left open until somebody reads it.

A verdict is judged when a run ends and read for hours: who judges it at an :class:`OpenMoment` gets
texts whose ages are marked, ``parts`` takes these apart, and ``filled`` says them at its own time.
"""

from __future__ import annotations

import re

from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.units import format_duration

if TYPE_CHECKING:
    from typing import NoReturn, Sequence, Union

    Parts = tuple[Union[str, float], ...]

CLOCK_STEP_S = 60.0
"""A record may be this far ahead of the clock: steps of a time service are smaller."""

OPEN = "\x02s"
"""The unit of a figure that is left open: its value is a moment, of which the age in seconds is
to be said."""

_MARK = re.compile("\x02([0-9]{1,12}(?:[.][0-9]+)?)\x03")


class OpenMoment(float):
    """A moment to judge at, in epoch seconds, whose texts keep their ages open."""

    __slots__ = ()


class WatchedMoment(OpenMoment):
    """One that also knows how long what was judged at it holds, if nothing is measured meanwhile.

    Who judges may do nothing with it but say ages and compare them with limits, so that each
    limit tells when a comparison will come out otherwise; anything else raises TypeError.
    """

    until = float("inf")
    """When the first comparison made so far comes out otherwise."""

    def note(self, moment: float) -> None:
        """Remember a moment at which a comparison comes out otherwise, if it is to come."""
        if moment >= float(self):
            self.until = min(self.until, moment)

    def __sub__(self, at: float) -> _Age:  # type: ignore[override]
        """Return the age of a moment, to be compared."""
        return _Age(self, at)

    def __rsub__(self, at: float) -> _Lead:  # type: ignore[misc, override]
        """Return how far ahead a moment is, to be compared."""
        return _Lead(self, at)

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError("of a moment that is watched only ages are known")

    __add__ = __radd__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __neg__ = __abs__ = __round__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse


class _Age:
    """How old a moment is at a watched one."""

    __slots__ = ("_at", "_now", "_seconds")

    def __init__(self, now: WatchedMoment, at: float) -> None:
        self._now, self._at = now, at
        self._seconds = float.__sub__(now, at)

    def __gt__(self, limit: float) -> bool:
        self._now.note(self._at + limit)
        return self._seconds > limit

    def __le__(self, limit: float) -> bool:
        return not self > limit


class _Lead:
    """How far a moment is ahead of a watched one."""

    __slots__ = ("_at", "_now", "_seconds")

    def __init__(self, now: WatchedMoment, at: float) -> None:
        self._now, self._at = now, at
        self._seconds = float.__rsub__(now, at)

    def __gt__(self, limit: float) -> bool:
        self._now.note(self._at - limit)
        return self._seconds > limit

    def __le__(self, limit: float) -> bool:
        return not self > limit


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
    return tuple(float(one) if place % 2 else one for place, one in enumerate(pieces))


def filled(pieces: Sequence[Union[str, float]], now: float) -> str:
    """Return a text that was taken apart, with its ages at a moment."""
    return "".join(one if isinstance(one, str) else age(one, now) for one in pieces)
