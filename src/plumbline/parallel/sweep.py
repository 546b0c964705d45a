"""Sweeps: a grid of parallel runs, their order, remaining time, and knees.

Whatever part of them is measured before a budget ends it, they are spread over the whole grid: the
ends of all axes come first, then the middles, then the quarters.

What a point is worth is known only when it has ended; what has ended is kept before the next
begins.
"""

from __future__ import annotations

from itertools import product
from math import log2
from typing import (
    Annotated,
    Any,
    Callable,
    Iterator,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
)

from plumbline.model.codec import read_document, write_fields
from plumbline.model.errors import BusyError, PrivilegeError, UsageError
from plumbline.model.record import Operation
from plumbline.model.units import format_bytes, format_duration, format_rate, format_size
from plumbline.model.validation import rates


class Point(NamedTuple):
    """One run of a sweep.

    ``writers``: ranks for each target, or for each set of targets that files are striped over.
    ``transfer``: bytes of one call.  ``stripes``: targets of one file.  ``oversubscription``: as
    many ranks on a part of the targets only, 4 for a quarter of them.
    """

    writers: int
    transfer: int
    stripes: int = 1
    oversubscription: int = 1

    def words(self) -> str:
        """Return the point as a person calls it, e.g. ``4 writers, 1 MiB``."""
        return ", ".join(
            phrase(axis, getattr(self, axis))
            for axis in AXES
            if axis in ("writers", "transfer") or getattr(self, axis) > 1
        )


AXES = Point._fields


def phrase(axis: str, value: int) -> str:
    """Return one value of an axis in words."""
    plural = "" if value == 1 else "s"
    return {
        "writers": f"{value} writer{plural}",
        "transfer": format_size(value),
        "stripes": f"{value} stripe{plural}",
        "oversubscription": f"{value}-fold over-subscription",
    }[axis]


class Grid(NamedTuple):
    """All values of each axis; the points are all their combinations."""

    writers: tuple[int, ...]
    transfer: tuple[int, ...]
    stripes: tuple[int, ...] = (1,)
    oversubscription: tuple[int, ...] = (1,)

    def points(self) -> tuple[Point, ...]:
        """Return all points in the order of measuring."""
        levels = [_levels(values) for values in self]
        points = [Point(*values) for values in product(*(sorted(set(values)) for values in self))]

        def coarse_first(point: Point) -> tuple[int, int]:
            own = [of[value] for of, value in zip(levels, point)]
            return max(own), sum(own)

        # sorting is stable: within a level small values come first
        return tuple(sorted(points, key=coarse_first))

    def moving(self) -> tuple[str, ...]:
        """Return the names of the axes that have more than one value."""
        return tuple(axis for axis in AXES if len(set(getattr(self, axis))) > 1)


def _levels(values: Sequence[int]) -> Mapping[int, int]:
    """Return the round of halving that reaches each value, 0 for both ends."""
    ordered = sorted(set(values))
    levels = {ordered[0]: 0, ordered[-1]: 0}
    gaps, level = [(0, len(ordered) - 1)], 0
    while gaps:
        level += 1
        middles = [(low, high, (low + high) // 2) for low, high in gaps if high - low > 1]
        levels.update((ordered[middle], level) for _, _, middle in middles)
        gaps = [gap for low, high, middle in middles for gap in ((low, middle), (middle, high))]
    return levels


class Layout(NamedTuple):
    """Places of a point's ranks: ``sets`` of ``stripes`` targets, ``ranks`` on each set."""

    sets: int
    stripes: int
    ranks: int

    @property
    def targets(self) -> int:
        """Return the number of targets in use."""
        return self.sets * self.stripes

    @property
    def all_ranks(self) -> int:
        """Return the number of ranks in all."""
        return self.sets * self.ranks


def layout(point: Point, targets: int, alone: bool) -> Layout:
    """Return the places of a point's ranks on at most ``targets`` targets.

    ``alone`` takes one target, or one set of them, and leaves the others idle.

    Raises:
        UsageError: the targets are too few for the point.
    """
    in_use = targets // point.oversubscription
    if in_use < point.stripes or not in_use:
        shortage = ""
        if point.oversubscription > 1:
            shortage = f"; {point.oversubscription}-fold over-subscription leaves {in_use} of them"
        raise UsageError(
            f"the point of {point.words()} needs more than the {targets} targets"
            f"{shortage}; lower --stripes or --oversubscription"
        )
    sets = 1 if alone else in_use // point.stripes
    return Layout(sets, point.stripes, point.writers * point.oversubscription)


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

    With ``fixed_time`` each one lasts so long.
    """

    seconds: float
    operations: tuple[Operation, ...]
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
    rates = [nearest.rates.get(operation) for operation in load.operations]
    moving = sum(
        min(load.seconds, ledger.point_bytes / rate_Bps) if rate_Bps else load.seconds
        for rate_Bps in rates
    )
    overhead = max(START_S, nearest.seconds - moving)
    return Estimate(overhead + moving, at_most=False)


def _distance(point: Point, other: Point) -> float:
    """Return the distance of two points, in doublings along all axes."""
    return sum(abs(log2(a / b)) for a, b in zip(point, other))


SCHEMA = 1


class Done(NamedTuple):
    """One measured point; ``rates`` in bytes per second of all targets together.

    ``written`` are the bytes that it has written, ``seconds`` what all of it took.  An operation
    without a rate is missing in ``rates``, and ``reason`` says why.
    """

    point: Point
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

    ``point_bytes`` is what each point writes, the same of all.  ``written`` and ``seconds`` are
    what was spent in all, also on points that gave no figure; what a point will cost counts before
    its first byte is written, so that a killed one is not forgotten.
    """

    terms: Mapping[str, Any]
    point_bytes: int
    done: tuple[Done, ...] = ()
    written: int = 0
    seconds: float = 0.0

    def remaining(self, points: Sequence[Point]) -> tuple[Point, ...]:
        """Return the points without figures, in their order."""
        over = {done.point for done in self.done if not done.reason}
        return tuple(point for point in points if point not in over)

    def begun(self, seconds: float) -> Ledger:
        """Return the ledger with a point that begins and may take so many seconds."""
        return self._replace(
            written=self.written + self.point_bytes, seconds=self.seconds + seconds
        )

    def ended(self, done: Done) -> Ledger:
        """Return the ledger with a finished point, which replaces a failed one."""
        kept = tuple(entry for entry in self.done if entry.point != done.point)
        return self._replace(
            done=(*kept, done),
            written=self.written + done.written,
            seconds=self.seconds + done.seconds,
        )

    def of(self, point: Point) -> Optional[Done]:
        """Return the result of a point, None if it was not measured."""
        return next((done for done in self.done if done.point == point), None)

    def to_json(self) -> dict[str, Any]:
        """Return the document form, schema number first."""
        return {"schema": SCHEMA, **write_fields(self)}

    @classmethod
    def from_json(cls, raw: Any) -> Ledger:
        """Build from the document form; raise DocumentError when it is not one of this version."""
        return read_document(cls, raw, SCHEMA, "the record of the sweep", "begin it with --again")


GAIN = 0.05
"""Least gain that counts: single runs on a quiet system differ by as much."""

LOSS = 0.10
"""A loss above this is reported."""

_PER_TARGET = "oversubscription"
"""On this axis the number of targets changes, and with it the sum of their rates."""


class Remark(NamedTuple):
    """The knee of a line: ``value`` gives ``rate_Bps``, and larger values give no more.

    ``rising``: it is the last measured value, and still better than the value before it.
    ``last_ratio`` is the rate at the last value over the highest.
    """

    axis: str
    operation: Operation
    beside: str
    value: int
    rate_Bps: float
    rising: bool
    last: int
    last_ratio: float

    def to_json(self) -> dict[str, Any]:
        """Return the document form, with the sentence."""
        return {**write_fields(self), "text": self.sentence()}

    def sentence(self) -> str:
        """Return the remark in words."""
        here, last = phrase(self.axis, self.value), phrase(self.axis, self.last)
        where = f" ({self.beside})" if self.beside else ""
        each = " a target" if self.axis == _PER_TARGET else ""
        gives = f"{self.operation.value}{where}: {here} gives {format_rate(self.rate_Bps)}{each}"
        if self.axis == "writers" and self.value != 1:
            gives = gives.replace(" gives ", " give ")
        if self.rising:
            return f"{gives}, the most; it still rises there, so more may bring more"
        falls = f"; {last}: {self.last_ratio * 100:.0f} % of the best" if self._falls else ""
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
        for setting, rates in _lines(axis, operation, done)
        if len(rates) > 1
    )


def _lines(
    axis: str, operation: Operation, done: Sequence[Done]
) -> Iterator[tuple[str, dict[int, float]]]:
    """Yield the other axes of each line in words, and its rates by their values."""
    axes = [name for name in AXES if len({getattr(entry.point, name) for entry in done}) > 1]
    lines: dict[Point, dict[int, float]] = {}
    for entry in done:
        rate_Bps = entry.rates.get(operation)
        if rate_Bps is not None:
            changed: Mapping[str, Any] = {axis: 0}
            line = lines.setdefault(entry.point._replace(**changed), {})
            line[getattr(entry.point, axis)] = (
                rate_Bps / entry.targets if axis == _PER_TARGET else rate_Bps
            )
    for at, line in sorted(lines.items()):
        yield ", ".join(phrase(name, getattr(at, name)) for name in axes if name != axis), line


def _remark(axis: str, operation: Operation, setting: str, rates: Mapping[int, float]) -> Remark:
    best, last = max(rates.values()), max(rates)
    # the smallest value within the gain of the best
    knee = next(value for value in sorted(rates) if rates[value] * (1 + GAIN) >= best)
    return Remark(
        axis, operation, setting, knee, rates[knee], knee == last, last, rates[last] / best
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
            self.save(ledger.begun(estimate(point, self.load, ledger).seconds))
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
        if ledger.written + ledger.point_bytes > self.budget.bytes:
            remedy = (
                "raise --budget to go on" if ledger.done else "raise --budget, or lower --bytes"
            )
            return (
                f"{format_bytes(ledger.written)} of the budget of {format_bytes(self.budget.bytes)}"
                f" are written and a point writes {format_bytes(ledger.point_bytes)}; {remedy}"
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
        ledger = ledger.begun(estimate(point, sweep.load, ledger).seconds)
    return points
