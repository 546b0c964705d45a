"""Reads of shared parts: the flows of each part, their terms, and their moment."""

from __future__ import annotations

from typing import Annotated, Collection, NamedTuple, Optional

from plumbline.model.codec import lenient, read
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.record import Record
from plumbline.model.validation import Within, amounts, counts, rates, times

FLOWS = "flows"
"""Layer of the record of one node's flows, which is not judged: the sum of all nodes is."""

KIND = "shared"
"""Kind of target of a shared part."""

MIN_OVERLAP_SHARE = 0.6
"""Least share of the longest flow's time in which all flows of a sum run."""


def overlap_s(spans: Collection[tuple[float, float]]) -> float:
    """Return the seconds in which all flows run, by their starts and ends; negative if never."""
    return min(end for _, end in spans) - max(start for start, _ in spans)


@lenient
class Flow(NamedTuple):
    """Read of one device or target by the node that measures it in ``layer``.

    ``free_Bps`` is its rate beside the other flows if the part did not limit them.
    """

    node: str
    layer: str
    component: str
    free_Bps: Annotated[float, rates]


@lenient
class SharedReads(NamedTuple):
    """Flows of all nodes through one part, and their terms.

    Each flow reads at most ``bytes`` (a target the bytes of its file), for ``seconds``.  A node
    does not start if others move more than ``max_load`` of what a flow may take, a fraction, and
    ends its flows if others write so much meanwhile.
    """

    component: str
    flows: tuple[Flow, ...]
    bytes: Annotated[int, counts]
    seconds: Annotated[float, amounts]
    max_load: Annotated[float, amounts]
    turn: Annotated[int, counts] = 0
    """Number of its turn in a round of all parts of the site."""
    turns: Annotated[int, counts] = 1
    """Number of turns in a round."""
    slot_s: Annotated[int, Within(1, 86400)] = 60
    """Time of a turn, the same for all parts."""

    def flows_of(self, node: str) -> tuple[Flow, ...]:
        """Return the flows of a node."""
        return tuple(flow for flow in self.flows if flow.node == node)

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return the nodes of the flows, each once; the first one records the sum."""
        return tuple(dict.fromkeys(flow.node for flow in self.flows))


@lenient
class FlowResult(NamedTuple):
    """Result of one flow; without a rate it has the ``reason``, and no bytes.

    Start and end are in seconds since the epoch, by the clock of its node; both are 0 if it did
    not start.
    """

    layer: str
    component: str
    rate_Bps: Optional[Annotated[float, rates]] = None
    bytes: Annotated[int, counts] = 0
    started_at: Annotated[float, times] = 0.0
    finished_at: Annotated[float, times] = 0.0
    coverage: Optional[Annotated[float, amounts]] = None
    reason: str = ""

    @property
    def seconds(self) -> float:
        """Return its duration."""
        return self.finished_at - self.started_at


def results_in(record: Record) -> tuple[FlowResult, ...]:
    """Return the results of the flows in a node's record; raise DocumentError if it is damaged."""
    try:
        rows = (record.details or {})["flows"]
        return tuple(read(FlowResult, row) for row in rows)
    except (KeyError, TypeError) as error:
        raise DocumentError(f"record {record.id} of {record.host} is damaged: {error!r}") from error


def next_moment(reads: SharedReads, now: float) -> int:
    """Return the next moment of a part after ``now``, in seconds since the epoch.

    Slots are counted from the epoch and the parts take turns in them, so nodes whose clocks agree
    need nobody to tell them.
    """
    slot = int(now // reads.slot_s) + 1
    return (slot + (reads.turn - slot) % reads.turns) * reads.slot_s


class Turn(NamedTuple):
    """A part and the moment at which its flows start, in seconds since the epoch."""

    part: str
    at: Optional[int]

    @classmethod
    def parse(cls, text: str, parts: Collection[str]) -> Turn:
        """Return the turn written ``PART`` or ``PART@SECONDS``, for one of ``parts``.

        Raises:
            UsageError: it names none of them.
        """
        if text in parts:
            return cls(text, None)
        part, _, moment = text.rpartition("@")
        if part in parts and moment.isascii() and moment.isdigit() and len(moment) < _DIGITS:
            return cls(part, int(moment))
        known = ", ".join(sorted(parts)) or "none"
        raise UsageError(f"{text!r:.60} is no shared part that this node reads; it has {known}")

    @property
    def run_id(self) -> str:
        """Name of the run, the same on all nodes."""
        return f"{self.part}@{self.at}"


_DIGITS = 12
"""Digits of a moment, fewer than in a number that no clock shows."""


def reads_of(found: tuple[SharedReads, ...], part: str) -> SharedReads:
    """Return the reads of a part; raise DocumentError if there are none."""
    for reads in found:
        if reads.component == part:
            return reads
    raise DocumentError(
        f"expectations have no flows through {part}; name the layer shared in plumbline_policy and "
        "deploy the role agent again"
    )
