"""Sweeps: a grid of parallel runs, their order, remaining time, and knees.

Whatever part of them is measured before a budget ends it, they are spread over the whole grid: the
ends of all axes come first, then the middles, then the quarters.

What a point is worth is known only when it has ended; what has ended is kept before the next
begins.
"""

from __future__ import annotations

from itertools import product
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
    Optional,
    Sequence,
    Union,
)

from plumbline.model.codec import read_document, write_fields
from plumbline.model.errors import BusyError, PrivilegeError, UsageError
from plumbline.model.record import Operation
from plumbline.model.units import (
    format_bytes,
    format_duration,
    format_rate,
    format_size,
    parse_bytes,
)
from plumbline.model.validation import rates
from plumbline.parallel.terms import Method, parse_aggregation

Value = Union[int, str]
Point = Mapping[str, Value]
"""One run of a sweep: a value of each axis that was given, by its name and in order of AXES."""

Grid = Mapping[str, Sequence[Value]]
"""All values of each axis that was given; the points are all their combinations."""


class Setting(NamedTuple):
    """Terms of one run: what the axes of a point change.

    ``targets`` may be used, by ``hosts`` clients.  ``writers`` are the processes on each target, or
    on each set of ``stripes`` targets that files are striped over; ``total_ranks`` are those of all
    targets, dealt to them in turn, 0 for as many as ``writers`` make.  ``oversubscription`` puts as
    many processes on a part of the targets only, 4 for a quarter of them.  ``bytes`` are written in
    all.  ``alone`` takes one target, or one set of them, and leaves the others idle.
    """

    test: Method
    targets: int
    hosts: int
    bytes: int
    alone: bool = False
    writers: int = 1
    stripes: int = 1
    oversubscription: int = 1
    total_ranks: int = 0

    @property
    def sets(self) -> int:
        """Sets of targets in use."""
        sets = 1 if self.alone else self.targets // self.oversubscription // self.stripes
        return min(sets, self.total_ranks or sets)

    @property
    def in_use(self) -> int:
        """Targets in use."""
        return self.sets * self.stripes

    @property
    def ranks(self) -> int:
        """Processes in all."""
        return self.total_ranks or self.sets * self.writers * self.oversubscription

    @property
    def rank_bytes(self) -> int:
        """Bytes of each rank, whole transfers."""
        return self.bytes // self.ranks // self.test.transfer * self.test.transfer


def _count(word: str, _targets: int) -> int:
    """Return a number; what is none is as wrong as 0."""
    return int(word) if word.isdecimal() else 0


def _share(word: str, targets: int) -> int:
    return targets if word == "all" else _count(word, targets)


def _size(word: str, _targets: int) -> int:
    return parse_bytes(word)


def _text(word: str, _targets: int) -> str:
    return word


Change = Callable[["Setting", Any], "Setting"]


def _for_each(part: str) -> Change:
    """Return how a value becomes the bytes of each host or rank."""
    return lambda setting, value: setting._replace(bytes=value * getattr(setting, part))


def _hinted(setting: Setting, value: str) -> Setting:
    """Return a setting with hints ``NAME=VALUE+NAME=VALUE``, or ``none``."""
    pairs = [pair.partition("=") for pair in value.split("+") if value != "none"]
    if not all(name and text for name, _, text in pairs):
        raise UsageError(f"--hints {value} is not NAME=VALUE; write romio_cb_write=enable or none")
    test = setting.test
    if test.api != "mpiio":
        raise UsageError(
            f"--hints go to MPI-IO, which {test.name} does not use; choose another test"
        )
    return setting._replace(test=test._replace(hints={name: text for name, _, text in pairs}))


class Axis(NamedTuple):
    """What may change from point to point; ``{}`` in ``words`` is a value, ``{s}`` its plural.

    ``read`` takes a word of the option and the number of all targets.  ``change`` applies a value
    to a setting, without it the value is the setting's field of the same name.  ``default`` is for
    the help; an axis without a number there is part of no point until it is given.
    """

    name: str
    help: str
    words: str
    read: Callable[[str, int], Value]
    default: str = ""
    change: Optional[Change] = None

    @property
    def option(self) -> str:
        """The option that takes its values."""
        return "--oversubscribe" if self.name == PER_TARGET else f"--{self.name.replace('_', '-')}"

    @property
    def title(self) -> str:
        """Name as the head of a column."""
        return self.name.replace("_", " ")

    def format(self, value: Value) -> str:
        """Return a value as tables show it."""
        sized = self.read is _size and isinstance(value, int)
        return format_size(int(value)) if sized else str(value)

    def applied(self, setting: Setting, value: Value) -> Setting:
        """Return a setting with a value; raise UsageError where it is impossible."""
        changed: Mapping[str, Any] = {self.name: value}
        return self.change(setting, value) if self.change else setting._replace(**changed)

    def phrase(self, value: Value) -> str:
        """Return a value in words."""
        return self.words.format(self.format(value), s="" if value == 1 else "s")


def _test(field: str, read: Callable[[Any], Any] = int) -> Change:
    """Return how a value changes one field of the test."""

    def change(setting: Setting, value: Any) -> Setting:
        fields: Mapping[str, Any] = {field: read(value)}
        return setting._replace(test=setting.test._replace(**fields))

    return change


PER_TARGET = "oversubscription"
"""On this axis the number of targets changes, and with it the sum of their rates."""

REPEAT = "repeat"
"""On this axis nothing changes: its points are runs of one, whose figures have a median."""

_HINTS = "hints of MPI-IO, NAME=VALUE, several with +, or none"
_TOTAL = "processes of all targets, dealt in turn, in place of --writers"

AXES: Mapping[str, Axis] = {
    axis.name: axis
    for axis in (
        Axis("writers", "processes on each target", "{} writer{s}", _count, "1,2,4,8"),
        Axis("transfer", "sizes of a call", "{}", _size, "the test's", _test("transfer")),
        Axis("stripes", "targets of one file, or all (Lustre)", "{} stripe{s}", _share, "1"),
        Axis(
            PER_TARGET,
            "the same ranks on 1/N of the targets",
            "{}-fold over-subscription",
            _count,
            "1",
        ),
        Axis("stripe_size", "(Lustre)", "stripes of {}", _size, "", _test("stripe_bytes")),
        Axis("targets", "targets in use, or all", "{} target{s}", _share),
        Axis("total_ranks", _TOTAL, "{} rank{s} in all", _count),
        Axis("bytes_per_node", "in place of --bytes", "{} a node", _size, "", _for_each("hosts")),
        Axis("bytes_per_rank", "in place of --bytes", "{} a rank", _size, "", _for_each("ranks")),
        Axis(
            "gather",
            "buffers for small transfers, 2x32MiB or none",
            "buffers {}",
            _text,
            "the test's",
            _test("aggregation", parse_aggregation),
        ),
        Axis("hints", _HINTS, "hints {}", _text, "the test's", _hinted),
        Axis(REPEAT, "", "run {}", _count, "", lambda setting, _run: setting),
    )
}


def phrase(axis: str, value: Value) -> str:
    """Return one value of an axis in words."""
    return AXES[axis].phrase(value)


def words(point: Point) -> str:
    """Return a point as a person calls it, e.g. ``4 writers, 1 MiB``."""
    return ", ".join(
        phrase(axis, value) for axis, value in point.items() if AXES[axis].default != str(value)
    )


def points_of(grid: Grid) -> tuple[Point, ...]:
    """Return all points in the order of measuring, none a second time before all have a figure."""
    axes = [axis for axis in AXES if axis in grid]
    values = [_ordered(grid[axis]) for axis in axes]
    levels = {axis: _levels(of) for axis, of in zip(axes, values) if axis != REPEAT}

    def coarse_first(point: Point) -> tuple[Value, int, int]:
        own = [of[point[axis]] for axis, of in levels.items()]
        return point.get(REPEAT, 1), max(own), sum(own)

    # the first run of a point is the point itself
    points = [
        {axis: value for axis, value in zip(axes, combined) if (axis, value) != (REPEAT, 1)}
        for combined in product(*values)
    ]
    # sorting is stable: within a level small values come first
    return tuple(sorted(points, key=coarse_first))


def moving(grid: Grid) -> tuple[str, ...]:
    """Return the names of the axes that have more than one value."""
    return tuple(axis for axis in AXES if len(set(grid.get(axis, ()))) > 1)


def _ordered(values: Sequence[Value]) -> list[Value]:
    """Return each value once: numbers by their size, words as they were given."""
    numbers = all(isinstance(value, int) for value in values)
    return sorted(set(values)) if numbers else list(dict.fromkeys(values))


def _levels(ordered: Sequence[Value]) -> dict[Value, int]:
    """Return the round of halving that reaches each value, 0 for both ends."""
    levels = {ordered[0]: 0, ordered[-1]: 0}
    gaps, level = [(0, len(ordered) - 1)], 0
    while gaps:
        level += 1
        middles = [(low, high, (low + high) // 2) for low, high in gaps if high - low > 1]
        levels.update((ordered[middle], level) for _, _, middle in middles)
        gaps = [gap for low, high, middle in middles for gap in ((low, middle), (middle, high))]
    return levels


def apply(point: Point, setting: Setting) -> Setting:
    """Return a setting as a point changes it.

    Raises:
        UsageError: the targets are too few for the point, or it is impossible with the test.
    """
    most = setting.targets
    for axis, value in point.items():
        setting = AXES[axis].applied(setting, value)
    in_use = setting.targets // setting.oversubscription
    if in_use < setting.stripes or setting.targets > most:
        shortage = ""
        if setting.oversubscription > 1:
            shortage = (
                f"; {setting.oversubscription}-fold over-subscription leaves {in_use} of them"
            )
        raise UsageError(
            f"the point of {words(point)} needs more than the {most} targets"
            f"{shortage}; lower --stripes, --targets or --oversubscribe"
        )
    return setting


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
            if axis not in AXES or type(value) not in (int, str) or value in (0, ""):
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
    return tuple(
        _remark(axis, operation, setting, rates)
        for axis in AXES
        for operation in operations
        for setting, rates in _lines(axis, operation, summaries(done))
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
    ordered = _ordered([*rates])
    words = isinstance(ordered[0], str)
    if words:
        ordered.sort(key=lambda value: -rates[value].median)
    # the smallest value that the best one beats by neither the gain nor its own range
    knee = next(v for v in ordered if max(rates[v].median * (1 + GAIN), rates[v].high) >= best)
    last, at_knee = ordered[-1], rates[knee].median
    rising = knee == last and not words
    return Remark(axis, operation, setting, knee, at_knee, rising, last, rates[last].median / best)


_MOST_ADVICE = 3


def advice(ledger: Ledger, file_system: str) -> tuple[str, ...]:
    """Return how to write on this machine in five lines at most; empty without a figure.

    The axes that matter most come first, each beside the best values of the others.
    """
    points = [entry for entry in summaries(ledger.done) if Operation.WRITE in entry.rates]
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
        _uncovered(ledger, points),
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


def _uncovered(ledger: Ledger, points: Sequence[Summary]) -> str:
    """Return what the sweep does not say."""
    tried = moving(_values(points))
    alone = [axis.title for axis in AXES.values() if axis.name not in (*tried, REPEAT)]
    once = max(entry.runs for entry in points) == 1
    bare = sum(not entry.rates for entry in summaries(ledger.done))
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
