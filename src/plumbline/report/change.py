"""Change since a chosen moment, in percent for each test, with what happened meanwhile.

Figures 4 to 6 of the Edison report and its table 3: what an upgrade has brought or taken.
"""

from __future__ import annotations

from array import array
from typing import Any, Iterable, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import several
from plumbline.model.layers import LAYERS
from plumbline.model.quantity import Quantity
from plumbline.model.units import DAY_S
from plumbline.report.figure import (
    GREY,
    Figure,
    Plot,
    Row,
    Table,
    day_axis,
    iso_day,
    line,
    plotly_time,
    scatter,
    shown,
    vertical_line,
)
from plumbline.report.marks import Mark, chosen_moment, drawn, levels, marks
from plumbline.report.site import Days, Member, Metric, Metrics, Site, by_group, middle, spanned

WINDOW_DAYS = 14
"""Days of the median that stands for a rate before the moment, and for the latest rate."""

_AGAINST = "compared with the days before"

_MOST_GROUPS = 6
_WORTH_NAMING = 0.10
_NAMED = 6

ABOUT = (
    "How each test has changed since a date: the median over all members of their rate in percent "
    f"above or below what each gave in the {WINDOW_DAYS} days before it. What was noted (plumbline "
    "note), each change of version or setting in the records, and the changes that nodes found "
    "(plumbline changes) are marked by a line."
)
HEADERS = ("test", "members", "before", "latest", "change", "last day")


class Change(NamedTuple):
    """One test: the change of each day as a fraction, rates before and lately.

    ``members`` counts those that were measured before and after; ``change``, ``latest`` and
    ``last``, the change on the last day of each member alone, are None where there are none.
    """

    name: str
    quantity: Quantity
    members: int
    before: float
    latest: Optional[float]
    change: Optional[float]
    last: Optional[float]
    days: dict[int, float]


class _Halves(NamedTuple):
    """The days of a member, and its rates before a moment and from it on.

    ``parted`` is what it gave from the moment on, on its day; None where the day as a whole is
    meant.
    """

    days: Days
    parted: Optional[float]
    before: float
    latest: Optional[float]
    last: Optional[float]


def change_figure(site: Site, metrics: Metrics, against: Optional[float] = None) -> Figure:
    """Return the figure; ``against`` is a moment in seconds since the epoch."""
    happened = marks(site)
    if against is None:
        against = chosen_moment(
            site, (member for members in metrics.values() for member in members)
        )
    day = iso_day(int(against // DAY_S))
    figure = Figure("change", f"Change against {day}", ABOUT)
    changes = [
        change
        for of in metrics
        for name, members in split(of, metrics[of]).items()
        if (change := find_change(name, of.quantity, members, against))
    ]
    if not changes:
        return figure._replace(
            absent=f"nothing was measured in the {WINDOW_DAYS} days before {day}; choose another "
            "day with --against"
        )
    return figure._replace(
        finding="\n".join([*_findings(changes, day), *_happened(happened, against)]),
        plots=[_plot(changes, happened, against)],
        table=Table(HEADERS, [Row(_cells(change)) for change in changes]),
        numbers=[("test", "day", "change_percent"), *_numbers(changes)],
    )


def split(metric: Metric, members: Sequence[Member]) -> dict[str, Sequence[Member]]:
    """Return the members of each file system; what else is measured is one test for the site."""
    groups = by_group(members)
    if not LAYERS[metric.layer].on_targets or not 1 < len(groups) <= _MOST_GROUPS:
        return {str(metric): members}
    return {f"{metric} {group}": peers for group, peers in groups.items()}


def find_change(
    name: str, quantity: Quantity, members: Sequence[Member], against: float
) -> Optional[Change]:
    """Return how a test has changed since a moment; None when nobody was measured before it."""
    every = [halves for member in members if (halves := _halves(member, against))]
    if not every:
        return None
    since = [halves for halves in every if halves.latest is not None]
    whole = middle(halves.before for halves in since or every)
    assert whole is not None
    return Change(
        name,
        quantity,
        len(since),
        whole,
        middle(halves.latest for halves in since),
        middle(halves.latest / halves.before - 1 for halves in since if halves.latest is not None),
        middle(halves.last / halves.before - 1 for halves in since if halves.last is not None),
        _by_day(every, int(against // DAY_S)),
    )


def _by_day(every: Sequence[_Halves], parted: int) -> dict[int, float]:
    """Return the middle change on each day; ``parted`` is that of the moment."""
    days = spanned(halves.days for halves in every)
    # all changes of a large site as numbers of their own would take gigabytes
    courses = [_course(halves, days, parted) for halves in every]
    return {
        day: value
        for day, of_day in zip(days, zip(*courses))
        if (value := middle(of_day)) is not None
    }


def _course(halves: _Halves, days: range, parted: int) -> array[float]:
    """Return the change of a member on each of some days, NaN where it has none."""
    changes = array("d", [rate / halves.before - 1 for rate in halves.days.over(days)])
    if halves.parted is not None:
        changes[parted - days.start] = halves.parted / halves.before - 1
    return changes


def _halves(member: Member, against: float) -> Optional[_Halves]:
    """Return what a member gave before a moment and since, None when nothing before."""
    days, parted = member.days, int(against // DAY_S)
    early, late = _parts(member, against)
    before = middle([*days.among(range(parted - WINDOW_DAYS, parted)), *early])
    if before is None:
        return None
    last = days.span.stop - 1
    later = days.among(range(max(parted, last - WINDOW_DAYS) + 1, last + 1))
    if parted > last - WINDOW_DAYS:
        later = [*late, *later]
    # a day on which both were measured is one of the new time
    both = late[0] if early and late else None
    return _Halves(days, both, before, middle(later), later[-1] if later else None)


def _parts(member: Member, against: float) -> tuple[list[float], list[float]]:
    """Return the median rates of the day of a moment, before it and from it on, if there are."""
    begin = against // DAY_S * DAY_S
    whole = member.days.get(int(against // DAY_S))
    if whole is None or against == begin:
        return [], [] if whole is None else [whole]
    runs = [
        (at, rate) for at, rate in zip(member.times, member.rates) if begin <= at < begin + DAY_S
    ]
    assert runs, "find_metrics was not told of this moment"
    early, late = (
        middle(rate for at, rate in runs if (at < against) is before) for before in (True, False)
    )
    return [] if early is None else [early], [] if late is None else [late]


def _findings(changes: Sequence[Change], day: str) -> Iterable[str]:
    """Yield the largest change, and what else has changed by much."""
    measured = sorted(
        (change for change in changes if change.change is not None),
        key=lambda change: -abs(change.change or 0.0),
    )
    if not measured:
        yield f"Nothing has been measured since {day}."
        return
    # of a change a few days old, without a mark at which to part them, a fortnight shows nothing
    fresh = [
        change
        for change in measured
        if abs((change.last or 0.0) - (change.change or 0.0)) >= _WORTH_NAMING
    ]
    if fresh:
        texts = [f"{change.name} {signed(change.last)}" for change in fresh]
        yield f"On the last day alone: {several(texts, _NAMED)}."
    yield f"The largest change: {measured[0].name} {signed(measured[0].change)}."
    further = [change for change in measured[1:] if abs(change.change or 0.0) >= _WORTH_NAMING]
    if further:
        texts = [f"{change.name} {signed(change.change)}" for change in further]
        yield f"Also: {several(texts, _NAMED)}."


def _happened(happened: Sequence[Mark], against: float) -> Iterable[str]:
    """Yield what happened on that day."""
    day = against // DAY_S
    texts = [mark.text for mark in happened if mark.at // DAY_S == day]
    if texts:
        yield f"On {iso_day(int(day))}: {several(texts, _NAMED)}."


def _plot(changes: Sequence[Change], happened: Sequence[Mark], against: float) -> Plot:
    data = [_trace(number, change) for number, change in enumerate(changes)]
    first = min(min(change.days) for change in changes) * DAY_S
    last = (max(max(change.days) for change in changes) + 1) * DAY_S
    shapes, words = drawn(happened, first)
    layout = {
        "xaxis": day_axis(min(first, against), last),
        "yaxis": {"title": {"text": "change, %"}, "ticksuffix": " %", "zeroline": True},
        "shapes": [vertical_line(against, GREY), *shapes],
        "annotations": [
            {
                "x": plotly_time(against),
                # words that stand beyond the last day would lengthen the axis by months
                "xanchor": "left" if against < (first + last) / 2 else "right",
                "yref": "paper",
                "y": 0,
                "yanchor": "bottom",
                "text": _AGAINST,
                "showarrow": False,
            },
            *words,
        ],
        "margin": {"t": 40 + 16 * levels(words)},
        "legend": {"orientation": "h", "yanchor": "top", "y": -0.15},
    }
    return Plot("change", data, layout, 480)


def _trace(number: int, change: Change) -> dict[str, Any]:
    return scatter(
        "lines+markers" if len(change.days) < 60 else "lines",
        shown(change.name),
        f"{_plain(change.name)}<br>%{{x}}: %{{y}}",
        x=[iso_day(day) for day in change.days],
        y=[round(100 * value, 2) for value in change.days.values()],
        line=line(number),
        marker={"size": 5},
    )


def _plain(name: str) -> str:
    """Return a name for a template, in which braces after a percent sign would mean something."""
    return shown(name).replace("%", "&#37;")


def _cells(change: Change) -> tuple[str, ...]:
    return (
        change.name,
        str(change.members),
        change.quantity.format(change.before),
        "not measured since" if change.latest is None else change.quantity.format(change.latest),
        signed(change.change),
        signed(change.last),
    )


def signed(change: Optional[float]) -> str:
    """Return a change in percent, empty where it is not known; what rounds to none has no sign."""
    if change is None:
        return ""
    tenths = round(1000 * change)
    return f"{tenths / 10:+.1f} %" if tenths else "0.0 %"


def _numbers(changes: Sequence[Change]) -> Iterable[tuple[str, str, float]]:
    for change in changes:
        for day, value in change.days.items():
            yield change.name, iso_day(day), round(100 * value, 3)
