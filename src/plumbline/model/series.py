"""Series and snapshot: latest records and compact history of the components of a node.

The store writes snapshots, the judge reads them.
"""

from __future__ import annotations

from array import array
from math import isnan, nan
from typing import (
    Annotated,
    Any,
    Iterable,
    Iterator,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Union,
    overload,
)

from plumbline.model.codec import form, lenient, positional, read, read_all
from plumbline.model.errors import DocumentError
from plumbline.model.evidence import Evidence, Subject
from plumbline.model.record import Record
from plumbline.model.validation import amounts, counts, rates, times


@positional
class Process(NamedTuple):
    """Process of a node.

    ``started`` is field 22 of proc_pid_stat(5), clock ticks since boot, which reveals a reused
    process number; ``boot`` is the boot id of random(4); ``lock`` is the file that the process and
    its tools keep locked, as ``MAJOR:MINOR:INODE`` of proc_locks(5).
    """

    pid: Annotated[int, counts]
    started: Annotated[int, counts]
    boot: str
    lock: str


SCHEMA = 3

SAMPLES = 30
"""Number of samples kept for each series."""

_REWRITE = "run the probe again to rewrite it"
_PROBE = "run a probe to write it, for example: systemctl start plumbline-ost.service"

_NOTHING: Mapping[str, Any] = {"evidence": None, "operations": ()}


@positional
class Sample(NamedTuple):
    """One run of one operation: start, rate, coverage, and its peers in the same run.

    ``rate`` is None if the run gave none.  ``peers_rate`` is the median rate of the ``peers`` other
    members of the group in that run; ``partner`` is the other host of a pair.  ``excluded`` is True
    if the component was degraded or failed over, so its rate is not representative.
    ``retransmitted`` is the fraction of retransmitted segments, ``apart`` the distance of its
    profile from the baseline's, beyond its own scatter; both are None if unknown.
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


_PARTNER = Sample._fields.index("partner")
_NUMBERS = (*Sample._fields[:_PARTNER], *Sample._fields[_PARTNER + 1 :])
_WIDTH = len(_NUMBERS)


class Samples(Sequence[Sample]):
    """Samples of a series, newest first, as one array of numbers.

    A site has half a million of them, and most readers need few of their fields (:meth:`column`);
    a :class:`Sample` is built when it is asked for.
    """

    __slots__ = ("numbers", "partner")
    __hash__ = None  # type: ignore[assignment]
    NUMBERS = _NUMBERS
    """Fields of a sample in ``numbers``."""

    def __init__(self, numbers: array[float], partner: Optional[str] = None) -> None:
        """Take the fields of all samples but ``partner``, one after the other, NaN for None."""
        self.numbers = numbers
        self.partner = partner

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> Samples:
        """Return samples of one partner in this form."""
        if isinstance(samples, cls):
            return samples
        numbers, partner = array("d"), None
        for sample in samples:
            *values, partner, excluded, retransmitted, apart = sample
            values += [excluded, retransmitted, apart]
            numbers.extend([nan if value is None else value for value in values])
        return cls(numbers, partner)

    def then(self, sample: Sample) -> Samples:
        """Return these and a further run, at most ``SAMPLES``."""
        newest = Samples.of([sample])
        return Samples(newest.numbers + self.numbers[: (SAMPLES - 1) * _WIDTH], newest.partner)

    def having(self, field: str, values: Iterable[Optional[float]]) -> Samples:
        """Return the same with other values of a field, of the newest if they are fewer."""
        numbers = self.numbers[:]
        own = [nan if value is None else value for _, value in zip(range(len(self)), values)]
        numbers[_NUMBERS.index(field) : len(own) * _WIDTH : _WIDTH] = array("d", own)
        return Samples(numbers, self.partner)

    def column(self, field: str) -> array[float]:
        """Return a field of all samples, NaN for None; ``partner`` is none."""
        return self.numbers[_NUMBERS.index(field) :: _WIDTH]

    def __len__(self) -> int:
        return len(self.numbers) // _WIDTH

    def __iter__(self) -> Iterator[Sample]:
        return map(self._sample, range(len(self)))

    @overload
    def __getitem__(self, place: int) -> Sample: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Sample, ...]: ...

    def __getitem__(self, place: Union[int, slice]) -> Union[Sample, tuple[Sample, ...]]:
        if isinstance(place, slice):
            return tuple(map(self._sample, range(len(self))[place]))
        return self._sample(range(len(self))[place])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def _sample(self, place: int) -> Sample:
        at, rate, coverage, peers_rate, peers, excluded, retransmitted, apart = [
            None if isnan(value) else value
            for value in self.numbers[place * _WIDTH : (place + 1) * _WIDTH]
        ]
        own = at or 0.0, rate, coverage, peers_rate, int(peers or 0)
        return Sample(*own, self.partner, bool(excluded), retransmitted, apart)


@positional
class Running(NamedTuple):
    """Measurement in progress.

    ``process`` is the measuring process, None if it is on another node; ``interrupted`` is True if
    the process was killed, or its node went down.
    """

    layer: str
    component: str
    since: Annotated[float, times]
    process: Optional[Process] = None
    interrupted: bool = False


def column(samples: Iterable[Sample], field: str) -> array[float]:
    """Return a field of samples of one series, NaN for None; ``partner`` is none."""
    return Samples.of(samples).column(field)


class Series(NamedTuple):
    """Series of one operation of one component: the latest record, and samples, newest first.

    ``samples[0]`` belongs to ``latest``.  A network pair has one series per partner.  ``earlier``
    are samples before the period in question, used as a reference if there is no other.
    """

    latest: Record
    samples: Sequence[Sample]
    earlier: Sequence[Sample] = ()


@lenient
@form(SCHEMA, "snapshot", _PROBE)
class Snapshot(NamedTuple):
    """Data for the checks of one node; ``series`` stays in document form until needed."""

    host: str
    written_at: Annotated[float, times]
    running: tuple[Running, ...]
    groups: Mapping[str, Mapping[str, Any]]
    """Evidence from the last runs of each group, keyed ``layer/group``."""
    series: Mapping[str, Mapping[str, Any]]
    """``operations`` and ``evidence`` of each component, keyed ``layer/component``."""
    locks: str = ""
    """Folder of the locks of the runs, which also keep notes there; empty for the usual one."""

    def of(self, layer: str, component: str) -> tuple[Series, ...]:
        """Return all series of a component; raise DocumentError if one is damaged."""
        try:
            return tuple(
                Series(
                    latest=Record.from_json(entry["latest"]),
                    samples=Samples.of(read_all(Sample, entry["samples"])),
                )
                for entry in self.series.get(f"{layer}/{component}", _NOTHING)["operations"]
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise DocumentError(
                f"snapshot of {self.host}: the series of {layer} {component} is damaged "
                f"({error!r}); {_REWRITE}"
            ) from error

    def evidence(self, subject: Subject) -> Optional[Evidence]:
        """Return the evidence from the last runs of a component or group, None if there is none.

        Raises:
            DocumentError: the evidence is damaged.
        """
        layer, name, is_group = subject
        key = f"{layer}/{name}"
        try:
            document = (
                self.groups.get(key) if is_group else self.series.get(key, _NOTHING)["evidence"]
            )
            return None if document is None else read(Evidence, document)
        except (KeyError, TypeError, AttributeError) as error:
            raise DocumentError(
                f"snapshot of {self.host}: what is known of {layer} {name} is damaged "
                f"({error!r}); {_REWRITE}"
            ) from error

    def to_json(self) -> dict[str, Any]:
        """Return the document form, schema number first."""
        return {"schema": SCHEMA, **self._asdict()}


class Sampled(NamedTuple):
    """Sample of a component in a file of measurements; ``at`` is seconds since the epoch.

    ``day`` is an ISO date.  ``rate`` is a positive figure of which more is better, in the same unit
    throughout the file; ``baseline`` is in that unit, ``coverage`` is a fraction.  Components with
    the same ``host`` and time are peers.
    """

    host: str
    day: str
    at: float
    component: str
    rate: float
    coverage: Optional[float] = None
    baseline: Optional[float] = None
