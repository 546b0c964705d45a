"""System-call profile: each rank a line, right by bytes and up by time, and how long calls took.

Figures 5 and 4c of the BlueGene/L report: whoever is held up stands out of the bundle.
"""

from __future__ import annotations

from math import exp, log
from typing import Any, Iterable, Mapping, Optional, Sequence

from plumbline.errors import DocumentError
from plumbline.layers import WHOLE
from plumbline.model.trend import Run
from plumbline.profile.calls import Profile
from plumbline.profile.latencies import TENTHS
from plumbline.report.figure import MB, Cell, Figure, Plot, Row, Table, counted, shown
from plumbline.report.palette import GREY, LINES, line
from plumbline.report.ranks import Rank, Ranks, of_profile, of_run
from plumbline.units import format_bytes, format_rate

ABOUT = (
    "Each line is a rank: to the right the bytes that it has moved, upwards the time that it took. "
    "All alike make one bundle; a slow rank leaves it. Below, how long single calls took."
)
ABSENT = (
    "no run that drives all targets at once was recorded in this time, and no call profile was "
    "given; name clients for the layer fs in plumbline_policy, or record one with plumbline probe "
    "fs --profile and name it with plumbline report --profile"
)
_SECONDS = " Drawn by seconds, as the latest run has kept them."
HEADERS = ("rank", "client", "target", "operation", "calls", "bytes", "end", "net rate", "remark")
NUMBERS = ("operation", "rank", "client", "target", "calls", "bytes", "end_s", "longest_call_s")
_SHOWN_STRAGGLERS = 7
_LISTED = 5


def calls_figure(profile: Optional[Profile], run: Optional[Run] = None) -> Figure:
    """Return the figure: ranks and durations of each operation, of every call where it was kept.

    Without a profile it is drawn from what the records of the latest run keep of each second.
    """
    figure = Figure("calls", "System-call profile", ABOUT)
    if profile is None:
        if run is None or run.layer not in WHOLE:
            return figure._replace(absent=ABSENT)
        try:
            drawn, said = list(of_run(run)), _SECONDS
        except DocumentError as error:
            return figure._replace(absent=str(error))
    else:
        drawn, said = list(of_profile(profile)), ""
    if not drawn:
        empty = "the call profile holds no calls"
        return figure._replace(absent=empty if profile else "the latest run has kept no ranks")
    every = [one for each in drawn for one in each.found]
    return figure._replace(
        finding=_finding(every) + said,
        plots=[plot for each in drawn for plot in (_bundle(each), *_durations(each))],
        table=Table(HEADERS, [Row(_cells(one)) for one in every]),
        numbers=[NUMBERS, *(_numbers(one) for one in every)],
    )


def _finding(every: Sequence[Rank]) -> str:
    """Return how many ranks there were and who is late, whatever number of operations they had."""
    late = list(dict.fromkeys((one.rank, one.client) for one in every if one.straggles))
    text = counted(len({(one.rank, one.client) for one in every}), "rank")
    if not late:
        return f"{text}, none straggles."
    names = ", ".join(f"rank {rank} on {client}" for rank, client in late[:_LISTED])
    verb = "straggles" if len(late) == 1 else "straggle"
    return f"{text}, {len(late)} of them {verb}: {names}{', …' * (len(late) > _LISTED)}."


def _bundle(ranks: Ranks) -> Plot:
    found = ranks.found
    late = sorted((one for one in found if one.straggles), key=lambda rank: -rank.end_s)
    named = late[:_SHOWN_STRAGGLERS]
    rest = [one for one in found if one not in named]
    data = [_together("ranks", rest)] if rest else []
    data += [
        {
            **_together(f"rank {one.rank} on {shown(one.client)}", [one]),
            "line": line(place, 2.5),
        }
        for place, one in enumerate(named)
    ]
    layout = {
        "xaxis": {"title": {"text": "MB moved"}, "rangemode": "tozero"},
        "yaxis": {"title": {"text": "seconds"}, "rangemode": "tozero"},
        "hovermode": "closest",
    }
    return Plot(f"{ranks.operation}: ranks by bytes and time", data, layout, 480)


def _together(name: str, found: Sequence[Rank]) -> dict[str, Any]:
    """Return many ranks as one trace with gaps, which is drawn a hundred times faster."""
    x: list[Optional[float]] = []
    y: list[Optional[float]] = []
    text: list[Optional[str]] = []
    for one in found:
        label = f"rank {one.rank} on {shown(one.client)}, {shown(one.target)}"
        for moved, at in one.points:
            x.append(round(moved / MB, 3))
            y.append(round(at, 4))
            text.append(label)
        x.append(None)
        y.append(None)
        text.append(None)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": x,
        "y": y,
        "text": text,
        "line": {"color": GREY, "width": 1},
        "hovertemplate": "%{text}<br>%{x} MB after %{y} s<extra></extra>",
    }


def _durations(ranks: Ranks) -> Iterable[Plot]:
    bars = ranks.tenths
    if not bars:
        return
    data = {
        "type": "bar",
        "x": [_bar(place) for place in bars],
        "y": list(bars.values()),
        "width": [_bar(place) * log(10) / TENTHS * 0.9 for place in bars],
        "marker": {"color": LINES[0]},
        "name": "calls",
        "hovertemplate": "%{y} calls of about %{x:.3g} s<extra></extra>",
    }
    layout = {
        "xaxis": {"type": "log", "title": {"text": "seconds of one call"}, **_ticks(bars)},
        "yaxis": {
            "type": "log",
            "title": {"text": "calls"},
            "range": [-0.3, _above(bars)],
            "dtick": 1,
        },
        "showlegend": False,
    }
    title = f"{ranks.operation}: how long calls took"
    if ranks.half_s is not None and ranks.longest_s is not None:
        title += f", half of them up to {ranks.half_s:.3g} s, the longest {ranks.longest_s:.3g} s"
    yield Plot(title, [data], layout, 320)


def _ticks(bars: Mapping[int, int]) -> dict[str, Any]:
    """Return ticks at 1, 2 and 5 of each decade that has bars, each with its whole number."""
    first, last = (place // TENTHS for place in (min(bars), max(bars)))
    ticks = [f"{digit}e{decade}" for decade in range(first, last + 2) for digit in (1, 2, 5)]
    values = [float(one) for one in ticks]
    return {"tickvals": values, "ticktext": [f"{one:g}" for one in values]}


def _above(bars: Mapping[int, int]) -> float:
    """Return the end of an axis above all bars, as a power of ten."""
    return log(max(bars.values(), default=1)) / log(10) + 0.2


def _bar(index: int) -> float:
    return exp(index / TENTHS * log(10))


def _cells(rank: Rank) -> tuple[str, ...]:
    return (
        str(rank.rank),
        rank.client,
        rank.target,
        rank.operation,
        "" if rank.calls is None else str(rank.calls),
        format_bytes(rank.bytes),
        f"{rank.end_s:.2f} s",
        format_rate(rank.bytes / rank.end_s) if rank.end_s else "",
        "straggles" if rank.straggles else "",
    )


def _numbers(rank: Rank) -> Sequence[Cell]:
    longest = None if rank.longest_s is None else round(rank.longest_s, 9)
    place = (rank.operation, rank.rank, rank.client, rank.target)
    return (*place, rank.calls, rank.bytes, round(rank.end_s, 6), longest)
