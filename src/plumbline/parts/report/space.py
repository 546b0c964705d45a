"""Space of the file systems of a site over eight weeks, and when each target is full."""

from __future__ import annotations

from typing import Iterator, Optional, Sequence

from plumbline.model.names import anchor
from plumbline.model.space import SPACE, Amount, SystemCourse, TargetCourse
from plumbline.model.units import DAY_S, format_bytes
from plumbline.parts.report.figure import (
    Cell,
    Figure,
    Plot,
    Row,
    Table,
    day_axis,
    line,
    percent,
    plotly_time,
    scatter,
    shown,
    value_axis,
)

ABOUT = (
    "Bytes used on the fullest targets of each file system, the median of each day (plumbline "
    "space). The table has all targets, with inodes and with the days until they are full: the "
    "earlier and the later end of an interval of 90 %."
)
HEADERS = ("target", "used", "size", "free", "forecast", "inodes used", "free inodes", "forecast")
NUMBERS = ("file_system", "target", "at", "fill")
_ABSENT = (
    "the space of no file system is read; write space: {} into the policy, deploy site.yml, then "
    "run plumbline collect"
)
_DRAWN = 8
"""Most targets in a plot, the fullest ones."""


def space_figure(systems: Sequence[SystemCourse]) -> Figure:
    """Return the figure: a plot and the targets of each file system."""
    figure = Figure(SPACE, "Space", ABOUT)
    if not systems:
        return figure._replace(absent=_ABSENT)
    plots = [_plot(system) for system in systems if any(own.times for own in system.targets)]
    return figure._replace(
        absent="" if plots else "no target could be read; the table says why",
        finding=". ".join(f"{system.state.name} {system.sentence}" for system in systems) + ".",
        plots=plots,
        table=Table(HEADERS, [row for system in systems for row in _rows(system)]),
        numbers=[NUMBERS, *(cells for system in systems for cells in _numbers(system))],
    )


def _plot(system: SystemCourse) -> Plot:
    """Return the plot of the fullest targets of a file system with any reading."""
    known = [own for own in system.targets if own.times]
    fullest = sorted(known, key=lambda own: -own.fills[-1])[:_DRAWN]
    traces = [
        scatter(
            "lines+markers",
            shown(own.target.name),
            "%{fullData.name} %{y:.1f} %<br>%{x}",
            x=[plotly_time(at) for at in own.times],
            y=[round(100 * fill, 2) for fill in own.fills],
            line=line(place),
        )
        for place, own in enumerate(fullest)
    ]
    moments = [at for own in fullest for at in own.times]
    layout = {
        "xaxis": day_axis(min(moments), max(moments) + DAY_S),
        "yaxis": {**value_axis("% used"), "range": [0, 100]},
        "showlegend": True,
    }
    more = f", the fullest {len(fullest)} of {len(known)}" if len(known) > len(fullest) else ""
    return Plot(f"targets of {system.name}{more}", traces, layout)


def _rows(system: SystemCourse) -> Iterator[Row]:
    """Yield a row for each target; the first has the anchor of the file system's service."""
    place = anchor(SPACE, system.name)
    for own in system.targets:
        yield Row(_cells(own), place)
        place = ""
    if place:
        yield Row((system.name, system.sentence, *[""] * (len(HEADERS) - 2)), place)


def _cells(own: TargetCourse) -> tuple[str, ...]:
    space, inodes = own.target.space, own.target.inodes
    return (
        own.target.name,
        _fill(space),
        format_bytes(space.total) if space else "",
        format_bytes(space.free) if space else "",
        own.target.trouble or own.forecast,
        _fill(inodes),
        f"{inodes.free:,}" if inodes else "",
        own.inode_forecast,
    )


def _fill(amount: Optional[Amount]) -> str:
    return percent(amount.fill) if amount else "not known"


def _numbers(system: SystemCourse) -> Iterator[Sequence[Cell]]:
    for own in system.targets:
        for at, fill in zip(own.times, own.fills):
            yield system.name, own.target.name, at, round(fill, 5)
