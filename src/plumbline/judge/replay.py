"""Judge what was recorded elsewhere, day after day, by the rules that judge plumbline's own runs.

A component with peers is judged by the middle of each day beside them; one without by each of its
samples, as a run of its own.
"""

from __future__ import annotations

from datetime import date
from itertools import groupby
from math import exp
from operator import attrgetter
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.component import judge
from plumbline.model.expectation import Expectation
from plumbline.model.limits import Limits
from plumbline.model.record import Operation, Outcome, Record, Scenario
from plumbline.model.reference import Baseline, Reference
from plumbline.model.sampled import Sampled
from plumbline.model.series import SAMPLES, Day, Sample, Series
from plumbline.model.spec import ProbeSpec
from plumbline.model.verdict import Verdict
from plumbline.siblings import KEPT, midmean, one_day

_DAY_S = 86400.0
_STEP = (Operation.READ, Scenario.SINGLE)
_SPEC = ProbeSpec("recorded", 0, 0.0)


class Judged(NamedTuple):
    """The verdict on a component at the end of a day, from that day and those before."""

    host: str
    component: str
    day: str
    verdict: Verdict

    def to_json(self, unit: str) -> dict[str, Any]:
        """Return the line for programs; ``ratio`` is rate / reference, below 1 is slower."""
        verdict = self.verdict
        ratios = (verdict.ratio_baseline, verdict.ratio_peers, verdict.ratio_before)
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


def replay(rows: Iterable[Sampled], limits: Limits) -> Iterator[Judged]:
    """Yield a verdict for each component and day, host by host; ``rows`` may come in any order."""
    ordered = sorted(rows, key=attrgetter("host", "day", "at"))
    for _, of_host in groupby(ordered, key=attrgetter("host")):
        memory = _Memory(limits)
        for day, of_day in groupby(of_host, key=attrgetter("day")):
            yield from memory.judge(day, list(of_day))


class _Memory:
    """What is known of the components of one host up to a day."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._samples: dict[str, tuple[Sample, ...]] = {}
        self._days: dict[str, tuple[Day, ...]] = {}

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
            if component in beside:
                self._remember(component, *_whole_day(found, beside[component], self._limits))
            else:
                for row in found:
                    self._remember(component, _sample(row), None)
            yield Judged(found[-1].host, component, day, self._verdict(found[-1]))

    def _remember(self, component: str, sample: Sample, day: Optional[Day]) -> None:
        self._samples[component] = (sample, *self._samples.get(component, ())[: SAMPLES - 1])
        if day:
            self._days[component] = (day, *self._days.get(component, ())[: KEPT - 1])

    def _verdict(self, row: Sampled) -> Verdict:
        samples = self._samples[row.component]
        record = _record(row, samples[0])
        series = Series(record, samples, self._days.get(row.component, ()))
        return judge(_expectation(row, self._limits), (series,), (), record.finished_at)


_EPOCH = date(1970, 1, 1).toordinal()


def _speaks(row: Sampled, limits: Limits) -> bool:
    return row.coverage is None or row.coverage >= limits.min_coverage


def _whole_day(rows: Sequence[Sampled], day: Day, limits: Limits) -> tuple[Sample, Day]:
    """Return a day as one run, whose repeats were its samples."""
    rate = midmean([row.rate for row in rows if _speaks(row, limits)])
    sample = Sample(rows[-1].at, rate, None, rate * exp(day.loss), day.peers, None)
    return sample, day._replace(runs=1)


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
