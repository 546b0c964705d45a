"""Sweeps: a grid of parallel runs, their order, remaining time, and knees.

The ends of all axes are measured first, then the middles, then the quarters: the points are spread
over the entire grid even if the budget ends the sweep early.

Each point is stored when it ends, before the next one starts.
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

from plumbline.model.codec import form, write_fields
from plumbline.model.errors import BusyError, PrivilegeError
from plumbline.model.record import Operation
from plumbline.model.units import (
    format_bytes,
    format_duration,
    format_rate,
)
from plumbline.model.validation import rates
from plumbline.parts.parallel.axes import (
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
    """Return the indices of targets, ordered to take one from each server before a second.

    ``servers`` has the server of each target.  Few targets then use as many servers as possible, as
    in section IV.B of the Red Storm report.
    """
    turns: dict[str, int] = {}
    keyed = []
    for index, server in enumerate(servers):
        turns[server] = turns.get(server, 0) + 1
        keyed.append((turns[server], index))
    return tuple(index for _, index in sorted(keyed))


START_S = 3.0
"""Time to create the files, start and end the ranks, on few targets."""


class Load(NamedTuple):
    """Operations of each point, each at most ``seconds`` long.

    With ``fixed_time`` each lasts exactly so long.  ``size`` returns the bytes that a point writes.
    """

    seconds: float
    operations: tuple[Operation, ...]
    size: Callable[[Point], int]
    fixed_time: bool = False


class Estimate(NamedTuple):
    """Expected seconds of a point; ``at_most`` is True if this is only the limit."""

    seconds: float
    at_most: bool


def estimate(point: Point, load: Load, ledger: Ledger) -> Estimate:
    """Estimate the seconds of a point from the nearest measured point."""
    measured = [done for done in ledger.done if done.rates]
    nearest = min(measured, key=lambda done: _distance(point, done.point), default=None)
    if load.fixed_time or nearest is None:
        longest = START_S + len(load.operations) * load.seconds
        return Estimate(longest, not load.fixed_time)
    # expect the same overhead as the nearest point had outside its operations
    overhead = max(START_S, nearest.seconds - _moving_s(nearest, nearest.written, load))
    return Estimate(overhead + _moving_s(nearest, load.size(point), load), at_most=False)


def _moving_s(done: MeasuredPoint, size: int, load: Load) -> float:
    """Return the seconds of all operations for ``size`` bytes at the rates of a point."""
    rates_Bps = [done.rates.get(operation) for operation in load.operations]
    return sum(min(load.seconds, size / rate) if rate else load.seconds for rate in rates_Bps)


def _distance(point: Point, other: Point) -> float:
    """Return the distance between two points, in doublings along all axes."""
    pairs = [(value, other.get(axis, value)) for axis, value in point.items() if axis != REPEAT]
    return sum(
        abs(log2(a / b)) if isinstance(a, int) and isinstance(b, int) else a != b for a, b in pairs
    )


def _of_axes(**points: Mapping[str, Any]) -> None:
    """Raise TypeError for an impossible point."""
    for name, point in points.items():
        for axis, value in point.items():
            kind = str if axis in AXES and AXES[axis].read is text_of else int
            if axis not in AXES or type(value) is not kind or value in (0, ""):
                raise TypeError(f"{name} has {axis!r:.60} of {value!r:.60}, which is no axis")


class MeasuredPoint(NamedTuple):
    """One measured point; ``rates`` are bytes per second of all targets together.

    ``written`` is the number of bytes written, ``seconds`` the total time.  An operation without a
    rate is missing in ``rates``, with the cause in ``reason``.
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


@form(1, "record of the sweep", "begin it with --again")
class Ledger(NamedTuple):
    """A sweep and its measured points; ``terms`` identifies the sweep.

    ``point_bytes`` is the bytes of each point unless an axis sets them; ``written`` and ``seconds``
    are spent in total, including points without a figure.  The expected cost of a point is added
    before it starts, so a killed one is counted too.
    """

    terms: Mapping[str, Any]
    point_bytes: int
    done: tuple[MeasuredPoint, ...] = ()
    written: int = 0
    seconds: float = 0.0

    def remaining(self, points: Sequence[Point]) -> tuple[Point, ...]:
        """Return the points without a figure, in order."""
        over = {_key(done.point) for done in self.done if not done.reason}
        return tuple(point for point in points if _key(point) not in over)

    def begun(self, size: int, seconds: float) -> Ledger:
        """Return the ledger with the expected cost of a point that starts."""
        return self._replace(written=self.written + size, seconds=self.seconds + seconds)

    def ended(self, done: MeasuredPoint) -> Ledger:
        """Return the ledger with a finished point, which replaces an earlier failure."""
        others = tuple(entry for entry in self.done if entry.point != done.point)
        return self._replace(
            done=(*others, done),
            written=self.written + done.written,
            seconds=self.seconds + done.seconds,
        )


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
        """Median, and the range in percent if the runs differ."""
        down, up = (round(100 * (bound / self.median - 1)) for bound in (self.low, self.high))
        spread = f" {down:+d}/{up:+d} %" if self.low < self.high else ""
        return format_rate(self.median) + spread

    def over(self, targets: int) -> Spread:
        """Return the rates per target."""
        return Spread(*(rate / targets for rate in self))


class Summary(NamedTuple):
    """Summary of all runs of a point; ``rates`` has only operations with a rate."""

    point: Point
    targets: int
    ranks: int
    runs: int
    rates: Mapping[Operation, Spread]
    reason: str


def summaries(done: Sequence[MeasuredPoint]) -> tuple[Summary, ...]:
    """Return a summary of each measured point, in order of the axes."""
    points: dict[tuple[tuple[str, Any], ...], list[MeasuredPoint]] = {}
    for entry in done:
        points.setdefault(_key(entry.point, REPEAT), []).append(entry)
    return tuple(_summary(dict(key), runs) for key, runs in sorted(points.items()))


def _summary(point: Point, runs: Sequence[MeasuredPoint]) -> Summary:
    rates: dict[Operation, list[float]] = {}
    for entry in runs:
        for operation, rate_Bps in entry.rates.items():
            rates.setdefault(operation, []).append(rate_Bps)
    spreads = {operation: Spread(median(r), min(r), max(r)) for operation, r in rates.items()}
    reason = next((entry.reason for entry in runs if entry.reason), "")
    return Summary(point, runs[0].targets, runs[0].ranks, len(runs), spreads, reason)


GAIN = 0.05
"""Least gain that counts: single runs on a quiet system differ by as much."""

LOSS = 0.10
"""Least loss that is reported."""


class Remark(NamedTuple):
    """Knee of a line: ``value`` has the rate ``rate_Bps``, and larger values gain nothing.

    ``rising`` is True if it is the last measured value, and still better than the one before.
    ``last_ratio`` is the rate at the last value over the highest rate.  Words have no order:
    ``value`` is the best of them, and ``last`` the worst.
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
        """Return the remark as a sentence."""
        best, last = phrase(self.axis, self.value), phrase(self.axis, self.last)
        where = f" ({self.beside})" if self.beside else ""
        unit = " a target" if self.axis == PER_TARGET else ""
        gives = f"{self.operation.value}{where}: {best} gives {format_rate(self.rate_Bps)}{unit}"
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


def remarks(done: Sequence[MeasuredPoint], operations: Sequence[Operation]) -> tuple[Remark, ...]:
    """Return the knee of each line with at least two measured points.

    A line consists of measured points that differ on only one axis.
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
    """Yield the setting of each line on the other axes in words, and its rates by value."""
    axes = [name for name in AXES if len({entry.point.get(name) for entry in points}) > 1]
    lines: dict[tuple[tuple[str, Any], ...], dict[Value, Spread]] = {}
    for entry in points:
        if operation in entry.rates and axis in entry.point:
            line = lines.setdefault(_key(entry.point, axis), {})
            divisor = entry.targets if axis == PER_TARGET else 1
            line[entry.point[axis]] = entry.rates[operation].over(divisor)
    for at, line in sorted(lines.items()):
        yield ", ".join(phrase(name, value) for name, value in at if name in axes), line


def _remark(axis: str, operation: Operation, setting: str, rates: Mapping[Value, Spread]) -> Remark:
    best = max(spread.median for spread in rates.values())
    values = ordered([*rates])
    named = isinstance(values[0], str)
    if named:
        values.sort(key=lambda value: -rates[value].median)
    # the smallest value for which the best rate is within the gain, or within its range
    knee = next(v for v in values if max(rates[v].median * (1 + GAIN), rates[v].high) >= best)
    last, at_knee = values[-1], rates[knee].median
    rising = knee == last and not named
    return Remark(axis, operation, setting, knee, at_knee, rising, last, rates[last].median / best)


_MAX_ADVICE = 3


def advice(ledger: Ledger, file_system: str) -> tuple[str, ...]:
    """Return advice on writing on this system, in at most five lines; empty without a figure.

    The axes that matter most come first, each with the best values of the others.
    """
    all_points = summaries(ledger.done)
    points = [entry for entry in all_points if Operation.WRITE in entry.rates]
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
        *(line for _, line in sorted(lines)[:_MAX_ADVICE]),
        _uncovered(all_points, points),
    )


def _values(points: Sequence[Summary]) -> Grid:
    return {axis: [entry.point[axis] for entry in points if axis in entry.point] for axis in AXES}


def _effect(axis: str, line: Mapping[Value, Spread]) -> tuple[float, str]:
    """Return worst / best rate on an axis, and advice on its value."""
    knee, title = _remark(axis, Operation.WRITE, "", line), AXES[axis].title

    def called(value: Value) -> str:
        return f"{title} {phrase(axis, value)}" if AXES[axis].words == "{}" else phrase(axis, value)

    worst = min(line, key=lambda value: line[value].median)
    ratio = line[worst].median / max(spread.median for spread in line.values())
    if ratio >= 1 - LOSS:
        return ratio, f"The axis {title} makes no difference: {called(knee.value)} will do."
    more = ", and more may bring more" if knee.rising else ""
    best = max(spread.median for spread in line.values())
    rate = format_rate(knee.rate_Bps)
    if knee.rate_Bps == best:
        start = f"Take {called(knee.value)}: {rate}{more}"
    else:
        share = f"{knee.rate_Bps / best * 100:.0f} % of the best"
        start = f"{called(knee.value)} will do: {rate}, {share}"
    return ratio, f"{start}; {called(worst)}: {ratio * 100:.0f} % of the best."


def _uncovered(all_points: Sequence[Summary], points: Sequence[Summary]) -> str:
    """Return a sentence on the limits of the sweep; ``points`` are those with a figure."""
    tried = moving(_values(points))
    unmoved = [axis.title for axis in AXES.values() if axis.name not in (*tried, REPEAT)]
    single = max(entry.runs for entry in points) == 1
    bare = sum(not entry.rates for entry in all_points)
    return (
        f"Not covered: other values of {', '.join(unmoved)}; other hours and other users' load"
        f"{'; each point was measured once' if single else ''}"
        f"{f'; points without a figure: {bare}' if bare else ''}."
    )


_FAILURES = 3


class Budget(NamedTuple):
    """Budget of an entire sweep, over all its parts."""

    bytes: int
    seconds: float


class Ending(NamedTuple):
    """End of a sweep; ``reason`` is the cause of a premature end."""

    ledger: Ledger
    reason: str = ""


class Sweep(NamedTuple):
    """Points in order, the load of each, and the total budget."""

    points: tuple[Point, ...]
    load: Load
    budget: Budget
    save: Callable[[Ledger], None]

    def work_off(self, ledger: Ledger, measure: Callable[[Point], MeasuredPoint]) -> Ending:
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
                # the point has not started
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
        """Return the reason if a point exceeds the remaining budget; empty if it fits."""
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
    """Return the remaining points, each with the reason if it exceeds the budget, else empty."""
    points = []
    reason = ""
    for point in ledger.remaining(sweep.points):
        reason = reason or sweep.spent(ledger, point)
        points.append((point, reason))
        expected = estimate(point, sweep.load, ledger)
        ledger = ledger.begun(sweep.load.size(point), expected.seconds)
    return points
