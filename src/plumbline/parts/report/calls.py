"""Ranks of a parallel run: their calls, seconds, and durations of calls; seconds of its clients.

Figures 5 and 4c of the BlueGene/L report: a delayed rank stands out of the bundle.  Figure 12 of
Edison's: clients with the same work took very different times to read what had just been written,
and equal ones to read it again.
"""

from __future__ import annotations

from math import exp, log
from statistics import median
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import number
from plumbline.model.errors import DocumentError
from plumbline.model.layers import LAYERS
from plumbline.model.profile import (
    TENTHS,
    Block,
    Durations,
    Profile,
    by_tenths,
    durations_of,
    latencies,
    together,
)
from plumbline.model.record import Record
from plumbline.model.statistics import deviation
from plumbline.model.trend import Run
from plumbline.model.units import format_bytes, format_rate
from plumbline.model.validation import numbers, texts
from plumbline.parts.report.figure import (
    GREY,
    LINES,
    MB,
    Cell,
    Figure,
    Plot,
    Row,
    Table,
    line,
    scatter,
    shown,
    value_axis,
)

_POINTS = 60
"""Points of one rank in a plot: more are not visible, and there may be a thousand ranks."""

_LATE = 1.1
_SURE = 3.0


class Rank(NamedTuple):
    """One rank in one operation; it ``straggles`` if it ends far later than its peers.

    ``points`` are bytes moved and the time in seconds.  ``calls`` and ``longest_s`` are known only
    from a call profile.
    """

    rank: int
    client: str
    target: str
    operation: str
    bytes: int
    end_s: float
    points: Sequence[tuple[float, float]]
    straggles: bool = False
    calls: Optional[int] = None
    longest_s: Optional[float] = None


class Ranks(NamedTuple):
    """All ranks of one operation, and the durations of their calls: number by tenths of a decade.

    Key 0 is one second, -10 a tenth of a second.  ``tenths`` is empty if not counted.
    """

    operation: str
    ranks: Sequence[Rank]
    tenths: Mapping[int, int]
    half_s: Optional[float] = None
    longest_s: Optional[float] = None


def of_profile(profile: Profile) -> Iterator[Ranks]:
    """Yield each operation of a call profile.

    A rank straggles if it ends a tenth and three robust standard deviations after the median.
    """
    for operation in dict.fromkeys(
        block.operation for block in profile.blocks if block.calls.count
    ):
        blocks = [
            block for block in profile.blocks if block.operation == operation and block.calls.count
        ]
        durations = [durations_of(block.calls) for block in blocks]
        ranks = [_of_block(block, duration) for block, duration in zip(blocks, durations)]
        whole = together(durations)
        spread = latencies(whole)
        half_s, longest_s = spread.get("p50"), spread.get("max")
        yield Ranks(operation, judged(ranks), by_tenths(whole), half_s, longest_s)


def _of_block(block: Block, durations: Durations) -> Rank:
    calls = block.calls
    return Rank(
        block.rank,
        block.client,
        block.target,
        block.operation,
        calls.bytes,
        calls.starts[calls.count - 1] + calls.durations[calls.count - 1],
        tuple(steps(block)),
        calls=calls.count,
        longest_s=durations.longest_s,
    )


def steps(block: Block) -> Iterator[tuple[int, float]]:
    """Yield bytes moved and the time, at some sixty calls including the last."""
    calls, moved = block.calls, 0
    stride = max(1, calls.count // _POINTS)
    yield 0, calls.starts[0]
    for index in range(calls.count):
        moved += calls.sizes[index]
        if index % stride == stride - 1 or index == calls.count - 1:
            yield moved, calls.starts[index] + calls.durations[index]


def judged(ranks: Sequence[Rank]) -> list[Rank]:
    """Return the ranks of one operation, with stragglers marked."""
    ends = [rank.end_s for rank in ranks]
    middle = median(ends)
    limit = max(_LATE * middle, middle + _SURE * deviation(ends, middle))
    return [rank._replace(straggles=rank.end_s > limit) for rank in ranks]


def of_run(run: Run) -> Iterator[Ranks]:
    """Yield each operation of a recorded run that has details of ranks.

    Raises:
        DocumentError: the details of ranks in a record are damaged.
    """
    for operation in dict.fromkeys(record.operation for record in run.records):
        records = [record for record in run.records if record.operation is operation]
        try:
            ranks = _ranks_of_records(records, operation.value)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise DocumentError(
                f"what run {run.run_id} tells of its ranks is damaged: {error!r}; measure again"
            ) from error
        if ranks.ranks:
            yield ranks


def _ranks_of_records(records: Sequence[Record], operation: str) -> Ranks:
    raw = [rank for record in records for rank in _details(record).get("ranks", ())]
    late = {rank for record in records for rank in _late(record)}
    ranks = [_of_raw(entry, operation, late) for entry in raw if entry["bytes"]]
    return Ranks(operation, ranks, _tenths(records), *_half_and_longest(records))


def _details(record: Record) -> Mapping[str, Any]:
    return record.details or {}


def _late(record: Record) -> Iterator[int]:
    for straggler in _details(record).get("stragglers", ()):
        yield from straggler["ranks"]


def _of_raw(raw: Mapping[str, Any], operation: str, late: Iterable[int]) -> Rank:
    begin_s, end_s, moved = raw["begin_s"], raw["end_s"], raw["bytes"]
    numbers(begin_s=begin_s, end_s=end_s, bytes=moved, curve=sum(raw["curve"]))
    texts("rank", (raw["client"], raw["target"]))
    stride = max(1, len(raw["curve"]) // _POINTS)
    points, total = [(0.0, float(begin_s))], 0.0
    for second, size in enumerate(raw["curve"], start=1):
        total += size
        if second % stride == 0 and begin_s < second < end_s:
            points.append((total, float(second)))
    points.append((moved, end_s))
    rank = int(raw["rank"])
    return Rank(
        rank, raw["client"], raw["target"], operation, moved, end_s, points, rank in {*late}
    )


def _tenths(records: Sequence[Record]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for record in records:
        for place, count in _details(record).get("durations", {}).items():
            if count:
                counts[int(place)] = counts.get(int(place), 0) + count
    return dict(sorted(counts.items()))


def _half_and_longest(records: Sequence[Record]) -> tuple[Optional[float], Optional[float]]:
    """Return the median duration of the whole's calls, and the longest; None if not known."""
    records = [record for record in records if "max" in record.quantities]
    whole = [record.quantities.get("p50") for record in records if "ranks" not in _details(record)]
    longest = max((record.quantities["max"] for record in records), default=None)
    return (whole[0] if whole else None), longest


ABOUT = (
    "Each line is a rank: to the right the bytes that it has moved, upwards the time that it took. "
    "All alike make one bundle; a slow rank leaves it. Below, how long single calls took, and how "
    "long each client, if there are several."
)
ABSENT = (
    "no run that drives all targets at once was recorded in this time, and no call profile was "
    "given; name clients for the layer fs in plumbline_policy, or record one with plumbline probe "
    "fs --profile and name it with plumbline report --profile"
)
_SECONDS = " Drawn by seconds, as the latest run has kept them."
HEADERS = ("rank", "client", "target", "operation", "calls", "bytes", "end", "net rate", "remark")
NUMBERS = ("operation", "rank", "client", "target", "calls", "bytes", "end_s", "longest_call_s")
_MAX_STRAGGLERS = 7
_LISTED = 5


def calls_figure(profile: Optional[Profile], run: Optional[Run] = None) -> Figure:
    """Return the figure: ranks and durations of each operation, from a call profile.

    Without a profile it shows the seconds in the records of the latest run.
    """
    figure = Figure("calls", "System-call profile", ABOUT)
    if profile is None:
        if run is None or not LAYERS[run.layer].by_ranks:
            return figure._replace(absent=ABSENT)
        try:
            drawn, remark = list(of_run(run)), _SECONDS
        except DocumentError as error:
            return figure._replace(absent=str(error))
    else:
        drawn, remark = list(of_profile(profile)), ""
    if not drawn:
        empty = "the call profile holds no calls"
        return figure._replace(absent=empty if profile else "the latest run has kept no ranks")
    ranks = [rank for operation in drawn for rank in operation.ranks]
    return figure._replace(
        finding=_finding(ranks) + _spread(drawn) + remark,
        plots=[
            *(plot for operation in drawn for plot in (_bundle(operation), *_durations(operation))),
            *_clients(drawn),
        ],
        table=Table(HEADERS, [Row(_cells(rank)) for rank in ranks]),
        numbers=[NUMBERS, *(_numbers(rank) for rank in ranks)],
    )


def _finding(ranks: Sequence[Rank]) -> str:
    """Return a sentence with the number of ranks, and the stragglers of any operation."""
    late = list(dict.fromkeys((rank.rank, rank.client) for rank in ranks if rank.straggles))
    text = number(len({(rank.rank, rank.client) for rank in ranks}), "rank")
    if not late:
        return f"{text}, none straggles."
    names = ", ".join(f"rank {rank} on {client}" for rank, client in late[:_LISTED])
    verb = "straggles" if len(late) == 1 else "straggle"
    return f"{text}, {len(late)} of them {verb}: {names}{', …' * (len(late) > _LISTED)}."


def _seconds_of_clients(ranks: Ranks) -> dict[str, float]:
    """Return the end of each client's last rank, empty if there is but one client."""
    ends: dict[str, float] = {}
    for rank in ranks.ranks:
        ends[rank.client] = max(rank.end_s, ends.get(rank.client, 0.0))
    return ends if len(ends) > 1 else {}


def _spread(drawn: Iterable[Ranks]) -> str:
    """Return a sentence on the shortest and longest time of a client, empty for one client."""
    ends = {ranks.operation: _seconds_of_clients(ranks).values() for ranks in drawn}
    times = [
        f"{operation} {min(seconds):.1f} to {max(seconds):.1f} s"
        for operation, seconds in ends.items()
        if seconds
    ]
    return f" Time of a client: {', '.join(times)}." if times else ""


def _clients(drawn: Iterable[Ranks]) -> Iterator[Plot]:
    """Yield the times of the clients, one bar for each operation; none for one client."""
    data = [
        {
            "type": "bar",
            "name": ranks.operation,
            "x": [shown(client) for client in ends],
            "y": [round(end_s, 3) for end_s in ends.values()],
            "marker": {"color": LINES[place % len(LINES)]},
            "hovertemplate": f"%{{x}}: {ranks.operation} %{{y}} s<extra></extra>",
        }
        for place, ranks in enumerate(drawn)
        if (ends := _seconds_of_clients(ranks))
    ]
    if data:
        layout = {
            "xaxis": {"title": {"text": "client"}, "type": "category"},
            "yaxis": value_axis("seconds"),
        }
        yield Plot("seconds of each client, until its last rank ended", data, layout, 320)


def _bundle(ranks: Ranks) -> Plot:
    late = [rank for rank in ranks.ranks if rank.straggles]
    named = sorted(late, key=lambda rank: -rank.end_s)[:_MAX_STRAGGLERS]
    rest = [rank for rank in ranks.ranks if rank not in named]
    data = [_together("ranks", rest)] if rest else []
    data += [
        {**_together(f"rank {rank.rank} on {shown(rank.client)}", [rank]), "line": line(place, 2.5)}
        for place, rank in enumerate(named)
    ]
    layout = {"xaxis": value_axis("MB moved"), "yaxis": value_axis("seconds")}
    return Plot(f"{ranks.operation}: ranks by bytes and time", data, layout, 480)


def _together(name: str, ranks: Sequence[Rank]) -> dict[str, Any]:
    """Return many ranks as one trace with gaps, which draws a hundred times faster."""
    x: list[Optional[float]] = []
    y: list[Optional[float]] = []
    text: list[Optional[str]] = []
    for rank in ranks:
        label = f"rank {rank.rank} on {shown(rank.client)}, {shown(rank.target)}"
        for moved, at in rank.points:
            x.append(round(moved / MB, 3))
            y.append(round(at, 4))
            text.append(label)
        x.append(None)
        y.append(None)
        text.append(None)
    return scatter(
        "lines",
        name,
        "%{text}<br>%{x} MB after %{y} s",
        x=x,
        y=y,
        text=text,
        line={"color": GREY, "width": 1},
    )


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
    """Return labelled ticks at 1, 2 and 5 of each decade with bars."""
    first, last = (place // TENTHS for place in (min(bars), max(bars)))
    ticks = [f"{digit}e{decade}" for decade in range(first, last + 2) for digit in (1, 2, 5)]
    values = [float(tick) for tick in ticks]
    return {"tickvals": values, "ticktext": [f"{value:g}" for value in values]}


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
