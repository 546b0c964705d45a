"""Names of points in a picture: the first come first, none over another, as many as have place."""

from __future__ import annotations

from typing import Any, Iterable, Iterator, NamedTuple, Optional, Sequence

from plumbline.report.figure import shown

_WIDTH_PX = 590
"""Of the plot on paper; a window is wider."""

_LETTER_PX = 7.5
_LEVELS = 4
_NEAREST_PX, _LEVEL_PX = 24, 16
_LINE_PX = 4


class Named(NamedTuple):
    """A point that shall have its name: its place among all, counted from 0, and its height."""

    place: int
    height: float
    name: str


class _Taken(NamedTuple):
    """A name that has its place: how far it reaches, where its line stands, how far away it is."""

    begin: float
    end: float
    at: float
    level: int


def labels(points: Iterable[Named], places: int, top: float) -> Iterator[dict[str, Any]]:
    """Yield Plotly's annotations for points of a picture of so many places that ends at ``top``.

    A name that would lie over one before it, or over its line, is left out: hover and table have
    it.
    """
    taken: list[_Taken] = []
    for one in points:
        text = shown(one.name)
        at = _WIDTH_PX * (one.place + 0.5) / places
        width = _LETTER_PX * len(one.name[: len(text)])
        anchor = _anchor(at, width)
        begin = at - {"left": 0, "center": width / 2, "right": width}[anchor]
        found = _free(_Taken(begin, begin + width, at, 0), taken)
        if found is None:
            continue
        taken.append(found)
        away = _NEAREST_PX + found.level * _LEVEL_PX
        yield {
            "x": one.place,
            "y": one.height,
            "text": text,
            "ax": 0,
            # a point near the top has its name below: above it lie the ceiling and the legend
            "ay": away if one.height > top / 2 else -away,
            "xanchor": anchor,
            "arrowsize": 0.6,
            # the mark itself stays to be seen
            "standoff": 5,
        }


def _free(candidate: _Taken, taken: Sequence[_Taken]) -> Optional[_Taken]:
    """Return a name at the nearest level where it has place, None where there is none."""
    for level in range(_LEVELS):
        found = candidate._replace(level=level)
        if not any(_meet(found, other) for other in taken):
            return found
    return None


def _meet(label: _Taken, other: _Taken) -> bool:
    if label.level == other.level:
        return label.begin < other.end and other.begin < label.end
    far, near = (label, other) if label.level > other.level else (other, label)
    return near.begin - _LINE_PX <= far.at <= near.end + _LINE_PX


def _anchor(at: float, width: float) -> str:
    """Return which end of a name stands at its point: at the edges it would leave the picture."""
    if at < width / 2:
        return "left"
    return "right" if at > _WIDTH_PX - width / 2 else "center"
