"""The course of measurements over months, as compact as pictures of a whole site need it."""

from __future__ import annotations

from array import array
from typing import NamedTuple, Optional

from plumbline.model.record import Record

SERVER = "server"
"""The layer of what a server counts itself: nothing is judged by it, it is there to be seen."""


class Course(NamedTuple):
    """One series in the order of arrival; ``partner`` is empty where there is none.

    ``times`` are seconds since the epoch; ``rates`` are bytes per second, NaN where a measurement
    gave none; both are as long.  The first ``days`` of them are no runs: each is the median of the
    runs of a day, dated as its last one.
    """

    layer: str
    component: str
    operation: str
    scenario: str
    partner: str
    times: array[float]
    rates: array[float]
    days: int = 0


class PairTest(NamedTuple):
    """The latest test of a pair of hosts in one direction.

    ``rate`` and ``retransmits`` are None where they are not known.
    """

    component: str
    partner: str
    operation: str
    started_at: float
    rate: Optional[float]
    retransmits: Optional[int]
    bytes: int


class NodeClock(NamedTuple):
    """Offset of a node's clock when it was last asked, ``at`` seconds since the epoch.

    It was ``ahead_s`` seconds ahead of the console's, or that many behind where negative, at most
    ``within_s`` seconds more or less: the way to the node and back takes its time.
    """

    node: str
    at: float
    ahead_s: float
    within_s: float


class Run(NamedTuple):
    """All records of one run of one layer, in the order of arrival.

    ``servers`` are the records of layer ``server`` that may be of the same time, by clocks that may
    differ; ``clocks`` says how far, of each host of which it is known.
    """

    layer: str
    run_id: str
    records: tuple[Record, ...]
    servers: tuple[Record, ...] = ()
    clocks: tuple[NodeClock, ...] = ()


class Note(NamedTuple):
    """An event at a site, in the words of a person; ``at`` is seconds since the epoch."""

    at: float
    text: str


class ConditionChange(NamedTuple):
    """A change of software, firmware or settings that ``nodes`` found, at ``at``, in words.

    ``wide`` says that it concerns a good part of the site.
    """

    at: float
    text: str
    wide: bool
    nodes: frozenset[str]


class VersionChange(NamedTuple):
    """A version or setting that records have with another value than before.

    ``at`` is when the first component was measured under the new one, in seconds since the epoch;
    ``components`` counts those that it has reached, ``known`` those whose records say it at all.
    """

    at: float
    name: str
    then: str
    now: str
    components: int
    known: int

    @property
    def text(self) -> str:
        """Return e.g. ``client 2.3.0 -> 2.4.0``, and of how many where it has not reached all."""
        text = f"{self.name} {self.then} -> {self.now}"
        if self.components < self.known:
            text += f" ({self.components} of {self.known} components)"
        return text
