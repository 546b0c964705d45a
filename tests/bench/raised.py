"""Alarms on the year of benchmarks, and which of them other runs confirm.

The year has no labels.  An alarm is confirmed if the loss lasted, or if another benchmark of the
same file system and direction, unseen by the judge, was low on the same days.
"""

from __future__ import annotations

from datetime import date, timedelta
from statistics import median
from typing import Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.replay import DayVerdict
from plumbline.model.series import Sampled
from plumbline.model.verdict import State

BAD = (State.WARNING, State.CRITICAL)
LASTS = 5
"""Runs during an alarm whose median is low: more than one bad day."""
LOW = 0.8
"""Share of the median of the runs before."""
BEFORE = 60
MIN_BEFORE = 10
JUST_BEFORE = 7
"""Runs that may be evidence of the alarm itself, and days before it that count for others."""

ABOUT = (
    "*The loss lasted*: the median of the runs during the alarm was a fifth below that of the 60 "
    "before. *Another benchmark*: half of its runs on these days, of the same file system and "
    "direction, were low."
)

Series = Mapping[str, Sequence[Sampled]]


class Raised(NamedTuple):
    """An alarm: its series, first and last day."""

    component: str
    first: date
    last: date

    @classmethod
    def of(cls, component: str, days: Sequence[DayVerdict]) -> Iterator[Raised]:
        """Yield the alarms of a series."""
        standing: list[date] = []
        for day in days:
            if day.verdict.state in BAD:
                standing.append(date.fromisoformat(day.day))
            elif standing:
                yield cls(component, standing[0], standing[-1])
                standing = []
        if standing:
            yield cls(component, standing[0], standing[-1])


def rows(judged: Mapping[str, Sequence[DayVerdict]], series: Series) -> Iterator[str]:
    """Yield the rows on alarms for the table of that year."""
    alarms = [alarm for name, days in judged.items() for alarm in Raised.of(name, days)]
    lasted = [alarm for alarm in alarms if _lasted(alarm, series[alarm.component])]
    others = [alarm for alarm in alarms if alarm not in lasted]
    agreed = [alarm for alarm in others if _agreed(alarm, series)]
    yield f"| alarms raised, in all series | {len(alarms)} | |"
    yield f"| of these, the loss lasted for {LASTS} runs and more | {len(lasted)} | |"
    yield f"| another benchmark of the file system was low on these days | {len(agreed)} | |"
    yield f"| neither | {len(others) - len(agreed)} | |"


def _lasted(alarm: Raised, runs: Sequence[Sampled]) -> bool:
    before = [run.rate for run in runs if _day(run) < alarm.first][-BEFORE:-JUST_BEFORE]
    during = [run.rate for run in runs if alarm.first <= _day(run) <= alarm.last]
    return len(during) >= LASTS and bool(before) and median(during) <= LOW * median(before)


def _agreed(alarm: Raised, series: Series) -> bool:
    """Return whether half of the runs of another series were low at the same time."""
    begin = alarm.first - timedelta(days=JUST_BEFORE - 1)
    shares = [
        _share_low(runs, begin, alarm.last)
        for name, runs in series.items()
        if name != alarm.component and _place(name) == _place(alarm.component)
    ]
    return any(share is not None and share >= 1 / 2 for share in shares)


def _share_low(runs: Sequence[Sampled], begin: date, end: date) -> Optional[float]:
    before = [run.rate for run in runs if _day(run) < begin][-BEFORE:]
    during = [run.rate for run in runs if begin <= _day(run) <= end]
    if len(before) < MIN_BEFORE or not during:
        return None
    level = LOW * median(before)
    return sum(rate < level for rate in during) / len(during)


def _place(name: str) -> tuple[str, str]:
    """Return file system and direction: the first and third word of a series."""
    words = name.split()
    return words[0], words[2]


def _day(run: Sampled) -> date:
    return date.fromisoformat(run.day)
