"""What Lustre moves between two looks at its counters, a device a row."""

from __future__ import annotations

from typing import Iterable, Mapping, NamedTuple, Optional

from plumbline.counters.metric import (
    BYTES,
    OPERATIONS,
    RECOVERY,
    SECONDS,
    SETTLED,
    Count,
    Labels,
    Metric,
)
from plumbline.counters.stats import ALL_REQUESTS


class Rates(NamedTuple):
    """What one device did: ``latency_s`` is the mean of operations whose time is counted.

    A client's connection counts all of its requests in one line; that line alone is taken then.
    A rate is None where it is not known: its counter was not there before, or began again.
    """

    source: str
    name: str
    read_Bps: Optional[float]
    write_Bps: Optional[float]
    operations_per_s: Optional[float]
    latency_s: Optional[float]
    recovery: str

    @property
    def busy(self) -> tuple[float, float]:
        """Return bytes and operations a second, for who is busiest."""
        return (self.read_Bps or 0.0) + (self.write_Bps or 0.0), self.operations_per_s or 0.0


_Growth = dict[Metric, dict[str, Optional[float]]]
"""What each operation of a device added; None where that is not known."""


def rates(before: Iterable[Count], after: Iterable[Count], seconds: float) -> list[Rates]:
    """Return what each device did, of each source the busiest first, in order of the sources."""
    earlier = {(one.metric, one.labels): one.value for one in before}
    grown: dict[Labels, _Growth] = {}
    recovering: dict[Labels, str] = {}
    for one in after:
        last, device = dict(one.labels[-1:]), one.labels[:-1]
        if one.metric is RECOVERY:
            status = last["status"]
            recovering[device] = "" if status in SETTLED else status
            grown.setdefault(device, {})
        elif one.metric in (BYTES, OPERATIONS, SECONDS):
            growth = _growth(one, earlier)
            grown.setdefault(device, {}).setdefault(one.metric, {})[last["operation"]] = growth
    found = [
        _rates(dict(device), growth, recovering.get(device, ""), seconds)
        for device, growth in grown.items()
    ]
    order = {
        source: place for place, source in enumerate(dict.fromkeys(one.source for one in found))
    }
    return sorted(found, key=lambda rate: (order[rate.source], *(-part for part in rate.busy)))


def _growth(count: Count, earlier: Mapping[tuple[Metric, Labels], float]) -> Optional[float]:
    was = earlier.get((count.metric, count.labels))
    return None if was is None or count.value < was else count.value - was


def _rates(device: Mapping[str, str], growth: _Growth, recovery: str, seconds: float) -> Rates:
    moved = growth.get(BYTES, {})
    mount = device.get("mount", "")
    return Rates(
        device["source"],
        f"{device['target']} ({mount})" if mount else device["target"],
        _over(moved.get("read", 0.0) if moved else None, seconds),
        _over(moved.get("write", 0.0) if moved else None, seconds),
        _over(_sum(_each_once(growth.get(OPERATIONS, {})).values()), seconds),
        _latency(growth),
        recovery,
    )


def _over(amount: Optional[float], seconds: float) -> Optional[float]:
    return None if amount is None or seconds <= 0 else amount / seconds


def _sum(amounts: Iterable[Optional[float]]) -> Optional[float]:
    total = 0.0
    for amount in amounts:
        if amount is None:
            return None
        total += amount
    return total


def _latency(growth: _Growth) -> Optional[float]:
    """Return the mean time of the operations whose time is counted."""
    times, operations = _each_once(growth.get(SECONDS, {})), growth.get(OPERATIONS, {})
    took, done = _sum(times.values()), _sum(operations.get(operation) for operation in times)
    return took / done if took is not None and done else None


def _each_once(amounts: Mapping[str, Optional[float]]) -> Mapping[str, Optional[float]]:
    """Return the line of all requests where there is one, else the lines of all operations."""
    return {ALL_REQUESTS: amounts[ALL_REQUESTS]} if ALL_REQUESTS in amounts else amounts
