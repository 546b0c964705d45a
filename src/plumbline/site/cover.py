"""Hold what clients measured against what servers counted, once ``collect`` has brought both.

A client of Lustre cannot know what others move on a target; the console has the servers' counters.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple, Optional

from plumbline.measure.targets import KINDS
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectations
from plumbline.model.layers import LAYERS
from plumbline.model.record import Record
from plumbline.model.trend import SERVER
from plumbline.model.units import DAY_S
from plumbline.observe import coverage
from plumbline.store.collection import ConsoleHistory, CoveredRecord, read_clocks
from plumbline.store.database import Selection

_LOOKED_BACK_S = 3 * DAY_S
"""A node that was away over a weekend still gets its coverage."""

_SETTLED_S = 3600.0
"""Seconds for which a doubtful record stays open: more of its run may come."""


class Measured(NamedTuple):
    """Planned component: its Lustre targets, and the coverage below which a run is contended."""

    targets: tuple[str, ...]
    min_coverage: float


class Coverage(NamedTuple):
    """Result, in records; ``waiting`` are those for which no counters are there yet.

    ``doubts`` says of each record that stays in doubt why.
    """

    known: int = 0
    contended: int = 0
    waiting: int = 0
    doubts: tuple[str, ...] = ()

    def sentences(self) -> Iterator[str]:
        """Yield what a person should know; nothing where nothing was to be covered."""
        if self.known or self.doubts:
            yield (
                f"contention: known for {self.known} measurements of Lustre targets by their "
                f"servers' counters, {self.contended} contended; in doubt for {len(self.doubts)}"
            )
        yield from (f"contention unknown: {doubt}" for doubt in self.doubts[:3])


def cover(history: Path, nodes: Mapping[str, Expectations], now: float) -> Coverage:
    """Give the records of the last days the coverage that the servers' counters show.

    Raises:
        StoreError: the history cannot be read or written; what was covered before is kept.
        DocumentError: an entry of the plan is damaged.
    """
    measured = dict(_measured(nodes))
    result = Coverage()
    covered: list[CoveredRecord] = []
    with ConsoleHistory(history) as kept:
        work = _Work(kept, measured, now)
        for layer in LAYERS:
            names = {component for known, component in measured if known == layer}
            since = now - _LOOKED_BACK_S
            for record in kept.uncovered(layer, names, since) if names else ():
                outcome = work.found(record)
                result = _counted(result, outcome, measured[layer, record.component])
                covered += [outcome] if outcome else []
        if covered:
            kept.cover(covered)
    return result


def _measured(
    nodes: Mapping[str, Expectations],
) -> Iterator[tuple[tuple[str, str], Measured]]:
    """Yield layer and component of all that lies on Lustre targets, with what is known of it."""
    for node in nodes.values():
        for layer in LAYERS:
            if any(entry["layer"] == layer and _targets(entry) for entry in node.entries):
                for expectation in node.find(layer):
                    targets = _targets(expectation._asdict())
                    if targets:
                        yield (
                            (layer, expectation.component),
                            Measured(targets, expectation.limits.min_coverage),
                        )


def _targets(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the OSTs of an entry of the expectations, none of anything else."""
    kind = KINDS.get(entry["target"].get("kind")) if LAYERS[entry["layer"]].on_targets else None
    return kind.counted(entry["target"], entry["component"]) if kind else ()


class _Work:
    """Uncovered records of a history, and the components of the plan."""

    def __init__(
        self, history: ConsoleHistory, measured: Mapping[tuple[str, str], Measured], now: float
    ) -> None:
        self._history = history
        self._measured = measured
        self._now = now
        self._clocks = {clock.node: clock for clock in read_clocks(history)}
        ahead_s = max((abs(clock.ahead_s) for clock in self._clocks.values()), default=0.0)
        # clocks that are far apart are refused, but have to be seen for that
        self._reach_s = coverage.PART_S + 2 * (ahead_s + coverage.MOST_APART_S)

    def found(self, record: Record) -> Optional[CoveredRecord]:
        """Return what is to be kept of a record; None where nothing is known, or not yet."""
        said = self._said(record)
        if said is None:
            return None
        if said.coverage is None and record.finished_at > self._now - _SETTLED_S:
            return None
        return CoveredRecord(record, said.coverage, said.others)

    def _said(self, record: Record) -> Optional[coverage.Coverage]:
        component = self._measured[record.layer, record.component]
        try:
            own = Selection(record.layer, record.component, run_id=record.run_id)
            run = [part for part in self._history.records(own) if part.rate is not None]
            begin = min(record.started_at for record in run) - self._reach_s
            end = max(record.finished_at for record in run) + self._reach_s
            counted = {
                target: coverage.by_sampling(
                    [*self._history.records(Selection(SERVER, target, begin, until=end))]
                )
                for target in component.targets
            }
        except DocumentError as error:
            return coverage.Coverage(None, coverage.Others("", unknown=str(error)))
        return coverage.covered(
            record, run, coverage.Servers(counted, self._clocks), component.min_coverage
        )


def _counted(result: Coverage, outcome: Optional[CoveredRecord], component: Measured) -> Coverage:
    if outcome is None:
        return result._replace(waiting=result.waiting + 1)
    if outcome.coverage is None:
        record = outcome.record
        doubt = f"{record.component} {record.operation.value}: {outcome.others.in_doubt()}"
        return result._replace(doubts=(*result.doubts, doubt))
    contended = 1 if outcome.coverage < component.min_coverage else 0
    return result._replace(known=result.known + 1, contended=result.contended + contended)
