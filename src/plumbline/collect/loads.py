"""What the devices and OSTs of a site did under their own load, from what Prometheus keeps.

Prometheus's node exporter counts operations, bytes and seconds of each device of a host; the
metrics of plumbline say which of them are components (``plumbline_device_info``).  The servers of
Lustre count the same of each OST, for all clients (``plumbline counters``).  ``increase`` sees
counters that begin again at 0.
"""

from __future__ import annotations

from typing import NamedTuple

from plumbline.collect.prometheus import Prometheus, Span
from plumbline.counters.metric import BYTES, OPERATIONS, SECONDS
from plumbline.errors import ToolError
from plumbline.judge.latency import Load, Loads
from plumbline.layers import GROUPED, ON_DEVICES
from plumbline.model.device_info import DEVICE_INFO
from plumbline.model.record import Operation

_LEAST_OPERATIONS = 100.0
"""In a window: the mean time of fewer says little of a device."""


class _Counters(NamedTuple):
    """Counters of one operation, and the label by which they name what did it."""

    operations: str
    bytes: str
    seconds: str
    label: str = "component"


def _of_osts(operation: Operation) -> _Counters:
    chosen = f'{{source="obdfilter",operation="{operation.value}"}}'
    operations, moved, seconds = (f"{one.name}{chosen}" for one in (OPERATIONS, BYTES, SECONDS))
    return _Counters(operations, moved, seconds, "target")


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
_OSTS = {operation: _of_osts(operation) for operation in _DEVICES}


def site_loads(prometheus: Prometheus, span: Span) -> Loads:
    """Return what each device, by its component, and each OST did in windows of a span's steps.

    Raises:
        ToolError: Prometheus does not answer, or knows nothing of either.
    """
    found = {
        layer: {
            operation: _loads(prometheus, counters, span)
            for operation, counters in (_DEVICES if layer in ON_DEVICES else _OSTS).items()
        }
        for layer in GROUPED
    }
    if not any(any(of.values()) for of in found.values()):
        raise ToolError(_nothing(prometheus, span))
    return found


def _loads(prometheus: Prometheus, counters: _Counters, span: Span) -> list[Load]:
    operations, moved, seconds = (
        {
            (curve.labels.get(counters.label, ""), at): value
            for curve in prometheus.over(_increase(counter, counters.label, span.step_s), span)
            for at, value in curve.points
        }
        for counter in counters[:3]
    )
    return [
        Load(at - span.step_s, component, moved[component, at] / span.step_s, took / count)
        for (component, at), count in operations.items()
        if count >= _LEAST_OPERATIONS
        and moved.get((component, at), 0.0) > 0
        and (took := seconds.get((component, at), 0.0)) > 0
    ]


def _increase(counter: str, label: str, window_s: float) -> str:
    """Return what a counter grew by in each window, of components or OSTs alone."""
    grown = f"increase({counter}[{window_s:g}s])"
    if label == "component":
        grown += f" * on (instance, device) group_left (component) {DEVICE_INFO}"
    return f"sum by ({label}) ({grown})"


def _nothing(prometheus: Prometheus, span: Span) -> str:
    """Return why there is no load at all, and what to do."""
    for name, remedy in (
        ("node_disk_reads_completed_total", "let it scrape node exporter on the servers"),
        (DEVICE_INFO, "deploy the role metrics on the servers, with node exporter's text files"),
    ):
        if not any(curve.points for curve in prometheus.over(f"count({name})", span)):
            return f"{prometheus.url} has no {name} of this time; {remedy}"
    return (
        f"{prometheus.url} has no device of a component and no OST with {_LEAST_OPERATIONS:g} "
        "operations in any window; ask about more time"
    )
