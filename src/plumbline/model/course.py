"""The course of measurements over months, as compact as pictures of a whole site need it."""

from __future__ import annotations

from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from array import array
    from typing import Optional

    from plumbline.model.record import Record


class Course(NamedTuple):
    """One series in the order of arrival; ``partner`` is empty where there is none.

    ``times`` are seconds since the epoch; ``rates`` are bytes per second, NaN where a measurement
    gave none; both are as long.
    """

    layer: str
    component: str
    operation: str
    scenario: str
    partner: str
    times: array[float]
    rates: array[float]


class PairTest(NamedTuple):
    """The latest test of a pair of hosts in one direction.

    ``rate_Bps`` and ``retransmits`` are None where they are not known.
    """

    component: str
    partner: str
    operation: str
    started_at: float
    rate_Bps: Optional[float]
    retransmits: Optional[int]
    bytes: int


class Run(NamedTuple):
    """All records of one run of one layer, in the order of arrival."""

    layer: str
    run_id: str
    records: tuple[Record, ...]


class Note(NamedTuple):
    """What happened at a site, in the words of a person; ``at`` is seconds since the epoch."""

    at: float
    text: str
