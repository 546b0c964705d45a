"""Find stragglers and the kind of their delay: slow throughout, late to start, paused, or tail.

As in figure 5 of the BlueGene/L report each rank is a trace of time over bytes.  The delay of a
straggler's trace at a quarter, a half, three quarters and all of its bytes shows the kind.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from enum import Enum
from itertools import accumulate
from statistics import median
from typing import Any, NamedTuple, Sequence

from plumbline.model.statistics import deviation
from plumbline.model.units import format_duration
from plumbline.parts.parallel.job import Result

_LATE = 1.10
"""Least ratio to the others' time: as much as a target may be slower than its peers."""

_SURE = 3.0
_SHORTEST_S = 1.0
"""Least delay: curves have bins of one second, which cannot explain a smaller one."""

_QUARTERS = 4
_DOMINANT = 0.6
"""Fraction of the delay from one quarter that makes it the cause; an equal share is 0.25."""

_TYPICAL = 99
"""Number of ranks in the middle that represent all others."""

_ALL = 1 - 1e-9
"""Fraction of the bytes that counts as all: sums of seconds have rounding errors."""

_MISSING = 0.01
"""Missing fraction of the bytes above which the time limit, not the data, ended a rank."""


class Kind(str, Enum):
    """Cause of a delay."""

    SLOW = "slow from start to finish"
    """A slow target, or a server or client shared with others."""
    LATE = "late to start"
    """The first quarter of the bytes took most of the delay: back-off of the network."""
    PAUSED = "paused on the way"
    """One of the quarters in between took most of the delay."""
    TAIL = "tail"
    """The last quarter, or the last flush, took most of the delay."""


class Track(NamedTuple):
    """Result of one rank in one operation, at whose end all bytes were safe; and its server."""

    result: Result
    server: str


class Straggler(NamedTuple):
    """Ranks of one target with the same kind of delay; the figures are of the worst.

    ``late_s`` is the delay behind the others when all its bytes are safe.  ``missing`` is the
    fraction of the others' bytes that it did not move, above 0 only if the time was fixed or too
    short.  ``beside`` are ranks of the same client on the same server, if other clients have fewer.
    """

    ranks: tuple[int, ...]
    target: str
    kind: Kind
    late_s: float
    missing: float = 0.0
    server: str = ""
    beside: tuple[int, ...] = ()

    @property
    def sentence(self) -> str:
        """Return e.g. ``rank 3 on OST0004 finished 12 s after the others: late to start``."""
        delay = f"finished {format_duration(self.late_s)} after the others"
        if self.missing:
            delay = f"moved {100 * self.missing:.0f} % less than the others in the same time"
        text = f"{_ranks(self.ranks)} on {self.target} {delay}: {self.kind.value}"
        if self.beside:
            text += f", beside {_ranks(self.beside)} of its client on server {self.server}"
        return text

    def to_json(self) -> dict[str, Any]:
        """Return the document form, with the sentence."""
        raw = self._asdict()
        rounded = {"late_s": round(self.late_s, 3), "missing": round(self.missing, 3)}
        return {**raw, **rounded, "kind": self.kind.name.lower(), "sentence": self.sentence}


def stragglers(tracks: Sequence[Track]) -> tuple[Straggler, ...]:
    """Return the late ranks, the worst first; empty if fewer than two ranks moved bytes.

    A rank is late if its time exceeds 1.1 times the median of the others, and that median by more
    than 3 robust standard deviations of all and by more than a second.  The time of a rank that
    moved fewer bytes in a fixed time is extrapolated.  If half of the ranks are slow, none is a
    straggler.
    """
    traces = [_Trace(track) for track in tracks if sum(track.result.curve) > 0]
    if len(traces) < 2:
        return ()
    usual_bytes = median(trace.bytes for trace in traces)
    traces.sort(key=lambda trace: trace.needed_s(usual_bytes))
    place = _first_late([trace.needed_s(usual_bytes) for trace in traces])
    timely, late = traces[:place], traces[place:]
    middle = max(0, (len(timely) - _TYPICAL) // 2)
    crowd = _Crowd(tracks)
    entries = [_straggler(trace, timely[middle : middle + _TYPICAL], crowd) for trace in late]
    return tuple(
        sorted(
            _merged(entries),
            key=lambda straggler: (-straggler.missing, -straggler.late_s, straggler.ranks),
        )
    )


class _Trace:
    """Time over bytes of one rank, linear between the ends of seconds."""

    def __init__(self, track: Track) -> None:
        self.track = track
        result = track.result
        first = min(int(result.begin_s), len(result.curve) - 1)
        ends = range(first + 1, len(result.curve) + 1)
        self._times = [result.begin_s, *(min(float(end), result.end_s) for end in ends)]
        # the few bytes of earlier seconds count at the start
        self._moved = [0.0, *list(accumulate(result.curve))[first:]]
        self.bytes = self._moved[-1]

    def needed_s(self, size: float) -> float:
        """Return the seconds for ``size`` bytes at the mean rate."""
        return self.track.result.end_s * size / self.bytes

    def reached_s(self, size: float) -> float:
        """Return the time at which ``size`` bytes were moved; all bytes must also be safe."""
        if size >= _ALL * self.bytes:
            return self.track.result.end_s
        after = bisect_left(self._moved, size)
        if after == 0:
            return self._times[0]
        low, high = self._moved[after - 1], self._moved[after]
        begin, end = self._times[after - 1], self._times[after]
        return begin + (end - begin) * (size - low) / (high - low)


class _Crowd:
    """Ranks of each client on each server, which also compete for the client's memory."""

    def __init__(self, tracks: Sequence[Track]) -> None:
        self._ranks: dict[tuple[str, str], list[int]] = {}
        for track in tracks:
            self._ranks.setdefault((track.result.client, track.server), []).append(
                track.result.rank
            )
        sizes = Counter(len(self._ranks[track.result.client, track.server]) for track in tracks)
        self._usual = sizes.most_common(1)[0][0]

    def rivals(self, track: Track) -> tuple[int, ...]:
        """Return the other ranks with the same client and server; empty for a usual number."""
        crowd = self._ranks[track.result.client, track.server]
        if len(crowd) <= self._usual:
            return ()
        return tuple(rank for rank in sorted(crowd) if rank != track.result.rank)


def _first_late(needed: Sequence[float]) -> int:
    """Return the index of the first straggler among ascending times."""
    # with two ranks there is no deviation of several others
    sure = _SURE * deviation(needed) if len(needed) > 2 else 0.0
    # the median of the others, of two the later: if most are late, none is a straggler
    usual = needed[(len(needed) - 1) // 2]
    late = max(_LATE * usual, usual + sure, usual + _SHORTEST_S)
    return bisect_right(needed, late)


def _straggler(trace: _Trace, traces: Sequence[_Trace], crowd: _Crowd) -> Straggler:
    track = trace.track
    delays = [
        trace.reached_s(size) - median(other.reached_s(size) for other in traces)
        for size in (trace.bytes * quarter / _QUARTERS for quarter in range(1, _QUARTERS + 1))
    ]
    missing = 1 - trace.bytes / median(other.bytes for other in traces)
    return Straggler(
        (track.result.rank,),
        track.result.target,
        _kind(delays),
        delays[-1],
        missing if missing > _MISSING else 0.0,
        track.server,
        crowd.rivals(track),
    )


def _kind(delays: Sequence[float]) -> Kind:
    """Return the kind of a delay, from the delays after each quarter of the bytes."""
    parts = [after - before for before, after in zip((0.0, *delays), delays)]
    largest = max(parts)
    if largest < _DOMINANT * max(delays):
        return Kind.SLOW
    place = parts.index(largest)
    return {0: Kind.LATE, _QUARTERS - 1: Kind.TAIL}.get(place, Kind.PAUSED)


def _merged(entries: Sequence[Straggler]) -> list[Straggler]:
    kinds: dict[tuple[str, Kind], list[Straggler]] = {}
    for straggler in entries:
        kinds.setdefault((straggler.target, straggler.kind), []).append(straggler)
    return [_merge_group(same_kind) for same_kind in kinds.values()]


def _merge_group(members: Sequence[Straggler]) -> Straggler:
    ranks = tuple(sorted(rank for straggler in members for rank in straggler.ranks))
    rivals = {rank for straggler in members for rank in straggler.beside} - set(ranks)
    worst = max(members, key=lambda straggler: (straggler.missing, straggler.late_s))
    return worst._replace(ranks=ranks, beside=tuple(sorted(rivals)))


def _ranks(ranks: Sequence[int]) -> str:
    """Return ``rank 3``, ``ranks 3, 5``, or the number of many ranks."""
    if len(ranks) > 4:
        return f"{len(ranks)} ranks"
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"
