"""What the devices of a site did under the load that they had, from what Prometheus keeps.

Prometheus's node exporter counts operations, bytes and seconds of each device of a host; the
metrics of plumbline say which of them are components (``plumbline_device_info``).  ``increase``
sees counters that begin again at 0.
"""

from __future__ import annotations

from typing import NamedTuple

from plumbline.collect.prometheus import Prometheus, Span
from plumbline.errors import ToolError
from plumbline.judge.latency import Load
from plumbline.model.device_info import DEVICE_INFO
from plumbline.model.record import Operation

_LEAST_OPERATIONS = 100.0
"""In a window: the mean time of fewer says little of a device."""


class _Counters(NamedTuple):
    """Names of node exporter's counters of one operation."""

    operations: str
    bytes: str
    seconds: str


_COUNTERS = {
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


def device_loads(prometheus: Prometheus, span: Span) -> dict[Operation, list[Load]]:
    """Return what each component did in windows that end at the moments of a span.

    Raises:
        ToolError: Prometheus does not answer, or knows nothing of the devices of components.
    """
    found = {
        operation: _loads(prometheus, counters, span) for operation, counters in _COUNTERS.items()
    }
    if not any(found.values()):
        raise ToolError(_nothing(prometheus, span))
    return found


def _loads(prometheus: Prometheus, counters: _Counters, span: Span) -> list[Load]:
    operations, moved, seconds = (
        {
            (curve.labels.get("component", ""), at): value
            for curve in prometheus.over(_increase(counter, span.step_s), span)
            for at, value in curve.points
        }
        for counter in counters
    )
    return [
        Load(at - span.step_s, component, moved[component, at] / span.step_s, took / count)
        for (component, at), count in operations.items()
        if count >= _LEAST_OPERATIONS
        and moved.get((component, at), 0.0) > 0
        and (took := seconds.get((component, at), 0.0)) > 0
    ]


def _increase(counter: str, window_s: float) -> str:
    """Return what a counter grew by in each window, of components alone."""
    return (
        f"sum by (component) (increase({counter}[{window_s:g}s]) "
        f"* on (instance, device) group_left (component) {DEVICE_INFO})"
    )


def _nothing(prometheus: Prometheus, span: Span) -> str:
    """Return why there is no load at all, and what to do."""
    for name, remedy in (
        ("node_disk_reads_completed_total", "let it scrape node exporter on the servers"),
        (DEVICE_INFO, "deploy the role metrics on the servers, with node exporter's text files"),
    ):
        if not any(curve.points for curve in prometheus.over(f"count({name})", span)):
            return f"{prometheus.url} has no {name} of this time; {remedy}"
    return (
        f"{prometheus.url} has no device of a component with {_LEAST_OPERATIONS:g} operations in "
        "any window; ask about more time"
    )
