"""Events of a site on the time axis: notes of people, and changes on nodes.

By default changes of rates are shown relative to the days before the latest event.
"""

from __future__ import annotations

from typing import Any, Container, Iterable, NamedTuple, Sequence

from plumbline.model.units import DAY_S
from plumbline.parts.report.figure import MAGENTA, RED, TEAL, plotly_time, shown, vertical_line
from plumbline.parts.report.site import Member, Site

MONTH_DAYS = 30

_MAX_MARKS = 12
"""Marks of one kind in a plot, the latest; more would not be readable."""

_LEVELS = 4
"""Rows of labels, so neighbours do not overlap."""

_SHARE = 0.25
"""Least share of the components with a version for its change to concern the whole site."""


class Mark(NamedTuple):
    """One event at ``at``, seconds since the epoch; ``wide`` if it concerns the whole site.

    ``nodes`` are those that reported it, empty if unknown.
    """

    at: float
    text: str
    colour: str
    wide: bool = True
    nodes: frozenset[str] = frozenset()

    def concerns(self, hosts: Container[str]) -> bool:
        """Return whether the event may affect measurements of or on some hosts."""
        return self.wide or not self.nodes or any(node in hosts for node in self.nodes)


def marks(site: Site) -> list[Mark]:
    """Return notes and changes of versions and other conditions, ordered by time."""
    notes = [Mark(note.at, note.text, RED) for note in site.notes]
    changes = [
        Mark(change.at, change.text, MAGENTA, change.components >= _SHARE * change.known)
        for change in site.changes
    ]
    conditions = [
        Mark(change.at, change.text, TEAL, change.wide, change.nodes) for change in site.conditions
    ]
    # simultaneous conditions keep their order, the most important first
    return sorted([*notes, *changes, *conditions], key=lambda mark: mark.at)


def chosen_moment(site: Site, members: Iterable[Member]) -> float:
    """Return the default time to compare with, in seconds since the epoch.

    It is the latest mark after which at least half of the members were measured, else a month ago.
    """
    measured = sorted(member.now_at for member in members if member.now_at is not None)
    if measured:
        half = measured[(len(measured) - 1) // 2]
        for mark in reversed(marks(site)):
            if mark.wide and mark.at <= half:
                return mark.at
    return (site.now // DAY_S - MONTH_DAYS) * DAY_S


def drawn(
    events: Sequence[Mark], since: float
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return Plotly's lines and labels for the latest marks since ``since``."""
    recent = [event for event in events if event.at >= since]
    kinds = ([event for event in recent if event.colour == kind] for kind in (RED, MAGENTA, TEAL))
    latest = sorted(
        (event for kind in kinds for event in kind[-_MAX_MARKS:]), key=lambda mark: mark.at
    )
    return (
        [vertical_line(mark.at, mark.colour) for mark in latest],
        [_label(mark, place) for place, mark in enumerate(latest)],
    )


def levels(annotations: Sequence[Any]) -> int:
    """Return the number of rows of labels above the plot."""
    return min(len(annotations), _LEVELS)


def _label(mark: Mark, index: int) -> dict[str, Any]:
    return {
        "x": plotly_time(mark.at),
        "yref": "paper",
        "y": 1,
        "yanchor": "bottom",
        "yshift": 16 * (index % _LEVELS),
        "text": shown(mark.text),
        "showarrow": False,
    }
