"""What a reviewer of many changes wants to know first: how much, under which conditions."""

from __future__ import annotations

from itertools import count
from statistics import median
from typing import Iterator, Mapping, NamedTuple, Sequence

from plumbline.baseline.compare import Change
from plumbline.baseline.document import Key
from plumbline.model.conditions import FILL, Difference

_SHOWN_APART = 4
"""More different changes of one condition are shown in one line, e.g. a new address per server."""


class Moved(NamedTuple):
    """One operation of a layer: how many changed, their middle ratio, and the two extremes."""

    layer: str
    operation: str
    number: int
    ratio: float
    least: Change
    most: Change


class Condition(NamedTuple):
    """One changed condition: the ``mark`` of its rows, what changed, in how many baselines."""

    mark: str
    text: str
    number: int


class Review(NamedTuple):
    """The summary of changes, and the marks of the conditions that changed with each."""

    moved: tuple[Moved, ...]
    conditions: tuple[Condition, ...]
    marks: Mapping[Key, str]


def review(changes: Sequence[Change]) -> Review:
    """Return the summary of changes."""
    by_name: dict[str, dict[Difference, list[Key]]] = {}
    for change in changes:
        for one in change.conditions:
            by_name.setdefault(one.name, {}).setdefault(one, []).append(change.key)
    conditions, marks = [], dict[Key, list[str]]()
    for mark, (text, keys) in zip(_marks(), _lines(by_name)):
        conditions.append(Condition(mark, text, len(keys)))
        for key in keys:
            marks.setdefault(key, []).append(mark)
    joined = {key: " ".join(found) for key, found in marks.items()}
    return Review(tuple(_moved(changes)), tuple(conditions), joined)


def _marks() -> Iterator[str]:
    """Yield a to z, then a1 to z1 and so on."""
    for turn in count():
        for letter in "abcdefghijklmnopqrstuvwxyz":
            yield f"{letter}{turn or ''}"


def _lines(
    by_name: Mapping[str, Mapping[Difference, list[Key]]],
) -> Iterator[tuple[str, list[Key]]]:
    """Yield each line about conditions with its baselines."""
    for name, found in sorted(by_name.items()):
        if len(found) <= _SHOWN_APART:
            yield from ((str(one), keys) for one, keys in sorted(found.items()))
            continue
        every = [key for keys in found.values() for key in keys]
        yield (_fills(found) if name == FILL else f"{name}: {len(found)} different changes"), every


def _fills(found: Mapping[Difference, list[Key]]) -> str:
    steps = sorted(_points(one.now) - _points(one.then) for one in found)
    return f"{FILL} by {steps[0]:+d} to {steps[-1]:+d} % of the target"


def _points(text: str) -> int:
    return int(text.partition(" ")[0])


def _moved(changes: Sequence[Change]) -> Iterator[Moved]:
    groups: dict[tuple[str, str], list[tuple[float, Change]]] = {}
    for change in changes:
        if change.ratio is not None:
            group = (change.key.layer, change.key.step)
            groups.setdefault(group, []).append((change.ratio, change))
    for (layer, step), found in sorted(groups.items()):
        found.sort(key=lambda pair: pair[0])
        middle = median(ratio for ratio, _ in found)
        yield Moved(layer, step, len(found), middle, found[0][1], found[-1][1])
