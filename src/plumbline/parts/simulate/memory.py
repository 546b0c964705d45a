"""Simulated measurements so far, in the form that the judge reads."""

from __future__ import annotations

from collections import Counter
from typing import Iterable, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.record import Outcome, Record
from plumbline.model.series import Running, Sample, Samples, Series
from plumbline.model.statistics import median_without
from plumbline.parts.simulate.fleet import Flow, Member

_NONE = Samples.of(())


class Rate(NamedTuple):
    """Sample of one run of a flow; ``coverage`` is None if the node cannot measure it."""

    started_at: float
    rate: float
    repeats: tuple[float, ...]
    coverage: Optional[float]

    @property
    def first(self) -> Rate:
        """Return the rate of the first repeat, in B/s."""
        first = self.repeats[0]
        return self._replace(rate=first, repeats=(first,))


class _Series:
    """One growing flow."""

    def __init__(self, record: Record, samples: Samples = _NONE) -> None:
        self.record = record
        self.samples = samples
        self.versions = record.versions
        self.changed_at: Optional[float] = None

    def add(self, rate: Rate, peers_rate: Optional[float], peers: int) -> None:
        if self.versions != self.record.versions and self.samples:
            self.changed_at = rate.started_at
        self.record = self.record._replace(
            versions=self.versions,
            started_at=rate.started_at,
            finished_at=rate.started_at + self.record.seconds,
            rate=rate.rate,
            repeats=rate.repeats,
            coverage=rate.coverage,
        )
        started_at, figure, _, coverage = rate
        sample = Sample(started_at, figure, coverage, peers_rate, peers, self.record.partner)
        self.samples = self.samples.then(sample)


class Memory:
    """The series of a fleet, with the interface of a snapshot or a history."""

    running: tuple[Running, ...] = ()

    def __init__(self, members: Sequence[Member]) -> None:
        """Begin with the members, without measurements."""
        self._places: dict[tuple[str, str], list[_Series]] = {}
        self._series: dict[Flow, _Series] = {}
        self._read: dict[tuple[str, str], tuple[Series, ...]] = {}
        self.runs: Counter[str] = Counter()
        """Number of runs so far, by layer."""
        self._blank = {flow: _blank(member, flow) for member in members for flow in member.flows()}

    def copy(self) -> Memory:
        """Return an independent copy, for another future."""
        duplicate = Memory(())
        duplicate._blank = self._blank
        for flow, series in self._series.items():
            copied = duplicate._add(flow, _Series(series.record, series.samples))
            copied.versions, copied.changed_at = series.versions, series.changed_at
        return duplicate

    def of(self, layer: str, component: str) -> tuple[Series, ...]:
        """Return every series of a component that has been measured."""
        place = layer, component
        if place not in self._read:
            measured = self._places.get(place, ())
            self._read[place] = tuple(Series(item.record, item.samples) for item in measured)
        return self._read[place]

    def changed_at(self, latest: Record) -> Optional[float]:
        """Return when the versions of a series' latest record began, None if always."""
        place = latest.layer, latest.component, latest.operation, latest.scenario
        return self._series[Flow(*place, latest.partner or "")].changed_at

    def install(self, flows: Iterable[Flow], versions: Mapping[str, str]) -> None:
        """Install versions for the next runs of some flows."""
        for flow in flows:
            self._blank[flow] = self._blank[flow]._replace(versions=versions)
            if flow in self._series:
                self._series[flow].versions = versions

    def add_run(self, rates: Mapping[Flow, Rate]) -> None:
        """Add the rates of peers in one run, each with the median of the others."""
        self.runs.update({flow.layer for flow in rates})
        ordered = sorted(rates.items(), key=lambda item: item[1].rate)
        values = [rate.rate for _, rate in ordered]
        peers = len(values) - 1
        for place, (flow, rate) in enumerate(ordered):
            peers_rate = median_without(values, place) if peers else None
            self._series_of(flow).add(rate, peers_rate, peers)
            self._read.pop((flow.layer, flow.component), None)

    def latest(self, flow: Flow) -> Record:
        """Return the last record of a flow that has been measured."""
        return self._series[flow].record

    def _series_of(self, flow: Flow) -> _Series:
        series = self._series.get(flow)
        return self._add(flow, _Series(self._blank[flow])) if series is None else series

    def _add(self, flow: Flow, series: _Series) -> _Series:
        self._series[flow] = series
        self._places.setdefault((flow.layer, flow.component), []).append(series)
        return series


def _blank(member: Member, flow: Flow) -> Record:
    """Return a record with the constant fields of a flow, and a rate to be replaced."""
    expectation = member.expectation
    return Record(
        id="",
        run_id="",
        layer=flow.layer,
        component=flow.component,
        operation=flow.operation,
        scenario=flow.scenario,
        outcome=Outcome.OK,
        host=member.node,
        started_at=0.0,
        finished_at=0.0,
        path=expectation.path,
        partner=flow.partner or None,
        seconds=1.0,
        rate=1.0,
        spec=expectation.spec.to_json(),
        spec_hash=expectation.spec.hash(),
        versions={},
    )
