"""``plumbline through PART``: pairs of hosts at once through one switch, line card or uplink.

probe.yml asks twice: for the slots to measure, and with their records for the sums.
"""

from __future__ import annotations

import argparse
from collections import Counter
from itertools import chain
from typing import Any, Iterator, NamedTuple, Optional, Sequence

from plumbline.cli.output import show
from plumbline.doors.table import render
from plumbline.judge.phrases import number
from plumbline.model.limits import Ceiling
from plumbline.model.names import several
from plumbline.model.units import format_rate
from plumbline.plan.pair_sums import (
    PairNetwork,
    PartSlot,
    SlotSum,
    SlowPair,
    slots_through,
    sums_of,
)
from plumbline.site.documents import read_records
from plumbline.store.plan import load_plan

_HEADERS = (
    "slot",
    "direction",
    "within",
    "leaving",
    "moved",
    "ceiling",
    "of ceiling",
    "retransmits",
    "limited by",
)


class _Part(NamedTuple):
    name: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def through(arguments: argparse.Namespace) -> int:
    """Print the slots of a part, or the sums of its pairs; return 0."""
    plan = load_plan(arguments.plan)
    network = PairNetwork(chain.from_iterable(plan.measured().values()), plan.parts)
    slots = slots_through(network, arguments.part, balanced=arguments.balanced)
    part = _Part(arguments.part, plan.parts[arguments.part].kind)
    sums = sums_of(network, slots, read_records(arguments.records or ()))
    planned = arguments.records is None
    lines = list(_planned(part, slots) if planned else _result(part, sums))
    document = {
        "schema": 1,
        "part": part.name,
        "kind": part.kind,
        "slots": [_slot(slot) for slot in slots],
        "sums": [_sum(entry) for entry in sums],
        "lines": "\n".join(lines).splitlines(),
    }
    show(arguments, document, lines)
    return 0


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.0f} %"


def _planned(part: _Part, slots: Sequence[PartSlot]) -> Iterator[str]:
    rows = [
        (
            str(slot.number),
            str(len(slot.within)),
            str(len(slot.leaving)),
            *_limit(slot.ceiling),
        )
        for slot in slots
    ]
    yield render(("slot", "within", "leaving", "ceiling", "limited by"), rows)
    yield f"{part}: {number(len(slots), 'slot')} to measure, the pairs of each at once"


def _limit(ceiling: Optional[Ceiling]) -> tuple[str, str]:
    if ceiling is None:
        return "unknown", ""
    return format_rate(ceiling.rate), several(ceiling.limited_by)


def _result(part: _Part, sums: Sequence[SlotSum]) -> Iterator[str]:
    measured = [entry for entry in sums if entry.measured]
    if measured:
        yield render(_HEADERS, [_row(entry) for entry in measured])
    for operation in dict.fromkeys(entry.operation for entry in measured):
        yield _summary(part, [entry for entry in measured if entry.operation == operation])
    yield from _apart(measured)
    yield from _slow(measured)
    if measured:
        yield from _missing(sums)
    else:
        yield f"{part}: no pair that crosses it has a rate; look at the messages above"


def _row(entry: SlotSum) -> tuple[str, ...]:
    ceiling, limited_by = _limit(entry.ceiling)
    return (
        str(entry.slot.number),
        entry.operation,
        _counted(entry, entry.slot.within),
        _counted(entry, entry.slot.leaving),
        format_rate(entry.moved_Bps) if entry.at_once else "",
        ceiling,
        "" if entry.share is None else _percent(entry.share),
        "" if entry.retransmits is None else str(entry.retransmits),
        limited_by,
    )


def _counted(entry: SlotSum, pairs: Sequence[tuple[str, str]]) -> str:
    """Return the number of pairs with a rate, and of all pairs if some have none."""
    count = len({*pairs} & {*entry.measured})
    return str(count) if count == len(pairs) else f"{count} of {len(pairs)}"


def _summary(part: _Part, sums: Sequence[SlotSum]) -> str:
    """Return the sentence on one direction: the highest sum, and the range of the shares."""
    sums = [entry for entry in sums if entry.at_once] or sums
    if not sums[0].at_once:
        return f"{part}, {sums[0].operation}: no sum, in no slot did its pairs measure at once"
    best = max(sums, key=lambda entry: entry.moved_Bps)
    text = (
        f"{part}, {best.operation}: at most {format_rate(best.moved_Bps)} by "
        f"{number(len(best.measured), 'pair')} at once"
    )
    if best.ceiling is not None and best.share is not None:
        limits = several(best.ceiling.limited_by)
        text += f", {_percent(best.share)} of {format_rate(best.ceiling.rate)}, limited by {limits}"
    shares = sorted(entry.share for entry in sums if entry.share is not None)
    if len(shares) > 1:
        text += f"; {len(shares)} slots from {_percent(shares[0])} to {_percent(shares[-1])}"
    return text


def _apart(sums: Sequence[SlotSum]) -> Iterator[str]:
    for entry in sums:
        if not entry.at_once:
            yield (
                f"slot {entry.slot.number}, {entry.operation}: its pairs measured together for "
                f"{_percent(entry.overlap)} of the time, so they have no sum; one began late or "
                "ended early, or a clock is wrong"
            )


def _slow(sums: Sequence[SlotSum]) -> Iterator[str]:
    """Yield a sentence for each host that is in several slow pairs, then for each other pair."""
    left = [(entry, slow) for entry in sums for slow in entry.slow]
    while left:
        users = Counter(host for _, slow in left for host in slow.pair)
        host, count = users.most_common(1)[0]
        if count == 1:
            yield from (_slow_pair(entry, slow) for entry, slow in left)
            return
        tests = sum(host in pair for entry in sums for pair in entry.measured)
        own = [slow.share / slow.others for _, slow in left if host in slow.pair]
        yield (
            f"{host} is slow by itself in {count} of its {number(tests, 'test')}: "
            f"{_percent(min(own))} to {_percent(max(own))} of what the others of a slot have"
        )
        left = [(entry, slow) for entry, slow in left if host not in slow.pair]


def _slow_pair(entry: SlotSum, slow: SlowPair) -> str:
    return (
        f"{' with '.join(slow.pair)} is slow by itself, {entry.operation} in slot "
        f"{entry.slot.number}: {format_rate(slow.rate_Bps)}, {_percent(slow.share / slow.others)} "
        "of what the others of the slot have"
    )


def _missing(sums: Sequence[SlotSum]) -> Iterator[str]:
    pairs = {pair for entry in sums for pair in entry.slot.pairs if pair not in entry.measured}
    if pairs:
        yield (
            f"no rate in some directions of {number(len(pairs), 'pair')}, which count in no sum: "
            f"{several([' with '.join(pair) for pair in sorted(pairs)])}"
        )


def _slot(slot: PartSlot) -> dict[str, Any]:
    return {
        "slot": slot.number,
        "within": slot.within,
        "leaving": slot.leaving,
        **_ceiling(slot.ceiling),
    }


def _sum(entry: SlotSum) -> dict[str, Any]:
    return {
        "slot": entry.slot.number,
        "operation": entry.operation,
        "pairs": len(entry.measured),
        "moved_Bps": entry.moved_Bps,
        "overlap": entry.overlap,
        "retransmits": entry.retransmits,
        **_ceiling(entry.ceiling),
        "slow": entry.slow,
    }


def _ceiling(ceiling: Optional[Ceiling]) -> dict[str, Any]:
    return {
        "ceiling_Bps": ceiling.rate if ceiling else None,
        "limited_by": ceiling.limited_by if ceiling else (),
    }
