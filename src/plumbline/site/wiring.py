"""The wiring of a site by its history: reads of several devices or targets that ran at once."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.layers import LAYERS
from plumbline.model.record import Operation, Scenario
from plumbline.plan.places import Assignment
from plumbline.plan.shared import flows_of
from plumbline.plan.speeds import speeds
from plumbline.plan.wiring import MIN_RUNS, Reads, wiring
from plumbline.store.history import History, SeriesKey
from plumbline.topology.graph import Topology

_RUNS = 12
"""Latest runs of a series, as of a baseline."""


class Proof(NamedTuple):
    """What a history shows of the wiring: differences, proven parts, and sets without runs."""

    differences: tuple[str, ...]
    proven: tuple[str, ...]
    unmeasured: tuple[str, ...]


def proof(topology: Topology, measured: Sequence[Assignment], path: Path) -> Proof:
    """Return what the reads at once in a history show of the topology.

    Raises:
        StoreError: there is no history, or it cannot be read.
    """
    capacities = speeds(topology).reads
    with History(path, existing=True) as history:
        sets = dict(_Sets(measured, history).every())
    shown = [wiring(capacities, reads) for reads in sets.values() if reads]
    differences = dict.fromkeys(text for found in shown for text in found.differences)
    proven = dict.fromkeys(name for found in shown for name in found.proven)
    unmeasured = [title for title, reads in sets.items() if not reads]
    return Proof(tuple(differences), tuple(proven), tuple(unmeasured))


class _Sets:
    """Sets of reads at once: all devices of a server, and the flows of a shared part."""

    def __init__(self, measured: Sequence[Assignment], history: History) -> None:
        self._measured = {(item.layer, item.component): item for item in measured}
        self._history = history

    def every(self) -> Iterator[tuple[str, Optional[Reads]]]:
        """Yield each set with its title, None for one without enough runs."""
        servers: dict[str, list[tuple[str, str]]] = {}
        for (layer, component), item in self._measured.items():
            if LAYERS[layer].joint:
                flows = [(flow.layer, flow.component) for flow in flows_of(item.target)]
                yield self._reads(f"the reads of {component}", flows, self._flows(item))
            elif (Operation.READ, Scenario.TOGETHER) in item.steps and LAYERS[layer].on_devices:
                servers.setdefault(item.node, []).append((layer, component))
        for node, members in servers.items():
            rates = {name: self._rate(layer, name, Scenario.TOGETHER) for layer, name in members}
            yield self._reads(f"the devices of {node}", members, rates)

    def _reads(
        self,
        title: str,
        members: Sequence[tuple[str, str]],
        at_once: Mapping[str, Optional[float]],
    ) -> tuple[str, Optional[Reads]]:
        alone = {name: self._rate(layer, name, Scenario.SINGLE) for layer, name in members}
        known = {name: rate for name, rate in at_once.items() if rate and alone[name]}
        if len(known) < len(members):
            return title, None
        paths = {name: self._measured[layer, name].path for layer, name in members}
        return title, Reads(title, paths, {n: rate for n, rate in alone.items() if rate}, known)

    def _rate(self, layer: str, component: str, scenario: Scenario) -> Optional[float]:
        """Return the median of the latest reads, None of fewer than MIN_RUNS."""
        key = SeriesKey(layer, component, Operation.READ.value, scenario.value, "")
        least = self._measured[layer, component].limits.min_coverage
        rates = [
            point.rate
            for point in self._history.points(key, _RUNS)
            if point.rate and (point.coverage is None or point.coverage >= least)
        ]
        return median(rates) if len(rates) >= MIN_RUNS else None

    def _flows(self, item: Assignment) -> dict[str, Optional[float]]:
        """Return the median rate of each flow in the runs of a shared part that counted."""
        key = SeriesKey(
            item.layer, item.component, Operation.READ.value, Scenario.TOGETHER.value, ""
        )
        runs = [
            rates
            for document in self._history.documents(key, _RUNS)
            if document.get("rate") and (rates := _rates_in(document.get("details")))
        ]
        names = [flow.component for flow in flows_of(item.target)]
        rows = [row for row in runs if set(names) <= row.keys()]
        return {
            name: median(row[name] for row in rows) if len(rows) >= MIN_RUNS else None
            for name in names
        }


def _rates_in(details: Any) -> dict[str, float]:
    """Return the rates of a sum's flows; those of a damaged record are none."""
    rows = details.get("flows") if isinstance(details, dict) else None
    return {
        str(row.get("component")): float(row["rate_Bps"])
        for row in rows or ()
        if isinstance(row, dict) and isinstance(row.get("rate_Bps"), (int, float))
    }
