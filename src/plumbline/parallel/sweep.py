"""Sweeps: a grid of parallel runs, their order, remaining time, and knees.

Whatever part of them is measured before a budget ends it, they are spread over the whole grid: the
ends of all axes come first, then the middles, then the quarters.

What a point is worth is known only when it has ended; what has ended is kept before the next
begins.
"""

from __future__ import annotations

from math import log2
from statistics import median
from time import localtime, strftime
from typing import (
    Annotated,
    Any,
    Callable,
    Iterator,
    Mapping,
    NamedTuple,
    Sequence,
)

from plumbline.model.codec import read_document, write_fields
from plumbline.model.errors import BusyError, PrivilegeError
from plumbline.model.record import Operation
from plumbline.model.units import (
    format_bytes,
    format_duration,
    format_rate,
)
from plumbline.model.validation import rates
from plumbline.parallel.axes import (
    AXES,
    PER_TARGET,
    REPEAT,
    Grid,
    Point,
    Value,
    moving,
    ordered,
    phrase,
    text_of,
    words,
)


def spread(servers: Sequence[str]) -> tuple[int, ...]:
    """Return the indices of targets, given by their servers, one of each server before a second.

    So few targets use as many servers as they can, as in section IV.B of the Red Storm report.
    """
    turns: dict[str, int] = {}
    keyed = []
    for index, server in enumerate(servers):
        turns[server] = turns.get(server, 0) + 1
        keyed.append((turns[server], index))
    return tuple(index for _, index in sorted(keyed))


START_S = 3.0
"""Making the files, starting and ending the ranks, on few targets."""


class Load(NamedTuple):
    """The operations of each point, none of which lasts over ``seconds``.

    With ``fixed_time`` each one lasts so long.  ``size`` is what a point writes, in bytes.
    """

    seconds: float
    operations: tuple[Operation, ...]
    size: Callable[[Point], int]
    fixed_time: bool = False


class Estimate(NamedTuple):
    """Seconds of a point; ``at_most``: no similar point was measured, so this is the limit."""

    seconds: float
    at_most: bool


def estimate(point: Point, load: Load, ledger: Ledger) -> Estimate:
    """Return the expected seconds of a point, by the rates of the nearest measured point."""
    measured = [done for done in ledger.done if done.rates]
    nearest = min(measured, key=lambda done: _distance(point, done.point), default=None)
    if load.fixed_time or nearest is None:
        longest = START_S + len(load.operations) * load.seconds
        return Estimate(longest, not load.fixed_time)
    # the overhead of the nearest point outside its operations is expected again
    overhead = max(START_S, nearest.seconds - _moving_s(nearest, nearest.written, load))
    return Estimate(overhead + _moving_s(nearest, load.size(point), load), at_most=False)


def _moving_s(done: Done, size: int, load: Load) -> float:
    """Return the seconds of all operations over ``size`` bytes at the rates of a point."""
    rates_Bps = [done.rates.get(operation) for operation in load.operations]
    return sum(min(load.seconds, size / rate) if rate else load.seconds for rate in rates_Bps)


def _distance(point: Point, other: Point) -> float:
    """Return the distance of two points, in doublings along all axes."""
    pairs = [(value, other.get(axis, value)) for axis, value in point.items() if axis != REPEAT]
    return sum(
        abs(log2(a / b)) if isinstance(a, int) and isinstance(b, int) else a != b for a, b in pairs
    )


def _of_axes(**points: Mapping[str, Any]) -> None:
    """Raise TypeError for a point that no sweep has."""
    for name, point in points.items():
        for axis, value in point.items():
            kind = str if axis in AXES and AXES[axis].read is text_of else int
            if axis not in AXES or type(value) is not kind or value in (0, ""):
                raise TypeError(f"{name} has {axis!r:.60} of {value!r:.60}, which is no axis")


SCHEMA = 1


class Done(NamedTuple):
    """One measured point; ``rates`` in bytes per second of all targets together.

    ``written`` are the bytes that it has written, ``seconds`` what all of it took.  An operation
    without a rate is missing in ``rates``, and ``reason`` says why.
    """

    point: Annotated[Mapping[str, Any], _of_axes]
    run_id: str
    spec_hash: str
    targets: int
    ranks: int
    started_at: float
    seconds: float
    written: int
    rates: Mapping[Operation, Annotated[float, rates]]
    reason: str = ""


class Ledger(NamedTuple):
    """A sweep and its measured points; ``terms`` identifies the sweep.

    ``point_bytes`` is what each point writes where no axis says it, ``written`` and ``seconds``
    what was spent in all, also on points that gave no figure.  What a point will cost counts before
    its first byte is written, so that a killed one is not forgotten.
    """

    terms: Mapping[str, Any]
    point_bytes: int
    done: tuple[Done, ...] = ()
    written: int = 0
    seconds: float = 0.0

    def remaining(self, points: Sequence[Point]) -> tuple[Point, ...]:
        """Return the points without figures, in their order."""
        over = {_key(done.point) for done in self.done if not done.reason}
        return tuple(point for point in points if _key(point) not in over)

    def begun(self, size: int, seconds: float) -> Ledger:
        """Return the ledger with a point that begins and may write and take so much."""
        return self._replace(written=self.written + size, seconds=self.seconds + seconds)

    def ended(self, done: Done) -> Ledger:
        """Return the ledger with a finished point, which replaces a failed one."""
        kept = tuple(entry for entry in self.done if entry.point != done.point)
        return self._replace(
            done=(*kept, done),
            written=self.written + done.written,
            seconds=self.seconds + done.seconds,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the document form, schema number first."""
        return {"schema": SCHEMA, **write_fields(self)}

    @classmethod
    def from_json(cls, raw: Any) -> Ledger:
        """Build from the document form; raise DocumentError when it is not one of this version."""
        return read_document(cls, raw, SCHEMA, "the record of the sweep", "begin it with --again")


def _key(point: Point, *without: str) -> tuple[tuple[str, Any], ...]:
    """Return a point as a key, without some of its axes."""
    return tuple((axis, point[axis]) for axis in AXES if axis in point and axis not in without)


class Spread(NamedTuple):
    """Rates of all runs of a point, in bytes per second."""

    median: float
    low: float
    high: float

    @property
    def text(self) -> str:
        """The median, and the range in percent of it where the runs differ."""
        down, up = (round(100 * (of / self.median - 1)) for of in (self.low, self.high))
        spread = f" {down:+d}/{up:+d} %" if self.low < self.high else ""
        return format_rate(self.median) + spread

    def over(self, targets: int) -> Spread:
        """Return the share of each of so many targets."""
        return Spread(*(rate / targets for rate in self))


class Summary(NamedTuple):
    """All runs of one point; an operation that none has a rate of is missing in ``rates``."""

    point: Point
    targets: int
    ranks: int
    runs: int
    rates: Mapping[Operation, Spread]
    reason: str


def summaries(done: Sequence[Done]) -> tuple[Summary, ...]:
    """Return each measured point once, in order of the axes."""
    points: dict[tuple[tuple[str, Any], ...], list[Done]] = {}
    for entry in done:
        points.setdefault(_key(entry.point, REPEAT), []).append(entry)
    return tuple(_summary(dict(key), runs) for key, runs in sorted(points.items()))


def _summary(point: Point, runs: Sequence[Done]) -> Summary:
    rates: dict[Operation, list[float]] = {}
    for entry in runs:
        for operation, rate_Bps in entry.rates.items():
            rates.setdefault(operation, []).append(rate_Bps)
    spreads = {operation: Spread(median(of), min(of), max(of)) for operation, of in rates.items()}
    reason = next((entry.reason for entry in runs if entry.reason), "")
    return Summary(point, runs[0].targets, runs[0].ranks, len(runs), spreads, reason)


GAIN = 0.05
"""Least gain that counts: single runs on a quiet system differ by as much."""

LOSS = 0.10
"""A loss above this is reported."""


class Remark(NamedTuple):
    """The knee of a line: ``value`` gives ``rate_Bps``, and larger values give no more.

    ``rising``: it is the last measured value, and still better than the value before it.
    ``last_ratio`` is the rate at the last value over the highest.  Words have no order: ``value``
    is the best and ``last`` the worst of them.
    """

    axis: str
    operation: Operation
    beside: str
    value: Value
    rate_Bps: float
    rising: bool
    last: Value
    last_ratio: float

    def to_json(self) -> dict[str, Any]:
        """Return the document form, with the sentence."""
        return {**write_fields(self), "text": self.sentence()}

    def sentence(self) -> str:
        """Return the remark in words."""
        here, last = phrase(self.axis, self.value), phrase(self.axis, self.last)
        where = f" ({self.beside})" if self.beside else ""
        each = " a target" if self.axis == PER_TARGET else ""
        gives = f"{self.operation.value}{where}: {here} gives {format_rate(self.rate_Bps)}{each}"
        if self.value != 1 and "{s}" in AXES[self.axis].words:
            gives = gives.replace(" gives ", " give ")
        if self.rising:
            return f"{gives}, the most; it still rises there, so more may bring more"
        falls = f"; {last}: {self.last_ratio * 100:.0f} % of the best" if self._falls else ""
        if isinstance(self.value, str):
            return f"{gives}, the most{falls}"
        return f"{gives}; beyond that nothing brings {GAIN * 100:.0f} % more{falls}"

    @property
    def _falls(self) -> bool:
        return self.last_ratio < 1 - LOSS


def remarks(done: Sequence[Done], operations: Sequence[Operation]) -> tuple[Remark, ...]:
    """Return the knee of each line that has two measured points or more.

    A line are measured points that differ on one axis alone.
    """
    points = summaries(done)
    return tuple(
        _remark(axis, operation, setting, rates)
        for axis in AXES
        for operation in operations
        for setting, rates in _lines(axis, operation, points)
        if len(rates) > 1
    )


def _lines(
    axis: str, operation: Operation, points: Sequence[Summary]
) -> Iterator[tuple[str, dict[Value, Spread]]]:
    """Yield the other axes of each line in words, and its rates by their values."""
    axes = [name for name in AXES if len({entry.point.get(name) for entry in points}) > 1]
    lines: dict[tuple[tuple[str, Any], ...], dict[Value, Spread]] = {}
    for entry in points:
        if operation in entry.rates and axis in entry.point:
            line = lines.setdefault(_key(entry.point, axis), {})
            each = entry.targets if axis == PER_TARGET else 1
            line[entry.point[axis]] = entry.rates[operation].over(each)
    for at, line in sorted(lines.items()):
        yield ", ".join(phrase(name, value) for name, value in at if name in axes), line


def _remark(axis: str, operation: Operation, setting: str, rates: Mapping[Value, Spread]) -> Remark:
    best = max(spread.median for spread in rates.values())
    values = ordered([*rates])
    named = isinstance(values[0], str)
    if named:
        values.sort(key=lambda value: -rates[value].median)
    # the smallest value that the best one beats by neither the gain nor its own range
    knee = next(v for v in values if max(rates[v].median * (1 + GAIN), rates[v].high) >= best)
    last, at_knee = values[-1], rates[knee].median
    rising = knee == last and not named
    return Remark(axis, operation, setting, knee, at_knee, rising, last, rates[last].median / best)


_MOST_ADVICE = 3


def advice(ledger: Ledger, file_system: str) -> tuple[str, ...]:
    """Return how to write on this machine in five lines at most; empty without a figure.

    The axes that matter most come first, each beside the best values of the others.
    """
    every = summaries(ledger.done)
    points = [entry for entry in every if Operation.WRITE in entry.rates]
    if not points:
        return ()
    best = max(points, key=lambda entry: entry.rates[Operation.WRITE].median)
    lines = []
    for axis in moving(_values(points)):
        line = {
            entry.point[axis]: entry.rates[Operation.WRITE]
            for entry in points
            if _key(entry.point, axis) == _key(best.point, axis)
        }
        lines += [_effect(axis, line)] if len(line) > 1 else []
    rates = " and ".join(f"{name.value} {spread.text}" for name, spread in best.rates.items())
    until = strftime("%Y-%m-%d", localtime(max(done.started_at for done in ledger.done)))
    where = f"{best.targets} target{'s' * (best.targets > 1)}"
    return (
        (
            f"{file_system}, best of {len(points)} points, {until}: {rates} with "
            f"{words(best.point)} on {where}."
        ),
        *(line for _, line in sorted(lines)[:_MOST_ADVICE]),
        _uncovered(every, points),
    )


def _values(points: Sequence[Summary]) -> Grid:
    return {axis: [entry.point[axis] for entry in points if axis in entry.point] for axis in AXES}


def _effect(axis: str, line: Mapping[Value, Spread]) -> tuple[float, str]:
    """Return the share of the best that the worst value of an axis gives, and what to take."""
    knee, title = _remark(axis, Operation.WRITE, "", line), AXES[axis].title

    def called(value: Value) -> str:
        return f"{title} {phrase(axis, value)}" if AXES[axis].words == "{}" else phrase(axis, value)

    worst = min(line, key=lambda value: line[value].median)
    ratio = line[worst].median / max(spread.median for spread in line.values())
    if ratio >= 1 - LOSS:
        return ratio, f"The axis {title} makes no difference: {called(knee.value)} will do."
    more = ", and more may bring more" if knee.rising else ""
    return ratio, (
        f"Take {called(knee.value)}: {format_rate(knee.rate_Bps)}{more}; "
        f"{called(worst)}: {ratio * 100:.0f} % of the best."
    )


def _uncovered(every: Sequence[Summary], points: Sequence[Summary]) -> str:
    """Return what the sweep does not say: of ``every`` point, ``points`` have a figure."""
    tried = moving(_values(points))
    alone = [axis.title for axis in AXES.values() if axis.name not in (*tried, REPEAT)]
    once = max(entry.runs for entry in points) == 1
    bare = sum(not entry.rates for entry in every)
    return (
        f"Not covered: other values of {', '.join(alone)}; other hours and other users' load"
        f"{'; each point was measured once' if once else ''}"
        f"{f'; points without a figure: {bare}' if bare else ''}."
    )


_FAILURES = 3


class Budget(NamedTuple):
    """Budget of a whole sweep, over all its parts."""

    bytes: int
    seconds: float


class Ending(NamedTuple):
    """End of a sweep; ``reason`` is why it ended before its last point."""

    ledger: Ledger
    reason: str = ""


class Sweep(NamedTuple):
    """Points in order, the load of each, and the budget of all."""

    points: tuple[Point, ...]
    load: Load
    budget: Budget
    save: Callable[[Ledger], None]

    def work_off(self, ledger: Ledger, measure: Callable[[Point], Done]) -> Ending:
        """Measure the remaining points; raise the errors of ``measure`` and ``save``."""
        failed = 0
        for point in ledger.remaining(self.points):
            spent = self.spent(ledger, point)
            if spent:
                return Ending(ledger, spent)
            expected = estimate(point, self.load, ledger)
            self.save(ledger.begun(self.load.size(point), expected.seconds))
            try:
                done = measure(point)
            except (BusyError, PrivilegeError):
                # it has not begun
                self.save(ledger)
                raise
            ledger = ledger.ended(done)
            self.save(ledger)
            failed = failed + 1 if not done.rates else 0
            if failed == _FAILURES:
                return Ending(
                    ledger, f"{failed} points in a row gave no figure, the last: {done.reason}"
                )
        return Ending(ledger)

    def spent(self, ledger: Ledger, point: Point) -> str:
        """Return why a point exceeds the rest of the budget; empty if it fits."""
        size = self.load.size(point)
        if ledger.written + size > self.budget.bytes:
            remedy = (
                "raise --budget to go on" if ledger.done else "raise --budget, or lower --bytes"
            )
            return (
                f"{format_bytes(ledger.written)} of the budget of {format_bytes(self.budget.bytes)}"
                f" are written and a point writes {format_bytes(size)}; {remedy}"
            )
        expected = estimate(point, self.load, ledger)
        if ledger.seconds + expected.seconds > self.budget.seconds:
            remedy = (
                "raise --limit to go on" if ledger.done else "raise --limit, or lower --seconds"
            )
            return (
                f"{format_duration(ledger.seconds)} of the {format_duration(self.budget.seconds)} "
                f"are used and a point takes {'up to ' if expected.at_most else ''}"
                f"{format_duration(expected.seconds)}; {remedy}"
            )
        return ""


def planned(sweep: Sweep, ledger: Ledger) -> Sequence[tuple[Point, str]]:
    """Return the remaining points, each with the reason why it exceeds the budget, or empty."""
    points = []
    reason = ""
    for point in ledger.remaining(sweep.points):
        reason = reason or sweep.spent(ledger, point)
        points.append((point, reason))
        expected = estimate(point, sweep.load, ledger)
        ledger = ledger.begun(sweep.load.size(point), expected.seconds)
    return points
