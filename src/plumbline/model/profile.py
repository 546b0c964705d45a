"""Profiles: all calls, the rate in each second, latencies, and the shape of a run.

Rates are calculated as in the instrumented IOR of the Edison report, section III.C, but a call that
spans several seconds counts in each of them in proportion to its time.

Arrays for the calls, 16 bytes each, are allocated before the start and filled in place.  The format
of the file is described in docs/profiles.md.

Durations are counted in classes 2 % wide, so quantiles are correct within 1 %; mean and maximum are
exact.

To compare two curves, each becomes a cumulative share: the fraction of its bytes moved after each
fraction of its time.  Their distance is the largest difference of these shares, as in the test of
Kolmogorov and Smirnov.  It is 0 for the same course at any rate and duration.  Noise of single
seconds cancels in the sums, unlike in a comparison second by second.

A mean hides the course: of two reads with the same mean one may start at full speed and decline
steadily, and the other drop at the start and stay flat (Edison report, figure 7).
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
from plumbline.model.quantity import LATENCIES
from plumbline.model.statistics import deviation
from plumbline.model.validation import Within, amounts, counts, read_json, texts


def per_second(calls: Calls) -> tuple[float, ...]:
    """Return the bytes moved in each second; the last second may be incomplete."""
    bins: list[float] = []
    for index in range(calls.count):
        start, size = calls.starts[index], calls.sizes[index]
        end = start + calls.durations[index]
        first_second, last_second = int(start), int(end)
        while len(bins) <= last_second:
            bins.append(0.0)
        if first_second == last_second:
            bins[first_second] += size
        elif size:
            _spread_call(bins, start, end, size)
    return tuple(bins)


def _spread_call(bins: list[float], start: float, end: float, size: int) -> None:
    rate = size / (end - start)
    for second in range(int(start), int(end) + 1):
        bins[second] += rate * (min(end, second + 1) - max(start, second))


def added(curves: Iterable[Sequence[float]]) -> tuple[float, ...]:
    """Return the sum of curves measured at the same time."""
    return tuple(sum(values) for values in zip_longest(*curves, fillvalue=0.0))


def whole_seconds(curve: Sequence[float], seconds: float) -> tuple[float, ...]:
    """Return the curve without an incomplete last second, so all its values are rates."""
    return tuple(curve[: int(seconds)])


MAGIC = b"plumbline profile 1\n"
CALL_BYTES = 16
"""Bytes per call, in memory and in the file: start 8, duration 4, size 4."""

_LENGTH_BYTES = 8
_CODES = ("d", "f", "I")
_FIELDS = ("rank", "client", "target", "operation", "calls")


class Calls:
    """Up to ``capacity`` calls in the order of their ends.

    ``starts`` are seconds since the common start of the ranks, ``durations`` seconds, ``sizes``
    bytes; the first ``count`` entries are valid.  A call without bytes only waits, e.g. fsync.
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
        """Record one call; raise IndexError if the arrays are full."""
        index = self.count
        self.starts[index] = start_s
        self.durations[index] = duration_s
        self.sizes[index] = size
        self.count = index + 1

    @property
    def bytes(self) -> int:
        """Total bytes moved."""
        return sum(self.sizes[: self.count])


class Block(NamedTuple):
    """Calls of one rank in one operation; ``client`` is the host of the rank."""

    rank: int
    client: str
    target: str
    operation: str
    calls: Calls


class Profile(NamedTuple):
    """Content of a profile file: facts ``about`` the run, and its blocks."""

    about: Mapping[str, Any]
    blocks: tuple[Block, ...]


def pack(about: Mapping[str, Any], blocks: Iterable[Block]) -> bytes:
    """Return the bytes of a profile file: magic, length of the JSON header, header, arrays."""
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
    """Parse a profile file; raise DocumentError if it is damaged, truncated, or no profile."""
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
        yield _to_little_endian(values[: calls.count]).tobytes()


def _calls(data: bytes, start: int, count: int) -> Calls:
    calls = Calls(0)
    arrays = []
    for code in _CODES:
        values = array(code)
        end = start + count * values.itemsize
        values.frombytes(data[start:end])
        arrays.append(_to_little_endian(values))
        start = end
    calls.starts, calls.durations, calls.sizes = arrays
    calls.count = calls.capacity = count
    return calls


def _to_little_endian(values: array[Any]) -> array[Any]:
    """Convert an array to or from the byte order of the file, which is little-endian."""
    if sys.byteorder == "big":
        values.byteswap()
    return values


_CLASSES = 50.0
"""Classes of durations per factor of e: neighbours differ by 2 %."""

_MAX_CLASSES = 10_000
"""Most classes on each side of one second."""

_SHORTEST_S = 1e-9

TENTHS = 10
"""Classes per decade for stored and drawn durations."""


def _classes(classes: Mapping[int, int]) -> None:
    for number in classes:
        Within(-_MAX_CLASSES, _MAX_CLASSES)(number=number)


@positional
class Durations(NamedTuple):
    """Durations of calls that moved bytes: calls per class, total, and longest."""

    classes: Annotated[Mapping[int, Annotated[int, counts]], _classes]
    total_s: Annotated[float, amounts]
    longest_s: Annotated[float, amounts]


def durations_of(calls: Calls) -> Durations:
    """Return the durations of one rank's calls, without calls that moved no bytes."""
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
    """Merge the durations of several ranks."""
    classes: Counter[int] = Counter()
    total = longest = 0.0
    for rank in ranks:
        classes.update(rank.classes)
        total += rank.total_s
        longest = max(longest, rank.longest_s)
    return Durations(classes, total, longest)


def latencies(durations: Durations) -> dict[str, float]:
    """Return mean, quantiles and maximum in seconds, by ``LATENCIES``; empty without calls."""
    count = sum(durations.classes.values())
    if not count:
        return {}
    median, late = (_quantile(durations, share * count) for share in (0.5, 0.99))
    figures = (durations.total_s / count, median, late, durations.longest_s)
    return dict(zip(LATENCIES, figures))


def by_tenths(durations: Durations) -> dict[int, int]:
    """Return the number of calls per tenth of a decade: 0 is 1 s, -10 is 0.1 s."""
    counts: dict[int, int] = {}
    for place, count in sorted(durations.classes.items()):
        tenth = round(place / _CLASSES / log(10) * TENTHS)
        counts[tenth] = counts.get(tenth, 0) + count
    return counts


def _quantile(durations: Durations, rank: float) -> float:
    count = 0
    for number in sorted(durations.classes):
        count += durations.classes[number]
        if count >= rank:
            return min(exp(number / _CLASSES), durations.longest_s)
    return durations.longest_s


POINTS = 20
"""Points of a form; each is a twentieth of the time."""

SHORTEST = 5
"""Fewest seconds of a curve with a form."""

_CHANCE = 1.63
"""99 % quantile of the largest absolute value of a Brownian bridge.

Smirnov, Ann. Math. Stat. 19 (1948) 279.
"""


class Distance(NamedTuple):
    """Largest difference between the courses of two curves; all values are fractions.

    After the fraction ``at`` of its time the curve had moved ``own`` of its bytes, the reference
    ``reference``; ``share`` is the absolute difference.  ``noise`` is the difference that the
    curve's own scatter exceeds by chance in 1 % of cases.
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
        """Difference in words."""
        return (
            f"{100 * self.own:.0f} % of the bytes were moved in the first {100 * self.at:.0f} % of "
            f"the time, {100 * self.reference:.0f} % in the baseline's profile"
        )


def form(curve: Sequence[float], points: Optional[int] = None) -> tuple[float, ...]:
    """Return the form of a curve: rates of equal parts of the time, relative to their mean.

    ``curve`` has bytes of full seconds.  There are ``points`` parts, by default POINTS or, for a
    shorter curve, one per second; their mean is 1.  The form is empty for a curve that is shorter
    than SHORTEST or moved nothing.
    """
    if len(curve) < SHORTEST or not sum(curve) > 0:
        return ()
    parts = points or min(POINTS, len(curve))
    shares = _shares(curve)
    reached = [_after(shares, part / parts) for part in range(parts + 1)]
    return tuple(parts * (after - before) for before, after in zip(reached, reached[1:]))


def distance(curve: Sequence[float], reference: Sequence[float]) -> Distance:
    """Return the distance between two curves of any lengths, each with equal parts of its time.

    Both may be bytes of full seconds, or forms.  D = max |F(t) - G(t)|, with F and G the cumulative
    shares of the bytes and t the share of the time.  A rate that falls linearly from 1 + d of its
    mean to 1 - d has the distance d / 4 from a constant one.

    ``noise`` is 1.63 s / sqrt(n) for n parts with the relative scatter s, calculated from
    successive differences to exclude a trend (von Neumann, Ann. Math. Stat. 12 (1941) 367).

    Raises:
        ValueError: a curve has no bytes.
    """
    own, other = _shares(curve), _shares(reference)
    knots = {place / len(curve) for place in range(len(curve))}
    knots |= {place / len(reference) for place in range(len(reference))}
    # sorted: of equal differences the earliest counts
    at = max(sorted(knots), key=lambda knot: abs(_after(own, knot) - _after(other, knot)))
    own_share, other_share = _after(own, at), _after(other, at)
    return Distance(abs(own_share - other_share), at, own_share, other_share, _noise(curve))


def _shares(curve: Sequence[float]) -> tuple[float, ...]:
    """Return the cumulative share of the bytes at the start and after each part."""
    total = sum(curve)
    if not total > 0:
        raise ValueError("a curve without any bytes has no course")
    return (0.0, *(done / total for done in accumulate(curve)))


def _after(shares: Sequence[float], at: float) -> float:
    """Return the share of the bytes after a share of the time, interpolated within a part."""
    place = at * (len(shares) - 1)
    index = min(int(place), len(shares) - 2)
    return shares[index] + (place - index) * (shares[index + 1] - shares[index])


def _noise(curve: Sequence[float]) -> float:
    steps = [(after - before) ** 2 for before, after in zip(curve, curve[1:])]
    if not steps:
        return 0.0
    mean = sum(curve) / len(curve)
    scatter = sqrt(sum(steps) / len(steps) / 2) / mean
    return _CHANCE * scatter / sqrt(len(curve))


_TENTH = 10
_MAX_POINTS = 60
"""Most points for fitting a line; the time grows with their pairs."""

_TRAILING = 0.5
"""Fraction of the usual rate; final seconds below it are the tail."""

_EDGE = 0.75
"""Fraction of the rate before a tail; a smaller drop within a tenth of the time is a decline."""


class Shape(NamedTuple):
    """Shape of a curve; rates in bytes per second.

    ``start_Bps`` and ``end_Bps`` are the median rates of the first tenth of the seconds and of the
    last tenth before the tail.  ``decline``, ``sag`` and ``spread`` are fractions.

    ``decline`` is (first - last) / max(first, last) of a robust line through the curve (Theil and
    Sen: its slope is the median of the slopes of all pairs): with 0.6 the rate ends at 40 % of its
    start; it is negative for a rising rate.  An initial spike does not tilt the line.
    ``sag`` is the depth of the deepest tenth below that line, as a fraction of the line; the middle
    of that tenth is ``sag_at_s`` seconds after the start.
    ``spread`` is the scatter of single seconds: 1.4826 x the median distance from the line, as a
    fraction of the median rate.
    ``tail_s`` is the number of final seconds in which the rate dropped, not declined, below half of
    the rate at which the median byte moved: most ranks had finished, but some had not.
    """

    start_Bps: float
    end_Bps: float
    decline: float
    sag: float
    sag_at_s: float
    spread: float
    tail_s: int

    def to_json(self) -> dict[str, Any]:
        """Return the document form; rates are rounded to bytes, fractions to 0.001."""
        raw = {name: round(value, 3) for name, value in self._asdict().items()}
        return {**raw, "start_Bps": round(self.start_Bps), "end_Bps": round(self.end_Bps)}


class _Line(NamedTuple):
    """Rate as a line: value in the middle of the first second, and change per second."""

    first: float
    slope: float

    def at(self, second: int) -> float:
        """Return the rate in a second, at least 0."""
        return max(0.0, self.first + self.slope * second)


def shape(curve: Sequence[float]) -> Optional[Shape]:
    """Return the shape of a curve of full seconds; None with fewer than 5, or without bytes."""
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
    """Return the length of the tail in seconds, 0 without a tail."""
    low = _TRAILING * _usual(curve)
    begin = len(curve)
    while curve[begin - 1] < low:
        begin -= 1
    window = max(1, len(curve) // _TENTH)
    before, after = curve[max(0, begin - window) : begin], curve[begin : begin + window]
    dropped = bool(after) and sum(after) / len(after) < _EDGE * sum(before) / len(before)
    return len(curve) - begin if dropped and begin >= SHORTEST else 0


def _usual(curve: Sequence[float]) -> float:
    """Return the rate at which the median byte moved; few bytes of a long tail do not lower it."""
    remaining = sum(curve) / 2
    for rate in sorted(curve):
        remaining -= rate
        if remaining <= 0:
            return rate
    return max(curve)


def _line(body: Sequence[float]) -> _Line:
    step = -(-len(body) // _MAX_POINTS)
    points = [
        (place + (len(part) - 1) / 2, sum(part) / len(part))
        for place in range(0, len(body), step)
        for part in [body[place : place + step]]
    ]
    slope = median(
        (later - rate) / (later_time - time)
        for index, (time, rate) in enumerate(points)
        for later_time, later in points[index + 1 :]
    )
    return _Line(median(rate - slope * time for time, rate in points), slope)


def _sag(body: Sequence[float], line: _Line, window: int) -> tuple[float, float]:
    """Return depth and middle of the ``window`` seconds that are deepest below the line."""
    moved = [0.0, *accumulate(body)]
    expected = [0.0, *accumulate(line.at(second) for second in range(len(body)))]
    deepest, middle = 0.0, 0.0
    for place in range(len(body) - window + 1):
        usual = expected[place + window] - expected[place]
        window_bytes = moved[place + window] - moved[place]
        depth = 1 - window_bytes / usual if usual > 0 else 0.0
        if depth > deepest:
            deepest, middle = depth, place + window / 2
    return deepest, middle


def _spread(body: Sequence[float], line: _Line) -> float:
    usual = median(body)
    away = deviation((rate - line.at(second) for second, rate in enumerate(body)), 0.0)
    return away / usual if usual else 0.0
