"""Change against a chosen date, in percent for each test, with what people noted.

Figures 4 to 6 of the Edison report and its table 3: what an upgrade has brought or taken.
"""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any, Iterable, NamedTuple, Optional, Sequence

from plumbline.model.course import Note
from plumbline.report.figure import DAY_S, Figure, Plot, Row, Table, shown
from plumbline.report.palette import GREY, RED, line
from plumbline.report.site import Cohort, Cohorts, Member, Site, middle
from plumbline.units import format_rate

WINDOW_DAYS = 14
"""What a component gave before the date is its median over so many days; what it gives now too."""

MONTH_DAYS = 30

ABOUT = (
    "How each test has changed against a date: the median over all members of their rate in "
    f"percent above or below what each gave in the {WINDOW_DAYS} days before it. What was noted "
    "(plumbline note) is marked by a line."
)
HEADERS = ("test", "members", "before", "latest", "change")
_EPOCH = date(1970, 1, 1).toordinal()


class Change(NamedTuple):
    """One test: the change of each day as a fraction, rates before and lately in B/s."""

    of: Cohort
    members: int
    before_Bps: float
    latest_Bps: float
    days: dict[int, float]

    @property
    def latest(self) -> Optional[float]:
        """Return the median change of the last days, as a fraction."""
        last = max(self.days, default=0)
        return middle(value for day, value in self.days.items() if day > last - WINDOW_DAYS)


def chosen_day(site: Site) -> int:
    """Return the day that the changes are held against when nobody names one.

    It is that of the latest note that is at least a day old, else a month ago; in epoch days.
    """
    noted = [one.at for one in site.notes if one.at < site.now - DAY_S]
    return int(max(noted) // DAY_S) if noted else int(site.now // DAY_S) - MONTH_DAYS


def change_figure(site: Site, cohorts: Cohorts, against: Optional[int] = None) -> Figure:
    """Return the figure; ``against`` is a day since the epoch."""
    day = chosen_day(site) if against is None else against
    figure = Figure("change", f"Change against {_iso(day)}", ABOUT)
    changes = [one for of in cohorts if (one := find_change(of, cohorts[of], day))]
    if not changes:
        return figure._replace(
            absent=f"nothing was measured in the {WINDOW_DAYS} days before {_iso(day)}; choose "
            "another day with --against"
        )
    return figure._replace(
        finding=_finding(changes),
        plots=[_plot(changes, site.notes, day)],
        table=Table(HEADERS, [Row(_cells(one)) for one in changes]),
        numbers=[("test", "day", "change_percent"), *_numbers(changes)],
    )


def find_change(of: Cohort, members: Sequence[Member], day: int) -> Optional[Change]:
    """Return how a test has changed against a day; None when nobody was measured before it."""
    before = {one.name: rate for one in members if (rate := _before(one, day))}
    days: dict[int, list[float]] = {}
    for one in members:
        if one.name in before:
            for each, rate in one.days.items():
                days.setdefault(each, []).append(rate / before[one.name] - 1)
    if not before:
        return None
    latest = middle(_latest(one) for one in members if one.name in before)
    whole = middle(before.values())
    assert latest is not None
    assert whole is not None
    found = {each: value for each in sorted(days) if (value := middle(days[each])) is not None}
    return Change(of, len(before), whole, latest, found)


def _before(one: Member, day: int) -> Optional[float]:
    return middle(rate for each, rate in one.days.items() if day - WINDOW_DAYS <= each < day)


def _latest(one: Member) -> Optional[float]:
    last = max(one.days)
    return middle(rate for each, rate in one.days.items() if each > last - WINDOW_DAYS)


def _iso(day: int) -> str:
    return date.fromordinal(_EPOCH + day).isoformat()


def _finding(changes: Sequence[Change]) -> str:
    most = max(changes, key=lambda one: abs(one.latest or 0.0))
    return f"The largest change: {most.of} {100 * (most.latest or 0.0):+.1f} %."


def _plot(changes: Sequence[Change], notes: Iterable[Note], day: int) -> Plot:
    data = [_trace(number, one) for number, one in enumerate(changes)]
    first = min(min(one.days) for one in changes)
    seen = [note for note in notes if note.at >= first * DAY_S]
    layout = {
        "xaxis": {"type": "date"},
        "yaxis": {"title": {"text": "change, %"}, "ticksuffix": " %", "zeroline": True},
        "shapes": [_mark(_iso(day), GREY), *(_mark(_time(note), RED) for note in seen)],
        "annotations": [_label(note, place) for place, note in enumerate(seen)],
        "hovermode": "closest",
        "margin": {"t": 110 if seen else 40},
    }
    return Plot("change", data, layout, 480)


def _trace(number: int, one: Change) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers" if len(one.days) < 60 else "lines",
        "name": shown(str(one.of)),
        "x": [_iso(day) for day in one.days],
        "y": [round(100 * value, 2) for value in one.days.values()],
        "line": line(number),
        "marker": {"size": 5},
        "hovertemplate": f"{_plain(one.of)}<br>%{{x}}: %{{y}}<extra></extra>",
    }


def _plain(of: Cohort) -> str:
    """Return a name for a template, in which braces after a percent sign would mean something."""
    return shown(str(of)).replace("%", "&#37;")


def _time(note: Note) -> str:
    return datetime.fromtimestamp(note.at, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")


def _mark(x: str, colour: str) -> dict[str, Any]:
    return {
        "type": "line",
        "x0": x,
        "x1": x,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": colour, "width": 1.5, "dash": "dot"},
    }


def _label(note: Note, place: int) -> dict[str, Any]:
    return {
        "x": _time(note),
        "yref": "paper",
        "y": 1,
        "yanchor": "bottom",
        "yshift": 16 * (place % 4),
        "text": shown(note.text),
        "showarrow": False,
    }


def _cells(one: Change) -> tuple[str, ...]:
    return (
        str(one.of),
        str(one.members),
        format_rate(one.before_Bps),
        format_rate(one.latest_Bps),
        f"{100 * (one.latest or 0.0):+.1f} %",
    )


def _numbers(changes: Sequence[Change]) -> Iterable[tuple[str, str, float]]:
    for one in changes:
        for day, value in one.days.items():
            yield str(one.of), _iso(day), round(100 * value, 3)
