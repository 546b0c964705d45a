"""The ranks of a parallel run, from every call of it or from what a record keeps of each second."""

from __future__ import annotations

from statistics import median
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.errors import DocumentError
from plumbline.model.record import Record
from plumbline.model.trend import Run
from plumbline.model.validation import numbers, texts
from plumbline.profile.calls import Block, Profile
from plumbline.profile.latencies import Durations, by_tenths, durations_of, latency, together
from plumbline.robust import deviation

_POINTS = 60
"""Of one rank in a picture: more cannot be seen, and a thousand ranks are drawn."""

_LATE = 1.1
_SURE = 3.0


class Rank(NamedTuple):
    """One rank in one operation; it ``straggles`` when it ends far later than its peers.

    ``points`` are bytes moved and the time by then, in seconds.  ``calls`` and ``longest_s`` are
    known where each call was kept.
    """

    rank: int
    client: str
    target: str
    operation: str
    bytes: int
    end_s: float
    points: Sequence[tuple[float, float]]
    straggles: bool = False
    calls: Optional[int] = None
    longest_s: Optional[float] = None


class Ranks(NamedTuple):
    """All ranks of one operation, and how long their calls took: number of calls by tenths.

    0 is a second, -10 a tenth of one.  It is empty where nobody counted.
    """

    operation: str
    found: Sequence[Rank]
    tenths: Mapping[int, int]
    half_s: Optional[float] = None
    longest_s: Optional[float] = None


def of_profile(profile: Profile) -> Iterator[Ranks]:
    """Yield each operation of a call profile.

    A rank straggles that ends a tenth after the median, and three robust standard deviations.
    """
    for operation in dict.fromkeys(one.operation for one in profile.blocks if one.calls.count):
        own = [one for one in profile.blocks if one.operation == operation and one.calls.count]
        durations = [durations_of(one.calls) for one in own]
        found = [_of_block(one, each) for one, each in zip(own, durations)]
        whole = together(durations)
        said = latency(whole)
        half_s, longest_s = (said.p50_s, said.max_s) if said else (None, None)
        yield Ranks(operation, judged(found), by_tenths(whole), half_s, longest_s)


def _of_block(block: Block, durations: Durations) -> Rank:
    calls = block.calls
    return Rank(
        block.rank,
        block.client,
        block.target,
        block.operation,
        calls.bytes,
        calls.starts[calls.count - 1] + calls.durations[calls.count - 1],
        tuple(steps(block)),
        calls=calls.count,
        longest_s=durations.longest_s,
    )


def steps(block: Block) -> Iterator[tuple[int, float]]:
    """Yield bytes moved and the time by then, sixty times or so, the last call among them."""
    calls, moved = block.calls, 0
    every = max(1, calls.count // _POINTS)
    yield 0, calls.starts[0]
    for index in range(calls.count):
        moved += calls.sizes[index]
        if index % every == every - 1 or index == calls.count - 1:
            yield moved, calls.starts[index] + calls.durations[index]


def judged(found: Sequence[Rank]) -> list[Rank]:
    """Return ranks of one operation with who of them straggles."""
    ends = [one.end_s for one in found]
    middle = median(ends)
    limit = max(_LATE * middle, middle + _SURE * deviation(ends, middle))
    return [one._replace(straggles=one.end_s > limit) for one in found]


def of_run(run: Run) -> Iterator[Ranks]:
    """Yield each operation of a recorded run that knows its ranks; who straggles is recorded.

    Raises:
        DocumentError: what a record tells of its ranks is damaged.
    """
    for operation in dict.fromkeys(one.operation for one in run.records):
        own = [one for one in run.records if one.operation is operation]
        try:
            ranks = _of_records(own, operation.value)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise DocumentError(
                f"what run {run.run_id} tells of its ranks is damaged: {error!r}; measure again"
            ) from error
        if ranks.found:
            yield ranks


def _of_records(own: Sequence[Record], operation: str) -> Ranks:
    raw = [rank for one in own for rank in _details(one).get("ranks", ())]
    late = {rank for one in own for rank in _late(one)}
    found = [_of_raw(one, operation, late) for one in raw if one["bytes"]]
    return Ranks(operation, found, _tenths(own), *_half_and_longest(own))


def _details(record: Record) -> Mapping[str, Any]:
    return record.details or {}


def _late(record: Record) -> Iterator[int]:
    for one in _details(record).get("stragglers", ()):
        yield from one["ranks"]


def _of_raw(raw: Mapping[str, Any], operation: str, late: Iterable[int]) -> Rank:
    begin_s, end_s, moved = raw["begin_s"], raw["end_s"], raw["bytes"]
    numbers(begin_s=begin_s, end_s=end_s, bytes=moved, curve=sum(raw["curve"]))
    texts("rank", (raw["client"], raw["target"]))
    every = max(1, len(raw["curve"]) // _POINTS)
    points, sum_ = [(0.0, float(begin_s))], 0.0
    for second, each in enumerate(raw["curve"], start=1):
        sum_ += each
        if second % every == 0 and begin_s < second < end_s:
            points.append((sum_, float(second)))
    points.append((moved, end_s))
    rank = int(raw["rank"])
    return Rank(
        rank, raw["client"], raw["target"], operation, moved, end_s, points, rank in {*late}
    )


def _tenths(own: Sequence[Record]) -> dict[int, int]:
    found: dict[int, int] = {}
    for one in own:
        for place, count in _details(one).get("durations", {}).items():
            if count:
                found[int(place)] = found.get(int(place), 0) + count
    return dict(sorted(found.items()))


def _half_and_longest(own: Sequence[Record]) -> tuple[Optional[float], Optional[float]]:
    """Return how long half of the calls took, of the whole, and the longest; None if not known."""
    known = [one for one in own if one.latency]
    whole = [one.latency for one in known if "ranks" not in _details(one)]
    longest = max((one.latency.max_s for one in known if one.latency), default=None)
    return (whole[0].p50_s if whole and whole[0] else None), longest
