"""Figures as data: plots, tables, CSV, colours and labels.

Each state also has its own symbol, so a grey print is readable.
https://personal.sron.nl/~pault/ describes the colours.
"""

from __future__ import annotations

import csv
from datetime import date, datetime, timezone
from html import escape
from typing import Any, Iterable, Iterator, NamedTuple, Optional, Sequence, Union

from plumbline.model.command import printable
from plumbline.model.quantity import BYTES_PER_S, Quantity
from plumbline.model.units import DAY_S
from plumbline.model.verdict import State

BLUE, CYAN, TEAL = "#0077bb", "#33bbee", "#009988"
ORANGE, RED, MAGENTA, GREY = "#ee7733", "#cc3311", "#ee3377", "#888888"
LINES = (BLUE, ORANGE, TEAL, MAGENTA, CYAN, RED, GREY)
DASHES = ("solid", "dash", "dot", "dashdot")

CEILING, BASELINE, NOW = TEAL, CYAN, BLUE
BASELINE_BAND = "rgba(51, 187, 238, 0.25)"
SEQUENTIAL = "Cividis"

STATES = {
    State.OK: (BLUE, "circle", 6),
    State.WARNING: (ORANGE, "diamond", 10),
    State.CRITICAL: (RED, "x", 11),
    State.UNKNOWN: (GREY, "square-open", 8),
}


def mark(state: State) -> dict[str, Any]:
    """Return Plotly's marker for a state."""
    colour, symbol, size = STATES[state]
    return {"color": colour, "symbol": symbol, "size": size}


def line(number: int, width: float = 2.0, colours: Sequence[str] = LINES) -> dict[str, Any]:
    """Return the line style of trace ``number``; colour and dash together repeat late."""
    dash = DASHES[number // len(colours) % len(DASHES)]
    return {"color": colours[number % len(colours)], "dash": dash, "width": width}


Cell = Union[str, float, int, None]

_MAX_NAME = 44
"""Most characters of a name in a plot; the table has the full name."""

MB = 1e6

DAY_MS = 1000 * DAY_S
"""A day in the unit of Plotly's time axes."""

_FEW_DAYS = 8
_EPOCH = date(1970, 1, 1).toordinal()


class Row(NamedTuple):
    """One row of a table; ``anchor`` is the place that Nagios leads to, empty for none.

    ``to`` is the place in the page to which its last cell leads.
    """

    cells: tuple[str, ...]
    anchor: str = ""
    to: str = ""


class Table(NamedTuple):
    """Table under a plot; every row is as long as ``headers``."""

    headers: tuple[str, ...]
    rows: Sequence[Row]


class Plot(NamedTuple):
    """One plot: traces and layout in Plotly's JSON, and its height in pixels."""

    title: str
    data: Sequence[dict[str, Any]]
    layout: dict[str, Any]
    height: int = 380

    @property
    def empty(self) -> bool:
        """Return whether no trace has a value, apart from references such as a ceiling."""
        return not any(map(_has_value, self.data))


def _has_value(trace: dict[str, Any]) -> bool:
    if trace.get("hoverinfo") == "skip":
        return False
    if "z" in trace:
        return any(value is not None for row in trace["z"] for value in row)
    values = trace["x"] if trace.get("orientation") == "h" else trace["y"]
    return any(value is not None for value in values)


class Figure(NamedTuple):
    """One figure of the report.

    ``id`` is its stable anchor in the page and the name of its CSV; the first row of ``numbers`` is
    the header.  ``about`` describes the figure, ``finding`` its result.  ``absent`` is the reason
    if there is nothing to draw.
    """

    id: str
    title: str
    about: str
    finding: str = ""
    plots: Sequence[Plot] = ()
    table: Table = Table((), ())
    numbers: Iterable[Sequence[Cell]] = ()
    absent: str = ""

    def without_empty_plots(self) -> Figure:
        """Return the figure with a sentence instead of empty plots."""
        titles = [plot.title for plot in self.plots if plot.empty]
        if not titles:
            return self
        reason = f"no value is known for {', '.join(titles)}"
        return self._replace(
            plots=[plot for plot in self.plots if not plot.empty],
            absent=f"{self.absent}; {reason}" if self.absent else reason,
        )

    def with_numbers_written(self) -> Figure:
        """Return the figure without the numbers of its CSV; it still has one."""
        return self._replace(numbers=[()] if self.numbers else ())


def scatter(mode: str, name: str, hover: str = "", **style: Any) -> dict[str, Any]:
    """Return a trace of ``lines`` or ``markers``; ``hover`` is its template, if any."""
    template = {"hovertemplate": f"{hover}<extra></extra>"} if hover else {}
    return {"type": "scatter", "mode": mode, "name": name, **template, **style}


def image(hover: str, **style: Any) -> dict[str, Any]:
    """Return a heat map in percent; a cell without a value is empty."""
    return {
        "type": "heatmap",
        "colorscale": SEQUENTIAL,
        "colorbar": {"title": {"text": "%"}, "thickness": 10},
        "hoverongaps": False,
        "hovertemplate": f"{hover}<extra></extra>",
        **style,
    }


def value_axis(title: str) -> dict[str, Any]:
    """Return a value axis that begins at zero."""
    return {"title": {"text": title}, "rangemode": "tozero"}


def name_axis(names: Sequence[str], downwards: bool = False) -> dict[str, Any]:
    """Return an axis with a place for each name."""
    ends = [-0.5, len(names) - 0.5]
    return {
        "tickvals": list(range(len(names))),
        "ticktext": [shown(name) for name in names],
        "range": ends[::-1] if downwards else ends,
        "automargin": True,
        "zeroline": False,
    }


def plotly_time(at: float) -> str:
    """Return epoch seconds in Plotly's form, in UTC."""
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def iso_day(day: int) -> str:
    """Return the date of a day since the epoch, such as ``2026-11-20``."""
    return date.fromordinal(_EPOCH + day).isoformat()


def time_axis(begin: float, end: float) -> dict[str, Any]:
    """Return a time axis between two times in seconds since the epoch."""
    return {"type": "date", "range": [plotly_time(begin), plotly_time(end)]}


def day_axis(begin: float, end: float) -> dict[str, Any]:
    """Return a time axis with ticks at days; it spans at least one day."""
    end = max(end, begin + DAY_S)
    axis = {**time_axis(begin, end), "tickformat": "%Y-%m-%d"}
    # for a few days Plotly would put ticks at hours, all with the same date
    return {**axis, "dtick": DAY_MS} if end - begin <= _FEW_DAYS * DAY_S else axis


def vertical_line(at: float, colour: str) -> dict[str, Any]:
    """Return a dotted vertical line at a time, over the full height of a plot."""
    return {
        "type": "line",
        "x0": plotly_time(at),
        "x1": plotly_time(at),
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": colour, "width": 1.5, "dash": "dot"},
    }


def shown(name: str) -> str:
    """Return a name for Plotly: shortened, and without characters that Plotly interprets."""
    plain = printable(name)
    if len(plain) > _MAX_NAME:
        half = _MAX_NAME // 2
        plain = f"{plain[: half - 1]}\N{HORIZONTAL ELLIPSIS}{plain[-half:]}"
    return escape(plain, quote=False)


def unique(names: Sequence[str]) -> list[str]:
    """Return names as ``shown``, numbered if two would look the same."""
    texts: dict[str, None] = {}
    for name in names:
        text, number = shown(name), 1
        while text in texts:
            number += 1
            text = f"{shown(name)} ({number})"
        texts[text] = None
    return list(texts)


megabytes = BYTES_PER_S.pictured


def steps(begin_s: float, rates: Sequence[float], quantity: Quantity) -> dict[str, Any]:
    """Return x and y of a step line of one-second rates, with line shape ``hv``.

    A last point is added, or a run of a single second would have no width.
    """
    heights = [quantity.pictured(rate) for rate in rates]
    ends = range(len(heights) + 1)
    return {"x": [round(begin_s + second, 2) for second in ends], "y": heights + heights[-1:]}


def percent(ratio: Optional[float]) -> str:
    """Return a ratio in percent, empty for None."""
    return "" if ratio is None else f"{100 * ratio:.0f} %"


_WIDTH_PX = 590
"""Width of a printed plot; a window is wider."""

_LETTER_PX = 7.5
_LEVELS = 4
_NEAREST_PX, _LEVEL_PX = 24, 16
_LINE_PX = 4


class NamedPoint(NamedTuple):
    """A point to label: its index among all points, its height, and its name."""

    place: int
    height: float
    name: str


class _Label(NamedTuple):
    """A placed label: its horizontal extent, the position of its line, and its level."""

    begin: float
    end: float
    at: float
    level: int


def labels(points: Iterable[NamedPoint], places: int, top: float) -> Iterator[dict[str, Any]]:
    """Yield Plotly's annotations for points of a plot with ``places`` positions and height ``top``.

    A label that would cover an earlier one or its line is left out; hover and table have the name.
    """
    placed: list[_Label] = []
    for point in points:
        text = shown(point.name)
        at = _WIDTH_PX * (point.place + 0.5) / places
        width = _LETTER_PX * len(point.name[: len(text)])
        anchor = _anchor(at, width)
        begin = at - {"left": 0, "center": width / 2, "right": width}[anchor]
        label = _free(_Label(begin, begin + width, at, 0), placed)
        if label is None:
            continue
        placed.append(label)
        distance = _NEAREST_PX + label.level * _LEVEL_PX
        yield {
            "x": point.place,
            "y": point.height,
            "text": text,
            "ax": 0,
            # a label near the top is below its point, because ceiling and legend are above
            "ay": distance if point.height > top / 2 else -distance,
            "xanchor": anchor,
            "arrowsize": 0.6,
            # keep the marker visible
            "standoff": 5,
        }


def _free(candidate: _Label, placed: Sequence[_Label]) -> Optional[_Label]:
    """Return a label at the nearest free level, None if all are taken."""
    for level in range(_LEVELS):
        label = candidate._replace(level=level)
        if not any(_overlap(label, other) for other in placed):
            return label
    return None


def _overlap(label: _Label, other: _Label) -> bool:
    if label.level == other.level:
        return label.begin < other.end and other.begin < label.end
    far, near = (label, other) if label.level > other.level else (other, label)
    return near.begin - _LINE_PX <= far.at <= near.end + _LINE_PX


def _anchor(at: float, width: float) -> str:
    """Return the anchor of a label; at the edges of a plot it must not be centred."""
    if at < width / 2:
        return "left"
    return "right" if at > _WIDTH_PX - width / 2 else "center"


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class _Line:
    """File for :mod:`csv` whose ``write`` returns the line."""

    def write(self, text: str) -> str:
        return text


def numbers(figures: Sequence[Figure]) -> Iterator[tuple[str, Iterator[str]]]:
    """Yield file name and lines of the CSV of each figure with numbers."""
    for figure in figures:
        if figure.numbers:
            yield f"data/{figure.id}.csv", _lines(figure.numbers)


def _lines(rows: Iterable[Sequence[Cell]]) -> Iterator[str]:
    # CR and LF end a line (RFC 4180), so a cell with either is quoted
    writer = csv.writer(_Line(), lineterminator="\r\n")
    for row in rows:
        yield writer.writerow([_harmless(cell) if isinstance(cell, str) else cell for cell in row])


def _harmless(cell: str) -> str:
    """Return a cell that no spreadsheet interprets as a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
