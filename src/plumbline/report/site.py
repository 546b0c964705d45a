"""A site as pictures need it: metrics, members, references, verdicts and courses."""

from __future__ import annotations

from array import array
from datetime import datetime, timezone
from itertools import compress
from math import isfinite, isnan, nan
from statistics import median
from typing import Collection, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS
from plumbline.model.limits import Reference
from plumbline.model.quantity import Quantity
from plumbline.model.record import Operation, step_name
from plumbline.model.service import SitePart
from plumbline.model.trend import ConditionChange, Course, Note, PairTest, Run, VersionChange
from plumbline.model.units import DAY_S
from plumbline.model.verdict import State, Verdict
from plumbline.observe.symptom import Symptom

_NONE = array("d", [nan])


class Days(Mapping[int, float]):
    """Rates by days since the epoch, in the order of the days.

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
    spans = [days.span for days in every]
    return range(min(span.start for span in spans), max(span.stop for span in spans))


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
    days.update((day, median(runs)) for day, runs in several.items())
    return Days(days)


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
        """Return the quantity that the operation gives."""
        return Operation(self.operation).quantity


class Member(NamedTuple):
    """One component in one metric; rates are None where there is none.

    ``days`` maps days since the epoch, in UTC, to the median rate of that day; ``now_rate`` is the
    latest.  ``times`` and ``rates`` are the runs, in the order of arrival, of those days that a
    moment may part.
    """

    of: Expectation
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
        return self.of.component

    @property
    def ceiling_rate(self) -> Optional[float]:
        """Return what no healthy measurement exceeds."""
        return self.reference.ceiling.rate if self.reference.ceiling else None

    @property
    def baseline_rate(self) -> Optional[float]:
        """Return the median of what its probe has given."""
        baseline = self.reference.baseline
        return baseline.median if baseline and not baseline.demonstrated else None

    @property
    def demonstrated_rate(self) -> Optional[float]:
        """Return the median of what it has given, whether its probe has measured it or not."""
        return self.reference.baseline.median if self.reference.baseline else None

    @property
    def below_floor(self) -> str:
        """Return below which floor its baseline was accepted and why, empty where it was not."""
        baseline = self.reference.baseline
        return (
            f"{baseline.below_floor}: {baseline.reason}"
            if baseline and baseline.below_floor
            else ""
        )


class Look(NamedTuple):
    """The last look at one kind of a host's parts; at all of them where ``kind`` is empty.

    ``symptoms`` are the gravest first, ``at`` is when it looked, in seconds since the epoch, None
    where that is not known.
    """

    host: str
    kind: str
    verdict: Verdict
    symptoms: tuple[Symptom, ...] = ()
    at: Optional[float] = None


class Site(NamedTuple):
    """All that is drawn; ``now`` is in seconds since the epoch, ``verdicts`` has no groups.

    ``nodes`` says by layer and component which node measures it, ``unseen`` are hosts at which
    nobody looks for symptoms.
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

    @property
    def until(self) -> float:
        """Return the latest believable time of a measurement, whatever a host's clock says."""
        return self.now + DAY_S

    def dated_later(self) -> int:
        """Return how many measurements are dated after that, which are not drawn."""
        until = self.until
        return sum(at >= until for course in self.courses for at in course.times)

    def without_runs(self) -> Site:
        """Return what is drawn when metrics are found: of most courses only the ends.

        The runs of a year of a large site are a third of all that is kept.
        """
        kept = [
            course if LAYERS[course.layer].whole else _ends(course, self.until)
            for course in self.courses
        ]
        return self._replace(courses=kept)

    def thinned_until(self) -> str:
        """Return the last day of which a daily figure stands for its runs, empty without any."""
        last = max(
            (course.times[course.days - 1] for course in self.courses if course.days), default=None
        )
        return "" if last is None else datetime.fromtimestamp(last, timezone.utc).date().isoformat()

    def state(self, layer: str, component: str) -> State:
        """Return the state of a component; what was not judged is UNKNOWN."""
        verdict = self.verdicts.get((layer, component))
        return verdict.state if verdict else State.UNKNOWN

    def sentence(self, layer: str, component: str) -> str:
        """Return the sentence of the verdict on a component."""
        verdict = self.verdicts.get((layer, component))
        return verdict.sentence if verdict else f"{component} was not judged"


Metrics = Mapping[Metric, Sequence[Member]]


def find_metrics(site: Site, against: Optional[float] = None) -> Metrics:
    """Return all that is expected, or was measured of an expected component, peers together.

    ``against`` is the moment with which somebody compares, in seconds since the epoch.  Of its day,
    and of those of what has happened at the site, the runs are kept.
    """
    courses, parted = _courses(site.courses), _parted(site, against)
    metrics: dict[Metric, list[Member]] = {}
    for expectation in site.expectations:
        place = expectation.layer, expectation.component
        measured = courses.get(place, {})
        steps = dict.fromkeys(tuple(key.split("/", 1)) for key in expectation.references)
        for step in dict.fromkeys([*steps, *measured]):
            operation, scenario = step
            metric = Metric(expectation.layer, operation, scenario)
            metrics.setdefault(metric, []).append(
                _member(site, expectation, step, _Runs(measured.get(step, ()), parted))
            )
    return {of: _side_by_side(members) for of, members in metrics.items()}


class _Runs(NamedTuple):
    """All courses of one member, and the days of which its runs are kept."""

    courses: Sequence[Course]
    parted: Collection[int]


def _parted(site: Site, against: Optional[float]) -> Collection[int]:
    """Return the days of marks and of ``against``: they need single runs, not a daily median."""
    moments = [note.at for note in site.notes] + [change.at for change in site.changes]
    moments += [change.at for change in site.conditions]
    moments += [] if against is None else [against]
    return {int(at // DAY_S) for at in moments if at % DAY_S}


def _ends(course: Course, until: float) -> Course:
    """Return the last daily figure of a course, and what is dated from a moment on."""
    places = [course.days - 1] if course.days else []
    if max(course.times, default=0.0) >= until:
        later = (place for place, at in enumerate(course.times) if at >= until)
        places += [place for place in later if place not in places]
    times, rates = (
        array("d", [every[place] for place in places]) for every in (course.times, course.rates)
    )
    return course._replace(times=times, rates=rates, days=min(course.days, 1))


def _side_by_side(members: Sequence[Member]) -> list[Member]:
    """Return members with peers together, else in their order."""
    return [member for peers in by_group(members).values() for member in peers]


def by_group(members: Iterable[Member]) -> dict[str, list[Member]]:
    """Return the peers of each group, in their order."""
    groups: dict[str, list[Member]] = {}
    for member in members:
        groups.setdefault(member.of.group, []).append(member)
    return groups


def _courses(
    courses: Iterable[Course],
) -> dict[tuple[str, str], dict[tuple[str, ...], list[Course]]]:
    places: dict[tuple[str, str], dict[tuple[str, ...], list[Course]]] = {}
    for course in courses:
        steps = places.setdefault((course.layer, course.component), {})
        steps.setdefault((course.operation, course.scenario), []).append(course)
    return places


def _member(site: Site, entry: Expectation, step: tuple[str, ...], runs: _Runs) -> Member:
    """Return a member; a host's courses with all its partners are one."""
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
    """Return moments and rates of some courses; those of one are its own, and not copied."""
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
    """Return moments and rates of some days."""
    if not days:
        return (), ()
    kept = [int(at // DAY_S) in days for at in times]
    return array("d", compress(times, kept)), array("d", compress(rates, kept))


def _latest(
    times: Sequence[float], rates: Sequence[float], until: float
) -> tuple[Optional[float], Optional[float]]:
    """Return moment and rate of the latest measurement before a moment."""
    if times and max(times) == times[-1] < until and not isnan(rates[-1]):
        # as nearly always: it has come last
        return times[-1], rates[-1]
    latest: tuple[Optional[float], Optional[float]] = (None, None)
    last_at = -1.0
    for at, rate in zip(times, rates):
        if last_at <= at < until and not isnan(rate):
            last_at, latest = at, (at, rate)
    return latest


def _reference(entry: Expectation, key: str) -> Reference:
    """Return the references of a step; a host's ceiling is that of its middle partner."""
    reference = entry.references.get(key, Reference(None, None))
    if reference.ceiling is None and entry.partners:
        ceilings = sorted(
            (each.ceiling for each in entry.partners), key=lambda ceiling: ceiling.rate
        )
        return reference._replace(ceiling=ceilings[len(ceilings) // 2])
    return reference


def middle(rates: Iterable[Optional[float]]) -> Optional[float]:
    """Return the median of the rates that there are, None without any."""
    finite = [rate for rate in rates if rate is not None and isfinite(rate)]
    return median(finite) if finite else None
