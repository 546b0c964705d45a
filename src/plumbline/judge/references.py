"""References of runs: peers of the day, baseline, own history.

Of a kind are the measurements of one layer, operation and file system that have the same ceiling,
whoever made them: those of one node where a node judges for itself, those of the whole site where
all records are together.

Samples come in the order of arrival, which is not that of their moments where a clock was stepped.

Peers of the same run or day take away what all of them share.  Where there are too few, the
baseline is the reference; without one, the measurement's own earlier runs.  A run of a few members,
such as one that confirms, is held against what these few usually give beside all others.  A run by
name is held against what its target would have given in the last run of all.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import chain
from math import hypot, log, sqrt
from statistics import median
from typing import Hashable, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import several
from plumbline.judge.runs import ALONE, BESIDE_PEERS, Run, Source
from plumbline.model.limits import Baseline, Limits
from plumbline.model.series import Sample
from plumbline.model.statistics import deviation, error_of_median
from plumbline.model.units import DAY_S

_PEERS = 4
"""Peers of one run whose median is a reference: one slow one among fewer makes others look fast."""


class Against(str, Enum):
    """What a run is held against."""

    RUN = "its peers in the same run"
    BASELINE = "its peers' shares of their baselines"
    RATE = "its peers of the same day"
    FEW = "its few peers in the same run"
    HISTORY = "its own earlier runs"
    ALONE = "its baseline"


FORMS = (Against.RUN, Against.BASELINE, Against.RATE)

Values = list[tuple[float, float]]
"""Moments in epoch seconds, and logarithms of what was measured, newest first."""


class Logarithms(NamedTuple):
    """What a measurement gave, newest first: moments in epoch seconds, and logarithms.

    ``peers`` is what the peers in the same run gave, None where these are too few for a reference;
    ``level`` that of the baseline, None where there is none.
    """

    moments: tuple[float, ...]
    rates: tuple[float, ...]
    peers: tuple[Optional[float], ...]
    level: Optional[float]

    def beside(self, form: Against) -> Values:
        """Return what is held against others in one of ``FORMS``."""
        if form is Against.RUN:
            every = zip(self.moments, self.rates, self.peers)
            return [(at, rate - peers) for at, rate, peers in every if peers is not None]
        if form is Against.RATE:
            return list(zip(self.moments, self.rates))
        level = self.level
        if level is None:
            return []
        return [(at, rate - level) for at, rate in zip(self.moments, self.rates)]


@dataclass(frozen=True)
class Measurement:
    """One operation of one component: its samples, newest first, and its baseline if it has one.

    ``kind`` is the key of what should give the same.  ``era`` is set where the baseline was taken
    before a change of software or settings.
    """

    kind: Hashable
    member: str
    samples: tuple[Sample, ...]
    baseline: Optional[Baseline]
    limits: Limits
    ceiling_Bps: Optional[float]
    era: Optional[Era] = None

    @cached_property
    def full(self) -> Logarithms:
        """Return what its runs gave, of those that say something and had all their peers."""
        return self._found[0]

    @cached_property
    def few(self) -> Logarithms:
        """Return the same of runs of a few members alone.

        These have fewer peers than others of its runs, too few for a reference.
        """
        return self._found[1]

    @cached_property
    def by_name(self) -> Logarithms:
        """Return the same of runs of this member alone, where others of its runs have peers."""
        return self._found[2]

    @cached_property
    def _found(self) -> tuple[Logarithms, Logarithms, Logarithms]:
        return _logarithms(self)


class Era(NamedTuple):
    """A time between two changes: what changed, in words, and when, in epoch seconds if known.

    ``with_group`` says that the whole group is held against what it gave before.
    """

    change: str
    since: Optional[float]
    with_group: bool


def speaking(
    measurement: Measurement, least_coverage: Optional[float] = None
) -> Iterator[tuple[Sample, float]]:
    """Yield the samples that say something, newest first, with the logarithm of their rate."""
    most = measurement.ceiling_Bps and measurement.limits.invalid_above * measurement.ceiling_Bps
    least = measurement.limits.min_coverage if least_coverage is None else least_coverage
    for sample in measurement.samples:
        coverage = sample.coverage
        if not sample.rate_Bps or sample.excluded or (coverage is not None and coverage < least):
            continue
        if not most or sample.rate_Bps <= most:
            yield sample, log(sample.rate_Bps)


def _logarithms(measurement: Measurement) -> tuple[Logarithms, Logarithms, Logarithms]:
    level = log(measurement.baseline.median_Bps) if measurement.baseline else None
    enough = min(_PEERS, max((sample.peers for sample in measurement.samples), default=0))
    full: list[_Run] = []
    few: list[_Run] = []
    by_name: list[_Run] = []
    for sample, rate in speaking(measurement):
        peers, peers_Bps = sample.peers, sample.peers_Bps
        if 0 < peers < enough:
            few.append((sample.started_at, rate, 0.0))
        elif peers < enough:
            by_name.append((sample.started_at, rate, None))
        else:
            known = log(peers_Bps) if peers_Bps and peers >= _PEERS else None
            full.append((sample.started_at, rate, known))
    return _sampled_apart(full, level), _sampled_apart(few, level), _sampled_apart(by_name, level)


_Run = tuple[float, float, Optional[float]]


def _sampled_apart(runs: Sequence[_Run], level: Optional[float]) -> Logarithms:
    """Return moments and logarithms each for themselves: of a large site a third of the memory."""
    moments, rates, peers = zip(*runs) if runs else ((), (), ())
    return Logarithms(moments, rates, peers, level)


LEAST = 5
"""Members, of which four are beside each: two slow ones among fewer make all others look fast."""
_MANY = 20
"""Of fewer members, what they differ by for good is not known from themselves alone."""
_DAYS = 3
"""Of fewer days no member's level is known."""

LEAST_SPREAD = 0.015
"""Even a steady measurement is off by this much: caches, zones of disks, timers."""
FEW_APART = 0.05
"""Good members differ by up to this (ORNL's acceptance limit), where nothing better is known."""
_LEAST_APART = 0.01


class Middle(NamedTuple):
    """What all of a kind gave on a day: the median of their logarithms.

    ``spread`` is the standard deviation of what one more value would differ from it by.
    """

    value: float
    spread: float


class Kind(NamedTuple):
    """What all of a kind gave, day by day, counted from the epoch.

    ``apart`` is what the members differ by for good, a standard deviation of logarithms;
    ``usual`` is by how much each differs from the middle on most days.
    """

    days: Mapping[int, Middle]
    apart: float
    usual: Mapping[str, float]

    def spread(self, day: int) -> float:
        """Return by what one value differs from the middle on a day, or on most; there is one."""
        found = self.days.get(day)
        return found.spread if found else median(one.spread for one in self.days.values())


_Days = tuple[int, ...]


def kind_of(given: Iterable[tuple[str, Values]]) -> Kind:
    """Return what members gave, each with its moments and logarithms, the asking one included."""
    alike = _by_days(given)
    of_days: defaultdict[int, list[float]] = defaultdict(list)
    for days, rows in alike.items():
        for day, column in zip(days, zip(*rows.values())):
            of_days[day] += column
    middles = {day: _middle(found) for day, found in of_days.items() if len(found) >= LEAST}
    usual: dict[str, float] = {}
    known: list[float] = []
    for days, rows in alike.items():
        places = [(place, middles[day].value) for place, day in enumerate(days) if day in middles]
        if places:
            found = {
                member: median([row[place] - middle for place, middle in places])
                for member, row in rows.items()
            }
            usual.update(found)
            known += found.values() if len(places) >= _DAYS else ()
    return Kind(middles, _apart(known), usual)


def _by_days(
    given: Iterable[tuple[str, Values]],
) -> Mapping[_Days, Mapping[str, Sequence[float]]]:
    """Return what members gave on each day, those together that have the same days: most do."""
    every: dict[str, Values] = {}
    for member, values in given:
        every[member] = [*every[member], *values] if member in every else values
    found: defaultdict[_Days, dict[str, Sequence[float]]] = defaultdict(dict)
    for member, values in every.items():
        days = tuple([day_of(at) for at, _ in values])
        row: Sequence[float] = [value for _, value in values]
        if len(set(days)) < len(days):
            days, row = _middles(days, row)
        found[days][member] = row
    return found


def _middles(days: _Days, values: Sequence[float]) -> tuple[_Days, Sequence[float]]:
    """Return each of some days once, with the middle of its values."""
    found: dict[int, list[float]] = {}
    for day, value in zip(days, values):
        found.setdefault(day, []).append(value)
    return tuple(found), [median(each) for each in found.values()]


def _middle(values: Sequence[float]) -> Middle:
    """Return the middle of a day.

    A deviation of few values is too small in the mean (Croux and Rousseeuw, 1992: n / (n - 0.8)),
    and their middle is uncertain itself.
    """
    middle, count = median(values), len(values)
    spread = deviation(values, middle) * count / (count - 0.8)
    return Middle(middle, max(LEAST_SPREAD, hypot(spread, error_of_median(spread, count))))


def _apart(levels: Sequence[float]) -> float:
    """Return what members differ by on most days; at least what good ones may where few tell."""
    if len(levels) < LEAST:
        return FEW_APART
    spread = deviation(levels) * len(levels) / (len(levels) - 0.8)
    return max(spread, _LEAST_APART if len(levels) >= _MANY else FEW_APART)


def day_of(at: float) -> int:
    """Return the day of a moment, in days since the epoch."""
    return int(at // DAY_S)


_SPREAD_ALONE = 0.05
"""What runs without peers differ by at least, as the steady benchmarks of a year did."""
_SPREAD_BUSY = 0.19
"""What single runs differ by on busy days of the year's benchmarks (simulate/noise.py)."""
_HALVED = 0.5
"""Of its usual coverage: a run that loses half and more to others is not its own."""
_BEFORE = 8
"""Earlier runs that stand for a level."""
_BESIDE_S = 1800.0
"""What begins within so many seconds of a run of a few is beside it: they take turns."""


class ComparedSource(NamedTuple):
    """A source for weighing, and what its runs are held against."""

    source: Source
    against: str


class _Fellows:
    """All measurements of a kind; what they gave is found when somebody asks."""

    def __init__(self) -> None:
        self.members: list[Measurement] = []

    @cached_property
    def kinds(self) -> dict[Against, Kind]:
        """Return what they gave in each form, that in which they differ least first."""
        found = [
            (
                form,
                kind_of(
                    (measurement.member, measurement.full.beside(form))
                    for measurement in self.members
                ),
            )
            for form in FORMS
        ]
        return dict(sorted(found, key=lambda pair: pair[1].apart))

    @cached_property
    def level(self) -> float:
        """Return the middle of their baselines, a logarithm; one of them has one."""
        return median(
            log(measurement.baseline.median_Bps)
            for measurement in self.members
            if measurement.baseline
        )

    @cached_property
    def of_few(self) -> list[Measurement]:
        """Return those that have runs of a few members alone."""
        return [measurement for measurement in self.members if measurement.few.moments]


class References:
    """Finds what each measurement is held against, once all of them are known."""

    def __init__(self, measurements: Sequence[Measurement]) -> None:
        """Collect the measurements of each kind."""
        self._of_kind: defaultdict[Hashable, _Fellows] = defaultdict(_Fellows)
        for measurement in measurements:
            self._of_kind[measurement.kind].members.append(measurement)

    def of(self, measurement: Measurement) -> Optional[ComparedSource]:
        """Return the runs of a measurement beside their reference, None where there is none."""
        fellows = self._of_kind[measurement.kind]
        if _accepted_low(measurement, fellows):
            source = _beside(measurement, Against.BASELINE, fellows)
            return source or beside_baseline(measurement)
        for form in fellows.kinds:
            source = _beside(measurement, form, fellows)
            if source:
                return (
                    (beside_baseline(measurement) or source) if _differ_widely(source) else source
                )
        return beside_baseline(measurement) or _few(measurement) or _own_history(measurement)


def _beside(measurement: Measurement, form: Against, fellows: _Fellows) -> Optional[ComparedSource]:
    """Return the runs of days with peers, None where there are none."""
    kind = fellows.kinds[form]
    runs = [
        Run(at, value - day.value, day.spread)
        for at, value in measurement.full.beside(form)
        if (day := kind.days.get(day_of(at)))
    ]
    if not runs:
        return None
    if measurement.few.moments:
        runs += _of_a_few(measurement, form, fellows)
    if measurement.by_name.moments:
        runs += _by_name(measurement, form, kind)
    return ComparedSource(Source(tuple(sorted(runs)), kind.apart), form.value)


def _of_a_few(measurement: Measurement, form: Against, fellows: _Fellows) -> Iterator[Run]:
    """Yield the runs that a few members made, beside what the others of them usually give."""
    kind = fellows.kinds[form]
    others = [
        (when, one.member, other)
        for one in fellows.of_few
        if one.member != measurement.member
        for when, other in one.few.beside(form)
    ]
    for at, value in measurement.few.beside(form):
        beside = [
            other - kind.usual[member]
            for when, member, other in others
            if abs(when - at) <= _BESIDE_S and member in kind.usual
        ]
        if beside:
            usual = kind.spread(day_of(at))
            off = value - _middle_of_few(beside, usual)
            spread = _spread_of_a_few(kind, day_of(at), off)
            yield Run(at, off, spread * sqrt(1 + 1 / len(beside)))


_UPPER_OF_TWO = 0.5642
"""The upper of two values is above their mean by so many standard deviations, in the mean."""


def _middle_of_few(values: Sequence[float], spread: float) -> float:
    """Return what a few controls gave: of two the upper one, for one that was disturbed is low."""
    if len(values) == 2:
        return max(values) - _UPPER_OF_TWO * spread
    return median(values)


def _spread_of_a_few(kind: Kind, day: int, off: float) -> float:
    """Return the spread of single runs on a day on which one of them is off by so much.

    Without a run of all members nobody knows whether the day is busy.  What a busy day explains is
    taken to be one, and a run like the others shows that it is none.
    """
    usual = kind.spread(day)
    return usual if day in kind.days else max(usual, min(_SPREAD_BUSY, abs(off)))


def _by_name(measurement: Measurement, form: Against, kind: Kind) -> Iterator[Run]:
    """Yield the runs by name, compared with what the last run of all before each would have given.

    What the members share has changed since by as much as between two such runs.
    """
    full = measurement.full
    rates = dict(zip(full.moments, full.rates))
    # the rate as it would have been in the middle of the peers
    levels = [
        (at, rates[at] - value + kind.days[day_of(at)].value)
        for at, value in reversed(full.beside(form))
        if day_of(at) in kind.days
    ]
    moments = [at for at, _ in levels]
    drift = _drift([level for _, level in levels])
    for at, rate in zip(measurement.by_name.moments, measurement.by_name.rates):
        last, level = levels[max(0, bisect_right(moments, at) - 1)]
        yield Run(at, rate - level, hypot(kind.days[day_of(last)].spread, drift))


def _drift(levels: Sequence[float]) -> float:
    """Return what a shared level changes by between two runs, a standard deviation."""
    changes = [after - before for before, after in zip(levels, levels[1:])]
    return max(_SPREAD_ALONE, deviation(changes, 0.0)) if changes else _SPREAD_ALONE


def _accepted_low(measurement: Measurement, fellows: _Fellows) -> bool:
    """Return whether a person has accepted that a component is slower than its peers."""
    if measurement.baseline is None:
        return False
    beside = log(measurement.baseline.median_Bps) - fellows.level
    return beside < log(1 - measurement.limits.peer_loss) / 2


def _differ_widely(source: ComparedSource) -> bool:
    """Return whether peers differ by more than busy days take: some of them are slow themselves."""
    return median(run.spread for run in source.source.runs) > ALONE.tail


def _every_value(measurement: Measurement) -> list[tuple[float, float]]:
    """Return moments and logarithms beside the baseline of all runs, the oldest first."""
    every = measurement.full, measurement.few, measurement.by_name
    return sorted(chain.from_iterable(each.beside(Against.BASELINE) for each in every))


def beside_baseline(measurement: Measurement) -> Optional[ComparedSource]:
    """Return the runs beside the baseline, busy days and all."""
    values = _every_value(measurement)
    if (
        measurement.baseline is None
        or not values
        or (measurement.era and measurement.era.with_group)
    ):
        return None
    spread = max(_SPREAD_ALONE, measurement.baseline.spread)
    off = max(LEAST_SPREAD, error_of_median(spread, max(1, measurement.baseline.runs)))
    runs = tuple(Run(at, value, spread) for at, value in values)
    return ComparedSource(Source(runs, off, ALONE), baseline_words([measurement]))


def common(measured: Sequence[Measurement], members: int) -> Optional[ComparedSource]:
    """Return what members of a group gave as one beside their baselines, day by day.

    A day counts where more than half of all ``members`` were measured, by their upper median: of
    two, one that is slow is not both.  None where half of them have no baseline, or no day counts.
    """
    measurements = [one for one in measured if one.baseline]
    days: dict[int, list[tuple[float, float]]] = {}
    for measurement in measurements:
        for day, values in _by_day(measurement.full.beside(Against.BASELINE)).items():
            days.setdefault(day, []).append(values)
    runs = [_together(values) for values in days.values() if 2 * len(values) > members]
    if not runs:
        return None
    fewest = min(one.baseline.runs for one in measurements if one.baseline)
    off = max(LEAST_SPREAD, error_of_median(_SPREAD_ALONE, max(1, fewest)))
    return ComparedSource(Source(tuple(sorted(runs)), off, ALONE), baseline_words(measurements))


def _by_day(values: Values) -> dict[int, tuple[float, float]]:
    """Return the first moment of each day, and the middle of its values."""
    once = {day_of(one[0]): one for one in values}
    if len(once) == len(values):
        return once
    days: dict[int, list[tuple[float, float]]] = {}
    for one in values:
        days.setdefault(day_of(one[0]), []).append(one)
    return {
        day: (min(at for at, _ in found), median(value for _, value in found))
        for day, found in days.items()
    }


def _together(values: Sequence[tuple[float, float]]) -> Run:
    """Return what members gave on a day as one run."""
    ordered = sorted(value for _, value in values)
    middle = ordered[len(ordered) // 2]
    error = error_of_median(deviation(ordered, middle), len(ordered))
    return Run(min(at for at, _ in values), middle, hypot(_SPREAD_ALONE, error))


def baseline_words(members: Sequence[Measurement]) -> str:
    """Return what a baseline is called: after a change that of the era before."""
    changes = dict.fromkeys(measurement.era.change for measurement in members if measurement.era)
    if not changes:
        return Against.ALONE.value
    return f"the baseline from before {several(list(changes))}"


def _few(measurement: Measurement) -> Optional[ComparedSource]:
    """Return the runs beside one to three peers, of which each may be odd itself.

    So few do not tell whether the day is busy, so all runs may differ as on busy ones.  A run by
    name is held against the peers of the last run that had some.
    """
    runs: list[Run] = []
    peers_Bps: Optional[float] = None
    for sample, rate in reversed([*speaking(measurement)]):
        peers_Bps = sample.peers_Bps or peers_Bps
        if peers_Bps:
            spread = hypot(_SPREAD_BUSY, _SPREAD_BUSY)
            runs.append(Run(sample.started_at, rate - log(peers_Bps), spread))
    if not runs:
        return None
    return ComparedSource(Source(tuple(sorted(runs)), FEW_APART, BESIDE_PEERS), Against.FEW.value)


def _usual(measurement: Measurement) -> float:
    """Return the coverage below which a run is more contended than its own earlier ones.

    What others always use as much takes as much from all runs.
    """
    known = [sample.coverage for sample in measurement.samples if sample.coverage is not None]
    return min(measurement.limits.min_coverage, _HALVED * median(known)) if known else 0.0


def _own_history(measurement: Measurement) -> Optional[ComparedSource]:
    """Return the newer half of the runs beside the median of the older one."""
    values = sorted(
        (sample.started_at, rate) for sample, rate in speaking(measurement, _usual(measurement))
    )
    count = max(_BEFORE, len(values) // 2)
    if len(values) <= count:
        return None
    before = [rate for _, rate in values[:count]]
    level, spread = median(before), max(_SPREAD_ALONE, deviation(before))
    runs = tuple(Run(at, rate - level, spread) for at, rate in values[count:])
    return ComparedSource(
        Source(runs, error_of_median(spread, count), ALONE), Against.HISTORY.value
    )
