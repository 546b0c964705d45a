"""Which targets slow the jobs that use them: rates of files by the OST that they lie on.

A file on one OST alone is a measurement of it.  Files of one job, direction, size and number of
streams are peers, so that a job which is slow everywhere accuses none; what all jobs of a day say
of an OST is one run, weighed as runs of probes are.  Where others moved as much on an OST that the
job's coverage is too low, it says nothing.  (pytokio's darshan_bad_ost correlates rates with OSTs.)
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from datetime import datetime, timezone
from math import frexp, log2
from statistics import median
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Sequence

from plumbline.jobs.darshan import FileIo, Log, Naming
from plumbline.jobs.job import JobIo, shown
from plumbline.judge.phrases import number, odds, over_runs
from plumbline.judge.replay import default_limits, replay
from plumbline.model.evidence import Evidence
from plumbline.model.limits import Limits
from plumbline.model.sampled import Sampled

LEAST_BYTES = 64 << 20
"""A smaller file tells of caches and of the moments at its ends."""

FEWEST_PEERS = 4
"""Targets beside which another one of the same job says something."""

_BUDGET = 0.1
"""False hints a month: nobody has scheduled these measurements, and what disturbs them is unknown.

Of the default budget, one a month, the simulation had one false hint in ten months.
"""

_LOW = 1 - Limits().peer_loss

_APART_S = 1e-5
"""Between two groups of files, so that each is beside its own peers alone: jobs begin together."""


class Said(NamedTuple):
    """What jobs say of a target in one direction."""

    target: str
    operation: str
    known: Evidence

    @property
    def ratio(self) -> float:
        """Return what jobs got there / what they got on its peers, 1 where that is not known."""
        return 1.0 if self.known.ratio is None else self.known.ratio

    @property
    def slow(self) -> bool:
        """Return whether it is slow by the odds that a hint takes.

        An alarm stands until the odds for health are as high; a hint, while the loss is there.
        """
        return self.known.alarm and self.ratio < _LOW

    @property
    def remedy(self) -> str:
        """Return how to measure it; what is not in the plan is named by mount and index."""
        if " " in self.target:
            return "add it to the topology to measure it"
        return f"measure it: plumbline probe ost --component {self.target}"

    def __str__(self) -> str:
        """Return the evidence in words; a run is what all jobs of a day say."""
        return f"{shown(self.target)}: jobs {self.operation} at {over_runs(self.known)}"

    def to_json(self) -> dict[str, Any]:
        """Return the document form; ``odds`` are natural logarithms."""
        about = {"target": self.target, "operation": self.operation, "slow": self.slow}
        return {**about, "ratio": self.ratio, "odds": self.known.odds, "needed": self.known.needed}


class JobsSay(NamedTuple):
    """What jobs say of targets: what is worth a word, the slowest first, and who spoke."""

    said: Sequence[Said]
    jobs: int
    targets: int

    @property
    def slow(self) -> Sequence[str]:
        """Return the targets that are slow."""
        return list(dict.fromkeys(one.target for one in self.said if one.slow))

    def sentences(self) -> Iterator[str]:
        """Yield slow targets, then those that are watched, and last how much this rests on."""
        for one in self.said:
            if one.slow:
                yield f"{one}; a hint, no alarm, {one.remedy}"
        for one in self.said:
            if not one.slow:
                yield f"watching: {one}, {odds(one.known.needed)} for a hint"
        slow = f"{len(self.slow)} of them slow" if self.slow else "none of them slow"
        jobs, targets = number(self.jobs, "job"), number(self.targets, "target")
        yield f"{jobs} measured {targets}, {slow}"

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        said = [one.to_json() for one in self.said]
        return {"jobs": self.jobs, "targets": self.targets, "said": said}


def jobs_say(logs: Sequence[Log], naming: Naming, traffic: Iterable[JobIo]) -> JobsSay:
    """Return what logs say of targets; ``traffic`` is all that is known to have used them."""
    load = _Load(traffic)
    found = [one for log in logs if (one := list(_samples(log, naming, load)))]
    every = [group for groups in found for group in groups]
    samples = [
        one._replace(at=one.at + place * _APART_S)
        for place, group in enumerate(every)
        for one in group
    ]
    samples.sort(key=lambda sample: (sample.at, sample.host))
    limits = default_limits(samples, _BUDGET)
    last = {(one.host, one.component): one for one in replay(samples, limits)}
    said = [
        Said(target, host.rpartition(" ")[2], one.known)
        for (host, target), one in last.items()
        if one.known and one.known.worth_a_word
    ]
    low = sorted((one for one in said if one.ratio < _LOW), key=lambda found: found.ratio)
    return JobsSay(low, len(found), len({target for _, target in last}))


class _Load:
    """All that is known to have been moved on each target.

    Traffic is kept by its duration, in powers of two: so little of it is looked at that cannot fall
    into a time.
    """

    def __init__(self, traffic: Iterable[JobIo]) -> None:
        self._kept: dict[str, dict[int, list[JobIo]]] = {}
        for one in sorted(traffic, key=lambda io: io.begin):
            lasts = frexp(one.end - one.begin)[1]
            self._kept.setdefault(one.target, {}).setdefault(lasts, []).append(one)
        self._begins = {
            (target, lasts): [one.begin for one in found]
            for target, kept in self._kept.items()
            for lasts, found in kept.items()
        }

    def coverage(self, target: str, files: Sequence[FileIo], job: str) -> float:
        """Return a job's share of what was moved on a target while it used these files."""
        begin, end = min(one.begin for one in files), max(one.end for one in files)
        own = float(sum(one.bytes for one in files))
        others = sum(
            one.within(begin, end) for one in self._around(target, begin, end) if one.job != job
        )
        return own / (own + others)

    def _around(self, target: str, begin: float, end: float) -> Iterator[JobIo]:
        """Yield what may have been moved on a target between two moments."""
        for lasts, found in self._kept.get(target, {}).items():
            begins = self._begins[target, lasts]
            first = bisect_left(begins, begin - 2.0**lasts)
            yield from found[first : bisect_right(begins, end)]


def _samples(log: Log, naming: Naming, load: _Load) -> Iterator[list[Sampled]]:
    """Yield the samples of each group of files of a job that are alike."""
    begin = log.job.begin
    day = datetime.fromtimestamp(begin, timezone.utc).date().isoformat()
    for mount, operation, files in _groups(log):
        found = []
        for index, own in files.items():
            target = naming(mount, index)
            rate = median([one.rate_Bps or 0.0 for one in own])
            covered = load.coverage(target, own, log.job.id)
            found.append(Sampled(f"{mount} {operation}", day, begin, target, rate, covered))
        yield found


_Files = Mapping[int, Sequence[FileIo]]


def _groups(log: Log) -> Iterator[tuple[str, str, _Files]]:
    """Yield files of one job that are alike, by OST: mount, direction, files."""
    kinds: dict[tuple[str, str, int], dict[int, list[FileIo]]] = {}
    for file in log.files:
        if len(file.shares) == 1 and file.bytes >= LEAST_BYTES and file.rate_Bps:
            kind = file.mount, file.operation.value, round(log2(file.bytes))
            kinds.setdefault(kind, {}).setdefault(file.shares[0][0], []).append(file)
    for (mount, operation, _), by_ost in kinds.items():
        # an OST with more streams of the job than others gives less to each
        for streams, count in Counter(map(len, by_ost.values())).items():
            if count > FEWEST_PEERS:
                same = {ost: own for ost, own in by_ost.items() if len(own) == streams}
                yield mount, operation, same
