"""Axes of a sweep: the terms that may change from run to run, one line each.

The command's options, points, table and knees are derived from them.
"""

from __future__ import annotations

from itertools import product
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence, Union

from plumbline.model.errors import UsageError
from plumbline.model.ranks import Method, parse_aggregation
from plumbline.model.units import format_size, parse_bytes

Value = Union[int, str]
Point = Mapping[str, Value]
"""One run of a sweep: a value of each given axis, by its name, in order of AXES."""

Grid = Mapping[str, Sequence[Value]]
"""All values of each given axis; the points are all combinations."""


class Setting(NamedTuple):
    """Terms of one run that the axes of a point can change.

    ``targets`` may be used, by ``hosts`` clients.  ``writers`` is the number of processes on each
    target, or on each set of ``stripes`` targets that files are striped over; ``total_ranks`` is
    the number for all targets, dealt to them in turn, 0 to use ``writers``.  ``oversubscription``
    puts the same number of processes on a part of the targets, 4 for a quarter.  ``bytes`` are
    written in total.  ``alone`` uses one target, or one set of them, and leaves the others idle.
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
        """Number of sets of targets in use."""
        return min(self._sets, self.ranks)

    @property
    def _sets(self) -> int:
        return 1 if self.alone else self.targets // self.oversubscription // self.stripes

    @property
    def in_use(self) -> int:
        """Number of targets in use."""
        return self.sets * self.stripes

    @property
    def processes(self) -> int:
        """Number of processes."""
        return self.total_ranks or self._sets * self.writers * self.oversubscription

    @property
    def ranks(self) -> int:
        """Number of processes that write."""
        return self.processes // self.test.processes

    @property
    def rank_bytes(self) -> int:
        """Bytes of each rank, a multiple of the transfer size."""
        return self.bytes // self.ranks // self.test.transfer * self.test.transfer


def _count(word: str, _targets: int) -> int:
    """Return a number; 0, which is invalid, for other text or more than nine digits."""
    return int(word) if word.isdecimal() and len(word) < 10 else 0


def _share(word: str, targets: int) -> int:
    return targets if word == "all" else _count(word, targets)


def _size(word: str, _targets: int) -> int:
    return parse_bytes(word)


def text_of(word: str, _targets: int) -> str:
    """Return a value that has no order."""
    return word


Change = Callable[["Setting", Any], "Setting"]


def _multiply(part: str) -> Change:
    """Return the change by an axis with the bytes of each host or process."""
    return lambda setting, value: setting._replace(bytes=value * getattr(setting, part))


def _hinted(setting: Setting, value: str) -> Setting:
    """Return a setting with the hints ``NAME=VALUE+NAME=VALUE``, or ``none``."""
    pairs = [pair.partition("=") for pair in value.split("+") if value != "none"]
    if not all(name and text for name, _, text in pairs):
        raise UsageError(f"--hints {value} is not NAME=VALUE; write romio_cb_write=enable or none")
    test = setting.test
    if test.api != "mpiio":
        raise UsageError(
            f"--hints go to MPI-IO, which {test.name} does not use; choose another test"
        )
    return setting._replace(test=test._replace(hints={name: text for name, _, text in pairs}))


def _aggregated(setting: Setting, value: int) -> Setting:
    """Return a setting in which one of ``value`` processes writes the transfers of all."""
    if setting.processes % value:
        raise UsageError(
            f"--aggregate {value} does not divide {setting.processes} processes; give it, or "
            "--writers, another number"
        )
    test = setting.test
    transfer = test.transfer * value
    return setting._replace(test=test._replace(transfer=transfer, processes=value))


class Axis(NamedTuple):
    """Dimension of a sweep, whose value may change from point to point.

    In ``words``, ``{}`` stands for a value and ``{s}`` for its plural.  ``read`` parses a word of
    the option; it also gets the number of all targets.  ``change`` applies a value to a setting;
    without it the value replaces the field with the name of the axis.  ``default`` is for the help;
    an axis without a number there is in points only if it is given.
    """

    name: str
    help: str
    words: str
    read: Callable[[str, int], Value]
    default: str = ""
    change: Optional[Change] = None

    @property
    def option(self) -> str:
        """Option for its values."""
        return "--oversubscribe" if self.name == PER_TARGET else f"--{self.name.replace('_', '-')}"

    @property
    def title(self) -> str:
        """Title of its column."""
        return self.name.replace("_", " ")

    def format(self, value: Value) -> str:
        """Format a value for tables."""
        sized = self.read is _size and isinstance(value, int)
        return format_size(int(value)) if sized else str(value)

    def applied(self, setting: Setting, value: Value) -> Setting:
        """Return a setting with a value; raise UsageError if it is impossible."""
        changed: Mapping[str, Any] = {self.name: value}
        return self.change(setting, value) if self.change else setting._replace(**changed)

    def phrase(self, value: Value) -> str:
        """Return a value in words."""
        return self.words.format(self.format(value), s="" if value == 1 else "s")


def _test(field: str, read: Callable[[Any], Any] = int) -> Change:
    def change(setting: Setting, value: Any) -> Setting:
        fields: Mapping[str, Any] = {field: read(value)}
        return setting._replace(test=setting.test._replace(**fields))

    return change


PER_TARGET = "oversubscription"
"""Axis that changes the number of targets, and so the sum of their rates."""

REPEAT = "repeat"
"""Axis that changes nothing: it repeats a point, to get the median of its runs."""

_HINTS = "hints of MPI-IO, NAME=VALUE, several with +, or none"
_AGGREGATE = "processes of which one writes the data of all, 1 for each its own"
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
        Axis(
            "stripe_size",
            "of one stripe (Lustre)",
            "stripes of {}",
            _size,
            "",
            _test("stripe_bytes"),
        ),
        Axis("targets", "targets in use, or all", "{} target{s}", _share),
        Axis("total_ranks", _TOTAL, "{} rank{s} in all", _count),
        Axis("aggregate", _AGGREGATE, "{} to one", _count, "", _aggregated),
        Axis("bytes_per_node", "in place of --bytes", "{} a node", _size, "", _multiply("hosts")),
        Axis(
            "bytes_per_rank", "in place of --bytes", "{} a rank", _size, "", _multiply("processes")
        ),
        Axis(
            "gather",
            "buffers for small transfers, 2x32MiB or none",
            "buffers {}",
            text_of,
            "the test's",
            _test("aggregation", parse_aggregation),
        ),
        Axis("hints", _HINTS, "hints {}", text_of, "the test's", _hinted),
        Axis(REPEAT, "", "run {}", _count, "", lambda setting, _run: setting),
    )
}


def phrase(axis: str, value: Value) -> str:
    """Return a value of an axis in words."""
    return AXES[axis].phrase(value)


def words(point: Point) -> str:
    """Return a point in words, e.g. ``4 writers, 1 MiB``."""
    return ", ".join(
        phrase(axis, value) for axis, value in point.items() if AXES[axis].default != str(value)
    )


def points_of(grid: Grid) -> tuple[Point, ...]:
    """Return all points in measuring order; repeats come after all first runs."""
    axes = [axis for axis in AXES if axis in grid]
    values = [ordered(grid[axis]) for axis in axes]
    levels = {axis: _levels(column) for axis, column in zip(axes, values) if axis != REPEAT}

    def coarse_first(point: Point) -> tuple[Value, int, int]:
        rounds = [by_value[point[axis]] for axis, by_value in levels.items()]
        return point.get(REPEAT, 1), max(rounds), sum(rounds)

    # the first run of a point has no repeat number
    points = [
        {axis: value for axis, value in zip(axes, combined) if (axis, value) != (REPEAT, 1)}
        for combined in product(*values)
    ]
    # sorting is stable: small values come first within a level
    return tuple(sorted(points, key=coarse_first))


def moving(grid: Grid) -> tuple[str, ...]:
    """Return the names of the axes that have more than one value."""
    return tuple(axis for axis in AXES if len(set(grid.get(axis, ()))) > 1)


def ordered(values: Sequence[Value]) -> list[Value]:
    """Return each value once: numbers in ascending order, words in the given order."""
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
    """Return a setting, changed as in a point.

    Raises:
        UsageError: there are too few targets, or the point is impossible with the test.
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
