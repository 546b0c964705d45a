"""Records that tests need: one sound measurement, changed in what a test is about."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any, Iterable

from plumbline.model.record import Operation, Outcome, Record, Scenario, Tool
from plumbline.store.history import History

NIGHTS = 8
"""Runs that are enough for an alarm where much is lost."""

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
    """Return the record of a measurement that gave no rate."""
    without = {"rate": None, "repeats": (), "profile": ()}
    return record(outcome=Outcome.FAILED, reason="fio said no", **{**without, **changes})


def every_night(ended_at: float, nights: int = NIGHTS, **changes: Any) -> list[Record]:
    """Return a record of each of some nights, the oldest first and the last ending at a moment."""
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
    """Return what one night showed as what each of some nights did; the last one is as given."""
    return [
        one._replace(
            id=f"{one.id} {ago}",
            run_id=f"{one.run_id} {ago}",
            started_at=one.started_at - ago * _DAY_S,
            finished_at=one.finished_at - ago * _DAY_S,
        )
        for one in records
        for ago in reversed(range(nights))
        if ago == 0 or one.outcome is Outcome.OK
    ]


def save(path: Path, records: Iterable[Record]) -> None:
    """Keep records in a history, which may not be there yet."""
    with History(path) as history:
        for kept in records:
            history.save(kept)
