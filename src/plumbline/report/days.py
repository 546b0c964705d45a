"""The median rate of each day, as compact as a year of a large site needs it."""

from __future__ import annotations

from array import array
from math import isnan, nan
from statistics import median
from typing import Iterable, Iterator, Mapping, Sequence

from plumbline.units import DAY_S

_NONE = array("d", [nan])


class Days(Mapping[int, float]):
    """Rates in bytes per second by days since the epoch, in the order of the days.

    Each takes eight bytes, where a dictionary takes a hundred.
    """

    __slots__ = ("_rates", "_span")

    def __init__(self, rates: Mapping[int, float]) -> None:
        """Take in the rates; days between them may have none."""
        self._span = range(min(rates), max(rates) + 1) if rates else range(0)
        if len(self._span) == len(rates):
            self._rates = array("d", map(rates.__getitem__, self._span))
        else:
            self._rates = array("d", (rates.get(day, nan) for day in self._span))

    def __getitem__(self, day: int) -> float:
        """Return the rate of a day; raise KeyError where there is none."""
        if day not in self._span or isnan(rate := self._rates[day - self._span.start]):
            raise KeyError(day)
        return rate

    def __iter__(self) -> Iterator[int]:
        """Yield the days that have a rate."""
        return (day for day, rate in zip(self._span, self._rates) if not isnan(rate))

    def __len__(self) -> int:
        """Return how many days have a rate."""
        return len(self.rates())

    @property
    def span(self) -> range:
        """Return all days from the first that has a rate to the last one."""
        return self._span

    def rates(self) -> list[float]:
        """Return the rates that there are."""
        return [rate for rate in self._rates if not isnan(rate)]

    def among(self, days: range) -> list[float]:
        """Return the rates of some days that follow one another, in their order."""
        first, end = max(days.start, self._span.start), max(days.stop, self._span.start)
        part = self._rates[first - self._span.start : end - self._span.start]
        return [rate for rate in part if not isnan(rate)]

    def over(self, days: range) -> array[float]:
        """Return a rate for each of ``days``, which span all of these; NaN where there is none."""
        before, after = self._span.start - days.start, days.stop - self._span.stop
        return before * _NONE + self._rates + after * _NONE


def spanned(every: Iterable[Days]) -> range:
    """Return all days from the first on which any has a rate to the last one; there is one."""
    spans = [one.span for one in every]
    return range(min(one.start for one in spans), max(one.stop for one in spans))


def daily(times: Sequence[float], rates: Sequence[float], until: float) -> Days:
    """Return the median rate of each day, until before a moment.

    Times are in seconds since the epoch; a rate that is NaN is none.
    """
    days: dict[int, float] = {}
    several: dict[int, list[float]] = {}
    for at, rate in zip(times, rates):
        if 0 <= at < until and not isnan(rate):
            day = int(at // DAY_S)
            if day in days:
                several.setdefault(day, [days[day]]).append(rate)
            else:
                days[day] = rate
    days.update((day, median(found)) for day, found in several.items())
    return Days(days)
