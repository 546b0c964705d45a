"""Change of each test since a chosen time, in percent, with events of the site.

Figures 4 to 6 and table 3 of the Edison report: effects of an upgrade.
"""

from __future__ import annotations

from typing import Any, Iterable, NamedTuple, Optional, Sequence

import numpy as np
from numpy.typing import NDArray

from plumbline.model.layers import LAYERS
from plumbline.model.names import several
from plumbline.model.quantity import Quantity
from plumbline.model.units import DAY_S
from plumbline.parts.report.figure import (
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
from plumbline.parts.report.marks import Mark, chosen_moment, drawn, levels, marks
from plumbline.parts.report.site import (
    Days,
    Member,
    Metric,
    Metrics,
    Site,
    by_group,
    middle,
    spanned,
)

WINDOW_DAYS = 14
"""Days of the medians that are the rate before the chosen time and the latest rate."""

_AGAINST = "compared with the days before"

_MAX_GROUPS = 6
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
    """One test: the change on each day as a fraction, and the rates before and lately.

    ``members`` counts those measured before and after; ``last`` is the change on the last day of
    each member.  ``change``, ``latest`` and ``last`` are None if nothing was measured since.
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
    """Days of a member, and its rates before and after a chosen time.

    ``parted`` is the rate after the time on the same day; None if the day is not divided.
    """

    days: Days
    parted: Optional[float]
    before: float
    latest: Optional[float]
    last: Optional[float]


def change_figure(site: Site, metrics: Metrics, against: Optional[float] = None) -> Figure:
    """Return the figure; ``against`` is the chosen time in seconds since the epoch."""
    events = marks(site)
    if against is None:
        against = chosen_moment(
            site, (member for members in metrics.values() for member in members)
        )
    day = iso_day(int(against // DAY_S))
    figure = Figure("change", f"Change against {day}", ABOUT)
    changes = [
        change
        for metric in metrics
        for name, members in split(metric, metrics[metric]).items()
        if (change := find_change(name, metric.quantity, members, against))
    ]
    if not changes:
        return figure._replace(
            absent=f"nothing was measured in the {WINDOW_DAYS} days before {day}; choose another "
            "day with --against"
        )
    return figure._replace(
        finding="\n".join([*_findings(changes, day), *_events_of_day(events, against)]),
        plots=[_plot(changes, events, against)],
        table=Table(HEADERS, [Row(_cells(change)) for change in changes]),
        numbers=[("test", "day", "change_percent"), *_numbers(changes)],
    )


def split(metric: Metric, members: Sequence[Member]) -> dict[str, Sequence[Member]]:
    """Return the members by file system; layers without file systems are one test for the site.

    Each test that drives all targets of a file system at once stands alone, however many there are.
    """
    groups = by_group(members)
    if not LAYERS[metric.layer].on_targets or len(groups) == 1:
        return {str(metric): members}
    targets = [member for member in members if not member.entry.parallel]
    too_many = len(by_group(targets)) > _MAX_GROUPS
    together: dict[str, Sequence[Member]] = {str(metric): targets} if too_many else {}
    return together | {
        f"{metric} {group}": peers
        for group, peers in groups.items()
        if peers[0].entry.parallel or not too_many
    }


def find_change(
    name: str, quantity: Quantity, members: Sequence[Member], against: float
) -> Optional[Change]:
    """Return the change of a test since a time; None if no member was measured before it."""
    measured = [halves for member in members if (halves := _halves(member, against))]
    if not measured:
        return None
    since = [halves for halves in measured if halves.latest is not None]
    before = middle(halves.before for halves in since or measured)
    assert before is not None
    return Change(
        name,
        quantity,
        len(since),
        before,
        middle(halves.latest for halves in since),
        middle(halves.latest / halves.before - 1 for halves in since if halves.latest is not None),
        middle(halves.last / halves.before - 1 for halves in since if halves.last is not None),
        _by_day(measured, int(against // DAY_S)),
    )


def _by_day(members: Sequence[_Halves], parted: int) -> dict[int, float]:
    """Return the median change on each day; ``parted`` is the day of the chosen time."""
    days = spanned(halves.days for halves in members)
    # one array, because Python numbers would take gigabytes for a large site
    courses = np.empty((len(days), len(members)))
    for place, halves in enumerate(members):
        courses[:, place] = _course(halves, days, parted)
    finite = ((day, course[np.isfinite(course)]) for day, course in zip(days, courses))
    return {day: float(np.median(changes)) for day, changes in finite if changes.size}


def _course(halves: _Halves, days: range, parted: int) -> NDArray[np.float64]:
    """Return the change of a member on each of ``days``; NaN without a rate."""
    changes = halves.days.over(days) / halves.before - 1
    if halves.parted is not None:
        changes[parted - days.start] = halves.parted / halves.before - 1
    return changes


def _halves(member: Member, against: float) -> Optional[_Halves]:
    """Return the rates of a member before a time and since; None if there is none before."""
    days, parted = member.days, int(against // DAY_S)
    early, late = _parts(member, against)
    before = middle([*days.among(range(parted - WINDOW_DAYS, parted)), *early])
    if before is None:
        return None
    last = days.span.stop - 1
    later = days.among(range(max(parted, last - WINDOW_DAYS) + 1, last + 1))
    if parted > last - WINDOW_DAYS:
        later = [*late, *later]
    # a day divided by the time counts as after it
    both = late[0] if early and late else None
    return _Halves(days, both, before, middle(later), later[-1] if later else None)


def _parts(member: Member, against: float) -> tuple[list[float], list[float]]:
    """Return the median rates before and after a time on its day, in lists of at most one."""
    begin = against // DAY_S * DAY_S
    rate_of_day = member.days.get(int(against // DAY_S))
    if rate_of_day is None or against == begin:
        return [], [] if rate_of_day is None else [rate_of_day]
    runs = [
        (at, rate) for at, rate in zip(member.times, member.rates) if begin <= at < begin + DAY_S
    ]
    assert runs, "find_metrics was not told of this moment"
    early, late = (
        middle(rate for at, rate in runs if (at < against) is before) for before in (True, False)
    )
    return [] if early is None else [early], [] if late is None else [late]


def _findings(changes: Sequence[Change], day: str) -> Iterable[str]:
    """Yield sentences on the largest change and other large changes."""
    measured = sorted(
        (change for change in changes if change.change is not None),
        key=lambda change: -abs(change.change or 0.0),
    )
    if not measured:
        yield f"Nothing has been measured since {day}."
        return
    # the median of two weeks hides a change a few days old that has no mark
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


def _events_of_day(events: Sequence[Mark], against: float) -> Iterable[str]:
    day = against // DAY_S
    texts = [mark.text for mark in events if mark.at // DAY_S == day]
    if texts:
        yield f"On {iso_day(int(day))}: {several(texts, _NAMED)}."


def _plot(changes: Sequence[Change], events: Sequence[Mark], against: float) -> Plot:
    data = [_trace(number, change) for number, change in enumerate(changes)]
    first = min(min(change.days) for change in changes) * DAY_S
    last = (max(max(change.days) for change in changes) + 1) * DAY_S
    shapes, annotations = drawn(events, first)
    layout = {
        "xaxis": day_axis(min(first, against), last),
        "yaxis": {"title": {"text": "change, %"}, "ticksuffix": " %", "zeroline": True},
        "shapes": [vertical_line(against, GREY), *shapes],
        "annotations": [
            {
                "x": plotly_time(against),
                # a label beyond the last day would extend the axis by months
                "xanchor": "left" if against < (first + last) / 2 else "right",
                "yref": "paper",
                "y": 0,
                "yanchor": "bottom",
                "text": _AGAINST,
                "showarrow": False,
            },
            *annotations,
        ],
        "margin": {"t": 40 + 16 * levels(annotations)},
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
    """Return a name for a Plotly template, with percent signs escaped."""
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
    """Return a change in percent, empty if unknown; a change rounded to zero has no sign."""
    if change is None:
        return ""
    tenths = round(1000 * change)
    return f"{tenths / 10:+.1f} %" if tenths else "0.0 %"


def _numbers(changes: Sequence[Change]) -> Iterable[tuple[str, str, float]]:
    for change in changes:
        for day, value in change.days.items():
            yield change.name, iso_day(day), round(100 * value, 3)
