"""Ceilings as tables for people: alike lines are one, written as the topology writes their names.

A site of 320 targets on 80 controllers takes some ten rows; programs get every line.
"""

from __future__ import annotations

from collections import Counter
from typing import Iterable, Iterator, NamedTuple, Optional, Sequence

from plumbline.model.units import format_rate
from plumbline.plan.references import Line
from plumbline.topology.graph import Topology

_WIDTH = 120
_NARROWEST = 24
"""Characters of a table, and of its last column where the others take up more than their share."""

_NEXT = "next"
_BESIDE = ("one", "together")


class Table(NamedTuple):
    """Headers and rows of one table."""

    headers: tuple[str, ...]
    rows: list[tuple[str, ...]]


_Entry = tuple[tuple[str, ...], tuple[str, ...]]
"""Cells, and the parts that the last cell names."""


class _Texts(NamedTuple):
    """Content of a line besides names."""

    layer: str
    partner: Optional[str]
    whole: bool
    number: str
    each: str
    rate: str
    next: str


class _Fold(NamedTuple):
    """Lines that say the same of names that the topology writes alike."""

    texts: _Texts
    operations: tuple[str, ...]
    components: tuple[str, ...]
    limiting: tuple[str, ...]
    following: tuple[str, ...]


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
    folds = _fold_operations(_fold_names(names, lines))
    if flows == "one":
        headers = ["layer", "component", "operation", "ceiling", "limited by"]
        entries = [entry for fold in folds for entry in _alone(names, fold)]
    else:
        headers = ["at once", flows, "operation", "each", "in sum", "limited by"]
        whole = "all of" if flows == "targets" else "all"
        entries = [entry for fold in folds for entry in _at_once(names, whole, fold)]
    columns = zip(headers[:-1], *(cells for cells, _ in entries))
    used = sum(max(map(len, column)) + 2 for column in columns)
    room = max(_WIDTH - used, _NARROWEST)
    return Table(tuple(headers), [row for entry in entries for row in _wrapped(entry, room)])


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
        key = (_texts(line), _operation(line), *places)
        alike.setdefault(key, []).append(line)
    for lines_alike in alike.values():
        yield _Fold(
            _texts(lines_alike[0]),
            (_operation(lines_alike[0]),),
            _each_once([line.component] for line in lines_alike),
            _each_once(_parts(line)[0] for line in lines_alike),
            _each_once(_parts(line)[1] for line in lines_alike),
        )


def _fold_operations(folds: Iterable[_Fold]) -> list[_Fold]:
    """Join the operations for which all else is the same."""
    alike: dict[_Fold, list[_Fold]] = {}
    for fold in folds:
        alike.setdefault(fold._replace(operations=()), []).append(fold)
    return [
        fold._replace(operations=_each_once(line.operations for line in same))
        for fold, same in alike.items()
    ]


def _each_once(groups: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for group in groups for name in group))


def _parts(line: Line) -> tuple[Sequence[str], Sequence[str]]:
    """Return the names that limit a line, and those that would next."""
    if line.limit is None:
        return (), ()
    return line.limit.ceiling.limited_by, line.limit.next.limited_by if line.limit.next else ()


def _texts(line: Line) -> _Texts:
    now = line.limit.ceiling if line.limit else None
    then = line.limit.next if line.limit else None
    return _Texts(
        line.layer,
        line.partner,
        line.scenario == "all",
        str(line.number),
        _span(line.each_Bps),
        _rate(now and now.rate_Bps),
        _rate(then.rate_Bps) if then else "",
    )


def _span(rates_Bps: Optional[tuple[float, float]]) -> str:
    """Return the lowest and the highest rate, once where they look the same: 20.0-62.5 MB/s."""
    low, high = (_rate(rate) for rate in rates_Bps or (None, None))
    if low == high:
        return low
    number, _, unit = low.rpartition(" ")
    return f"{number}-{high}" if high.endswith(f" {unit}") else f"{low}-{high}"


def _rate(rate_Bps: Optional[float]) -> str:
    return "unknown" if rate_Bps is None else format_rate(rate_Bps)


def _operation(line: Line) -> str:
    """Return the operation; a measurement that runs beside its peers says so."""
    return (
        f"{line.operation} together" if (line.flows, line.scenario) == _BESIDE else line.operation
    )


def _alone(names: _Names, fold: _Fold) -> Iterator[_Entry]:
    texts = fold.texts
    component = ", ".join(names.written(fold.components))
    if texts.partner:
        component = f"{component} - {texts.partner}"
    cells = (texts.layer, component, ", ".join(fold.operations), texts.rate)
    yield cells, _limiting(names, fold)
    if fold.following:
        yield ("", "", _NEXT, texts.next), names.written(fold.following)


def _at_once(names: _Names, whole: str, fold: _Fold) -> Iterator[_Entry]:
    texts = fold.texts
    of = ", ".join(names.written(fold.components))
    if texts.whole:
        of = f"{whole} {of}"
    cells = (of, texts.number, ", ".join(fold.operations), texts.each, texts.rate)
    yield cells, _limiting(names, fold)
    if fold.following:
        yield ("", "", _NEXT, "", texts.next), names.written(fold.following)


def _limiting(names: _Names, fold: _Fold) -> tuple[str, ...]:
    return names.written(fold.limiting) or ("no part on the path has a rate",)
