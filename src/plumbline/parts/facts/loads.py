"""Slow devices and OSTs under everyday load, from Prometheus.

Prometheus's node exporter counts operations, bytes and seconds of each device of a host;
``plumbline_device_info`` maps devices to components.  Lustre servers count the same for each OST
and all clients (``plumbline counters``).  ``increase`` handles counters that restart at 0.

Lustre counts a write (obdfilter) before it is committed to the disk (``ofd_commitrw_write`` in
``ofd_io.c``), so writes of an OST go by the time of its disk I/O, a histogram (``brw_stats``).
OSTs on ZFS count no time of writes there (``osd_write_commit`` in ``osd-zfs/osd_io.c``).
"""

from __future__ import annotations

from math import inf
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Sequence

from plumbline.judge.kinds import MIN_SIZE
from plumbline.model.errors import ToolError
from plumbline.model.evidence import MONTH_S, odds_within
from plumbline.model.exchange import Suspected
from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS
from plumbline.model.metric import BYTES, DISK_TIME, OPERATIONS, SECONDS
from plumbline.model.record import Operation
from plumbline.model.service import DEVICE_INFO
from plumbline.model.validation import real
from plumbline.parts.facts.latency import Latency, Load, Loads, compare
from plumbline.site.prometheus import Prometheus, Span
from plumbline.store.plan import SitePlan

_MIN_OPERATIONS = 100.0
"""Least operations in a window: the mean time of fewer is too uncertain."""


class _Counters(NamedTuple):
    """Counters of one operation, and their label with the name of the device or OST.

    ``seconds`` is empty if ``operations`` is a histogram of their seconds.
    """

    operations: str
    bytes: str
    seconds: str
    label: str = "component"


_READS = '{source="obdfilter",operation="read"}'
_WRITES = 'operation="write"}'


_DEVICES = {
    Operation.READ: _Counters(
        "node_disk_reads_completed_total",
        "node_disk_read_bytes_total",
        "node_disk_read_time_seconds_total",
    ),
    Operation.WRITE: _Counters(
        "node_disk_writes_completed_total",
        "node_disk_written_bytes_total",
        "node_disk_write_time_seconds_total",
    ),
}
_OSTS = {
    Operation.READ: _Counters(
        f"{OPERATIONS.name}{_READS}", f"{BYTES.name}{_READS}", f"{SECONDS.name}{_READS}", "target"
    ),
    Operation.WRITE: _Counters(
        f'{DISK_TIME.name}_bucket{{source="osd-ldiskfs",{_WRITES}',
        f'{BYTES.name}{{source="obdfilter",{_WRITES}',
        "",
        "target",
    ),
}


def site_loads(prometheus: Prometheus, span: Span) -> Loads:
    """Return the loads of each device, by component, and of each OST; one window per step.

    Raises:
        ToolError: Prometheus does not answer, or has no loads.
    """
    loads = {
        name: {
            operation: _loads(prometheus, counters, span)
            for operation, counters in (_DEVICES if layer.on_devices else _OSTS).items()
        }
        for name, layer in LAYERS.items()
        if layer.grouped
    }
    if not any(any(layer_loads.values()) for layer_loads in loads.values()):
        raise ToolError(_nothing(prometheus, span))
    return loads


def _loads(prometheus: Prometheus, counters: _Counters, span: Span) -> list[Load]:
    moved = _growths(prometheus, counters.bytes, counters.label, span)
    if counters.seconds:
        operations, seconds = (
            _growths(prometheus, counter, counters.label, span)
            for counter in (counters.operations, counters.seconds)
        )
    else:
        operations, seconds = _of_histogram(prometheus, counters.operations, counters.label, span)
    return [
        Load(at - span.step_s, component, moved[component, at] / span.step_s, took / count)
        for (component, at), count in operations.items()
        if count >= _MIN_OPERATIONS
        and moved.get((component, at), 0.0) > 0
        and (took := seconds.get((component, at), 0.0)) > 0
    ]


_Growths = dict[tuple[str, float], float]
"""Growth of a counter by name and end of the window."""


def _growths(prometheus: Prometheus, counter: str, label: str, span: Span) -> _Growths:
    return {
        (curve.labels.get(label, ""), at): value
        for curve in prometheus.over(_increase(counter, label, span.step_s), span)
        for at, value in curve.points
    }


_MIDDLE = 0.75
"""Middle of a bucket from half of its largest value to that value, in units of it."""


def _of_histogram(
    prometheus: Prometheus, counter: str, label: str, span: Span
) -> tuple[_Growths, _Growths]:
    """Return the growth of operations and of their seconds from the buckets of a histogram.

    Each bucket counts with its middle, those above the last one with its largest value.
    """
    query = f"sum by ({label}, le) (increase({counter}[{span.step_s:g}s]))"
    buckets: dict[tuple[str, float], list[tuple[float, float]]] = {}
    for curve in prometheus.over(query, span):
        text = curve.labels.get("le", "")
        limit = inf if text == "+Inf" else real(text, "the largest value of a bucket")
        for at, below in curve.points:
            buckets.setdefault((curve.labels.get(label, ""), at), []).append((limit, below))
    operations, seconds = _Growths(), _Growths()
    for place, counts in buckets.items():
        counts.sort()
        last = max((limit for limit, _ in counts if limit < inf), default=0.0)
        operations[place] = counts[-1][1]
        befores = (0.0, *(below for _, below in counts))
        seconds[place] = sum(
            (below - before) * (_MIDDLE * limit if limit < inf else last)
            for (limit, below), before in zip(counts, befores)
        )
    return operations, seconds


def _increase(counter: str, label: str, window_s: float) -> str:
    """Return the PromQL for the increase of a counter in each window, by component or OST."""
    expression = f"increase({counter}[{window_s:g}s])"
    if label == "component":
        expression += f" * on (instance, device) group_left (component) {DEVICE_INFO}"
    return f"sum by ({label}) ({expression})"


def _nothing(prometheus: Prometheus, span: Span) -> str:
    """Return the reason why there is no load, and the remedy."""
    for name, remedy in (
        ("node_disk_reads_completed_total", "let it scrape node exporter on the servers"),
        (DEVICE_INFO, "deploy the role metrics on the servers, with node exporter's text files"),
    ):
        if not any(curve.points for curve in prometheus.over(f"count({name})", span)):
            return f"{prometheus.url} has no {name} of this time; {remedy}"
    return (
        f"{prometheus.url} has no device of a component and no OST with {_MIN_OPERATIONS:g} "
        "operations in any window; ask about more time"
    )


_FALSE_SUSPICIONS = 1.0
"""False suspicions per month of the whole site: they only cause measurements, no alarms."""


class PlannedComponent(NamedTuple):
    """A component of the plan, and the node that measures it."""

    node: str
    entry: Expectation

    @property
    def name(self) -> str:
        """Return the name in the counters; the component of an OST may have another name."""
        ost = self.entry.target.get("ost")
        return ost if isinstance(ost, str) else self.entry.component


class ComponentLatency(NamedTuple):
    """Latency of a component under load in one operation, compared with ``peers`` others."""

    measured: PlannedComponent
    operation: Operation
    peers: int
    latency: Latency

    @property
    def sentence(self) -> str:
        """Return the suspicion as text."""
        entry, (_, ratio, _, recurrence) = self.measured.entry, self.latency
        return (
            f"{entry.host} {entry.component}: {self.operation.value} latency {ratio:.1f} times "
            f"that of its {self.peers} peers at equal throughput, {recurrence.words}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the document form; ``odds`` is the natural logarithm."""
        recurrence = self.latency.recurrence
        return {
            "host": self.measured.entry.host,
            "layer": self.measured.entry.layer,
            "component": self.measured.entry.component,
            "operation": self.operation.value,
            "slow": self.latency.slow,
            "latency_ratio": self.latency.ratio,
            "peers": self.peers,
            "windows": self.latency.windows,
            "slow_windows": recurrence.shown,
            "since": recurrence.since or None,
            "odds": recurrence.odds,
        }


class SiteLatencies(NamedTuple):
    """Latencies of each component and operation, and the components without any."""

    latencies: tuple[ComponentLatency, ...]
    unknown: tuple[str, ...]

    @property
    def slow(self) -> tuple[ComponentLatency, ...]:
        """Return the suspects."""
        return tuple(latency for latency in self.latencies if latency.latency.slow)

    def suspected(self) -> dict[str, list[Suspected]]:
        """Return the suspects by the node that is to confirm them, the likeliest first."""
        by_node: dict[str, dict[tuple[str, str], Suspected]] = {}
        for latency in sorted(self.slow, key=lambda slow: -slow.latency.recurrence.odds):
            entry = latency.measured.entry
            suspected = Suspected(entry.layer, entry.component, latency.latency.recurrence.since)
            # one run measures both operations
            by_node.setdefault(latency.measured.node, {}).setdefault(suspected[:2], suspected)
        return {node: list(suspects.values()) for node, suspects in by_node.items()}


def latencies(plan: SitePlan, loads: Loads, window_s: float) -> SiteLatencies:
    """Return the latencies of the components of a site from windows of ``window_s`` seconds.

    Devices of a host are peers; if it has few, all devices of the site with the same ceiling.  OSTs
    are peers of those in their file system with the same ceiling.

    Raises:
        DocumentError: the plan is damaged.
    """
    watched = [
        PlannedComponent(node, expectation)
        for node, expectations in plan.measured().items()
        for expectation in expectations
        if LAYERS[expectation.layer].grouped
    ]
    operations = sum(len(loads[target.entry.layer]) for target in watched)
    odds = odds_within(_FALSE_SUSPICIONS, operations * MONTH_S / window_s)
    component_latencies = tuple(
        latency
        for layer, layer_loads in loads.items()
        for latency in _compared(
            [target for target in watched if target.entry.layer == layer], layer_loads, odds
        )
    )
    compared = {latency.measured.entry.subject for latency in component_latencies}
    unknown = (target.entry for target in watched if target.entry.subject not in compared)
    return SiteLatencies(component_latencies, tuple(entry.component for entry in unknown))


def _compared(
    watched: Sequence[PlannedComponent], loads: Mapping[Operation, Sequence[Load]], odds: float
) -> Iterator[ComponentLatency]:
    groups = list(_groups(watched))
    by_group = {operation: _by_group(samples, groups) for operation, samples in loads.items()}
    for number, group in enumerate(groups):
        for operation in loads:
            for latency in compare(by_group[operation][number], _limit(group), odds):
                yield ComponentLatency(group[latency.device], operation, len(group) - 1, latency)


def _by_group(
    loads: Iterable[Load], groups: Sequence[Mapping[str, PlannedComponent]]
) -> list[list[Load]]:
    """Return the loads of each group, without those in no group."""
    place = {name: number for number, group in enumerate(groups) for name in group}
    shares: list[list[Load]] = [[] for _ in groups]
    for load in loads:
        if load.device in place:
            shares[place[load.device]].append(load)
    return shares


def _limit(group: Mapping[str, PlannedComponent]) -> float:
    return max(target.entry.limits.peer_loss for target in group.values())


def _groups(watched: Sequence[PlannedComponent]) -> Iterator[dict[str, PlannedComponent]]:
    hosts: dict[str, dict[str, PlannedComponent]] = {}
    rest: dict[object, dict[str, PlannedComponent]] = {}
    for target in watched:
        if LAYERS[target.entry.layer].on_devices:
            hosts.setdefault(target.entry.host, {})[target.name] = target
        else:
            rest.setdefault((target.entry.group, _ceiling(target.entry)), {})[target.name] = target
    for group in hosts.values():
        if len(group) >= MIN_SIZE:
            yield group
            continue
        for name, member in group.items():
            rest.setdefault(_ceiling(member.entry), {})[name] = member
    yield from (group for group in rest.values() if len(group) >= MIN_SIZE)


def _ceiling(entry: Expectation) -> tuple[float, ...]:
    """Return the ceilings of a component by its hardware, for each operation."""
    return tuple(
        reference.ceiling.rate for reference in entry.references.values() if reference.ceiling
    )
