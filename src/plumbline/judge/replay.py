"""Judge samples recorded elsewhere, day after day.

Peers are compared within a run.  Recorders that poll their disks one after another give each its
own time stamp, and without a window none of them would have peers.

For a component with peers the median of each day relative to them is a run; without peers each
sample is one.
"""

from __future__ import annotations

from itertools import groupby
from math import exp
from operator import attrgetter
from statistics import median
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.judging import Judging
from plumbline.judge.weighing import Weighing, weigh_all
from plumbline.model.evidence import MONTH_S, Evidence, odds_within
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Baseline, Limits, Reference
from plumbline.model.record import Operation, Outcome, Record, Scenario
from plumbline.model.series import Running, Sample, Sampled, Samples, Series
from plumbline.model.spec import ProbeSpec
from plumbline.model.statistics import Day, compare_day, midmean
from plumbline.model.units import DAY_S
from plumbline.model.verdict import Verdict

Run = Sequence[Sampled]


class StaggeredHost(NamedTuple):
    """A host whose components were never measured at the same moment.

    ``round_s`` is the time for one sample of each, the median over all rounds; ``hosts`` counts
    such hosts, this one being the first.
    """

    host: str
    components: int
    round_s: float
    hosts: int


def bring_together(rows: Iterable[Sampled], window_s: float) -> list[Sampled]:
    """Return samples with the moment and day at which their run began.

    A run of a host ends ``window_s`` seconds after its first sample, or before a second sample of
    the same component.
    """
    return [
        row._replace(at=run[0].at, day=run[0].day)
        for samples in _hosts(rows)
        for run in _runs(samples, window_s)
        for row in run
    ]


def never_together(rows: Iterable[Sampled]) -> Optional[StaggeredHost]:
    """Return the first host with several components and no two at one moment, None without one."""
    hosts = [samples for samples in _hosts(rows) if _is_staggered(samples)]
    if not hosts:
        return None
    first = hosts[0]
    rounds = [run for run in _runs(first, float("inf")) if len(run) > 1]
    round_s = median(run[-1].at - run[0].at for run in rounds)
    return StaggeredHost(first[0].host, len(_components(first)), round_s, len(hosts))


def _hosts(rows: Iterable[Sampled]) -> Iterator[list[Sampled]]:
    ordered = sorted(rows, key=attrgetter("host", "at"))
    for _, samples in groupby(ordered, key=attrgetter("host")):
        yield list(samples)


def _runs(host_samples: Iterable[Sampled], window_s: float) -> Iterator[Run]:
    """Yield the runs of a host; samples of one moment stay in one run."""
    run: list[Sampled] = []
    for at, at_once in groupby(host_samples, key=attrgetter("at")):
        samples = list(at_once)
        if run and (at - run[0].at > window_s or _components(run) & _components(samples)):
            yield run
            run = []
        run += samples
    if run:
        yield run


def _components(rows: Iterable[Sampled]) -> set[str]:
    return {row.component for row in rows}


def _is_staggered(samples: Sequence[Sampled]) -> bool:
    runs = _runs(samples, 0.0)
    return len(_components(samples)) > 1 and all(len(_components(run)) == 1 for run in runs)


_STEP = (Operation.READ, Scenario.SINGLE)
_SPEC = ProbeSpec("recorded", 0, 0.0)


class DayVerdict(NamedTuple):
    """The verdict on a component at the end of a day, from that day and those before.

    ``evidence`` is that of these days together, None if they cannot be compared.
    """

    host: str
    component: str
    day: str
    verdict: Verdict
    evidence: Optional[Evidence] = None

    def to_json(self, unit: str) -> dict[str, Any]:
        """Return the line for programs; ``ratio`` is rate / reference, below 1 is slower."""
        verdict = self.verdict
        ratios = (verdict.ratio_baseline, verdict.ratio_peers, verdict.ratio_runs)
        return {
            "host": self.host,
            "component": self.component,
            "day": self.day,
            "state": verdict.state.name,
            "reason": verdict.reason.value,
            "ratio": next((ratio for ratio in ratios if ratio is not None), None),
            "sentence": self.sentence(unit),
        }

    def sentence(self, unit: str) -> str:
        """Return the sentence, with the file's unit instead of a verdict's ``B/s``."""
        return self.verdict.sentence.replace("B/s", unit)


def default_limits(rows: Iterable[Sampled], budget: float = 1.0) -> Limits:
    """Return the default limits if each component is judged once a day.

    ``budget`` is the number of false alarms in a month over all components.
    """
    components = {(row.host, row.component) for row in rows}
    days = MONTH_S / DAY_S
    return Limits(
        alarm_odds=odds_within(budget, len(components) * days),
        end_odds=odds_within(budget, days),
    )


def replay(rows: Iterable[Sampled], limits: Limits) -> Iterator[DayVerdict]:
    """Yield a verdict for each component and day, host by host; ``rows`` may come in any order."""
    ordered = sorted(rows, key=attrgetter("host", "day", "at"))
    for _, host_rows in groupby(ordered, key=attrgetter("host")):
        memory = _Memory(limits)
        days = [
            memory.take(day, list(day_rows))
            for day, day_rows in groupby(host_rows, key=attrgetter("day"))
        ]
        weigh_all([day.weighing for day in days])
        for day in days:
            yield from day.judged()


class _Memory:
    """Samples of one host's components up to a day."""

    running: tuple[Running, ...] = ()

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._samples: dict[str, Samples] = {}
        self._latest: dict[str, Sampled] = {}

    def of(self, layer: str, component: str) -> tuple[Series, ...]:
        """Return the one series of a component, as a history does."""
        del layer
        row, samples = self._latest[component], self._samples[component]
        return (Series(_record(row, samples[0]), samples),)

    def changed_at(self, latest: Record) -> Optional[float]:
        """Return None: nothing is known of versions."""
        del latest
        return None

    def take(self, day: str, rows: Sequence[Sampled]) -> _Day:
        """Add the rows of one day, in the order of time, and return the day's measurements."""
        usable = [row for row in rows if not self._limits.contended(row.coverage)]
        runs = [
            {row.component: row.rate for row in run}
            for _, run in groupby(usable, key=attrgetter("at"))
        ]
        losses = compare_day(runs)
        by_component: dict[str, list[Sampled]] = {}
        for row in rows:
            by_component.setdefault(row.component, []).append(row)
        for component, own in by_component.items():
            self._latest[component] = own[-1]
            if component in losses:
                self._remember(_day_sample(own, losses[component], self._limits), component)
            else:
                for row in own:
                    self._remember(_sample(row), component)
        expected = [_expectation(row, self._limits) for row in self._latest.values()]
        series = {
            expectation.component: (expectation, self.of(expectation.layer, expectation.component))
            for expectation in expected
            if expectation.component in by_component
        }
        return _Day(day, series, Weighing({"": expected}, {"": self}))

    def _remember(self, sample: Sample, component: str) -> None:
        self._samples[component] = self._samples.get(component, Samples.of(())).then(sample)


class _Day(NamedTuple):
    """Measurements of a day: each component with its series until then."""

    day: str
    series: Mapping[str, tuple[Expectation, tuple[Series, ...]]]
    weighing: Weighing
    running: tuple[Running, ...] = ()

    def of(self, layer: str, component: str) -> tuple[Series, ...]:
        """Return the one series of a component, as a history does."""
        del layer
        return self.series[component][1]

    def judged(self) -> Iterator[DayVerdict]:
        for expectation, series in self.series.values():
            judging = Judging(self, self.weighing, series[0].latest.finished_at)
            yield DayVerdict(
                expectation.host,
                expectation.component,
                self.day,
                judging.component(expectation),
                self.weighing.evidence(expectation.subject),
            )


def _day_sample(rows: Sequence[Sampled], day: Day, limits: Limits) -> Sample:
    """Return one run for a day, with its samples as the repeats."""
    rate = midmean([row.rate for row in rows if not limits.contended(row.coverage)])
    return Sample(rows[-1].at, rate, None, rate * exp(day.loss), day.peers, None)


def _sample(row: Sampled) -> Sample:
    return Sample(row.at, row.rate, row.coverage, None, 0, None)


def _record(row: Sampled, sample: Sample) -> Record:
    return Record(
        id="",
        run_id="",
        layer=_LAYER,
        component=row.component,
        operation=_STEP[0],
        scenario=_STEP[1],
        outcome=Outcome.OK,
        host=row.host,
        started_at=sample.started_at,
        finished_at=sample.started_at,
        seconds=1.0,
        rate=sample.rate,
        coverage=sample.coverage,
        spec_hash=_SPEC.hash(),
    )


_LAYER = "recorded"


def _expectation(row: Sampled, limits: Limits) -> Expectation:
    references: Mapping[str, Reference] = {
        f"{_STEP[0].value}/{_STEP[1].value}": Reference(None, _baseline(row, limits))
    }
    return Expectation(
        layer=_LAYER,
        component=row.component,
        host=row.host,
        group=row.host,
        target={},
        path=(),
        spec=_SPEC,
        references=references,
        limits=limits,
    )


def _baseline(row: Sampled, limits: Limits) -> Optional[Baseline]:
    """Return the baseline in the row itself, which counts as firm."""
    if row.baseline is None:
        return None
    return Baseline(
        row.baseline, 0.0, limits.min_runs, row.day, row.day, _SPEC.hash(), {}, "file", "stated"
    )
