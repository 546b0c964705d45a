"""Profiles: calls, rate in each second, latencies, and the shape of a run.

As in the instrumented IOR of the Edison report, section III.C, but a call that spans several
seconds counts in each of them in proportion to its time there.

The arrays are made before the clock starts and filled in place: 16 bytes a call, and nothing is
allocated that lasts.  The file's format is described in docs/profiles.md.

Its classes are 2 % wide, so a quantile is right within 1 %; mean and longest are exact.

Each curve becomes a cumulative share: what part of its bytes had been moved after which part of its
time.  The distance is the largest difference of two such shares, as in the test of Kolmogorov and
Smirnov.  It is 0 for one course at any rate and over any time; noise of single seconds cancels out
of the sums, which it would not do in a comparison second by second.

A mean says none of it: of two reads with one mean the first may begin at full speed and decline
steadily while the second is flat after an initial drop (Edison report, figure 7).
"""

from __future__ import annotations

import json
import sys
from array import array
from collections import Counter
from itertools import accumulate, zip_longest
from math import exp, log, sqrt
from statistics import median
from typing import Annotated, Any, Iterable, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.codec import positional
from plumbline.model.errors import DocumentError
from plumbline.model.record import Latency
from plumbline.model.statistics import deviation
from plumbline.model.validation import Within, amounts, counts, read_json, texts


def per_second(calls: Calls) -> tuple[float, ...]:
    """Return the bytes moved in each second; the last one may not be a whole second."""
    bins: list[float] = []
    for index in range(calls.count):
        start, size = calls.starts[index], calls.sizes[index]
        end = start + calls.durations[index]
        first, last = int(start), int(end)
        while len(bins) <= last:
            bins.append(0.0)
        if first == last:
            bins[first] += size
        elif size:
            _spread_call(bins, start, end, size)
    return tuple(bins)


def _spread_call(bins: list[float], start: float, end: float, size: int) -> None:
    rate = size / (end - start)
    for second in range(int(start), int(end) + 1):
        bins[second] += rate * (min(end, second + 1) - max(start, second))


def added(curves: Iterable[Sequence[float]]) -> tuple[float, ...]:
    """Return the sum of curves that ran at once."""
    return tuple(sum(values) for values in zip_longest(*curves, fillvalue=0.0))


def whole_seconds(curve: Sequence[float], seconds: float) -> tuple[float, ...]:
    """Return the curve without the second in which it ended: bytes of those are rates."""
    return tuple(curve[: int(seconds)])


MAGIC = b"plumbline profile 1\n"
CALL_BYTES = 16
"""In memory and in the file: start 8, duration 4, bytes 4."""

_LENGTH_BYTES = 8
_CODES = ("d", "f", "I")
_FIELDS = ("rank", "client", "target", "operation", "calls")


class Calls:
    """Up to ``capacity`` calls in the order in which they ended.

    ``starts`` are seconds since the common start of the ranks, ``durations`` seconds, ``sizes``
    bytes; the first ``count`` of each are filled.  A call without bytes is one that waits, such as
    fsync.
    """

    __slots__ = ("capacity", "count", "durations", "sizes", "starts")

    def __init__(self, capacity: int) -> None:
        """Allocate and touch all memory."""
        self.capacity = capacity
        self.count = 0
        self.starts = array("d", bytes(8 * capacity))
        self.durations = array("f", bytes(4 * capacity))
        self.sizes = array("I", bytes(4 * capacity))

    def add(self, start_s: float, duration_s: float, size: int) -> None:
        """Note one call; raise IndexError if the arrays are full."""
        index = self.count
        self.starts[index] = start_s
        self.durations[index] = duration_s
        self.sizes[index] = size
        self.count = index + 1

    @property
    def bytes(self) -> int:
        """All bytes moved."""
        return sum(self.sizes[: self.count])


class Block(NamedTuple):
    """The calls of one rank in one operation; ``client`` is the host it ran on."""

    rank: int
    client: str
    target: str
    operation: str
    calls: Calls


class Profile(NamedTuple):
    """A whole file: the facts ``about`` the run, and its blocks."""

    about: Mapping[str, Any]
    blocks: tuple[Block, ...]


def pack(about: Mapping[str, Any], blocks: Iterable[Block]) -> bytes:
    """Return the file: a mark, the length of a JSON header, the header, the arrays."""
    entries = tuple(blocks)
    ranks = [
        dict(zip(_FIELDS, (b.rank, b.client, b.target, b.operation, b.calls.count)))
        for b in entries
    ]
    header = json.dumps({"about": about, "ranks": ranks}, allow_nan=False).encode()
    parts = [MAGIC, len(header).to_bytes(_LENGTH_BYTES, "little"), header]
    parts += [part for block in entries for part in _arrays(block.calls)]
    return b"".join(parts)


def unpack(data: bytes) -> Profile:
    """Return the profile in a file; raise DocumentError if it is damaged, cut, or no profile."""
    start = len(MAGIC) + _LENGTH_BYTES
    if data[: len(MAGIC)] != MAGIC or len(data) < start:
        raise DocumentError("this is no call profile of plumbline; name a file of --profile")
    end = start + int.from_bytes(data[len(MAGIC) : start], "little")
    try:
        header = read_json(data[start:end])
        ranks = [tuple(rank[field] for field in _FIELDS) for rank in header["ranks"]]
        about = dict(header["about"])
        for rank in ranks:
            counts(rank=rank[0], calls=rank[4])
            texts("rank", rank[1:4])
        needed = CALL_BYTES * sum(rank[4] for rank in ranks)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DocumentError(f"the header of the call profile is damaged: {error!r}") from error
    if len(data) - end != needed:
        raise DocumentError(
            f"the call profile holds {len(data) - end} bytes of calls instead of {needed}; "
            "it was cut or changed: write it again"
        )
    blocks = []
    for rank, client, target, operation, count in ranks:
        blocks.append(Block(rank, client, target, operation, _calls(data, end, count)))
        end += CALL_BYTES * count
    return Profile(about, tuple(blocks))


def _arrays(calls: Calls) -> Iterable[bytes]:
    for values in (calls.starts, calls.durations, calls.sizes):
        yield _little(values[: calls.count]).tobytes()


def _calls(data: bytes, start: int, count: int) -> Calls:
    calls = Calls(0)
    arrays = []
    for code in _CODES:
        values = array(code)
        end = start + count * values.itemsize
        values.frombytes(data[start:end])
        arrays.append(_little(values))
        start = end
    calls.starts, calls.durations, calls.sizes = arrays
    calls.count = calls.capacity = count
    return calls


def _little(values: array[Any]) -> array[Any]:
    """Convert an array to or from the byte order of the file, which is little-endian."""
    if sys.byteorder == "big":
        values.byteswap()
    return values


_CLASSES = 50.0
"""For each factor of e: neighbours differ by 2 %."""

_MOST_CLASSES = 10_000
"""On each side of a second."""

_SHORTEST_S = 1e-9

TENTHS = 10
"""Parts of a decade, in which durations are kept and drawn."""


def _classes(classes: Mapping[int, int]) -> None:
    for number in classes:
        Within(-_MOST_CLASSES, _MOST_CLASSES)(number=number)


@positional
class Durations(NamedTuple):
    """The calls that moved bytes: how many of each class, all seconds, the longest."""

    classes: Annotated[Mapping[int, Annotated[int, counts]], _classes]
    total_s: Annotated[float, amounts]
    longest_s: Annotated[float, amounts]


def durations_of(calls: Calls) -> Durations:
    """Return the durations of one rank's calls; those without bytes do not count."""
    classes: Counter[int] = Counter()
    total = longest = 0.0
    for index in range(calls.count):
        if calls.sizes[index]:
            duration = calls.durations[index]
            classes[round(log(max(duration, _SHORTEST_S)) * _CLASSES)] += 1
            total += duration
            longest = max(longest, duration)
    return Durations(classes, total, longest)


def together(ranks: Iterable[Durations]) -> Durations:
    """Return the durations of several ranks as one."""
    classes: Counter[int] = Counter()
    total = longest = 0.0
    for rank in ranks:
        classes.update(rank.classes)
        total += rank.total_s
        longest = max(longest, rank.longest_s)
    return Durations(classes, total, longest)


def latency(durations: Durations) -> Optional[Latency]:
    """Return mean, quantiles and longest; None without calls."""
    count = sum(durations.classes.values())
    if not count:
        return None
    median, late = (_quantile(durations, share * count) for share in (0.5, 0.99))
    return Latency(durations.total_s / count, median, late, durations.longest_s)


def by_tenths(durations: Durations) -> dict[int, int]:
    """Return the number of calls by tenths of a decade: 0 is a second, -10 a tenth of one."""
    counts: dict[int, int] = {}
    for place, count in sorted(durations.classes.items()):
        tenth = round(place / _CLASSES / log(10) * TENTHS)
        counts[tenth] = counts.get(tenth, 0) + count
    return counts


def _quantile(durations: Durations, rank: float) -> float:
    seen = 0
    for number in sorted(durations.classes):
        seen += durations.classes[number]
        if seen >= rank:
            return min(exp(number / _CLASSES), durations.longest_s)
    return durations.longest_s


POINTS = 20
"""Of a form; each is a twentieth of the time."""

SHORTEST = 5
"""Whole seconds; a shorter curve has no form."""

_CHANCE = 1.63
"""Quantile of a Brownian bridge's largest value that chance exceeds in 1 % of cases.

Smirnov, Ann. Math. Stat. 19 (1948) 279.
"""


class Distance(NamedTuple):
    """Largest difference of two courses: all values are fractions.

    After ``at`` of its time the curve had moved ``own`` of its bytes, the reference ``reference``;
    ``share`` is the difference without its sign.  ``noise`` is what the curve's own scatter makes
    of a difference by chance, in one of a hundred cases.
    """

    share: float
    at: float
    own: float
    reference: float
    noise: float

    def beyond(self, limit: float) -> bool:
        """Return True if the difference exceeds ``limit``, a fraction, and is not chance."""
        return self.share > max(limit, self.noise)

    @property
    def sentence(self) -> str:
        """Return the difference in words."""
        return (
            f"{100 * self.own:.0f} % of the bytes were moved in the first {100 * self.at:.0f} % of "
            f"the time, {100 * self.reference:.0f} % in the baseline's profile"
        )


def form(curve: Sequence[float], points: Optional[int] = None) -> tuple[float, ...]:
    """Return the rates of equal parts of the time, each relative to the mean of all.

    ``curve`` holds bytes of whole seconds.  There are ``points`` parts, unless told POINTS or, in a
    shorter curve, one a second; their mean is 1.  A curve that is shorter than SHORTEST, or moved
    nothing, has no form: the result is empty.
    """
    if len(curve) < SHORTEST or not sum(curve) > 0:
        return ()
    parts = points or min(POINTS, len(curve))
    shares = _shares(curve)
    reached = [_after(shares, part / parts) for part in range(parts + 1)]
    return tuple(parts * (after - before) for before, after in zip(reached, reached[1:]))


def distance(curve: Sequence[float], reference: Sequence[float]) -> Distance:
    """Return the distance of two curves of any length, each of equal parts of its time.

    Both may be bytes of whole seconds, or forms.  D = max |F(t) - G(t)| with F and G the cumulative
    shares of the bytes and t the share of the time; a rate that falls along a line from 1 + d of
    its mean to 1 - d is d / 4 away from a constant one.

    ``noise`` is 1.63 s / sqrt(n): n parts with the relative scatter s, which comes from successive
    differences, so that a trend does not count (von Neumann, Ann. Math. Stat. 12 (1941) 367).

    Raises:
        ValueError: a curve without any bytes has no course.
    """
    own, other = _shares(curve), _shares(reference)
    knots = {place / len(curve) for place in range(len(curve))}
    knots |= {place / len(reference) for place in range(len(reference))}
    # the earliest of equal differences, whatever the order of a set
    at = max(sorted(knots), key=lambda knot: abs(_after(own, knot) - _after(other, knot)))
    here, there = _after(own, at), _after(other, at)
    return Distance(abs(here - there), at, here, there, _noise(curve))


def _shares(curve: Sequence[float]) -> tuple[float, ...]:
    """Return the share of the bytes at the begin and after each part."""
    total = sum(curve)
    if not total > 0:
        raise ValueError("a curve without any bytes has no course")
    return (0.0, *(done / total for done in accumulate(curve)))


def _after(shares: Sequence[float], at: float) -> float:
    """Return the share of the bytes after a share of the time, within a part by proportion."""
    place = at * (len(shares) - 1)
    whole = min(int(place), len(shares) - 2)
    return shares[whole] + (place - whole) * (shares[whole + 1] - shares[whole])


def _noise(curve: Sequence[float]) -> float:
    steps = [(after - before) ** 2 for before, after in zip(curve, curve[1:])]
    if not steps:
        return 0.0
    mean = sum(curve) / len(curve)
    scatter = sqrt(sum(steps) / len(steps) / 2) / mean
    return _CHANCE * scatter / sqrt(len(curve))


_TENTH = 10
_MOST_POINTS = 60
"""Of a curve that the line is laid through: their pairs are counted."""

_TRAILING = 0.5
"""Of the usual rate: seconds below it at the end are a tail."""

_EDGE = 0.75
"""Of the rate before: what falls less within a tenth of the time declines, and is no tail."""


class Shape(NamedTuple):
    """The course of a curve; rates in bytes per second.

    ``start_Bps`` and ``end_Bps`` are the median rates of the first tenth of the seconds and of the
    last one before the tail.  ``decline``, ``sag`` and ``spread`` are fractions.

    ``decline`` is (first - last) / max(first, last) of a robust line through the curve (Theil and
    Sen: its slope is the median of the slopes of all pairs): 0.6 ends with 40 % of what it began
    with, a negative one rises.  An initial spike does not tilt the line.
    ``sag`` is how far the rate falls below that line in the deepest tenth, as a part of the line;
    its middle is ``sag_at_s`` seconds after the begin.
    ``spread`` is how much single seconds differ: 1.4826 x the median distance from the line, as a
    part of the median rate.
    ``tail_s`` counts the seconds at the end in which the rate has dropped, not declined, below half
    of the rate at which the median byte moved: most had finished, and some had not.
    """

    start_Bps: float
    end_Bps: float
    decline: float
    sag: float
    sag_at_s: float
    spread: float
    tail_s: int

    def to_json(self) -> dict[str, Any]:
        """Return the document form: rates rounded to bytes, fractions to a part in a thousand."""
        raw = {name: round(value, 3) for name, value in self._asdict().items()}
        return {**raw, "start_Bps": round(self.start_Bps), "end_Bps": round(self.end_Bps)}


class _Line(NamedTuple):
    """A rate as a line: at the middle of the first second, and how it changes in each."""

    first: float
    slope: float

    def at(self, second: int) -> float:
        """Return the rate in a second; none is negative."""
        return max(0.0, self.first + self.slope * second)


def shape(curve: Sequence[float]) -> Optional[Shape]:
    """Return the shape of bytes of whole seconds; None of fewer than 5, or without any bytes."""
    if len(curve) < SHORTEST or not sum(curve) > 0:
        return None
    tail = _tail(curve)
    body = curve[: len(curve) - tail]
    window = max(1, len(body) // _TENTH)
    line = _line(body)
    first, last = line.at(0), line.at(len(body) - 1)
    sag, middle = _sag(body, line, window)
    return Shape(
        start_Bps=median(body[:window]),
        end_Bps=median(body[-window:]),
        decline=(first - last) / max(first, last) if first or last else 0.0,
        sag=sag,
        sag_at_s=middle,
        spread=_spread(body, line),
        tail_s=tail,
    )


def _tail(curve: Sequence[float]) -> int:
    """Return the number of seconds of the tail, 0 where there is none."""
    low = _TRAILING * _usual(curve)
    begin = len(curve)
    while curve[begin - 1] < low:
        begin -= 1
    window = max(1, len(curve) // _TENTH)
    before, after = curve[max(0, begin - window) : begin], curve[begin : begin + window]
    dropped = bool(after) and sum(after) / len(after) < _EDGE * sum(before) / len(before)
    return len(curve) - begin if dropped and begin >= SHORTEST else 0


def _usual(curve: Sequence[float]) -> float:
    """Return the rate at which the median byte moved, which few bytes of a long tail do not."""
    remaining = sum(curve) / 2
    for rate in sorted(curve):
        remaining -= rate
        if remaining <= 0:
            return rate
    return max(curve)


def _line(body: Sequence[float]) -> _Line:
    step = -(-len(body) // _MOST_POINTS)
    points = [
        (place + (len(part) - 1) / 2, sum(part) / len(part))
        for place in range(0, len(body), step)
        for part in [body[place : place + step]]
    ]
    slope = median(
        (later - rate) / (then - when)
        for index, (when, rate) in enumerate(points)
        for then, later in points[index + 1 :]
    )
    return _Line(median(rate - slope * when for when, rate in points), slope)


def _sag(body: Sequence[float], line: _Line, window: int) -> tuple[float, float]:
    """Return depth and middle of the deepest ``window`` seconds below the line."""
    moved = [0.0, *accumulate(body)]
    expected = [0.0, *accumulate(line.at(second) for second in range(len(body)))]
    deepest, middle = 0.0, 0.0
    for place in range(len(body) - window + 1):
        usual = expected[place + window] - expected[place]
        moved_here = moved[place + window] - moved[place]
        depth = 1 - moved_here / usual if usual > 0 else 0.0
        if depth > deepest:
            deepest, middle = depth, place + window / 2
    return deepest, middle


def _spread(body: Sequence[float], line: _Line) -> float:
    usual = median(body)
    away = deviation((rate - line.at(second) for second, rate in enumerate(body)), 0.0)
    return away / usual if usual else 0.0
