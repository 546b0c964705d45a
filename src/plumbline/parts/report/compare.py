"""Two periods or runs of a site side by side, to see the effect of an upgrade.

Every test of every layer is compared by the same components: the median rate of each in one period
and in the other.  Red Storm's authors compared their harness in this way before and after each
upgrade, and Edison's report its tests by month.
"""

from __future__ import annotations

from array import array
from math import hypot, log
from pathlib import Path
from typing import Iterable, Iterator, NamedTuple, Optional, Sequence

from plumbline.model.layers import LAYERS
from plumbline.model.quantity import Quantity
from plumbline.model.statistics import deviation, error_of_median
from plumbline.model.trend import Course
from plumbline.parts.report.change import split
from plumbline.parts.report.marks import marks
from plumbline.parts.report.read import condition_changes
from plumbline.parts.report.site import Member, Metrics, Site, find_metrics, middle
from plumbline.store.collection import read_notes
from plumbline.store.plan import SitePlan
from plumbline.store.trends import Pictures

APART = 0.15
"""A component is named if its change of rate differs from the median by more than this."""


class Period(NamedTuple):
    """Time from ``begin`` until ``end``, in seconds since the epoch, with its typed name.

    ``spans`` are the begins and ends of its parts, if it was typed as a list of them.
    """

    begin: float
    end: float
    name: str
    spans: tuple[tuple[float, float], ...] = ()

    @classmethod
    def of(cls, periods: Sequence[Period]) -> Period:
        """Return several periods as one with gaps, such as every other night."""
        if len(periods) == 1:
            return periods[0]
        spans = tuple((period.begin, period.end) for period in periods)
        name = ",".join(period.name for period in periods)
        return cls(min(begin for begin, _ in spans), max(end for _, end in spans), name, spans)

    def holds(self, at: float) -> bool:
        """Return whether a moment lies in it."""
        return any(begin <= at < end for begin, end in self.spans or ((self.begin, self.end),))


class Test(NamedTuple):
    """One test in both periods; ``members`` components were measured in both.

    ``ceiling``, ``before`` and ``after`` are medians over them, rates of ``quantity``; ``change``
    is the median of their changes, a fraction; ``ceiling`` is None if unknown.  ``error`` is the
    standard error of the change by the spread of the runs, a fraction; None if no component has two
    runs in each period.
    """

    name: str
    quantity: Quantity
    members: int
    ceiling: Optional[float]
    before: float
    after: float
    change: float
    error: Optional[float]
    apart: tuple[tuple[str, float], ...]
    """Components whose change differs from the median change, with their changes."""


class Comparison(NamedTuple):
    """Tests, the largest loss first; ``lost`` were measured in one period only."""

    tests: tuple[Test, ...]
    lost: tuple[str, ...]
    between: tuple[tuple[float, str], ...]
    """Times and texts of events from the begin of the first period to the end of the last."""


def compare(plan: SitePlan, path: Path, before: Period, after: Period) -> Comparison:
    """Return the comparison of two periods.

    Raises:
        StoreError: there is no such history, or it cannot be read.
        DocumentError: the plan or a record is damaged.
    """
    since = min(before.begin, after.begin)
    with Pictures(path, since) as pictures:
        site = Site(
            name=plan.site,
            now=max(before.end, after.end),
            expectations=[entry for entries in plan.measured().values() for entry in entries],
            parts=plan.parts,
            verdicts={},
            groups={},
            courses=pictures.courses(),
            notes=read_notes(path),
            changes=pictures.version_changes(),
            conditions=condition_changes(plan, path, since),
        )
    first, second = (_metrics(site, period) for period in (before, after))
    tests, lost = [], []
    for metric in sorted(first, key=lambda metric: LAYERS[metric.layer].depth):
        later = {member.name: member for member in second[metric]}
        for name, members in split(metric, first[metric]).items():
            pairs = [(member, later[member.name]) for member in members]
            measured = [pair for pair in pairs if all(member.days for member in pair)]
            if measured:
                tests.append(_test(name, metric.quantity, measured))
            elif any(member.days for pair in pairs for member in pair):
                lost.append(name)
    between = ((mark.at, mark.text) for mark in marks(site) if since <= mark.at < site.now)
    tests.sort(key=lambda test: test.change)
    return Comparison(tuple(tests), tuple(lost), tuple(between))


def period_of_run(path: Path, run_id: str) -> Optional[Period]:
    """Return the period of a run, None if the history has no run of this name.

    Raises:
        StoreError: there is no such history, or it cannot be read.
    """
    query = "SELECT min(started_at), max(started_at) FROM records WHERE run_id = ?"
    with Pictures(path, 0.0) as pictures:
        ((begin, end),) = pictures.table(query, (run_id,))
    return None if begin is None else Period(begin, end + 1e-3, run_id)


def _metrics(site: Site, period: Period) -> Metrics:
    return find_metrics(site._replace(courses=[_within(course, period) for course in site.courses]))


def _within(course: Course, period: Period) -> Course:
    runs = [run for run in zip(course.times, course.rates) if period.holds(run[0])]
    times, rates = (array("d", values) for values in zip(*runs)) if runs else (array("d"),) * 2
    return course._replace(times=times, rates=rates, days=0)


def _test(name: str, quantity: Quantity, pairs: Sequence[tuple[Member, Member]]) -> Test:
    rows = list(_rows(pairs))
    change = middle(after / before - 1 for _, before, after, _ in rows)
    assert change is not None
    apart = [
        (component, after / before - 1)
        for component, before, after, _ in rows
        if len(rows) > 1 and abs((after / before) / (1 + change) - 1) > APART
    ]
    return Test(
        name,
        quantity,
        len(rows),
        middle(ceiling for *_, ceiling in rows),
        middle(before for _, before, _, _ in rows) or 0.0,
        middle(after for _, _, after, _ in rows) or 0.0,
        change,
        middle(_error(*pair) for pair in pairs),
        tuple(sorted(apart, key=lambda component: -abs(log((1 + component[1]) / (1 + change))))),
    )


def _error(first: Member, second: Member) -> Optional[float]:
    """Return the standard error of a component's change, None without two runs in each period."""
    logs = [[log(rate) for rate in member.days.values() if rate] for member in (first, second)]
    if min(map(len, logs)) < 2:
        return None
    return hypot(*(error_of_median(deviation(rates), len(rates)) for rates in logs))


def _rows(
    pairs: Iterable[tuple[Member, Member]],
) -> Iterator[tuple[str, float, float, Optional[float]]]:
    for first, second in pairs:
        before, after = middle(first.days.values()), middle(second.days.values())
        if before and after:
            yield first.name, before, after, first.ceiling_rate
