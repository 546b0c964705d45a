"""Layer ``shared``: one measurement from the flows of all nodes through a part.

The sum counts only if the flows asked the part for its rate together: from one moment on, for most
of the time, with none missing that was needed.  A flow far below the others is slow by itself.
"""

from __future__ import annotations

from statistics import median
from typing import Any, Generator, NamedTuple, Optional, Sequence

from plumbline.measure.flows import LATE_S
from plumbline.measure.trial import Task, tasks_of
from plumbline.measure.unit_context import UnitContext
from plumbline.model.expectation import Expectation
from plumbline.model.record import Operation, Outcome, Record, Scenario
from plumbline.model.shared import (
    MIN_OVERLAP_SHARE,
    Flow,
    FlowResult,
    SharedReads,
    Turn,
    overlap_s,
    results_in,
)
from plumbline.model.units import format_duration, format_rate

_FAR_BELOW = 0.5
"""A flow below this share of the others' middle, and of its own rate, is slow by itself."""

_ROUNDING = 1 - 1e-6


class _Read(NamedTuple):
    """A flow and its result, which has no rate if its node gave none."""

    flow: Flow
    result: FlowResult

    @property
    def rate(self) -> float:
        return self.result.rate_Bps or 0.0

    @property
    def name(self) -> str:
        return self.flow.component


class SharedUnit:
    """The measurement of one part, from the records of the nodes that read it."""

    def __init__(
        self, entry: Expectation, reads: SharedReads, turn: Turn, records: Sequence[Record]
    ) -> None:
        """Take the records of one turn."""
        self.tasks: tuple[Task, ...] = tasks_of(entry)
        self._entry = entry
        self._reads = reads
        self._turn = turn
        self._records = records

    def measure(self, context: UnitContext) -> Generator[Record, None, None]:
        """Yield the record of the sum."""
        yield summed(self._entry, self._reads, self._turn, self._records, context.clock.wall())

    def commands(self) -> tuple[tuple[str, ...], ...]:
        """Return the calls of the tools: the nodes have called them."""
        return ()


def summed(
    entry: Expectation,
    reads: SharedReads,
    turn: Turn,
    records: Sequence[Record],
    now: float,
) -> Record:
    """Return the record of a part from the nodes' records of one turn; ``now`` without a rate.

    Equal records give an equal record, so a turn is recorded once.
    """
    of_flows = _reads_of(reads, turn, records)
    rated = [item for item in of_flows if item.rate]
    obstacle = _obstacle(entry, of_flows, rated)
    starts = [item.result.started_at for item in rated]
    ends = [item.result.finished_at for item in rated]
    total = sum(item.rate for item in rated)
    measured = {
        "outcome": Outcome.OK,
        "rate": total,
        "repeats": (total,),
        "bytes": sum(item.result.bytes for item in rated),
        "seconds": max(ends, default=now) - min(starts, default=now),
        "coverage": _coverage(rated),
    }
    return Record(
        id=sum_id(turn.run_id),
        run_id=turn.run_id,
        layer=entry.layer,
        component=entry.component,
        operation=Operation.READ,
        scenario=Scenario.TOGETHER,
        host=reads.nodes[0],
        started_at=min(starts, default=now),
        finished_at=max(ends, default=now),
        path=entry.path,
        tool=next((record.tool for record in records if record.tool), None),
        spec=entry.spec.to_json(),
        spec_hash=entry.spec.hash(),
        versions={},
        details={"flows": [_detail(item) for item in of_flows]},
        **({"outcome": Outcome.FAILED, "reason": obstacle} if obstacle else measured),
    )


def sum_id(run_id: str) -> str:
    """Return the id of the record of a turn."""
    return f"shared-{run_id}"


def _reads_of(reads: SharedReads, turn: Turn, records: Sequence[Record]) -> list[_Read]:
    results = {
        (record.host, result.layer, result.component): result
        for record in records
        if record.run_id == turn.run_id
        for result in results_in(record)
    }
    return [_Read(flow, results.get(flow[:3]) or _missing(flow)) for flow in reads.flows]


def _missing(flow: Flow) -> FlowResult:
    return FlowResult(flow.layer, flow.component, reason=f"{flow.node} gave no record")


def _obstacle(entry: Expectation, of_flows: Sequence[_Read], rated: Sequence[_Read]) -> str:
    """Return why the sum does not show the part's rate, empty if it does."""
    failed = [item for item in of_flows if not item.rate]
    first = f"; first {failed[0].name}: {failed[0].result.reason}" if failed else ""
    number = f"{len(failed)} of {len(of_flows)} flows"
    if 2 * len(failed) >= len(of_flows):
        return f"not measured, {number} have no rate{first}"
    ceiling = entry.reference(Operation.READ, Scenario.TOGETHER).ceiling
    asked = sum(item.flow.free_Bps for item in rated)
    if failed and ceiling and asked < ceiling.rate * _ROUNDING:
        return (
            f"not measured, {number} have no rate, and the others ask for "
            f"{format_rate(asked)} of {format_rate(ceiling.rate)}{first}"
        )
    return _partial(failed) or _apart(rated) or _uneven(rated)


def _partial(failed: Sequence[_Read]) -> str:
    """Return the flow that took of the part for a time and gave no rate, empty if none did.

    A flow that ends within the second in which others may still start takes next to nothing.
    """
    for item in failed:
        if item.result.seconds > LATE_S:
            ran = format_duration(item.result.seconds)
            return (
                f"not measured, {item.name} read beside the others for {ran} and has no rate: "
                f"{item.result.reason}"
            )
    return ""


def _apart(rated: Sequence[_Read]) -> str:
    """Return why the flows did not run together, empty if they did."""
    first = min(rated, key=lambda item: item.result.started_at)
    last = max(rated, key=lambda item: item.result.started_at)
    late = last.result.started_at - first.result.started_at
    if late > LATE_S:
        return f"not measured, {last.name} began {format_duration(late)} after {first.name}"
    longest = max(item.result.seconds for item in rated)
    overlap = overlap_s([(item.result.started_at, item.result.finished_at) for item in rated])
    if overlap < MIN_OVERLAP_SHARE * longest:
        return (
            f"not measured, the flows ran together for {max(0.0, overlap):.1f} s of {longest:.1f} s"
        )
    return ""


def _uneven(rated: Sequence[_Read]) -> str:
    """Return the flows that are slow by themselves: a part that is too slow holds all of them up.

    They are up to half of all, as when a controller fails over and its flows stall for a time.
    """
    middle = median(item.rate for item in rated)
    slow = [item for item in rated if item.rate < _FAR_BELOW * min(middle, item.flow.free_Bps)]
    if not slow:
        return ""
    usual = format_rate(median(item.rate for item in rated if item not in slow))
    first = slow[0]
    gave = f"{first.name} gave {format_rate(first.rate)} where the others gave {usual}"
    see = f"see {first.flow.layer} {first.name}"
    if len(slow) == 1:
        return f"not measured, {gave}: it is slow by itself, {see}"
    number = f"{len(slow)} of {len(rated)} flows"
    return f"not measured, {number} are slow by themselves or stalled meanwhile: {gave}, {see}"


def _coverage(rated: Sequence[_Read]) -> Optional[float]:
    """Return the flows' share of all bytes on their storage, None if none of them is known."""
    known = [(item.result.bytes, item.result.coverage) for item in rated if item.result.coverage]
    moved = sum(size / coverage for size, coverage in known)
    return sum(size for size, _ in known) / moved if moved else None


def _detail(item: _Read) -> dict[str, Any]:
    return {
        "node": item.flow.node,
        "layer": item.flow.layer,
        "component": item.name,
        "rate_Bps": item.result.rate_Bps,
        "reason": item.result.reason,
    }


def flows_sentence(record: Record) -> str:
    """Return the flows of one node in one sentence."""
    results = results_in(record)
    rated = [result for result in results if result.rate_Bps]
    text = f"{record.component}: {len(rated)} of {len(results)} reads of {record.host}"
    if record.rate is None:
        return f"{text}; {record.reason}."
    return f"{text} gave {format_rate(record.rate)}."


def sentence(record: Record, capacity_Bps: Optional[float]) -> str:
    """Return the sum of a part's flows against its ceiling in one sentence."""
    flows = (record.details or {}).get("flows", ())
    if record.rate is None:
        return f"{record.component}: {record.reason}."
    nodes = sorted({flow["node"] for flow in flows})
    where = nodes[0] if len(nodes) == 1 else f"{len(nodes)} nodes"
    rated = sum(bool(flow["rate_Bps"]) for flow in flows)
    rate = format_rate(record.rate)
    text = f"{record.component}: {rated} reads of {where} at once gave {rate}"
    if capacity_Bps is None:
        return f"{text}; nothing on their way has a rate."
    share = 100 * record.rate / capacity_Bps
    return f"{text}, {share:.0f} % of its ceiling {format_rate(capacity_Bps)}."
