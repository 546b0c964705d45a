"""Records of a server's sampler that counts a target each second."""

from __future__ import annotations

from typing import Any, Optional, Sequence

from plumbline.model.record import Operation, Outcome, Record, Scenario
from plumbline.model.trend import SERVER
from plumbline.observe.coverage import REQUESTS
from tests.package.records import record

OST = "scratch-OST0003"
MDT = "scratch-MDT0000"
START = 1000.0


def counted(
    read_Bps: Sequence[float],
    write_Bps: Optional[Sequence[float]] = None,
    start: float = START,
    host: str = "oss1",
    **details: Any,
) -> list[Record]:
    """Return a sampler's records of both directions; writing is zero by default."""
    zeros = [0.0] * len(read_Bps)
    both = (
        (Operation.READ, read_Bps),
        (Operation.WRITE, zeros if write_Bps is None else write_Bps),
    )
    return [_record(operation, rates, start, host, details) for operation, rates in both]


def requests(
    name: str, answered: Sequence[float], start: float = START, host: str = "mds1", **jobs: Any
) -> list[Record]:
    """Return a sampler's records of a metadata target, in requests of each second.

    ``jobs`` are the details of a record of its own.
    """
    counter = _record(REQUESTS, answered, start, host, {})._replace(component=name, bytes=0)
    if not jobs:
        return [counter]
    details = {"source": "lustre", **jobs}
    return [
        counter,
        counter._replace(id=f"jobs of {name}", operation=Operation.READ, details=details),
    ]


def _record(
    operation: Operation, rates: Sequence[float], start: float, host: str, details: dict[str, Any]
) -> Record:
    moved = sum(rates)
    values: dict[str, Any] = {
        "run_id": f"sampling of {host}",
        "layer": SERVER,
        "component": OST,
        "operation": operation,
        "scenario": Scenario.TOGETHER,
        "host": host,
        "started_at": start,
        "finished_at": start + len(rates),
        "bytes": round(moved),
        "seconds": float(len(rates)),
        "rate": moved / len(rates) or None,
        "repeats": (),
        "profile": tuple(rates) if moved else (),
        "tool": None,
        "spec": None,
        "outcome": Outcome.OK if moved else Outcome.SKIPPED,
        "reason": "" if moved else "lustre counted no byte",
        "details": {
            "source": "lustre",
            "watched_s": len(rates),
            "watched": [0, len(rates)],
            "late_s": 0.0,
            **details,
        },
    }
    if operation is not Operation.READ:
        values["details"].pop("jobs", None)
    return record(**values)
