"""A time of judging that finds out until when the answer holds.

An answer depends on the clock through comparisons alone, such as that of an age with a limit, and
ages in its texts stay open (:mod:`plumbline.model.ages`).  Each comparison has a time at which it
turns out otherwise; until the first of these the answer stays the same.
"""

from __future__ import annotations

from math import inf
from typing import Any, Callable

from plumbline.model.ages import OpenMoment


class Watch:
    """Finds out until when answers hold that are judged at ``moment``.

    ``until`` is in epoch seconds, infinite if nothing was compared with the clock.
    """

    def __init__(self, now: float) -> None:
        """Judge at ``now``, in epoch seconds."""
        self.until = inf
        self.moment = Moment(now)
        self.moment.watch, self.moment.slope = self, 1.0

    def ends(self, after_s: float) -> None:
        """Note that an answer holds for some seconds at most."""
        self.until = min(self.until, float.__add__(self.moment, after_s))


class _Watched(float):
    """A number that grows by ``slope`` a second, such as an age or the time that is left."""

    watch: Watch
    slope: float

    def _with(self, value: float, slope: float, other: float) -> _Watched:
        if isinstance(other, _Watched):
            # the sum of two has another slope
            self.watch.ends(0.0)
        watched = _Watched(value)
        watched.watch, watched.slope = self.watch, slope
        return watched

    def __add__(self, other: float) -> _Watched:
        return self._with(float.__add__(self, other), self.slope, other)

    __radd__ = __add__

    def __sub__(self, other: float) -> _Watched:
        return self._with(float.__sub__(self, other), self.slope, other)

    def __rsub__(self, other: float) -> _Watched:
        return self._with(float.__rsub__(self, other), -self.slope, other)

    def __truediv__(self, other: float) -> _Watched:
        return self._with(float.__truediv__(self, other), self.slope / other, other)

    def meets_after_s(self, other: float) -> float:
        """Return the seconds until this is another number; infinite if it has been."""
        if isinstance(other, _Watched):
            # two ages keep their order, others may meet at any time
            return inf if other.slope == self.slope else 0.0
        left_s = float.__rsub__(self, other) / self.slope
        return left_s if left_s >= 0 else inf


class Moment(_Watched, OpenMoment):
    """Time of judging, in epoch seconds."""


def _comparing(name: str) -> Callable[..., Any]:
    compare = getattr(float, name)

    def method(self: _Watched, other: Any) -> Any:
        if isinstance(other, (float, int)):
            self.watch.ends(self.meets_after_s(other))
        return compare(self, other)

    return method


def _showing(name: str) -> Callable[..., Any]:
    use = getattr(float, name)

    def method(self: _Watched, *arguments: Any) -> Any:
        # the figure itself is another one a moment later
        self.watch.ends(0.0)
        return use(self, *arguments)

    return method


for _name in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"):
    setattr(_Watched, _name, _comparing(_name))
for _name in (
    *("__abs__", "__bool__", "__divmod__", "__floordiv__", "__format__", "__hash__", "__int__"),
    *("__mod__", "__mul__", "__neg__", "__pow__", "__repr__", "__rmod__", "__rmul__", "__round__"),
    *("__rpow__", "__rtruediv__", "__str__", "__trunc__"),
):
    setattr(_Watched, _name, _showing(_name))
