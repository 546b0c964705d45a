"""What nodes had measured before an investigation began: a reference where nothing else is one.

Earlier runs never vote: an old good measurement must not clear a part that has become slow since.
"""

from __future__ import annotations

from typing import Iterator, Mapping

from plumbline.errors import DocumentError
from plumbline.judge.provisional import clearing
from plumbline.layers import GROUPED, PAIRED
from plumbline.locate.measurables import Nodes
from plumbline.model.conditions import differences, of_record
from plumbline.model.expectation import Expectation
from plumbline.model.memory import Memory
from plumbline.model.series import Running, Sample, Series

_SAME_FILL = 0.2
"""Fractions of a target: a filled one is slower (model.expectation.Limits.fill_change)."""


class WithEarlier:
    """A memory of what was measured since, each series with the runs before beside it."""

    def __init__(self, memory: Memory, earlier: Memory) -> None:
        self._memory = memory
        self._earlier = earlier
        self.running: tuple[Running, ...] = memory.running

    def of(self, layer: str, component: str) -> tuple[Series, ...]:
        """Return every series of a component; raise DocumentError when one is damaged."""
        found = self._memory.of(layer, component)
        before = _known(self._earlier, layer, component) if found else ()
        return tuple(one._replace(earlier=tuple(_before(one, before))) for one in found)


def unreferenced(
    nodes: Nodes, earlier: Mapping[str, Memory], now: float
) -> frozenset[tuple[str, str]]:
    """Return the targets and devices, by layer and name, that cannot be judged alone.

    They have no baseline on the terms of today, and no run of the last days beside peers.  So it is
    with hosts without a baseline.
    """
    return frozenset(
        (one.layer, one.component)
        for node, found in nodes.items()
        for one in found
        if one.layer in (*GROUPED, *PAIRED)
        and not _has_baseline(one)
        and not (node in earlier and _has_run(one, earlier[node], now))
    )


def _has_baseline(entry: Expectation) -> bool:
    terms = entry.spec.hash()
    baselines = (reference.baseline for reference in entry.references.values())
    return any(baseline is not None and baseline.spec_hash == terms for baseline in baselines)


def _has_run(entry: Expectation, earlier: Memory, now: float) -> bool:
    return any(
        series.latest.spec_hash == entry.spec.hash() and clearing(series.samples, now, entry.limits)
        for series in _known(earlier, entry.layer, entry.component)
    )


def _known(earlier: Memory, layer: str, component: str) -> tuple[Series, ...]:
    try:
        return earlier.of(layer, component)
    except DocumentError:
        # what is damaged is no reference; the measurements since are judged without it
        return ()


def _before(series: Series, before: tuple[Series, ...]) -> Iterator[Sample]:
    """Yield the samples of the same operation, where they were made under the same conditions."""
    latest, first = series.latest, min(sample.started_at for sample in series.samples)
    for other in before:
        then = other.latest
        same = (then.operation, then.scenario) == (latest.operation, latest.scenario)
        if same and not differences(of_record(then), of_record(latest), _SAME_FILL):
            yield from (sample for sample in other.samples if sample.started_at < first)
