"""Data of a site for the report: metrics, members, references, verdicts and courses."""

from __future__ import annotations

from array import array
from datetime import datetime, timezone
from math import isfinite, isnan, nan
from statistics import median
from typing import Collection, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

import numpy as np
from numpy.typing import NDArray

from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS
from plumbline.model.limits import Reference
from plumbline.model.quantity import BYTES_PER_S, Quantity
from plumbline.model.record import Operation, step_name
from plumbline.model.service import SitePart
from plumbline.model.space import SystemCourse
from plumbline.model.symptom import Symptom
from plumbline.model.trend import ConditionChange, Course, Note, PairTest, Run, VersionChange
from plumbline.model.units import DAY_S
from plumbline.model.verdict import State, Verdict
from plumbline.observe.coverage import LastRun
from plumbline.parts.report.rounds import Round


class Days(Mapping[int, float]):
    """Rates by days since the epoch, in order; eight bytes a day instead of a hundred in a dict."""

    __slots__ = ("_rates", "_span")

    def __init__(self, first: int, rates: NDArray[np.float64]) -> None:
        """Take a rate for each day from ``first`` on; NaN for no rate."""
        self._span = range(first, first + len(rates))
        self._rates = rates

    def __getitem__(self, day: int) -> float:
        """Return the rate of a day; raise KeyError if there is none."""
        if day not in self._span or isnan(rate := float(self._rates[day - self._span.start])):
            raise KeyError(day)
        return rate

    def __iter__(self) -> Iterator[int]:
        """Yield the days with a rate."""
        return iter((self._span.start + np.flatnonzero(~np.isnan(self._rates))).tolist())

    def __len__(self) -> int:
        """Return the number of days with a rate."""
        return len(self.rates())

    @property
    def span(self) -> range:
        """Return all days from the first to the last with a rate."""
        return self._span

    def rates(self) -> NDArray[np.float64]:
        """Return the existing rates."""
        return self._rates[~np.isnan(self._rates)]

    def among(self, days: range) -> list[float]:
        """Return the existing rates of a range of days, in order."""
        first, end = max(days.start, self._span.start), max(days.stop, self._span.start)
        part = self._rates[first - self._span.start : end - self._span.start]
        return [*part[~np.isnan(part)].tolist()]

    def over(self, days: range) -> NDArray[np.float64]:
        """Return a rate for each of ``days``, which must include ``span``; NaN for no rate."""
        rates = np.full(len(days), nan)
        rates[self._span.start - days.start : self._span.stop - days.start] = self._rates
        return rates


def spanned(members: Iterable[Days]) -> range:
    """Return all days from the first to the last with any rate; there must be one."""
    spans = [days.span for days in members]
    return range(min(span.start for span in spans), max(span.stop for span in spans))


def daily(times: Sequence[float], rates: Sequence[float], until: float) -> Days:
    """Return the median rate of each day before ``until``.

    Times are in seconds since the epoch; NaN rates are ignored.
    """
    at, rate = np.asarray(times, float), np.asarray(rates, float)
    drawn = (at >= 0) & (at < until) & ~np.isnan(rate)
    if not drawn.all():
        at, rate = at[drawn], rate[drawn]
    if not at.size:
        return Days(0, rate)
    day: NDArray[np.int64] = (at // DAY_S).astype(np.int64)
    if (np.diff(day) <= 0).any():
        order = np.lexsort((rate, day))
        day, first, runs = np.unique(day[order], return_index=True, return_counts=True)
        # both are the middle one of an odd number of runs
        rate = (rate[order][first + (runs - 1) // 2] + rate[order][first + runs // 2]) / 2
    span = int(day[-1] - day[0]) + 1
    if len(rate) == span:
        # nearly all: not copied, which would take a third of all memory
        return Days(int(day[0]), rate)
    medians = np.full(span, nan)
    medians[day - day[0]] = rate
    return Days(int(day[0]), medians)


class Metric(NamedTuple):
    """One operation of one layer in one scenario."""

    layer: str
    operation: str
    scenario: str

    def __str__(self) -> str:
        """Return e.g. ``ost write``, ``raw read together``."""
        return f"{self.layer} {self.step}"

    @property
    def step(self) -> str:
        """Return e.g. ``write``, ``read together``."""
        return step_name(self.operation, self.scenario)

    @property
    def quantity(self) -> Quantity:
        """Return the quantity of the operation."""
        return Operation(self.operation).quantity


class Member(NamedTuple):
    """One component in one metric; rates are None if unknown.

    ``days`` maps days since the epoch, in UTC, to the median rate of the day; ``now_rate`` is the
    latest rate.  ``times`` and ``rates`` are the single runs, in the order of arrival, of days that
    a chosen time or mark may divide.
    """

    entry: Expectation
    reference: Reference
    state: State
    sentence: str
    days: Days
    now_rate: Optional[float]
    now_at: Optional[float]
    times: Sequence[float] = ()
    rates: Sequence[float] = ()

    @property
    def name(self) -> str:
        """Return the component's name."""
        return self.entry.component

    @property
    def ceiling_rate(self) -> Optional[float]:
        """Return the ceiling."""
        return self.reference.ceiling.rate if self.reference.ceiling else None

    @property
    def baseline_rate(self) -> Optional[float]:
        """Return the baseline measured by its probe."""
        baseline = self.reference.baseline
        return baseline.median if baseline and not baseline.demonstrated else None

    @property
    def demonstrated_rate(self) -> Optional[float]:
        """Return the baseline, measured by its probe or demonstrated otherwise."""
        return self.reference.baseline.median if self.reference.baseline else None

    @property
    def below_floor(self) -> str:
        """Return the floor below which its baseline was accepted, with the reason; else empty."""
        baseline = self.reference.baseline
        return (
            f"{baseline.below_floor}: {baseline.reason}"
            if baseline and baseline.below_floor
            else ""
        )


class Look(NamedTuple):
    """Last look at one kind of a host's parts, or at all kinds if ``kind`` is empty.

    ``symptoms`` are ordered by severity; ``at`` is the time in epoch seconds, None if unknown.
    """

    host: str
    kind: str
    verdict: Verdict
    symptoms: tuple[Symptom, ...] = ()
    at: Optional[float] = None


class Site(NamedTuple):
    """All data of the report; ``now`` is in seconds since the epoch, ``verdicts`` has no groups.

    ``nodes`` has the measuring node by layer and component, ``unseen`` the hosts where nobody looks
    for symptoms, ``spaces`` the file systems whose space is read, ``last_runs`` those of the day
    before ``now``, ``rounds`` the last rounds of network tests, ``rails`` the latest tests of
    adapters.
    """

    name: str
    now: float
    expectations: Sequence[Expectation]
    parts: Mapping[str, SitePart]
    verdicts: Mapping[tuple[str, str], Verdict]
    groups: Mapping[tuple[str, str], Verdict]
    courses: Sequence[Course]
    pairs: Sequence[PairTest] = ()
    run: Optional[Run] = None
    notes: Sequence[Note] = ()
    changes: Sequence[VersionChange] = ()
    nodes: Mapping[tuple[str, str], str] = {}
    conditions: Sequence[ConditionChange] = ()
    looks: Sequence[Look] = ()
    unseen: Sequence[str] = ()
    spaces: Sequence[SystemCourse] = ()
    last_runs: Sequence[LastRun] = ()
    rounds: Sequence[Round] = ()
    rails: Sequence[PairTest] = ()

    @property
    def until(self) -> float:
        """Return the latest plausible time of a measurement; a host's clock may be wrong."""
        return self.now + DAY_S

    def dated_later(self) -> int:
        """Return the number of measurements dated after ``until``, which are not drawn."""
        until = self.until
        return sum(at >= until for course in self.courses for at in course.times)

    def without_runs(self) -> Site:
        """Return the site with only the ends of most courses, after metrics are found.

        The runs of a year of a large site take a third of all memory.
        """
        courses = [
            course if LAYERS[course.layer].whole else _ends(course, self.until)
            for course in self.courses
        ]
        return self._replace(courses=courses)

    def thinned_until(self) -> str:
        """Return the last day with a daily figure instead of runs, empty without any."""
        last = max(
            (course.times[course.days - 1] for course in self.courses if course.days), default=None
        )
        return "" if last is None else datetime.fromtimestamp(last, timezone.utc).date().isoformat()

    def state(self, layer: str, component: str) -> State:
        """Return the state of a component; UNKNOWN if not judged."""
        verdict = self.verdicts.get((layer, component))
        return verdict.state if verdict else State.UNKNOWN

    def sentence(self, layer: str, component: str) -> str:
        """Return the sentence of the verdict on a component."""
        verdict = self.verdicts.get((layer, component))
        return verdict.sentence if verdict else f"{component} was not judged"


Metrics = Mapping[Metric, Sequence[Member]]


def find_metrics(site: Site, against: Optional[float] = None) -> Metrics:
    """Return the members of each metric, expected or measured, with peers together.

    ``against`` is the time to compare with, in seconds since the epoch.  Single runs are kept for
    its day and the days of events at the site.
    """
    courses: dict[tuple[str, str], list[Course]] = {}
    for course in site.courses:
        courses.setdefault((course.layer, course.component), []).append(course)
    parted = _parted(site, against)
    metrics: dict[Metric, list[Member]] = {}
    for expectation in site.expectations:
        place = expectation.layer, expectation.component
        measured: dict[tuple[str, ...], list[Course]] = {}
        for course in courses.get(place, ()):
            measured.setdefault((course.operation, course.scenario), []).append(course)
        steps = dict.fromkeys(tuple(key.split("/", 1)) for key in expectation.references)
        for step in dict.fromkeys([*steps, *measured]):
            operation, scenario = step
            metric = Metric(expectation.layer, operation, scenario)
            metrics.setdefault(metric, []).append(
                _member(site, expectation, step, _Runs(measured.get(step, ()), parted))
            )
    return {metric: _side_by_side(members) for metric, members in metrics.items()}


class _Runs(NamedTuple):
    """All courses of one member, and the days for which its runs are kept."""

    courses: Sequence[Course]
    parted: Collection[int]


def _parted(site: Site, against: Optional[float]) -> Collection[int]:
    """Return the days of marks and of ``against``, which need single runs, no daily median."""
    moments = [note.at for note in site.notes] + [change.at for change in site.changes]
    moments += [change.at for change in site.conditions]
    moments += [] if against is None else [against]
    return {int(at // DAY_S) for at in moments if at % DAY_S}


def _ends(course: Course, until: float) -> Course:
    """Return the last daily figure of a course, and its measurements dated after ``until``."""
    places = [course.days - 1] if course.days else []
    if max(course.times, default=0.0) >= until:
        later = (place for place, at in enumerate(course.times) if at >= until)
        places += [place for place in later if place not in places]
    times, rates = (
        array("d", [values[place] for place in places]) for values in (course.times, course.rates)
    )
    return course._replace(times=times, rates=rates, days=min(course.days, 1))


def _side_by_side(members: Sequence[Member]) -> list[Member]:
    """Return members with peers together, otherwise in their order."""
    return [member for peers in by_group(members).values() for member in peers]


def by_group(members: Iterable[Member]) -> dict[str, list[Member]]:
    """Return the peers of each group, in their order."""
    groups: dict[str, list[Member]] = {}
    for member in members:
        groups.setdefault(member.entry.group, []).append(member)
    return groups


def _member(site: Site, entry: Expectation, step: tuple[str, ...], runs: _Runs) -> Member:
    """Return a member; the courses of a host with all partners are joined."""
    times, rates = _together(runs.courses)
    days, latest = daily(times, rates, site.until), _latest(times, rates, site.until)
    place = entry.layer, entry.component
    return Member(
        entry,
        _reference(entry, "/".join(step)),
        site.state(*place),
        site.sentence(*place),
        days,
        latest[1],
        latest[0],
        *_of_days(times, rates, runs.parted),
    )


def _together(courses: Sequence[Course]) -> tuple[Sequence[float], Sequence[float]]:
    """Return times and rates of courses; not copied for a single course."""
    if len(courses) == 1:
        return courses[0].times, courses[0].rates
    times, rates = array("d"), array("d")
    for course in courses:
        times.extend(course.times)
        rates.extend(course.rates)
    return times, rates


def _of_days(
    times: Sequence[float], rates: Sequence[float], days: Collection[int]
) -> tuple[Sequence[float], Sequence[float]]:
    if not days:
        return (), ()
    at, rate = np.asarray(times, float), np.asarray(rates, float)
    chosen = np.isin(at // DAY_S, [*days])
    return at[chosen].tolist(), rate[chosen].tolist()


def _latest(
    times: Sequence[float], rates: Sequence[float], until: float
) -> tuple[Optional[float], Optional[float]]:
    if times and max(times) == times[-1] < until and not isnan(rates[-1]):
        # the usual case: the latest arrived last
        return times[-1], rates[-1]
    latest: tuple[Optional[float], Optional[float]] = (None, None)
    last_at = -1.0
    for at, rate in zip(times, rates):
        if last_at <= at < until and not isnan(rate):
            last_at, latest = at, (at, rate)
    return latest


def _reference(entry: Expectation, key: str) -> Reference:
    """Return the references of a step; the ceiling of a host is the median over its partners."""
    reference = entry.references.get(key, Reference(None, None))
    in_bytes = Operation(key.partition("/")[0]).quantity == BYTES_PER_S
    if reference.ceiling is None and entry.partners and in_bytes:
        ceilings = sorted(
            (partner.ceiling for partner in entry.partners), key=lambda ceiling: ceiling.rate
        )
        return reference._replace(ceiling=ceilings[len(ceilings) // 2])
    return reference


def middle(rates: Iterable[Optional[float]]) -> Optional[float]:
    """Return the median of the finite rates, None without any."""
    finite = [rate for rate in rates if rate is not None and isfinite(rate)]
    return median(finite) if finite else None
