"""Ceilings as tables for people: alike lines are one, written as the topology writes their names.

A site of 320 targets on 80 controllers takes some ten rows; programs get every line.
"""

from __future__ import annotations

from collections import Counter
from math import inf
from statistics import median
from typing import Iterable, Iterator, NamedTuple, Optional, Sequence

from plumbline.model.expectation import Expectation
from plumbline.model.units import format_rate
from plumbline.plan.references import Line
from plumbline.topology.graph import Topology

_WIDTH = 120
_NARROWEST = 18
"""Characters of a table, and of its last column where the others take up more than their share."""

_BESIDE = ("one", "together")


class Table(NamedTuple):
    """Headers and rows of one table."""

    headers: tuple[str, ...]
    rows: list[tuple[str, ...]]


_Entry = tuple[tuple[str, ...], tuple[str, ...]]
"""Cells, and the parts that the last cell names."""


class _Demonstrated(NamedTuple):
    """Rates that were demonstrated in a layer, and their median share of the ceiling."""

    layer: str
    rate: str
    share: str
    operations: tuple[str, ...]


class _Fold(NamedTuple):
    """Lines that differ in operations and names alone, which the topology writes alike."""

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
        """Return the ranges that ``names`` come from, each once, in order."""
        return tuple(dict.fromkeys(self._among.get(name, name) for name in names))

    def written(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return ``names`` as ranges, ``3 of oss[1-9]`` where they are not all of one."""
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(self._among.get(name, name), []).append(name)
        return tuple(self._as_text(among, members) for among, members in groups.items())

    def _as_text(self, among: str, members: Sequence[str]) -> str:
        if len(members) == 1:
            return members[0]
        whole = self._sizes[among] == len(members)
        return among if whole else f"{len(members)} of {among}"


def tables(topology: Topology, lines: Sequence[Line]) -> list[Table]:
    """Return the tables of ``lines``: each flow alone, then each kind of flows that run at once."""
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
    """Yield a fold, what comes next when its limiting parts are faster, and what was shown."""
    line, operations = fold.line, ", ".join(fold.operations)
    of, rate, following = ", ".join(names.written(fold.components)), *_rates(line)
    if line.flows == "one":
        component = f"{of} - {line.partner}" if line.partner else of
        cells: tuple[str, ...] = (line.layer, component, operations, rate)
        next_cells: tuple[str, ...] = ("", "", "next", following)
    else:
        every = "all of" if line.flows == "targets" else "all"
        at_once = f"{every} {of}" if line.scenario == "all" else of
        cells = (at_once, str(line.number), operations, _span(line.each_Bps), rate)
        next_cells = ("", "", "next", "", following)
    yield cells, names.written(fold.limiting) or ("no part on the path has a rate",)
    if fold.following:
        yield next_cells, names.written(fold.following)
    for shown in fold.demonstrated:
        what = f"{shown.layer} {', '.join(shown.operations)}"
        rates = (shown.rate,) if line.flows == "one" else ("", shown.rate)
        yield ("", "", what, *rates), (f"demonstrated{shown.share}",)


def _wrapped(entry: _Entry, room: int) -> Iterator[tuple[str, ...]]:
    """Yield the rows of an entry: its parts go on below where they need more than ``room``."""
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
    """Join lines of one operation that differ in names alone."""
    alike: dict[object, list[Line]] = {}
    for line in lines:
        limiting, following = _parts(line)
        places = [names.ranges(parts) for parts in ([line.component], limiting, following)]
        alike.setdefault((_texts(line), _operation(line), *places), []).append(line)
    for same in alike.values():
        yield _Fold(
            same[0],
            (_operation(same[0]),),
            _each_once([line.component] for line in same),
            _each_once(_parts(line)[0] for line in same),
            _each_once(_parts(line)[1] for line in same),
            tuple(_demonstrated(same)),
        )


def _demonstrated(lines: Sequence[Line]) -> Iterator[_Demonstrated]:
    """Yield what was demonstrated of lines of one operation, layer by layer."""
    limit = lines[0].limit
    for layer in dict.fromkeys(layer for line in lines for layer in line.demonstrated):
        rates = [line.demonstrated[layer] for line in lines if layer in line.demonstrated]
        share = median(rates) / limit.ceiling.rate if limit else inf
        # what a disk gives by itself is no share of what the way to its target carries
        own = share <= 1 or (limit and layer == lines[0].layer)
        words = f", {100 * share:.0f} %" if own else ""
        rate = _span((min(rates), max(rates)))
        yield _Demonstrated(layer, rate, words, (lines[0].operation,))


def _fold_operations(folds: Iterable[_Fold]) -> list[_Fold]:
    """Join the operations for which all else is the same."""
    alike: dict[object, list[_Fold]] = {}
    for fold in folds:
        names = (fold.components, fold.limiting, fold.following)
        alike.setdefault((_texts(fold.line), *names), []).append(fold)
    return [
        same[0]._replace(
            operations=_each_once(fold.operations for fold in same),
            demonstrated=tuple(_each_rate(shown for fold in same for shown in fold.demonstrated)),
        )
        for same in alike.values()
    ]


def _each_rate(shown: Iterable[_Demonstrated]) -> Iterator[_Demonstrated]:
    """Yield each rate of a layer once, with the operations that gave it."""
    alike: dict[object, list[_Demonstrated]] = {}
    for rate in shown:
        alike.setdefault(rate[:3], []).append(rate)
    for same in alike.values():
        yield same[0]._replace(operations=_each_once(rate.operations for rate in same))


def share_notes(entries: Iterable[Expectation]) -> Iterator[str]:
    """Yield which targets and devices have no rate of their own, and by what their floors go."""
    alike: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        shares = {
            step.partition("/")[0]: format_rate(reference.ceiling.share)
            for step, reference in entry.references.items()
            if reference.ceiling and reference.ceiling.share is not None
        }
        rates = ", ".join(f"{operation} {rate}" for operation, rate in shares.items())
        if shares:
            alike.setdefault((entry.layer, rates), []).append(entry.component)
    for (layer, rates), names in alike.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield (
            f"{layer} {names[0]}{more}: no part of its own has a rate, so its floor goes by an "
            f"even share of the parts that several share ({rates}); give the part it lies on a rate"
        )


def _each_once(groups: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for group in groups for name in group))


def _parts(line: Line) -> tuple[Sequence[str], Sequence[str]]:
    """Return the names that limit a line, and those that would next."""
    if line.limit is None:
        return (), ()
    return line.limit.ceiling.limited_by, line.limit.next.limited_by if line.limit.next else ()


def _texts(line: Line) -> tuple[object, ...]:
    """Return what a line shows besides operation and names."""
    whole = line.scenario == "all"
    return (line.layer, line.partner, whole, line.number, _span(line.each_Bps), *_rates(line))


def _rates(line: Line) -> tuple[str, str]:
    """Return the rate of a line, and the next one when what limits it is faster."""
    now, then = (line.limit.ceiling, line.limit.next) if line.limit else (None, None)
    return _rate(now and now.rate), _rate(then.rate) if then else ""


def _span(rates: Optional[tuple[float, float]]) -> str:
    """Return the lowest and the highest rate, once where they look the same: 20.0-62.5 MB/s."""
    low, high = (_rate(rate) for rate in rates or (None, None))
    if low == high:
        return low
    number, _, unit = low.rpartition(" ")
    return f"{number}-{high}" if high.endswith(f" {unit}") else f"{low}-{high}"


def _rate(rate: Optional[float]) -> str:
    return "unknown" if rate is None else format_rate(rate)


def _operation(line: Line) -> str:
    """Return the operation; a measurement that runs beside its peers says so."""
    return (
        f"{line.operation} together" if (line.flows, line.scenario) == _BESIDE else line.operation
    )
