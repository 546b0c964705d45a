"""What was measured, what its bytes crossed, and whether it votes."""

from __future__ import annotations

from enum import Enum
from math import isfinite
from typing import Any, Iterator, NamedTuple

from plumbline.errors import DocumentError
from plumbline.model.state import State

READ = "read"
WRITE = "write"
BOTH = (READ, WRITE)
"""The lanes of a part: towards storage (write), and back (read).  A part can lose one alone."""


NETWORK = "network "
"""Before a lane of a host: what it has left for tests of the network, which end in it, where that
is not what it has left for its devices."""

SEGMENTS = "segments "
"""Before a lane: whether segments are retransmitted, which a bad cable shows before rates fall."""


class Vote(str, Enum):
    """What an observation says: contended, invalid and unknown ones say nothing."""

    BAD = "bad"
    GOOD = "good"
    NONE = "does not vote"


class Measurable(NamedTuple):
    """A measurement that can be made, and what its bytes cross.

    ``name`` is its own among all of a site; ``component`` is what is measured (a target, a disk, a
    host), ``path`` the components crossed, each once, client end first.  ``lanes`` says for each
    of them in which lanes, and is empty where all are crossed in the lane ``operation``;
    ``flows`` how many flows of the same run share it evenly, and is empty where this is the only
    one.  ``expected_Bps`` is the rate in bytes per second while everything is healthy, ``node``
    the one that measures.
    """

    name: str
    layer: str
    component: str
    operation: str
    path: tuple[str, ...]
    expected_Bps: float
    lanes: tuple[tuple[str, ...], ...] = ()
    flows: tuple[int, ...] = ()
    node: str = ""

    @property
    def is_rate(self) -> bool:
        """Return whether a rate is measured, and not whether segments are retransmitted."""
        return not (self.lanes and self.lanes[0][0].startswith(SEGMENTS))

    def crossings(self) -> Iterator[tuple[str, tuple[str, ...], int]]:
        """Yield each component with the lanes crossed and the flows that share it."""
        same = (self.operation,)
        for index, name in enumerate(self.path):
            lanes = self.lanes[index] if self.lanes else same
            yield name, lanes, self.flows[index] if self.flows else 1


class _ObservationFields(NamedTuple):
    of: Measurable
    vote: Vote
    measured_Bps: float
    error: float
    at: float = 0.0
    since: float = 0.0
    reason: str = ""
    state: State = State.WARNING


class Observation(_ObservationFields):
    """One measurement with its verdict.

    ``error`` is the standard error of ``measured_Bps`` as a fraction of it; a rate of 0 stands
    for a measurement that hung.  ``at`` is when it was measured, ``since`` when a bad one was
    not yet known to be bad, in seconds since the epoch; ``reason`` is the sentence of the
    verdict, ``state`` that of the alarm of a bad one.  What votes has a finite rate that is not
    negative, an expectation and an error; anything else cannot be built.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Observation:
        """Build and validate; raise DocumentError naming the measurement and the value."""
        self = super().__new__(cls, *args, **kwargs)
        if self.vote is not Vote.NONE:
            measured, expected = self.measured_Bps, self.of.expected_Bps
            if not (isfinite(measured) and measured >= 0 and isfinite(expected) and expected > 0):
                raise DocumentError(
                    f"{self.of.name} cannot vote: {measured!r} of {expected!r} B/s are no rates; "
                    "judge it again"
                )
            if not (isfinite(self.error) and self.error > 0):
                raise DocumentError(
                    f"{self.of.name} cannot vote: its error {self.error!r} is no fraction above 0; "
                    "judge it again"
                )
        return self

    @property
    def ratio(self) -> float:
        """Return measured / expected, of what votes."""
        return self.measured_Bps / self.of.expected_Bps
