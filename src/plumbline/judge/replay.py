"""Judge what was recorded elsewhere, day after day, by the evidence that judges one's own runs.

Of a component with peers the middle of each day beside them is a run; of one without each sample.
"""

from __future__ import annotations

from datetime import date
from itertools import groupby
from math import exp
from operator import attrgetter
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.component import judge_service
from plumbline.judge.weighing import Weighing
from plumbline.model.evidence import MONTH_S, Evidence, odds_within
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Limits
from plumbline.model.record import Operation, Outcome, Record, Scenario
from plumbline.model.reference import Baseline, Reference
from plumbline.model.sampled import Sampled
from plumbline.model.series import SAMPLES, Running, Sample, Series
from plumbline.model.spec import ProbeSpec
from plumbline.model.verdict import Verdict
from plumbline.peer_rates import Day, midmean, one_day
from plumbline.units import DAY_S

_STEP = (Operation.READ, Scenario.SINGLE)
_SPEC = ProbeSpec("recorded", 0, 0.0)


class Judged(NamedTuple):
    """The verdict on a component at the end of a day, from that day and those before.

    ``known`` is what these days say together, None where they cannot be compared.
    """

    host: str
    component: str
    day: str
    verdict: Verdict
    known: Optional[Evidence] = None

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
        """Return the sentence, with the unit of the file in the place of a verdict's ``B/s``."""
        return self.verdict.sentence.replace("B/s", unit)


def default_limits(rows: Iterable[Sampled], budget: float = 1.0) -> Limits:
    """Return the default limits where each component is asked about once a day.

    ``budget`` is the number of false alarms that all of them may have in a month.
    """
    components = {(row.host, row.component) for row in rows}
    return Limits(alarm_odds=odds_within(budget, len(components) * MONTH_S / DAY_S))


def replay(rows: Iterable[Sampled], limits: Limits) -> Iterator[Judged]:
    """Yield a verdict for each component and day, host by host; ``rows`` may come in any order."""
    ordered = sorted(rows, key=attrgetter("host", "day", "at"))
    for _, of_host in groupby(ordered, key=attrgetter("host")):
        memory = _Memory(limits)
        for day, of_day in groupby(of_host, key=attrgetter("day")):
            yield from memory.judge(day, list(of_day))


class _Memory:
    """What is known of the components of one host up to a day."""

    running: tuple[Running, ...] = ()

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._samples: dict[str, tuple[Sample, ...]] = {}
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

    def judge(self, day: str, rows: Sequence[Sampled]) -> Iterator[Judged]:
        """Take in the rows of one day, in the order of time, and yield its verdicts."""
        own = [row for row in rows if _speaks(row, self._limits)]
        runs = [
            {row.component: row.rate for row in run}
            for _, run in groupby(own, key=attrgetter("at"))
        ]
        beside = one_day(date.fromisoformat(day).toordinal() - _EPOCH, runs)
        every: dict[str, list[Sampled]] = {}
        for row in rows:
            every.setdefault(row.component, []).append(row)
        for component, found in every.items():
            self._latest[component] = found[-1]
            if component in beside:
                self._remember(_whole_day(found, beside[component], self._limits), component)
            else:
                for row in found:
                    self._remember(_sample(row), component)
        expected = [_expectation(row, self._limits) for row in self._latest.values()]
        known = Weighing({"": expected}, {"": self})
        for one in expected:
            if one.component in every:
                said = known.evidence(one.subject)
                yield Judged(one.host, one.component, day, self._verdict(one, said), said)

    def _remember(self, sample: Sample, component: str) -> None:
        self._samples[component] = (sample, *self._samples.get(component, ())[: SAMPLES - 1])

    def _verdict(self, entry: Expectation, said: Optional[Evidence]) -> Verdict:
        series = self.of(entry.layer, entry.component)
        return judge_service(entry, series, (), series[0].latest.finished_at, said)


_EPOCH = date(1970, 1, 1).toordinal()


def _speaks(row: Sampled, limits: Limits) -> bool:
    return row.coverage is None or row.coverage >= limits.min_coverage


def _whole_day(rows: Sequence[Sampled], day: Day, limits: Limits) -> Sample:
    """Return a day as one run, whose repeats were its samples."""
    rate = midmean([row.rate for row in rows if _speaks(row, limits)])
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
        rate_Bps=sample.rate_Bps,
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
    """Return the baseline that the row itself states, which is taken as firm."""
    if row.baseline is None:
        return None
    return Baseline(
        row.baseline, 0.0, limits.min_runs, row.day, row.day, _SPEC.hash(), {}, "file", "stated"
    )
