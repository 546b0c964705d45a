"""Bring samples of others into runs: what one host measured within a window is one run.

Peers are compared within a run.  Recorders that poll their disks one after another give each its
own time stamp, and without a window none of them would have peers.
"""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from statistics import median
from typing import Iterable, Iterator, NamedTuple, Optional, Sequence

from plumbline.model.sampled import Sampled

Run = Sequence[Sampled]


class Apart(NamedTuple):
    """A host whose components were never measured at the same moment.

    ``round_s`` is the time that one sample of each takes, the median over all rounds; ``hosts``
    counts the hosts of which this is so, this one being the first.
    """

    host: str
    components: int
    round_s: float
    hosts: int


def bring_together(rows: Iterable[Sampled], window_s: float) -> list[Sampled]:
    """Return samples with the moment and day at which their run began.

    A run of a host ends ``window_s`` seconds after its first sample, or before a second sample of
    the same component.
    """
    return [
        row._replace(at=run[0].at, day=run[0].day)
        for of_host in _hosts(rows)
        for run in _runs(of_host, window_s)
        for row in run
    ]


def never_together(rows: Iterable[Sampled]) -> Optional[Apart]:
    """Return the first host with several components of which no two share a moment, if any."""
    apart = [of_host for of_host in _hosts(rows) if _is_apart(of_host)]
    if not apart:
        return None
    first = apart[0]
    rounds = [run for run in _runs(first, float("inf")) if len(run) > 1]
    round_s = median(run[-1].at - run[0].at for run in rounds)
    return Apart(first[0].host, len(_components(first)), round_s, len(apart))


def _hosts(rows: Iterable[Sampled]) -> Iterator[list[Sampled]]:
    """Yield the samples of each host in the order of time."""
    ordered = sorted(rows, key=attrgetter("host", "at"))
    for _, of_host in groupby(ordered, key=attrgetter("host")):
        yield list(of_host)


def _runs(of_host: Iterable[Sampled], window_s: float) -> Iterator[Run]:
    """Yield the runs of a host; samples of one moment are never parted."""
    run: list[Sampled] = []
    for at, same in groupby(of_host, key=attrgetter("at")):
        found = list(same)
        if run and (at - run[0].at > window_s or _components(run) & _components(found)):
            yield run
            run = []
        run += found
    if run:
        yield run


def _components(rows: Iterable[Sampled]) -> set[str]:
    return {row.component for row in rows}


def _is_apart(of_host: Sequence[Sampled]) -> bool:
    runs = _runs(of_host, 0.0)
    return len(_components(of_host)) > 1 and all(len(_components(run)) == 1 for run in runs)
