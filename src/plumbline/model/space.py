"""Space of file systems: what is used and free on each target, and when it is full."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Iterable, NamedTuple, Optional

from plumbline.model.codec import form, lenient, positional
from plumbline.model.units import HOUR_S
from plumbline.model.validation import Within, amounts, counts, numbers, times, unicode_text
from plumbline.model.verdict import State

SPACE = "space"
"""Layer of the records and services of space, which have no rate."""

MDT, OST, POOL, QUOTA = "mdt", "ost", "pool", "quota"
"""Kinds of Lustre targets; a pool and a quota are read as one target each, a target of other
systems has no kind."""

KEPT_TERMS, KEPT_TARGETS = "terms", "space"
"""Details of a record of space."""


@lenient
class SpaceTerms(NamedTuple):
    """Limits of the policy for one file system.

    ``fill_limit`` and ``inode_limit`` are fractions; below ``warning_s`` and ``critical_s``,
    counted to the earlier end of the forecast, a target that fills raises an alarm.  ``quotas``
    are kinds and names, such as ``project 1001``.
    """

    file_system: Annotated[str, unicode_text]
    fill_limit: Annotated[float, Within(0, 1)] = 0.90
    inode_limit: Annotated[float, Within(0, 1)] = 0.90
    warning_s: Annotated[float, amounts] = 14 * 24 * HOUR_S
    critical_s: Annotated[float, amounts] = 3 * 24 * HOUR_S
    stale_after_s: Annotated[float, amounts] = 3 * HOUR_S
    quotas: tuple[Annotated[str, unicode_text], ...] = ()


@positional
class Amount(NamedTuple):
    """Used and free bytes or inodes of a target, without what is reserved for root."""

    used: Annotated[int, counts]
    free: Annotated[int, counts]

    @property
    def total(self) -> int:
        """Return all that users can have."""
        return self.used + self.free

    @property
    def fill(self) -> float:
        """Return used / total, as ``df`` does; 1 for a target without any."""
        return self.used / self.total if self.total else 1.0


@positional
class TargetSpace(NamedTuple):
    """Space of one target at one time; ``space`` or ``inodes`` is None if not known.

    ``flags`` are the letters of ``lfs df``; ``inactive`` is True for a target that is switched off
    on this client; ``trouble`` is the reason why its space is not known.  ``grace_s`` is
    the time until a quota that is above a soft limit counts as full, in seconds.
    """

    name: Annotated[str, unicode_text]
    kind: Annotated[str, unicode_text] = ""
    space: Optional[Amount] = None
    inodes: Optional[Amount] = None
    flags: Annotated[str, unicode_text] = ""
    inactive: bool = False
    trouble: Annotated[str, unicode_text] = ""
    grace_s: Optional[Annotated[float, amounts]] = None


def whole_of(targets: Iterable[TargetSpace]) -> Optional[Amount]:
    """Return the bytes of all active targets, None if there is none or one is not known."""
    spaces = [target.space for target in targets if not target.inactive]
    known = [space for space in spaces if space]
    if not known or len(known) < len(spaces):
        return None
    return Amount(sum(space.used for space in known), sum(space.free for space in known))


class Trend(str, Enum):
    """Direction in which the free space of a target goes."""

    FILLING = "filling"
    EMPTYING = "emptying"
    UNCLEAR = "unclear"
    """The interval of the slope contains 0: it stays, or swings too much for a forecast."""
    TOO_SHORT = "too_short"
    """Fewer days with readings than a trend needs."""


class Outlook(NamedTuple):
    """Trend of a target's free space or inodes over ``days`` days with readings.

    ``near_s`` and ``far_s`` are the ends of the forecast, in seconds from the last reading until
    nothing is free, None unless it fills; ``daily`` is the loss per day.  The trend begins at
    ``since``, in seconds since the epoch: after ``gained`` became free at once (negative: was
    used), or the total changed from ``resized``; None for no such change.
    """

    trend: Trend
    days: Annotated[int, counts] = 0
    near_s: Optional[Annotated[float, amounts]] = None
    far_s: Optional[Annotated[float, amounts]] = None
    daily: Optional[Annotated[float, numbers]] = None
    since: Optional[Annotated[float, times]] = None
    gained: Optional[Annotated[float, numbers]] = None
    resized: Optional[Annotated[float, amounts]] = None


class TargetOutlook(NamedTuple):
    """Space of a target and the trends of its bytes and inodes, None where these are not known."""

    target: TargetSpace
    space: Optional[Outlook] = None
    inodes: Optional[Outlook] = None


class SystemSpace(NamedTuple):
    """Last look of a node at a file system, at ``at`` in seconds since the epoch.

    ``trouble`` is the reason why nothing could be read, empty if something was.
    """

    terms: SpaceTerms
    at: Annotated[float, times]
    targets: tuple[TargetOutlook, ...] = ()
    trouble: Annotated[str, unicode_text] = ""

    @property
    def name(self) -> str:
        """Return the name of the file system."""
        return self.terms.file_system


class TargetCourse(NamedTuple):
    """Fill of a target day by day, ``fills`` as fractions at ``times`` in seconds since the epoch.

    ``forecast`` and ``inode_forecast`` are the texts on its trends, empty where it is not known.
    """

    target: TargetSpace
    times: tuple[float, ...]
    fills: tuple[float, ...]
    forecast: str
    inode_forecast: str


class SystemCourse(NamedTuple):
    """Eight weeks of a file system, for the report: its verdict, and each of its targets."""

    name: str
    state: State
    sentence: str
    targets: tuple[TargetCourse, ...]


@lenient
@form(1, "report of space", "look again with: plumbline space --save")
class SpaceReport(NamedTuple):
    """Space of the file systems that a node looks at."""

    node: Annotated[str, unicode_text]
    systems: tuple[SystemSpace, ...] = ()
