"""Series: the latest records and the compact history of one component.

This is the content of the snapshot; the store writes it, the judge reads it.
"""

from __future__ import annotations

from plumbline.model.codec import lenient, positional, read_all, read_document
from plumbline.model.errors import DocumentError
from plumbline.model.evidence import Evidence
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.record import Record
from plumbline.model.validation import amounts, counts, rates, times

if TYPE_CHECKING:
    from typing import Annotated, Any, Mapping, Optional

    from plumbline.model.evidence import Subject


@positional
class Process(NamedTuple):
    """A process of one node.

    ``started`` is field 22 of proc_pid_stat(5), clock ticks since the boot: with it a number that
    was given to another process is not mistaken; ``boot`` is the boot's id of random(4); ``lock``
    the file whose lock the process and its tools hold, as ``MAJOR:MINOR:INODE`` of proc_locks(5).
    """

    pid: Annotated[int, counts]
    started: Annotated[int, counts]
    boot: str
    lock: str


SCHEMA = 1

SAMPLES = 30
"""Samples of each series that are remembered."""

_REWRITE = "run the probe again to rewrite it"

_NOTHING: Mapping[str, Any] = {"evidence": None, "operations": ()}


@positional
class Sample(NamedTuple):
    """One earlier run of one operation: start, rate, coverage, and its peers in the same run.

    ``rate`` is None where the run gave no rate.  ``peers_rate`` is the median rate of the
    ``peers`` other members of the group in that run; ``partner`` is the other host of a pair.
    ``excluded`` is True where the component was degraded or failed over: the rate is not its own.
    ``retransmitted`` is the share of retransmitted segments, ``apart`` how far its profile
    is from the baseline's beyond its own scatter; both None where that is not known.
    """

    started_at: Annotated[float, times]
    rate: Optional[Annotated[float, rates]]
    coverage: Optional[Annotated[float, amounts]]
    peers_rate: Optional[Annotated[float, rates]]
    peers: Annotated[int, counts]
    partner: Optional[str]
    excluded: bool = False
    retransmitted: Optional[Annotated[float, amounts]] = None
    apart: Optional[Annotated[float, amounts]] = None


@positional
class Running(NamedTuple):
    """A measurement that has begun and not ended.

    ``process`` carries it out, None where that is another node's; ``interrupted`` says that nothing
    of it is left: it was killed, or the node was.
    """

    layer: str
    component: str
    since: Annotated[float, times]
    process: Optional[Process] = None
    interrupted: bool = False


class Series(NamedTuple):
    """One operation of one component: the latest record and up to some samples, newest first.

    ``samples[0]`` belongs to ``latest``.  A network pair has one series per partner.  ``earlier``
    are samples that are no part of what is asked about: a reference where nothing else is one.
    """

    latest: Record
    samples: tuple[Sample, ...]
    earlier: tuple[Sample, ...] = ()


@lenient
class Snapshot(NamedTuple):
    """All that the checks of one node read; ``series`` is in document form until asked for."""

    host: str
    written_at: Annotated[float, times]
    running: tuple[Running, ...]
    groups: Mapping[str, Mapping[str, Any]]
    """Evidence of the last runs of each group as one, keyed ``layer/group``."""
    series: Mapping[str, Mapping[str, Any]]
    """The ``operations`` of each component, and what they say together, ``layer/component``."""

    def of(self, layer: str, component: str) -> tuple[Series, ...]:
        """Return every series of a component; raise DocumentError when one is damaged."""
        try:
            return tuple(
                Series(
                    latest=Record.from_json(entry["latest"]),
                    samples=read_all(Sample, entry["samples"]),
                )
                for entry in self.series.get(f"{layer}/{component}", _NOTHING)["operations"]
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise DocumentError(
                f"snapshot of {self.host}: the series of {layer} {component} is damaged "
                f"({error!r}); {_REWRITE}"
            ) from error

    def evidence(self, subject: Subject) -> Optional[Evidence]:
        """Return what the last runs say of a component or group together, None if nothing.

        Raises:
            DocumentError: it is damaged.
        """
        layer, name, is_group = subject
        key = f"{layer}/{name}"
        try:
            document = (
                self.groups.get(key) if is_group else self.series.get(key, _NOTHING)["evidence"]
            )
            return None if document is None else Evidence.from_json(document)
        except (KeyError, TypeError, AttributeError) as error:
            raise DocumentError(
                f"snapshot of {self.host}: what is known of {layer} {name} is damaged "
                f"({error!r}); {_REWRITE}"
            ) from error

    def to_json(self) -> dict[str, Any]:
        """Return the document form, schema number first."""
        return {"schema": SCHEMA, **self._asdict()}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Snapshot:
        """Build from the document form; raise DocumentError when it is not one of this schema."""
        return read_document(cls, raw, SCHEMA, "the snapshot", _REWRITE)


class Sampled(NamedTuple):
    """One sample of one component at ``at``, seconds since the epoch; ``day`` is an ISO date.

    ``rate`` is any figure of which more is better, positive, in one unit throughout the file.
    ``coverage`` is a fraction; ``baseline`` is in the unit of ``rate``.  Components of one ``host``
    and moment are peers.
    """

    host: str
    day: str
    at: float
    component: str
    rate: float
    coverage: Optional[float] = None
    baseline: Optional[float] = None
