"""Since when a component has been low: the first of the days on which it lost what it loses now."""

from __future__ import annotations

from datetime import date
from typing import Mapping, NamedTuple, Optional, Sequence

from plumbline.report.marks import Mark
from plumbline.report.site import Member, Metric, Metrics, middle
from plumbline.units import DAY_S

_LOW = 0.95
"""Of its reference: a component above it has lost nothing that could have a beginning."""

_GOOD_DAYS = 2
"""In a row that end a loss, looking back; a single one may be luck."""

_MOST_NAMED = 5
_EPOCH = date(1970, 1, 1).toordinal()


class Since(NamedTuple):
    """The first low day, and the last one before it that was measured, if any; in epoch days."""

    day: int
    before: Optional[int]

    def text(self, marks: Sequence[Mark]) -> str:
        """Return e.g. ``2026-11-16 (client 2.3.0 -> 2.4.0)``, with what happened in between."""
        text = date.fromordinal(_EPOCH + self.day).isoformat()
        if self.before is None:
            return f"{text} or earlier"
        begin, end = self.before * DAY_S, (self.day + 1) * DAY_S
        happened = [one.text for one in marks if begin <= one.at < end]
        more = len(happened) - _MOST_NAMED
        named = "; ".join(happened[:_MOST_NAMED]) + (f"; {more} more" if more > 0 else "")
        return f"{text} ({named})" if happened else text


class Beginnings:
    """Finds since when components of a site have been low."""

    def __init__(self, metrics: Metrics) -> None:
        self._members: dict[tuple[str, str], list[tuple[Metric, Member]]] = {}
        self._groups: dict[tuple[Metric, str], list[Member]] = {}
        self._peers: dict[tuple[Metric, str], Mapping[int, float]] = {}
        for of, members in metrics.items():
            for one in members:
                self._members.setdefault((of.layer, one.name), []).append((of, one))
                self._groups.setdefault((of, one.of.group), []).append(one)

    def find(self, layer: str, component: str) -> Optional[Since]:
        """Return since when a component has been low, by the operation that has lost most.

        None where it is not low against its baseline or, without one, against its group.
        """
        courses = [self._ratios(of, one) for of, one in self._members.get((layer, component), ())]
        known = [ratios for ratios in courses if ratios]
        if not known:
            return None
        return _streak(min(known, key=lambda ratios: ratios[max(ratios)]))

    def _ratios(self, metric: Metric, member: Member) -> Mapping[int, float]:
        """Return rate / reference of each day that has both."""
        if member.baseline_Bps:
            return {day: rate / member.baseline_Bps for day, rate in member.days.items()}
        peers = self._group(metric, member.of.group)
        return {day: rate / peers[day] for day, rate in member.days.items() if peers.get(day)}

    def _group(self, metric: Metric, group: str) -> Mapping[int, float]:
        """Return the median of a group on each day on which two members were measured."""
        if (metric, group) not in self._peers:
            days: dict[int, list[float]] = {}
            for one in self._groups[metric, group]:
                for day, rate in one.days.items():
                    days.setdefault(day, []).append(rate)
            self._peers[metric, group] = {
                day: value
                for day, rates in days.items()
                if len(rates) > 1 and (value := middle(rates))
            }
        return self._peers[metric, group]


def _streak(ratios: Mapping[int, float]) -> Optional[Since]:
    """Return the first of the days up to now that lost half of today's loss or more."""
    days = sorted(ratios, reverse=True)
    if ratios[days[0]] >= _LOW:
        return None
    level = (1 + ratios[days[0]]) / 2
    first, good = days[0], 0
    for day in days:
        if ratios[day] < level:
            first, good = day, 0
        else:
            good += 1
        if good == _GOOD_DAYS:
            break
    return Since(first, max((day for day in days if day < first), default=None))
