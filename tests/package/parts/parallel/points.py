"""Measured points for the tests of sweeps."""

from __future__ import annotations

from typing import Any, Optional

from plumbline.model.record import Operation
from plumbline.parts.parallel.axes import Point, Value
from plumbline.parts.parallel.sweep import MeasuredPoint

MIB = 1 << 20


def point(writers: int, transfer: int = MIB, **more: Value) -> Point:
    """Return a point with the axes of all sweeps, and more."""
    usual: dict[str, Value] = {"stripes": 1, "oversubscription": 1}
    return {"writers": writers, "transfer": transfer, **usual, **more}


def done(
    point: Point, write_MBps: Optional[float], read_MBps: Optional[float] = None, **changes: Any
) -> MeasuredPoint:
    """Return a point with its rates in MB/s, on four targets; None is no rate."""
    rates = {Operation.WRITE: write_MBps, Operation.READ: read_MBps}
    values: dict[str, Any] = {
        "run_id": "run-1",
        "spec_hash": "0" * 12,
        "targets": 4,
        "ranks": 4 * int(point["writers"]),
        "started_at": 1000.0,
        "seconds": 20.0,
        "written": 10**9,
        "rates": {name: rate * 1e6 for name, rate in rates.items() if rate is not None},
    }
    return MeasuredPoint(point, **{**values, **changes})
