"""The wiring of a site by its history: reads that ran at once, and the servers of OSTs."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import number
from plumbline.model.errors import DocumentError
from plumbline.model.layers import LAYERS
from plumbline.model.record import Operation, Record, Scenario
from plumbline.model.serving import Serving, first_server, serving
from plumbline.model.shared import results_in
from plumbline.plan.places import Assignment
from plumbline.plan.shared import flows_of
from plumbline.plan.speeds import speeds
from plumbline.plan.wiring import MIN_RUNS, Reads, wiring
from plumbline.store.history import History, SeriesKey
from plumbline.topology.graph import Topology

_RUNS = 12
"""Latest runs of a series, as of a baseline."""


class Proof(NamedTuple):
    """Differences from the topology, parts that are proven, and sets of reads without runs.

    ``served`` are the OSTs whose server in the topology is the one that Lustre names.
    """

    differences: tuple[str, ...]
    proven: tuple[str, ...]
    unmeasured: tuple[str, ...]
    served: tuple[str, ...] = ()

    def sentences(self) -> Iterator[str]:
        """Yield what a person is told."""
        yield from self.differences
        if self.unmeasured:
            yield f"not yet {MIN_RUNS} runs of {', '.join(self.unmeasured)}"
        if self.served:
            yield f"on the server that Lustre names: {number(len(self.served), 'OST')}"
        if self.proven:
            yield f"wired as drawn: {', '.join(self.proven)}"
        elif not self.differences:
            yield "nothing is read at once that asks a part for more than it gives"


def proof(topology: Topology, measured: Sequence[Assignment], path: Path) -> Proof:
    """Return what the reads at once and the servers in a history show of the topology.

    Raises:
        StoreError: there is no history, or it cannot be read.
    """
    capacities = speeds(topology).reads
    with History(path, existing=True) as history:
        sets = dict(_Sets(measured, history).every())
        servers = _servers(topology, measured, history)
    shown = [wiring(capacities, reads) for reads in sets.values() if reads]
    differences = dict.fromkeys(text for item in shown for text in item.differences)
    proven = dict.fromkeys(name for item in shown for name in item.proven)
    unmeasured = [title for title, reads in sets.items() if not reads]
    named = (*differences, *servers.differences)
    return Proof(named, tuple(proven), tuple(unmeasured), servers.proven)


def addresses_of(topology: Topology) -> dict[str, str]:
    """Return the host of each address in the topology."""
    return {host.address: host.name for host in topology.hosts() if host.address}


def _servers(topology: Topology, measured: Sequence[Assignment], history: History) -> Serving:
    """Return the servers of OSTs by the latest records of runs that were not failed over."""
    drawn: dict[str, str] = {}
    seen: dict[str, tuple[str, ...]] = {}
    for item in measured:
        if LAYERS[item.layer].per_target and item.target["kind"] == "lustre":
            key = _key(item.layer, item.component, Scenario.SINGLE)
            records = map(_record, history.documents(key, _RUNS))
            drawn[item.component] = item.host
            seen[item.component] = next(filter(None, map(first_server, records)), ())
    return serving(drawn, seen, addresses_of(topology))


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
        paths = {name: self._measured[layer, name].path for layer, name in members}
        alone_Bps, at_once_Bps = (
            {name: rate for name, rate in rates.items() if rate} for rates in (alone, at_once)
        )
        if alone_Bps.keys() & at_once_Bps.keys() != paths.keys():
            return title, None
        return title, Reads(title, paths, alone_Bps, at_once_Bps)

    def _rate(self, layer: str, component: str, scenario: Scenario) -> Optional[float]:
        """Return the median of the latest reads, None of fewer than MIN_RUNS."""
        points = self._history.points(_key(layer, component, scenario), _RUNS)
        rates = [
            point.rate
            for point in points
            if point.rate and self._is_undisturbed(layer, component, point.coverage)
        ]
        return median(rates) if len(rates) >= MIN_RUNS else None

    def _is_undisturbed(self, layer: str, component: str, coverage: Optional[float]) -> bool:
        return coverage is None or coverage >= self._measured[layer, component].limits.min_coverage

    def _flows(self, item: Assignment) -> dict[str, Optional[float]]:
        """Return the median rate of each flow in the runs of a shared part that counted."""
        place = item.layer, item.component
        documents = self._history.documents(_key(*place, Scenario.TOGETHER), _RUNS)
        names = [flow.component for flow in flows_of(item.target)]
        runs = [
            rates
            for record in map(_record, documents)
            if record and record.rate and self._is_undisturbed(*place, record.coverage)
            if (rates := _rates_in(record)).keys() >= {*names}
        ]
        return {
            name: median(row[name] for row in runs) if len(runs) >= MIN_RUNS else None
            for name in names
        }


def _key(layer: str, component: str, scenario: Scenario) -> SeriesKey:
    return SeriesKey(layer, component, Operation.READ.value, scenario.value, "")


def _record(document: Mapping[str, Any]) -> Optional[Record]:
    try:
        return Record.from_json(document)
    except (KeyError, TypeError, ValueError, OverflowError, DocumentError):
        return None


def _rates_in(record: Record) -> dict[str, float]:
    """Return the rates of the flows in the record of a sum, none if it is damaged."""
    try:
        flows = results_in(record)
    except DocumentError:
        return {}
    return {flow.component: flow.rate_Bps for flow in flows if flow.rate_Bps}
