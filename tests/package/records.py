"""Records for tests: a valid measurement with the changes of a test."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any, Iterable

from plumbline.model.record import Operation, Outcome, Record, Scenario, Tool
from plumbline.store.history import History

NIGHTS = 8
"""Runs that are enough for an alarm at a large loss."""

_DAY_S = 86400.0
_NUMBERS = count(1)


def record(**changes: Any) -> Record:
    """Return the record of a healthy read of 200 MB/s with ``changes``."""
    values: dict[str, Any] = {
        "id": f"record-{next(_NUMBERS)}",
        "run_id": "run-1",
        "layer": "ost",
        "component": "a",
        "operation": Operation.READ,
        "scenario": Scenario.SINGLE,
        "outcome": Outcome.OK,
        "host": "client1",
        "started_at": 1000.0,
        "finished_at": 1010.0,
        "bytes": 2_000_000_000,
        "seconds": 10.0,
        "rate": 200e6,
        "repeats": (200e6,),
        "profile": (199e6, 201e6),
        "tool": Tool("fio", "fio-3.39", ("fio", "--rw=read")),
        "spec": {"tool": "fio"},
    }
    return Record(**{**values, **changes})


def failed(**changes: Any) -> Record:
    """Return the record of a measurement without a rate."""
    without = {"rate": None, "repeats": (), "profile": ()}
    return record(outcome=Outcome.FAILED, reason="fio said no", **{**without, **changes})


def every_night(ended_at: float, nights: int = NIGHTS, **changes: Any) -> list[Record]:
    """Return a record a night, the oldest first, the last one ending at ``ended_at``."""
    return [
        record(
            run_id=f"{changes.get('host', 'client1')}-{ago}",
            started_at=ended_at - ago * _DAY_S - 10,
            finished_at=ended_at - ago * _DAY_S,
            **changes,
        )
        for ago in reversed(range(nights))
    ]


def night_after_night(records: Iterable[Record], nights: int = NIGHTS) -> list[Record]:
    """Return the records of one night repeated on each of some nights; the last is as given."""
    return [
        item._replace(
            id=f"{item.id} {ago}",
            run_id=f"{item.run_id} {ago}",
            started_at=item.started_at - ago * _DAY_S,
            finished_at=item.finished_at - ago * _DAY_S,
        )
        for item in records
        for ago in reversed(range(nights))
        if ago == 0 or item.outcome is Outcome.OK
    ]


def save(path: Path, records: Iterable[Record]) -> None:
    """Save records in a history, which may not exist yet."""
    with History(path) as history:
        for item in records:
            history.save(item)
