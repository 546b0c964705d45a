"""Events of a site on the axis of time: notes of people, and changes on nodes.

A change is seen best against the days before the latest of them.
"""

from __future__ import annotations

from typing import Any, Container, Iterable, NamedTuple, Sequence

from plumbline.model.units import DAY_S
from plumbline.report.figure import MAGENTA, RED, TEAL, plotly_time, shown, vertical_line
from plumbline.report.site import Member, Site

MONTH_DAYS = 30

_MOST = 12
"""Marks of one kind in a picture, the latest; more could not be told apart."""

_LEVELS = 4
"""Heights of words, so that neighbours can be read."""

_SHARE = 0.25
"""Least share of the components that know a version: fewer begin no era of the site."""


class Mark(NamedTuple):
    """One event at ``at``, seconds since the epoch; ``wide`` where it concerns the whole site.

    ``nodes`` are those that found it, none where that is not known.
    """

    at: float
    text: str
    colour: str
    wide: bool = True
    nodes: frozenset[str] = frozenset()

    def concerns(self, hosts: Container[str]) -> bool:
        """Return whether it may have to do with what some hosts serve or measure."""
        return self.wide or not self.nodes or any(node in hosts for node in self.nodes)


def marks(site: Site) -> list[Mark]:
    """Return notes and changes of versions and other conditions by their dates."""
    noted = [Mark(note.at, note.text, RED) for note in site.notes]
    changed = [
        Mark(change.at, change.text, MAGENTA, change.components >= _SHARE * change.known)
        for change in site.changes
    ]
    conditions = [
        Mark(change.at, change.text, TEAL, change.wide, change.nodes) for change in site.conditions
    ]
    # conditions of one moment stay in their order, the most telling first
    return sorted([*noted, *changed, *conditions], key=lambda mark: mark.at)


def chosen_moment(site: Site, members: Iterable[Member]) -> float:
    """Return the moment against which changes are seen when nobody names one.

    It is that of the latest mark after which half of the members or more have been measured, else a
    month ago; in seconds since the epoch.
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
    """Return Plotly's lines and their words, of the latest marks since a moment."""
    recent = [event for event in events if event.at >= since]
    kinds = ([event for event in recent if event.colour == kind] for kind in (RED, MAGENTA, TEAL))
    seen = sorted((event for kind in kinds for event in kind[-_MOST:]), key=lambda mark: mark.at)
    return (
        [vertical_line(mark.at, mark.colour) for mark in seen],
        [_words(mark, place) for place, mark in enumerate(seen)],
    )


def levels(words: Sequence[Any]) -> int:
    """Return how many rows of words stand above the picture."""
    return min(len(words), _LEVELS)


def _words(mark: Mark, index: int) -> dict[str, Any]:
    return {
        "x": plotly_time(mark.at),
        "yref": "paper",
        "y": 1,
        "yanchor": "bottom",
        "yshift": 16 * (index % _LEVELS),
        "text": shown(mark.text),
        "showarrow": False,
    }
