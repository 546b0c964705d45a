"""Tables of ceilings: equal lines are merged, with names as ranges of the topology.

A site of 320 targets on 80 controllers takes some ten rows; JSON has every line.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from statistics import median
from typing import Iterable, Iterator, NamedTuple, Optional, Sequence

from plumbline.model.expectation import Expectation
from plumbline.model.names import several
from plumbline.model.units import format_rate
from plumbline.plan.references import Line
from plumbline.topology.graph import Topology

_WIDTH = 120
_NARROWEST = 18
"""Characters of a table, and least width of its last column."""

_TOGETHER = ("one", "together")


class Table(NamedTuple):
    """Headers and rows of one table."""

    headers: tuple[str, ...]
    rows: list[tuple[str, ...]]


_Entry = tuple[tuple[str, ...], tuple[str, ...]]
"""Cells of a row, and the parts named in its last cell."""


class _Demonstrated(NamedTuple):
    """Demonstrated rates of a layer, and their median share of the ceiling."""

    layer: str
    rate: str
    share: str
    operations: tuple[str, ...]


class _Fold(NamedTuple):
    """Lines that differ only in operations and in names of the same ranges."""

    line: Line
    operations: tuple[str, ...]
    components: tuple[str, ...]
    limiting: tuple[str, ...]
    following: tuple[str, ...]
    demonstrated: tuple[_Demonstrated, ...]


class _Names:
    """Names of parts and targets as ranges of the topology."""

    def __init__(self, topology: Topology) -> None:
        parts = {part.name: part.among for part in topology.components.values()}
        targets = {target.name: target.among for target in topology.targets.values()}
        self._among = {**parts, **targets}
        self._sizes = Counter(self._among.values())

    def ranges(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the ranges that ``names`` belong to, without duplicates, in order."""
        return tuple(dict.fromkeys(self._among.get(name, name) for name in names))

    def written(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return ``names`` as ranges, or ``3 of oss[1-9]`` for a part of a range."""
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(self._among.get(name, name), []).append(name)
        return tuple(self._as_text(among, members) for among, members in groups.items())

    def _as_text(self, among: str, members: Sequence[str]) -> str:
        if len(members) == 1:
            return members[0]
        complete = self._sizes[among] == len(members)
        return among if complete else f"{len(members)} of {among}"


def tables(topology: Topology, lines: Sequence[Line]) -> list[Table]:
    """Return the tables of ``lines``: single flows first, then each kind of simultaneous flows."""
    names = _Names(topology)
    kinds: dict[str, list[Line]] = {}
    for line in lines:
        kinds.setdefault(line.flows, []).append(line)
    return [_table(names, kind, lines_of_kind) for kind, lines_of_kind in kinds.items()]


def _table(names: _Names, flows: str, lines: Sequence[Line]) -> Table:
    headers = ["layer", "component", "operation", "ceiling", "limited by"]
    if flows != "one":
        headers = ["at once", flows, "operation", "each", "in sum", "limited by"]
    folds = _fold_operations(_fold_names(names, lines))
    entries = [entry for fold in folds for entry in _entries(names, fold)]
    columns = zip(headers[:-1], *(cells for cells, _ in entries))
    used = sum(max(map(len, column)) + 2 for column in columns)
    room = max(_WIDTH - used, _NARROWEST)
    return Table(tuple(headers), [row for entry in entries for row in _wrapped(entry, room)])


def _entries(names: _Names, fold: _Fold) -> Iterator[_Entry]:
    """Yield a fold, its next limit if the limiting parts were faster, and demonstrated rates."""
    line, operations = fold.line, ", ".join(fold.operations)
    names_text, rate, following = ", ".join(names.written(fold.components)), *_rates(line)
    if line.flows == "one":
        component = f"{names_text} - {line.partner}" if line.partner else names_text
        cells: tuple[str, ...] = (line.layer, component, operations, rate)
        next_cells: tuple[str, ...] = ("", "", "next", following)
    else:
        prefix = "all of" if line.flows == "targets" else "all"
        at_once = f"{prefix} {names_text}" if line.scenario == "all" else names_text
        cells = (at_once, str(line.number), operations, _span(line.each_Bps), rate)
        next_cells = ("", "", "next", "", following)
    yield cells, names.written(fold.limiting) or ("no part on the path has a rate",)
    if fold.following:
        yield next_cells, names.written(fold.following)
    for shown in fold.demonstrated:
        measurement = f"{shown.layer} {', '.join(shown.operations)}"
        rates = (shown.rate,) if line.flows == "one" else ("", shown.rate)
        yield ("", "", measurement, *rates), (f"demonstrated{shown.share}",)


def _wrapped(entry: _Entry, room: int) -> Iterator[tuple[str, ...]]:
    """Yield the rows of an entry; its parts are wrapped to ``room`` characters."""
    cells, parts = entry
    lines = [""]
    for word in ", ".join(parts).split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > room:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".lstrip()
    yield (*cells, lines[0])
    yield from ((*("" for _ in cells), line) for line in lines[1:])


def _fold_names(names: _Names, lines: Iterable[Line]) -> Iterator[_Fold]:
    """Join lines of one operation that differ only in names."""
    groups: dict[object, list[Line]] = {}
    for line in lines:
        limiting, following = _parts(line)
        places = [names.ranges(parts) for parts in ([line.component], limiting, following)]
        groups.setdefault((_texts(line), _operation(line), *places), []).append(line)
    for members in groups.values():
        yield _Fold(
            members[0],
            (_operation(members[0]),),
            _each_once([line.component] for line in members),
            _each_once(_parts(line)[0] for line in members),
            _each_once(_parts(line)[1] for line in members),
            tuple(_demonstrated(members)),
        )


def _demonstrated(lines: Sequence[Line]) -> Iterator[_Demonstrated]:
    """Yield the demonstrated rates of lines of one operation, layer by layer."""
    limit = lines[0].limit
    for layer in dict.fromkeys(layer for line in lines for layer in line.demonstrated):
        rates = [line.demonstrated[layer] for line in lines if layer in line.demonstrated]
        share = median(rates) / limit.ceiling.rate if limit else inf
        # the rate of a disk alone is no share of the rate of the path to its target
        comparable = share <= 1 or (limit and layer == lines[0].layer)
        words = f", {100 * share:.0f} %" if comparable else ""
        rate = _span((min(rates), max(rates)))
        yield _Demonstrated(layer, rate, words, (lines[0].operation,))


def _fold_operations(folds: Iterable[_Fold]) -> list[_Fold]:
    """Join operations whose lines are equal otherwise."""
    groups: dict[object, list[_Fold]] = {}
    for fold in folds:
        names = (fold.components, fold.limiting, fold.following)
        groups.setdefault((_texts(fold.line), *names), []).append(fold)
    return [
        members[0]._replace(
            operations=_each_once(fold.operations for fold in members),
            demonstrated=tuple(_each_rate(rate for fold in members for rate in fold.demonstrated)),
        )
        for members in groups.values()
    ]


def _each_rate(shown: Iterable[_Demonstrated]) -> Iterator[_Demonstrated]:
    """Yield each rate of a layer once, with its operations."""
    groups: dict[object, list[_Demonstrated]] = {}
    for rate in shown:
        groups.setdefault(rate[:3], []).append(rate)
    for members in groups.values():
        yield members[0]._replace(operations=_each_once(rate.operations for rate in members))


def share_notes(entries: Iterable[Expectation]) -> Iterator[str]:
    """Yield a note on targets and devices without a rate of their own, whose floor is a share."""
    groups: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        shares = {
            step.partition("/")[0]: format_rate(reference.ceiling.share)
            for step, reference in entry.references.items()
            if reference.ceiling and reference.ceiling.share is not None
        }
        rates = ", ".join(f"{operation} {rate}" for operation, rate in shares.items())
        if shares:
            groups.setdefault((entry.layer, rates), []).append(entry.component)
    for (layer, rates), names in groups.items():
        yield (
            f"{layer} {several(names, 1)}: no part of its own has a rate, so its floor goes by an "
            f"even share of the parts that several share ({rates}); give the part it lies on a rate"
        )


def baseline_notes(entries: Iterable[Expectation]) -> Iterator[str]:
    """Yield a note for each layer with baselines that no valid measurement would have."""
    layers: dict[str, list[tuple[float, str]]] = {}
    for entry in entries:
        for step, (ceiling, baseline, *_) in entry.references.items():
            if ceiling and baseline and baseline.median > entry.limits.invalid_above * ceiling.rate:
                times = baseline.median / ceiling.rate
                words = (
                    f"{entry.component} {step.replace('/', ' ')}: its baseline "
                    f"{format_rate(baseline.median)} is {times:.2f} times its ceiling "
                    f"{format_rate(ceiling.rate)}"
                )
                layers.setdefault(entry.layer, []).append((times, words))
    for layer, high in layers.items():
        likewise = f", likewise {len(high) - 1} more" if len(high) > 1 else ""
        yield f"{layer} {max(high)[1]}{likewise}; correct the baseline or the topology"


def _each_once(groups: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for group in groups for name in group))


def _parts(line: Line) -> tuple[Sequence[str], Sequence[str]]:
    """Return the parts that limit a line, and those of the next limit."""
    if line.limit is None:
        return (), ()
    return line.limit.ceiling.limited_by, line.limit.next.limited_by if line.limit.next else ()


def _texts(line: Line) -> tuple[object, ...]:
    """Return the cells of a line other than operation and names."""
    is_sum = line.scenario == "all"
    return (line.layer, line.partner, is_sum, line.number, _span(line.each_Bps), *_rates(line))


def _rates(line: Line) -> tuple[str, str]:
    """Return the ceiling of a line, and the next ceiling if its limiting parts were faster."""
    ceiling, following = (line.limit.ceiling, line.limit.next) if line.limit else (None, None)
    return _rate(ceiling and ceiling.rate), _rate(following.rate) if following else ""


def _span(rates: Optional[tuple[float, float]]) -> str:
    """Return the lowest and highest rate, such as 20.0-62.5 MB/s, or one if they look equal."""
    low, high = (_rate(rate) for rate in rates or (None, None))
    if low == high:
        return low
    number, _, unit = low.rpartition(" ")
    return f"{number}-{high}" if high.endswith(f" {unit}") else f"{low}-{high}"


def _rate(rate: Optional[float]) -> str:
    return "unknown" if rate is None else format_rate(rate)


def _operation(line: Line) -> str:
    """Return the operation, with ``together`` if it runs at once with its peers."""
    return (
        f"{line.operation} together" if (line.flows, line.scenario) == _TOGETHER else line.operation
    )
