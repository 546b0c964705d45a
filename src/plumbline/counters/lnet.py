"""What LNet counts on a host: ``stats``, ``nis`` and, on a router, ``buffers``.

Interfaces and buffers have a row for each partition of processors; credits of all are added.
"""

from __future__ import annotations

from typing import Iterator, Mapping, NamedTuple, Sequence

from plumbline.counters.metric import (
    BUFFER_CREDITS,
    BUFFER_LOWEST,
    BUFFERS,
    LNET_BYTES,
    LNET_ERRORS,
    LNET_MESSAGES,
    NI_CREDITS,
    NI_LOWEST,
    NI_UP,
    Count,
    Labels,
    Metric,
)
from plumbline.errors import ToolError
from plumbline.model.printed import real, whole

_DIRECTIONS = ("send", "receive", "route", "drop")
_ERRORS, _MESSAGES, _BYTES, _ALL = 2, 3, 7, 11
"""Places in ``stats``: two levels of messages, errors, then messages and bytes by direction."""


def lnet_stats(text: str, labels: Labels, path: str) -> Iterator[Count]:
    """Yield messages, bytes and errors; raise ToolError where the text has no such numbers."""
    words = text.split()
    if len(words) != _ALL:
        raise ToolError(f"{path} is not understood: {text[:60]!r} has no {_ALL} numbers")
    numbers = [whole(word, path) for word in words]
    yield Count(LNET_ERRORS, labels, numbers[_ERRORS])
    for metric, first in ((LNET_MESSAGES, _MESSAGES), (LNET_BYTES, _BYTES)):
        for place, direction in enumerate(_DIRECTIONS, first):
            yield Count(metric, (*labels, ("direction", direction)), numbers[place])


class _Level(NamedTuple):
    """A metric of a column, and how rows of one thing become one value."""

    metric: Metric
    column: str
    lowest: bool = False


_INTERFACE = (_Level(NI_CREDITS, "tx"), _Level(NI_LOWEST, "min", True))
_BUFFER = (
    _Level(BUFFERS, "count"),
    _Level(BUFFER_CREDITS, "credits"),
    _Level(BUFFER_LOWEST, "min", True),
)


def interfaces(text: str, labels: Labels, path: str) -> Iterator[Count]:
    """Yield state and credits of each interface; raise ToolError where it is no such table."""
    rows = _rows(text, ("nid", "status", "tx", "min"), path)
    ups: dict[str, bool] = {}
    for row in rows:
        ups[row["nid"]] = ups.get(row["nid"], True) and row["status"] == "up"
    for nid, is_up in ups.items():
        yield Count(NI_UP, (*labels, ("nid", nid)), int(is_up))
    yield from _levels(rows, "nid", labels, _INTERFACE)


def buffers(text: str, labels: Labels, path: str) -> Iterator[Count]:
    """Yield buffers by their pages, none where nothing is routed; raise ToolError as above."""
    rows = _rows(text, ("pages", "count", "credits", "min"), path)
    yield from _levels(rows, "pages", labels, _BUFFER)


def _levels(
    rows: Sequence[Mapping[str, str]], key: str, labels: Labels, levels: Sequence[_Level]
) -> Iterator[Count]:
    for level in levels:
        values: dict[str, list[float]] = {}
        for row in rows:
            values.setdefault(row[key], []).append(real(row[level.column], level.column))
        for name, numbers in values.items():
            value = min(numbers) if level.lowest else sum(numbers)
            yield Count(level.metric, (*labels, (key, name)), value)


def _rows(text: str, needed: Sequence[str], path: str) -> list[dict[str, str]]:
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if not lines or not set(needed) <= set(lines[0]):
        raise ToolError(f"{path} is not understood: it begins with {text[:60]!r}")
    if any(len(line) != len(lines[0]) for line in lines):
        raise ToolError(f"{path} is not understood: its rows differ in length")
    return [dict(zip(lines[0], line)) for line in lines[1:]]
