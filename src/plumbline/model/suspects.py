"""Suspects as others draw and count them: names, sentences and shares."""

from __future__ import annotations

from typing import NamedTuple

from plumbline.model.verdict import State

Component = tuple[str, str]
"""Layer and name."""

NEXT = " Next: "
"""Begin of what to do next, at the end of a sentence."""


class Crossing(NamedTuple):
    """A measurement across a suspect; ``share`` is its part of the expected rate, a fraction."""

    name: str
    share: float


class SuspectSet(NamedTuple):
    """Parts that explain the same slow measurements, with what speaks for and against them.

    ``alternatives`` are the sets of parts of which one is at fault, ``title`` names those to look
    at first.  ``explains`` are the slow components; ``state`` is that in the monitoring system.
    ``sentence`` says what was found; ``following`` what to do next, empty if nothing is known.
    """

    alternatives: tuple[tuple[str, ...], ...]
    title: str
    state: State
    sentence: str
    following: str
    explains: tuple[Component, ...]
    slow: tuple[Crossing, ...]
    fast: tuple[Crossing, ...]
    rows: tuple[tuple[str, ...], ...]
    """The evidence in words, under the headers of :class:`Suspects`."""


class Suspects(NamedTuple):
    """All suspects of a site; ``unknown`` is why nothing could be located, else empty."""

    sets: tuple[SuspectSet, ...] = ()
    headers: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    """Losses of whole groups, unexplained measurements, common parts, jobs; the number of votes."""
    unknown: str = ""

    @property
    def names(self) -> frozenset[str]:
        """Return all suspected parts."""
        return frozenset(
            name for found in self.sets for choice in found.alternatives for name in choice
        )


class SlowRun(NamedTuple):
    """A slow run: its operation, share of the expected rate, and time in epoch seconds."""

    layer: str
    component: str
    operation: str
    share: float
    at: float


class Named(NamedTuple):
    """Parts named on a day: the alternatives of each set of suspects.

    ``explained`` are components that a suspect slows, ``unexplained`` the names of slow
    measurements that none does.
    """

    sets: tuple[tuple[tuple[str, ...], ...], ...]
    explained: frozenset[Component]
    unexplained: tuple[str, ...]

    @property
    def parts(self) -> frozenset[str]:
        """Return all suspected parts."""
        return frozenset(name for names in self.sets for choice in names for name in choice)
