"""What a node remembers of one component: the latest records and a compact history.

This is the content of the snapshot; the store writes it, the judge reads it.
"""

from __future__ import annotations

from plumbline.errors import DocumentError
from plumbline.model.kinds import counts, rates_or_none, same_schema, texts, times, within
from plumbline.model.named_tuple import TYPE_CHECKING, NamedTuple
from plumbline.model.process import Process
from plumbline.model.record import Record
from plumbline.units import LARGEST

if TYPE_CHECKING:
    from typing import Any, Mapping, Optional, Protocol, Sequence

    class Memory(Protocol):
        """Where judging finds what was measured: a node's snapshot, or a history itself."""

        @property
        def running(self) -> tuple[Running, ...]:
            """Return what has begun and not ended."""
            ...

        def of(self, layer: str, component: str) -> tuple[Series, ...]:
            """Return every series of a component; raise DocumentError when one is damaged."""
            ...


SCHEMA = 1

SAMPLES = 30
"""Samples of each series that are remembered."""

_WIDEST = 100.0
"""Of a loss or a spread of logarithms; e to its power is a number."""


class Sample(NamedTuple):
    """One earlier run of one operation: start, rate, coverage, and its peers in the same run.

    ``rate_Bps`` is None where the run gave no rate.  ``peers_Bps`` is the median rate of the
    ``peers`` other members of the group in that run; ``partner`` is the other host of a pair.
    ``excluded`` is True where the component was degraded or failed over: the rate is not its own.
    """

    started_at: float
    rate_Bps: Optional[float]
    coverage: Optional[float]
    peers_Bps: Optional[float]
    peers: int
    partner: Optional[str]
    excluded: bool = False


class Day(NamedTuple):
    """What one day of runs says about a component beside its siblings.

    ``day`` counts from the epoch, in UTC.  ``loss`` is the natural logarithm of siblings' rate /
    own rate, the middle of the day's ``runs``: positive is slower.  ``noise`` is the standard error
    of that middle by the component's own runs, 0 of too few; ``spread`` the standard deviation of
    the siblings' losses on this day.  ``peers`` is the number of siblings.
    """

    day: int
    loss: float
    noise: float
    spread: float
    runs: int
    peers: int


class Running(NamedTuple):
    """A measurement that has begun and not ended.

    ``process`` carries it out, None where that is another node's; ``interrupted`` says that nothing
    of it is left: it was killed, or the node was.
    """

    layer: str
    component: str
    since: float
    process: Optional[Process] = None
    interrupted: bool = False


class Series(NamedTuple):
    """One operation of one component: the latest record and up to some samples, newest first.

    ``samples[0]`` belongs to ``latest``.  A network pair has one series per partner.  ``days`` are
    those on which siblings were measured in the same runs, newest first.  ``earlier`` are samples
    that are no part of what is asked about: a reference where nothing else is one.
    """

    latest: Record
    samples: tuple[Sample, ...]
    days: tuple[Day, ...] = ()
    earlier: tuple[Sample, ...] = ()


class Snapshot(NamedTuple):
    """All that the checks of one node read; ``series`` is in document form until asked for."""

    host: str
    written_at: float
    running: tuple[Running, ...]
    series: Mapping[str, list[Mapping[str, Any]]]
    """Keyed ``layer/component``."""

    def of(self, layer: str, component: str) -> tuple[Series, ...]:
        """Return every series of a component; raise DocumentError when one is damaged."""
        try:
            return tuple(
                Series(
                    latest=Record.from_json(entry["latest"]),
                    samples=tuple(_sample(sample) for sample in entry["samples"]),
                    days=tuple(_day(day) for day in entry["days"]),
                )
                for entry in self.series.get(f"{layer}/{component}", ())
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise DocumentError(
                f"snapshot of {self.host}: the series of {layer} {component} is damaged "
                f"({error!r}); run the probe again to rewrite it"
            ) from error

    def to_json(self) -> dict[str, Any]:
        """Return the document form, schema number first."""
        return {"schema": SCHEMA, **self._asdict()}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Snapshot:
        """Build from the document form; raise DocumentError when it is not one of this schema."""
        try:
            same_schema(raw, SCHEMA, "the snapshot", "update the checks on this host")
            texts("host", (raw["host"],))
            times(written_at=raw["written_at"])
            if not isinstance(raw["series"], dict):
                raise TypeError(f"series are {raw['series']!r:.60}, which are no mapping")
            return cls(
                host=raw["host"],
                written_at=raw["written_at"],
                running=tuple(_running(entry) for entry in raw["running"]),
                series=raw["series"],
            )
        except (KeyError, TypeError) as error:
            raise DocumentError(
                f"the snapshot is damaged ({error!r}); run the probe again to rewrite it"
            ) from error


def _sample(raw: Sequence[Any]) -> Sample:
    sample = Sample(*raw)
    times(started_at=sample.started_at)
    counts(peers=sample.peers)
    if sample.coverage is not None:
        within(0, LARGEST, coverage=sample.coverage)
    if not isinstance(sample.excluded, bool):
        raise TypeError(f"excluded is {sample.excluded!r}")
    rates_or_none(rate_Bps=sample.rate_Bps, peers_Bps=sample.peers_Bps)
    return sample


def _day(raw: Sequence[Any]) -> Day:
    day = Day(*raw)
    counts(day=day.day, runs=day.runs, peers=day.peers)
    within(-_WIDEST, _WIDEST, loss=day.loss)
    within(0, _WIDEST, noise=day.noise, spread=day.spread)
    return day


def _running(raw: Sequence[Any]) -> Running:
    running = Running(*raw)
    running = running._replace(process=Process.from_json(running.process))
    texts("running", (running.layer, running.component))
    times(since=running.since)
    if type(running.interrupted) is not bool:
        raise TypeError(f"interrupted is {running.interrupted!r:.60}, which is no yes or no")
    return running
