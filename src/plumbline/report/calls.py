"""System-call profile: each rank a line, right by bytes and up by time, and how long calls took.

Figures 5 and 4c of the BlueGene/L report: whoever is held up stands out of the bundle.
"""

from __future__ import annotations

from math import exp, log
from statistics import median
from typing import Any, Iterable, NamedTuple, Optional, Sequence

from plumbline.profile.calls import Block, Profile
from plumbline.profile.latencies import Durations, durations_of, latency, together
from plumbline.report.figure import MB, Cell, Figure, Plot, Row, Table, counted, shown
from plumbline.report.palette import GREY, LINES, line
from plumbline.units import format_bytes, format_rate

ABOUT = (
    "Each line is a rank: to the right the bytes that it has moved, upwards the time that it took. "
    "All alike make one bundle; who is held up leaves it. Below, how long single calls took. The "
    "calls come from plumbline probe fs --profile."
)
HEADERS = ("rank", "client", "target", "operation", "calls", "bytes", "end", "net rate", "remark")
NUMBERS = ("operation", "rank", "client", "target", "calls", "bytes", "end_s", "longest_call_s")
_POINTS = 60
"""Of one rank in a picture: more cannot be seen, and a thousand ranks are drawn."""

_SHOWN_STRAGGLERS = 7
_LISTED = 5
_LATE = 1.1
_MADS = 3 * 1.4826
_CLASSES = 50.0
"""Classes of durations for each factor of e; see plumbline.profile.latencies."""

_BARS_PER_DECADE = 10


class Rank(NamedTuple):
    """One rank in one operation; it ``straggles`` when it ends far later than its siblings."""

    block: Block
    end_s: float
    bytes: int
    straggles: bool


def calls_figure(profile: Optional[Profile]) -> Figure:
    """Return the figure: ranks and durations of each operation; absent without a profile."""
    figure = Figure("calls", "System-call profile", ABOUT)
    if profile is None:
        return figure._replace(
            absent="no call profile was given; record one with plumbline probe fs --profile and "
            "name it with plumbline report --profile"
        )
    operations = dict.fromkeys(one.operation for one in profile.blocks if one.calls.count)
    drawn = {name: ranks(profile, name) for name in operations}
    if not drawn:
        return figure._replace(absent="the call profile holds no calls")
    every = [one for found in drawn.values() for one in found]
    return figure._replace(
        finding=_finding(every),
        plots=[
            plot
            for name, found in drawn.items()
            for plot in (_bundle(name, found), _durations(name, found))
        ],
        table=Table(HEADERS, [Row(_cells(one)) for one in every]),
        numbers=[NUMBERS, *(_numbers(one) for one in every)],
    )


def ranks(profile: Profile, operation: str) -> list[Rank]:
    """Return the ranks of an operation, and which of them straggle.

    One straggles that ends a tenth after the median, and three robust standard deviations.
    """
    blocks = [one for one in profile.blocks if one.operation == operation and one.calls.count]
    ends = [_end(one) for one in blocks]
    middle = median(ends)
    away = median(abs(end - middle) for end in ends)
    limit = max(_LATE * middle, middle + _MADS * away)
    return [Rank(one, end, one.calls.bytes, end > limit) for one, end in zip(blocks, ends)]


def _end(block: Block) -> float:
    last = block.calls.count - 1
    return block.calls.starts[last] + block.calls.durations[last]


def _finding(every: Sequence[Rank]) -> str:
    late = [one for one in every if one.straggles]
    text = f"{counted(len(every), 'rank')}"
    if not late:
        return f"{text}, none straggles."
    names = ", ".join(f"rank {one.block.rank} on {one.block.client}" for one in late[:_LISTED])
    verb = "straggles" if len(late) == 1 else "straggle"
    return f"{text}, {len(late)} of them {verb}: {names}{', …' * (len(late) > _LISTED)}."


def _bundle(operation: str, found: Sequence[Rank]) -> Plot:
    late = sorted((one for one in found if one.straggles), key=lambda one: -one.end_s)
    named = late[:_SHOWN_STRAGGLERS]
    rest = [one for one in found if one not in named]
    data = [_together("ranks", rest)] if rest else []
    data += [
        {
            **_together(f"rank {one.block.rank} on {shown(one.block.client)}", [one]),
            "line": line(place, 2.5),
        }
        for place, one in enumerate(named)
    ]
    layout = {
        "xaxis": {"title": {"text": "MB moved"}, "rangemode": "tozero"},
        "yaxis": {"title": {"text": "seconds"}, "rangemode": "tozero"},
        "hovermode": "closest",
    }
    return Plot(f"{operation}: ranks by bytes and time", data, layout, 480)


def _together(name: str, found: Sequence[Rank]) -> dict[str, Any]:
    """Return many ranks as one trace with gaps, which is drawn a hundred times faster."""
    x: list[Optional[float]] = []
    y: list[Optional[float]] = []
    text: list[Optional[str]] = []
    for one in found:
        label = f"rank {one.block.rank} on {shown(one.block.client)}, {shown(one.block.target)}"
        for moved, at in steps(one):
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


def steps(one: Rank) -> Iterable[tuple[int, float]]:
    """Yield bytes moved and the time by then, sixty times or so, the last call among them."""
    calls, moved = one.block.calls, 0
    every = max(1, calls.count // _POINTS)
    yield 0, calls.starts[0]
    for index in range(calls.count):
        moved += calls.sizes[index]
        if index % every == every - 1 or index == calls.count - 1:
            yield moved, calls.starts[index] + calls.durations[index]


def _durations(operation: str, found: Sequence[Rank]) -> Plot:
    whole = together(durations_of(one.block.calls) for one in found)
    bars = histogram(whole)
    data = {
        "type": "bar",
        "x": [_bar(place) for place in bars],
        "y": list(bars.values()),
        "width": [_bar(place) * log(10) / _BARS_PER_DECADE * 0.9 for place in bars],
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
    said = latency(whole)
    title = f"{operation}: how long calls took"
    if said:
        title += f", half of them up to {said.p50_s:.3g} s, the longest {said.max_s:.3g} s"
    return Plot(title, [data], layout, 320)


def _ticks(bars: dict[int, int]) -> dict[str, Any]:
    """Return ticks at 1, 2 and 5 of each decade that has bars, each with its whole number."""
    first, last = (place // _BARS_PER_DECADE for place in (min(bars), max(bars)))
    ticks = [f"{digit}e{decade}" for decade in range(first, last + 2) for digit in (1, 2, 5)]
    values = [float(one) for one in ticks]
    return {"tickvals": values, "ticktext": [f"{one:g}" for one in values]}


def _above(bars: dict[int, int]) -> float:
    """Return the end of an axis above all bars, as a power of ten."""
    return log(max(bars.values(), default=1)) / log(10) + 0.2


def histogram(whole: Durations) -> dict[int, int]:
    """Return the number of calls by tenths of a decade: 0 is a second, -10 a tenth of one."""
    found: dict[int, int] = {}
    for place, count in sorted(whole.classes.items()):
        bar = round(place / _CLASSES / log(10) * _BARS_PER_DECADE)
        found[bar] = found.get(bar, 0) + count
    return found


def _bar(place: int) -> float:
    return exp(place / _BARS_PER_DECADE * log(10))


def _cells(one: Rank) -> tuple[str, ...]:
    block = one.block
    return (
        str(block.rank),
        block.client,
        block.target,
        block.operation,
        str(block.calls.count),
        format_bytes(one.bytes),
        f"{one.end_s:.2f} s",
        format_rate(one.bytes / one.end_s) if one.end_s else "",
        "straggles" if one.straggles else "",
    )


def _numbers(one: Rank) -> Sequence[Cell]:
    block = one.block
    longest = durations_of(block.calls).longest_s
    place = (block.operation, block.rank, block.client, block.target)
    return (*place, block.calls.count, one.bytes, round(one.end_s, 6), round(longest, 9))
