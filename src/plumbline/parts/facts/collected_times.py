"""Times of requests in the past, from what Prometheus keeps of ``plumbline counters``.

``increase`` handles counters that began again.
"""

from __future__ import annotations

from typing import Iterator, Mapping

from plumbline.model.errors import ToolError
from plumbline.model.metric import DISK_TIME, Metric
from plumbline.parts.facts.counters import Count, CountersLook, Labels
from plumbline.parts.facts.request_times import METRICS, RequestTimes, device_of, request_times
from plumbline.site.prometheus import Prometheus, Span

_LABELS = ("source", "target", "service", "mount", "operation", "le")
"""Labels in the order of a host's own counters."""


def collected_times(prometheus: Prometheus, end: float, seconds: float) -> list[RequestTimes]:
    """Return the times of each node's requests in the ``seconds`` before ``end``.

    Raises:
        ToolError: Prometheus does not answer, or has no counters of Lustre.
    """
    counts: dict[str, list[Count]] = {}
    for metric in METRICS:
        for series in _series(metric):
            query = f'increase({series}{{source!="llite"}}[{seconds:.0f}s])'
            for curve in prometheus.over(query, Span(end, end, seconds)):
                for _, value in curve.points:
                    count = Count(metric, _labels(curve.labels), value)
                    counts.setdefault(curve.labels.get("instance", ""), []).append(count)
    if not counts:
        raise ToolError(
            f"{prometheus.url} has no counters of Lustre of this time; deploy the role counters on "
            "servers and clients, and let it scrape their node exporters"
        )
    return [_times(node, seconds, of_node) for node, of_node in sorted(counts.items())]


def _series(metric: Metric) -> Iterator[str]:
    """Yield the names under which a metric is kept; a histogram has two."""
    if metric is DISK_TIME:
        yield from (f"{metric.name}_bucket", f"{metric.name}_count")
    else:
        yield metric.name


def _labels(labels: Mapping[str, str]) -> Labels:
    return tuple((name, labels[name]) for name in _LABELS if name in labels)


def _times(node: str, seconds: float, counts: list[Count]) -> RequestTimes:
    devices = frozenset(device_of(count.labels) for count in counts)
    before = CountersLook((), (), devices)
    return request_times(node, seconds, before, CountersLook(tuple(counts), (), devices))
