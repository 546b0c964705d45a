"""The text format of Prometheus as its own client library writes it, for the console, which has it.

https://prometheus.github.io/client_python/collector/custom/

On nodes, which have the standard library alone, ``exposition`` writes the same families.
"""

from __future__ import annotations

from typing import Iterable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from plumbline.output.exposition import Family, sound


class _Told(Collector):
    """Hands the families over as they are; nothing is counted in this process."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._families = families

    def collect(self) -> Iterator[GaugeMetricFamily]:
        for family in self._families:
            gauge = GaugeMetricFamily(family.name, family.help)
            for labels, value in family.samples.items():
                # not add_metric, which wants the same labels of all
                gauge.add_sample(family.name, dict(labels), value)
            yield gauge


def exposition(families: Iterable[Family]) -> str:
    """Return the text; a family without samples is left out.

    Raises:
        ValueError: a sample is no finite number; it would be no measurement.
    """
    registry = CollectorRegistry()
    registry.register(_Told(sound(families)))
    return generate_latest(registry).decode("utf-8")
