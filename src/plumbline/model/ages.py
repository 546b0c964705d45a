"""Ages within a text: said at once, or left open until somebody reads it.

A verdict is judged when a run ends and read for hours: who judges it at an :class:`OpenMoment` gets
texts whose ages are marked, ``parts`` takes these apart, and ``filled`` says them at its own time.
"""

from __future__ import annotations

import re

from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.model.units import format_duration

if TYPE_CHECKING:
    from typing import Any, Callable, Sequence, Union

    Parts = tuple[Union[str, float], ...]

CLOCK_STEP_S = 60.0
"""A record may be this far ahead of the clock: steps of a time service are smaller."""

NEW_S = 3600.0
"""A figure that is older than this is shown with its age."""

OPEN = "\x02s"
"""The unit of a figure that is left open: its value is a moment, of which the age in seconds is
to be said."""

_MARK = re.compile("\x02([0-9]{1,12}(?:[.][0-9]+)?)\x03")


class OpenMoment(float):
    """A moment to judge at, in epoch seconds, whose texts keep their ages open."""

    __slots__ = ()


def _plainly(name: str) -> Callable[..., Any]:
    """Return an operation of floats that makes what is found hold for no time at all."""
    operation = getattr(float, name)

    def calculate(self: _Watched, *operands: float) -> Any:
        self.watched.until = float(self.watched)
        return operation(float(self), *operands)

    return calculate


class _Watched(float):
    """A number that follows from a watched moment: whatever is done with it is noted there."""

    watched: WatchedMoment

    __add__, __radd__ = _plainly("__add__"), _plainly("__radd__")
    __sub__, __rsub__ = _plainly("__sub__"), _plainly("__rsub__")
    __mul__, __rmul__ = _plainly("__mul__"), _plainly("__rmul__")
    __truediv__, __rtruediv__ = _plainly("__truediv__"), _plainly("__rtruediv__")
    __floordiv__, __rfloordiv__ = _plainly("__floordiv__"), _plainly("__rfloordiv__")
    __mod__, __rmod__ = _plainly("__mod__"), _plainly("__rmod__")
    __neg__, __abs__, __round__ = _plainly("__neg__"), _plainly("__abs__"), _plainly("__round__")
    __lt__, __le__ = _plainly("__lt__"), _plainly("__le__")
    __gt__, __ge__ = _plainly("__gt__"), _plainly("__ge__")
    __bool__, __format__ = _plainly("__bool__"), _plainly("__format__")


class WatchedMoment(_Watched, OpenMoment):
    """One that also knows how long what was judged at it holds, if nothing is measured meanwhile.

    Who judges says ages and compares them with limits, so that each limit tells when a comparison
    will come out otherwise.  Whatever else is done with it has the right result and holds for no
    time at all.
    """

    until = float("inf")
    """Moment at which the first comparison made so far comes out otherwise."""

    @property
    def watched(self) -> WatchedMoment:  # type: ignore[override]
        """Return itself."""
        return self

    def note(self, moment: float) -> None:
        """Remember a moment at which a comparison comes out otherwise, if it is to come."""
        if moment >= float(self):
            self.until = min(self.until, moment)

    def __sub__(self, at: float) -> _Age:
        """Return the age of a moment, to be compared."""
        return _Age.of(self, float(at), 1.0)

    def __rsub__(self, at: float) -> _Age:
        """Return how far ahead a moment is, to be compared."""
        return _Age.of(self, float(at), -1.0)


class _Age(_Watched):
    """Age of a moment at a watched one, in seconds; with a sign of -1 the time until then."""

    _at: float
    _sign: float

    @classmethod
    def of(cls, now: WatchedMoment, at: float, sign: float) -> _Age:
        age = cls(sign * (float(now) - at))
        age.watched, age._at, age._sign = now, at, sign
        return age

    def _note(self, limit: float) -> float:
        """Remember when this age is the limit; return the limit."""
        self.watched.note(self._at + self._sign * limit)
        return limit

    def __gt__(self, limit: float) -> bool:
        return float(self) > self._note(limit)

    def __ge__(self, limit: float) -> bool:
        return float(self) >= self._note(limit)

    def __lt__(self, limit: float) -> bool:
        return float(self) < self._note(limit)

    def __le__(self, limit: float) -> bool:
        return float(self) <= self._note(limit)


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
