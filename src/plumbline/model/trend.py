"""Trends of measurements over months, compact enough for charts of an entire site."""

from __future__ import annotations

from typing import NamedTuple, Optional, Sequence

from plumbline.model.record import Record
from plumbline.model.space import SPACE

SERVER = "server"
"""Layer of a server's own counters, which are shown but not judged."""

NOT_MEASURED = (SERVER, SPACE)
"""Layers of records that are no measurements."""


class Course(NamedTuple):
    """One series in order of arrival; ``partner`` is empty except for host pairs.

    ``times`` are seconds since the epoch; ``rates``, of the same length, are bytes per second, NaN
    for a measurement without a rate.  The first ``days`` entries are medians of the runs of a day,
    with the time of its last run.
    """

    layer: str
    component: str
    operation: str
    scenario: str
    partner: str
    times: Sequence[float]
    rates: Sequence[float]
    days: int = 0


class PairTest(NamedTuple):
    """Latest test of a pair of hosts or adapters by one operation.

    ``rate`` and ``retransmits`` are None if unknown.
    """

    component: str
    partner: str
    operation: str
    started_at: float
    rate: Optional[float]
    retransmits: Optional[int]
    bytes: int


class NodeClock(NamedTuple):
    """Offset of a node's clock at the last query, ``at`` seconds since the epoch.

    The clock was ``ahead_s`` seconds ahead of the console's (negative: behind), with an uncertainty
    of ``within_s`` seconds from the round trip to the node.
    """

    node: str
    at: float
    ahead_s: float
    within_s: float


class Run(NamedTuple):
    """All records of one run of one layer, in order of arrival.

    ``servers`` are records of layer ``server`` from about the same time; ``clocks`` has the known
    offsets of the hosts' clocks.
    """

    layer: str
    run_id: str
    records: tuple[Record, ...]
    servers: tuple[Record, ...] = ()
    clocks: tuple[NodeClock, ...] = ()


class Note(NamedTuple):
    """Note of a person about an event at the site; ``at`` is seconds since the epoch."""

    at: float
    text: str


class ConditionChange(NamedTuple):
    """Change of software, firmware or settings on ``nodes``, ``at`` seconds since the epoch.

    ``wide`` is True if it concerns a large part of the site.
    """

    at: float
    text: str
    wide: bool
    nodes: frozenset[str]


class VersionChange(NamedTuple):
    """Change of a version or setting in the records.

    ``at`` is the first measurement with the new value, in seconds since the epoch; ``components``
    counts the components that have it, ``known`` those whose records have the version at all.
    """

    at: float
    name: str
    then: str
    now: str
    components: int
    known: int

    @property
    def text(self) -> str:
        """Return e.g. ``client 2.3.0 -> 2.4.0``, with the count unless all components have it."""
        text = f"{self.name} {self.then} -> {self.now}"
        if self.components < self.known:
            text += f" ({self.components} of {self.known} components)"
        return text
