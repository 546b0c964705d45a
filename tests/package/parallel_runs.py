"""Parallel runs for tests: four targets of one file system at once."""

from __future__ import annotations

from statistics import median
from typing import Any, Mapping, Optional, Sequence

from plumbline.model.expectation import Expectation
from plumbline.model.limits import Ceiling, Reference
from plumbline.model.record import Operation, Record, Scenario
from plumbline.model.series import Series
from plumbline.model.spec import ProbeSpec
from tests.package.judgements import BASELINE, DAY_S, NOW, expectation, series
from tests.package.records import NIGHTS

SPEC = ProbeSpec("mpi", 1 << 30, 60.0, pattern="ost, fixed data, 4 ranks on 4 targets, 1 clients")
ACCEPTED = BASELINE._replace(spec_hash=SPEC.hash())
CEILING = Ceiling(900e6, ("client1-nic",), ("nic",))
OPERATIONS = (Operation.WRITE, Operation.READ)


def expected(*, baseline: bool = True, even: Optional[float] = None) -> list[Expectation]:
    """Return four targets of 202.1 MB/s and the whole, with or without baselines."""

    def entry(name: str, group: str, factor: int, ceiling: Ceiling, **changes: Any) -> Expectation:
        baseline_ = ACCEPTED._replace(median=factor * ACCEPTED.median) if baseline else None
        references = {
            f"{step.value}/together": Reference(ceiling, baseline_) for step in OPERATIONS
        }
        values = {"component": name, "group": group, "references": references, **changes}
        return expectation(layer="fs", spec=SPEC, **values)

    disk = Ceiling(250e6, ("disk",), ("disk",), even)
    members = [entry(f"OST{index}", "scratch", 1, disk) for index in range(4)]
    whole = {"target": {"kind": "parallel"}, "host": "client1"}
    return [*members, entry("scratch", "scratch as a whole", 4, CEILING, **whole)]


def ran(rates: Sequence[float], ended_at: float = NOW - 300, **changes: Any) -> list[Series]:
    """Return a run with the same rates for each operation; the whole waits for the slowest.

    ``changes`` are of a component, or of the whole as ``scratch``.
    """
    series_ = []
    for operation in OPERATIONS:
        common: dict[str, Any] = {
            "layer": "fs",
            "operation": operation,
            "scenario": Scenario.TOGETHER,
            "spec_hash": SPEC.hash(),
            "repeats": (),
            "started_at": ended_at - 10,
            "finished_at": ended_at,
        }
        for index, rate in enumerate(rates):
            peers_rate = median(r for peer, r in enumerate(rates) if peer != index)
            own = changes.get(f"OST{index}", {})
            rate_ = None if "outcome" in own else rate
            series_.append(series(rate_, peers_rate, component=f"OST{index}", **{**common, **own}))
        whole: Mapping[str, Any] = changes.get("scratch", {})
        total = None if "outcome" in whole else len(rates) * min(rates)
        series_.append(series(total, None, component="scratch", **{**common, **whole}))
    return series_


def nightly(rates: Sequence[float], ended_at: float) -> list[Record]:
    """Return the records of such a run on each of some nights, the oldest first."""
    return [
        item.latest._replace(id=f"{night}-{place}", run_id=f"night-{night}")
        for night in range(NIGHTS)
        for place, item in enumerate(ran(rates, ended_at - (NIGHTS - 1 - night) * DAY_S))
    ]
