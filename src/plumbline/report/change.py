"""Change against a chosen date, in percent for each test, with what people noted.

Figures 4 to 6 of the Edison report and its table 3: what an upgrade has brought or taken.
"""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any, Iterable, NamedTuple, Optional, Sequence

from plumbline.model.course import Note
from plumbline.report.figure import DAY_S, Figure, Plot, Row, Table, shown
from plumbline.report.palette import GREY, RED, line
from plumbline.report.site import Cohort, Cohorts, Member, Site, by_group, middle
from plumbline.units import format_rate

WINDOW_DAYS = 14
"""What a component gave before the date is its median over so many days; what it gives now too."""

MONTH_DAYS = 30

_AGAINST = {"xanchor": "left", "text": "held against this day", "showarrow": False}

_BY_FILE_SYSTEM = ("ost", "fs")
_MOST_GROUPS = 6
_LEVELS = 4
"""Of notes above one another, so that neighbours can be read."""

ABOUT = (
    "How each test has changed against a date: the median over all members of their rate in "
    f"percent above or below what each gave in the {WINDOW_DAYS} days before it. What was noted "
    "(plumbline note) is marked by a line."
)
HEADERS = ("test", "members", "before", "latest", "change")
_EPOCH = date(1970, 1, 1).toordinal()


class Change(NamedTuple):
    """One test: the change of each day as a fraction, rates before and lately in B/s."""

    name: str
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
    changes = [
        one
        for of in cohorts
        for name, members in _split(of, cohorts[of]).items()
        if (one := find_change(name, members, day))
    ]
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


def _split(of: Cohort, members: Sequence[Member]) -> dict[str, Sequence[Member]]:
    """Return the members of each file system; what else is measured is one test for the site."""
    groups = by_group(members)
    if of.layer not in _BY_FILE_SYSTEM or not 1 < len(groups) <= _MOST_GROUPS:
        return {str(of): members}
    return {f"{of} {group}": found for group, found in groups.items()}


def find_change(name: str, members: Sequence[Member], day: int) -> Optional[Change]:
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
    return Change(name, len(before), whole, latest, found)


def _before(one: Member, day: int) -> Optional[float]:
    return middle(rate for each, rate in one.days.items() if day - WINDOW_DAYS <= each < day)


def _latest(one: Member) -> Optional[float]:
    last = max(one.days)
    return middle(rate for each, rate in one.days.items() if each > last - WINDOW_DAYS)


def _iso(day: int) -> str:
    return date.fromordinal(_EPOCH + day).isoformat()


def _finding(changes: Sequence[Change]) -> str:
    most = max(changes, key=lambda one: abs(one.latest or 0.0))
    return f"The largest change: {most.name} {_signed(most)}."


def _plot(changes: Sequence[Change], notes: Iterable[Note], day: int) -> Plot:
    data = [_trace(number, one) for number, one in enumerate(changes)]
    first = min(min(one.days) for one in changes)
    seen = [note for note in notes if note.at >= first * DAY_S]
    layout = {
        "xaxis": {"type": "date"},
        "yaxis": {"title": {"text": "change, %"}, "ticksuffix": " %", "zeroline": True},
        "shapes": [_mark(_iso(day), GREY), *(_mark(_time(note), RED) for note in seen)],
        "annotations": [
            {"x": _iso(day), "yref": "paper", "y": 0, "yanchor": "bottom", **_AGAINST},
            *(_label(note, place) for place, note in enumerate(seen)),
        ],
        "hovermode": "closest",
        "margin": {"t": 40 + 16 * min(len(seen), _LEVELS)},
        "legend": {"orientation": "h", "yanchor": "top", "y": -0.15},
    }
    return Plot("change", data, layout, 480)


def _trace(number: int, one: Change) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers" if len(one.days) < 60 else "lines",
        "name": shown(one.name),
        "x": [_iso(day) for day in one.days],
        "y": [round(100 * value, 2) for value in one.days.values()],
        "line": line(number),
        "marker": {"size": 5},
        "hovertemplate": f"{_plain(one.name)}<br>%{{x}}: %{{y}}<extra></extra>",
    }


def _plain(name: str) -> str:
    """Return a name for a template, in which braces after a percent sign would mean something."""
    return shown(name).replace("%", "&#37;")


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
        "yshift": 16 * (place % _LEVELS),
        "text": shown(note.text),
        "showarrow": False,
    }


def _cells(one: Change) -> tuple[str, ...]:
    return (
        one.name,
        str(one.members),
        format_rate(one.before_Bps),
        format_rate(one.latest_Bps),
        _signed(one),
    )


def _signed(one: Change) -> str:
    """Return the latest change; one that rounds to nothing has no sign."""
    tenths = round(1000 * (one.latest or 0.0))
    return f"{tenths / 10:+.1f} %" if tenths else "0.0 %"


def _numbers(changes: Sequence[Change]) -> Iterable[tuple[str, str, float]]:
    for one in changes:
        for day, value in one.days.items():
            yield one.name, _iso(day), round(100 * value, 3)
