"""Shared parts on this node: its flows at a moment, and the sum of all nodes' flows.

The node of a part's first flow records the sum, from the records that the playbook brings; a part
that one node reads alone needs nobody.
"""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import Iterator, Mapping, Optional, Sequence

from plumbline.measure.flows import LATE_S, Surroundings, drive
from plumbline.measure.lock import Locks
from plumbline.measure.shared import SharedUnit, sum_id
from plumbline.measure.shared import summed as summed_record
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.expectation import Expectation, Expectations
from plumbline.model.layers.shared import SHARED
from plumbline.model.record import Operation, Record, Scenario
from plumbline.model.shared import FLOWS, SharedReads, Turn, next_moment, reads_of, results_in
from plumbline.model.trend import NodeClock
from plumbline.model.units import DAY_S, HOUR_S
from plumbline.model.validation import read_json
from plumbline.observe.command import SystemClock, SystemRunner
from plumbline.site import measure as runs
from plumbline.store.collection import ConsoleHistory, read_clocks
from plumbline.store.database import Selection
from plumbline.store.history import History

_SOON_S = 5
"""Time until a read by one node alone: it looks for the traffic of others first."""

_EARLY_S = 20.0
"""Time before a moment at which a node that waits for it begins to look."""


def turn_of(expectations: Expectations, text: str, now: float) -> tuple[SharedReads, Turn]:
    """Return the part named by ``PART`` or ``PART@SECONDS``, with its turn.

    Raises:
        UsageError: it is no part of this node, or other nodes have to know the moment as well.
    """
    parts = {reads.component: reads for reads in expectations.shared}
    turn = Turn.parse(text, parts)
    reads = parts[turn.part]
    if turn.at is not None:
        return reads, turn
    if len(reads.nodes) > 1:
        raise UsageError(
            f"{turn.part} is read by {', '.join(reads.nodes)} at one moment: run "
            f"playbooks/probe.yml -e together={turn.part}"
        )
    return reads, turn._replace(at=ceil(now) + _SOON_S)


def round_of(expectations: Expectations, now: float) -> list[tuple[SharedReads, Turn]]:
    """Return the parts that this node reads, each at its next moment, in order of time."""
    turns = [
        (reads, Turn(reads.component, next_moment(reads, now + _EARLY_S)))
        for reads in expectations.shared
    ]
    return sorted(turns, key=lambda item: item[1].at or 0)


def drive_turns(
    expectations: Expectations,
    turns: Sequence[tuple[SharedReads, Turn]],
    history: History,
    locks: Locks,
) -> Iterator[Record]:
    """Read the flows of some turns one after the other; yield and keep the record of each."""
    clock = SystemClock()
    around = Surroundings(expectations, locks, clock, SystemRunner)
    for reads, turn in turns:
        if turn.at is not None and len(turns) > 1:
            clock.sleep(max(0.0, turn.at - _EARLY_S - clock.wall()))
        record = drive(around, reads, turn)
        history.save(record)
        yield record


def expectation_of(expectations: Expectations, part: str) -> Optional[Expectation]:
    """Return the expectation of a part whose sum this node records, None for others."""
    entries = [entry for entry in expectations.entries if entry["layer"] == SHARED.name]
    if not any(entry["component"] == part for entry in entries):
        return None
    return expectations.find(SHARED.name, part)[0]


def is_alone(expectations: Expectations, turn: Turn) -> bool:
    """Return whether this node reads a part alone, and so knows the sum."""
    return reads_of(expectations.shared, turn.part).nodes == (expectations.node,)


def keep_sum(
    expectations: Expectations,
    turn: Turn,
    records: Sequence[Record],
    history: History,
    options: runs.RunOptions,
) -> runs.Result:
    """Record and judge the sum of the flows of a turn.

    Raises:
        UsageError: another node records the part.
        DocumentError: a record is damaged.
    """
    reads = reads_of(expectations.shared, turn.part)
    entry = expectation_of(expectations, turn.part)
    if entry is None:
        raise UsageError(f"the sum of {turn.part} is recorded by {reads.nodes[0]}: run it there")
    unit = SharedUnit(entry, reads, turn, records)
    result = runs.measure(expectations, [unit], history, options._replace(run_id=turn.run_id))
    # the flows of this node are of the same run
    sums = tuple(record for record in result.records if record.layer == SHARED.name)
    return result._replace(records=sums)


_RECENT_S = 2 * DAY_S
_PATIENCE_S = HOUR_S
"""Time after which a node without a record of a turn is no longer waited for."""

_MAX_WITHIN_S = LATE_S / 4
"""Largest uncertainty with which a node's clock is corrected before starts are compared."""


def keep_sums(path: Path, nodes: Mapping[str, Expectations], now: float) -> int:
    """Record the sums of the turns whose flows a console has collected; return their number.

    A turn waits for the records of all its nodes, for an hour at most.

    Raises:
        StoreError: the history cannot be read or written.
    """
    parts = {reads.component: reads for node in nodes.values() for reads in node.shared}
    if not parts:
        return 0
    turns: dict[str, list[Record]] = {}
    with ConsoleHistory(path) as history:
        clocks = {clock.node: clock for clock in read_clocks(history)}
        for record in history.records(Selection(layer=FLOWS, since=now - _RECENT_S)):
            if record.component in parts and not history.has(sum_id(record.run_id)):
                turns.setdefault(record.run_id, []).append(record)
        sums = [
            summed
            for records in turns.values()
            if (summed := _sum_of(parts[records[0].component], records, nodes, clocks, now))
        ]
        for summed in sums:
            history.add(summed)
    return len(sums)


def _sum_of(
    reads: SharedReads,
    records: Sequence[Record],
    nodes: Mapping[str, Expectations],
    clocks: Mapping[str, NodeClock],
    now: float,
) -> Optional[Record]:
    """Return the record of a turn, None while a node may still bring its flows."""
    missing = set(reads.nodes) - {record.host for record in records}
    if missing and now - records[0].started_at < _PATIENCE_S:
        return None
    lead = nodes.get(reads.nodes[0])
    entry = expectation_of(lead, reads.component) if lead else None
    if entry is None:
        return None
    turn = Turn.parse(records[0].run_id, [reads.component])
    try:
        return summed_record(entry, reads, turn, _by_one_clock(records, clocks), now)
    except DocumentError:
        # a damaged record of a node is no measurement; collecting has named it
        return None


def _by_one_clock(records: Sequence[Record], clocks: Mapping[str, NodeClock]) -> Sequence[Record]:
    """Return records whose flows began by the console's clock, if all nodes' clocks are known.

    A node that waits for a moment by a wrong clock starts on time by that clock.
    """
    known = [clocks.get(record.host) for record in records]
    if not all(clock and clock.within_s <= _MAX_WITHIN_S for clock in known):
        return records
    return [_shifted(record, -clock.ahead_s) for record, clock in zip(records, known) if clock]


def _shifted(record: Record, seconds: float) -> Record:
    flows = [
        result._replace(
            started_at=result.started_at + seconds, finished_at=result.finished_at + seconds
        )
        if result.started_at
        else result
        for result in results_in(record)
    ]
    return record._replace(
        details={**(record.details or {}), "flows": [flow._asdict() for flow in flows]}
    )


def records_in(text: str) -> list[Record]:
    """Return the records of nodes, one in a line; raise DocumentError."""
    try:
        return [Record.from_json(read_json(line)) for line in text.splitlines() if line.strip()]
    except (ValueError, AttributeError) as error:
        raise DocumentError(
            f"the flows are no records ({error}); give the output of plumbline history --json "
            "--layer flows"
        ) from error


def ceiling_of(entry: Expectation) -> Optional[float]:
    """Return the ceiling of a part's reads in bytes per second, None if it is not known."""
    ceiling = entry.reference(Operation.READ, Scenario.TOGETHER).ceiling
    return ceiling.rate if ceiling else None
