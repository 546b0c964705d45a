"""Coverage of collected records: compare the clients' bytes with the servers' counters.

A Lustre client cannot see others' traffic on a target; the console has the servers' counters.
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
from plumbline.store.collection import ConsoleHistory, read_clocks
from plumbline.store.database import Selection

_LOOKED_BACK_S = 3 * DAY_S
"""A node that was unreachable over a weekend still gets its coverage."""

_SETTLED_S = 3600.0
"""Seconds for which a doubtful record stays open, because more records of its run may come."""


class Targets(NamedTuple):
    """Planned component: its Lustre targets, and the coverage below which a run is contended."""

    targets: tuple[str, ...]
    min_coverage: float


class Coverage(NamedTuple):
    """Result, in numbers of records; ``waiting`` records have no counters yet.

    ``doubts`` has a reason for each record whose contention stays unknown.
    """

    known: int = 0
    contended: int = 0
    waiting: int = 0
    doubts: tuple[str, ...] = ()

    def sentences(self) -> Iterator[str]:
        """Yield sentences about the result; none if there was nothing to cover."""
        if self.known or self.doubts:
            yield (
                f"contention: known for {self.known} measurements of Lustre targets by their "
                f"servers' counters, {self.contended} contended; in doubt for {len(self.doubts)}"
            )
        yield from (f"contention unknown: {doubt}" for doubt in self.doubts[:3])


def cover(history: Path, nodes: Mapping[str, Expectations], now: float) -> Coverage:
    """Add the coverage from the servers' counters to the records of the last days.

    Raises:
        StoreError: the history cannot be read or written; earlier coverage is kept.
        DocumentError: an entry of the plan is damaged.
    """
    components = dict(_lustre_components(nodes))
    result = Coverage()
    covered: list[tuple[Record, coverage.Coverage]] = []
    with ConsoleHistory(history) as console_history:
        work = _Work(console_history, components, now)
        for layer in LAYERS:
            names = {component for name, component in components if name == layer}
            since = now - _LOOKED_BACK_S
            for record in console_history.uncovered(layer, names, since) if names else ():
                outcome = work.result(record)
                result = _add(result, record, outcome, components[layer, record.component])
                covered += [(record, outcome)] if outcome else []
        if covered:
            console_history.cover(covered)
    return result


def _lustre_components(
    nodes: Mapping[str, Expectations],
) -> Iterator[tuple[tuple[str, str], Targets]]:
    """Yield layer and name of all components on Lustre targets, with their targets."""
    for node in nodes.values():
        for layer in LAYERS:
            if any(entry["layer"] == layer and _targets(entry) for entry in node.entries):
                for expectation in node.find(layer):
                    targets = _targets(expectation._asdict())
                    if targets:
                        yield (
                            (layer, expectation.component),
                            Targets(targets, expectation.limits.min_coverage),
                        )


def _targets(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the OSTs of an entry of the expectations, empty for other targets."""
    kind = KINDS.get(entry["target"].get("kind")) if LAYERS[entry["layer"]].on_targets else None
    return kind.counted(entry["target"], entry["component"]) if kind else ()


class _Work:
    """Uncovered records of a history, and the components of the plan."""

    def __init__(
        self, history: ConsoleHistory, measured: Mapping[tuple[str, str], Targets], now: float
    ) -> None:
        self._history = history
        self._measured = measured
        self._now = now
        self._clocks = {clock.node: clock for clock in read_clocks(history)}
        ahead_s = max((abs(clock.ahead_s) for clock in self._clocks.values()), default=0.0)
        # clocks far apart are refused, so their records must be in reach
        self._reach_s = coverage.PART_S + 2 * (ahead_s + coverage.MAX_APART_S)

    def result(self, record: Record) -> Optional[coverage.Coverage]:
        """Return the coverage of a record; None if unknown, perhaps only for now."""
        covered = self._coverage(record)
        if covered is None:
            return None
        if covered.coverage is None and record.finished_at > self._now - _SETTLED_S:
            return None
        return covered

    def _coverage(self, record: Record) -> Optional[coverage.Coverage]:
        component = self._measured[record.layer, record.component]
        try:
            selection = Selection(record.layer, record.component, run_id=record.run_id)
            parts = (part for part in self._history.records(selection) if part.rate is not None)
            # a further quantity is one of the same bytes
            run = [part for part in parts if part.operation.of is None]
            begin = min(record.started_at for record in run) - self._reach_s
            end = max(record.finished_at for record in run) + self._reach_s
            counted = {
                target: coverage.samplings_of(
                    [*self._history.records(Selection(SERVER, target, begin, until=end))]
                )
                for target in component.targets
            }
        except DocumentError as error:
            return coverage.Coverage(None, coverage.Others("", unknown=str(error)))
        return coverage.covered(
            record, run, coverage.Servers(counted, self._clocks), component.min_coverage
        )


def _add(
    result: Coverage, record: Record, outcome: Optional[coverage.Coverage], component: Targets
) -> Coverage:
    if outcome is None:
        return result._replace(waiting=result.waiting + 1)
    if outcome.coverage is None:
        doubt = f"{record.component} {record.operation.value}: {outcome.others.in_doubt()}"
        return result._replace(doubts=(*result.doubts, doubt))
    contended = 1 if outcome.coverage < component.min_coverage else 0
    return result._replace(known=result.known + 1, contended=result.contended + contended)
