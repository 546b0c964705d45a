"""Words on the time of a slow target's requests, compared with its peers in the same run.

A client of Lustre times each request from sending it to its answer.  A target whose requests take
no longer than those of its peers loses its time in the client, before they are sent.
"""

from __future__ import annotations

from statistics import median
from typing import Iterable, Iterator, Mapping, Sequence

from plumbline.judge.memory import Memory
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation
from plumbline.model.layers.layer import REQUEST
from plumbline.model.record import Record
from plumbline.model.series import Series
from plumbline.model.units import format_seconds

_Run = tuple[str, str, str, str, str]
"""Layer, group, operation, scenario and run whose records are peers."""


class RequestWords:
    """Words on requests, from the latest records of the components of a node."""

    def __init__(self, memory: Memory, expected: Iterable[Expectation]) -> None:
        """Take all components that the node measures, the peers of each other by group."""
        self._memory = memory
        self._expected = expected
        self._members: dict[tuple[str, str], list[str]] = {}
        self._times: dict[_Run, Mapping[str, float]] = {}

    def of(self, entry: Expectation, record: Record) -> str:
        """Return the mean time of a request in a run, and that of its peers; empty if unknown.

        Peers whose records are damaged are left out; their own verdicts say so.
        """
        own_s = record.quantities.get(REQUEST)
        if not own_s:
            return ""
        others = [
            seconds
            for component, seconds in self._times_in_run(entry, record).items()
            if component != entry.component
        ]
        text = f"a request takes {format_seconds(own_s)} at the client"
        if not others:
            return text
        owners = "its peer's" if len(others) == 1 else f"its {len(others)} peers'"
        return f"{text}, {owners} {format_seconds(median(others))}"

    def _times_in_run(self, entry: Expectation, record: Record) -> Mapping[str, float]:
        step = record.operation.value, record.scenario.value
        key = entry.layer, entry.group, *step, record.run_id
        if key not in self._times:
            self._times[key] = dict(self._measured(entry, record))
        return self._times[key]

    def _measured(self, entry: Expectation, record: Record) -> Iterator[tuple[str, float]]:
        step = record.operation, record.scenario, record.run_id
        for component in self._group(entry):
            for series in self._series(entry.layer, component):
                latest = series.latest
                seconds = latest.quantities.get(REQUEST)
                if seconds and (latest.operation, latest.scenario, latest.run_id) == step:
                    yield component, seconds

    def _series(self, layer: str, component: str) -> Sequence[Series]:
        try:
            return self._memory.of(layer, component)
        except DocumentError:
            return ()

    def _group(self, entry: Expectation) -> list[str]:
        if not self._members:
            for member in self._expected:
                place = member.layer, member.group
                self._members.setdefault(place, []).append(member.component)
        return self._members.get((entry.layer, entry.group), [])
