"""Judge the targets of a site by the rates of jobs, from Darshan logs.

A file on a single OST measures this OST.  Files of one job, direction, size and number of
streams are peers, so that a job which is slow everywhere accuses none; the jobs of a day make one
run of an OST, weighed as runs of probes are.  If others moved so much on an OST that the job's
coverage is too low, it is no evidence.  (pytokio's darshan_bad_ost correlates rates with OSTs.)
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from datetime import datetime, timezone
from math import frexp, log2
from statistics import median
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Sequence

from plumbline.judge.phrases import number, odds, over_runs
from plumbline.judge.replay import default_limits, replay
from plumbline.model.codec import write
from plumbline.model.evidence import Evidence
from plumbline.model.limits import Limits
from plumbline.model.series import Sampled
from plumbline.parts.facts.darshan import FileIo, Log, Naming
from plumbline.parts.facts.jobs import JobIo, shown

MIN_BYTES = 64 << 20
"""A smaller file shows caches and the moments at its ends."""

MIN_PEERS = 4
"""Peers of the same job that a target needs for a comparison."""

_BUDGET = 0.1
"""False hints a month: nobody has scheduled these measurements, and their disturbances are unknown.

With the default budget, one a month, the simulation had one false hint in ten months.
"""

_LOW = 1 - Limits().peer_loss

_APART_S = 1e-5
"""Distance between groups of files, so that each has only its own peers: jobs begin together."""


class JobEvidence(NamedTuple):
    """Evidence of jobs that a target is slow in one direction.

    ``ratio`` is the rate of jobs there / their rate on its peers.
    """

    target: str
    operation: str
    ratio: float
    evidence: Evidence

    @property
    def slow(self) -> bool:
        """Return whether the evidence is enough for a hint."""
        return self.evidence.alarm

    @property
    def remedy(self) -> str:
        """Return how to measure it; a target outside the plan has the name of mount and index."""
        if " " in self.target:
            return "add it to the topology to measure it"
        return f"measure it: plumbline probe ost --component {self.target}"

    def __str__(self) -> str:
        """Return the evidence in words; all jobs of a day are one run."""
        return f"{shown(self.target)}: jobs {self.operation} at {over_runs(self.evidence)}"

    def to_json(self) -> dict[str, Any]:
        """Return the document form; ``odds`` are natural logarithms."""
        measurement = {"target": self.target, "operation": self.operation, "slow": self.slow}
        return {
            **measurement,
            "ratio": self.ratio,
            "odds": self.evidence.odds,
            "needed": self.evidence.needed,
        }


class JobFindings(NamedTuple):
    """Evidence of jobs on targets, slowest first; ``jobs`` and ``targets`` count its sources."""

    judgements: Sequence[JobEvidence]
    jobs: int
    targets: int

    @property
    def slow(self) -> Sequence[str]:
        """Return the targets that are slow."""
        return list(
            dict.fromkeys(judgement.target for judgement in self.judgements if judgement.slow)
        )

    def sentences(self) -> Iterator[str]:
        """Yield slow targets, then watched ones, and last the numbers of jobs and targets."""
        for judgement in self.judgements:
            if judgement.slow:
                yield f"{judgement}; a hint, no alarm, {judgement.remedy}"
        for judgement in self.judgements:
            if not judgement.slow:
                yield f"watching: {judgement}, {odds(judgement.evidence.needed)} for a hint"
        slow = f"{len(self.slow)} of them slow" if self.slow else "none of them slow"
        jobs, targets = number(self.jobs, "job"), number(self.targets, "target")
        yield f"{jobs} measured {targets}, {slow}"

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {"jobs": self.jobs, "targets": self.targets, "said": write(self.judgements)}


def judge_jobs(logs: Sequence[Log], naming: Naming, traffic: Iterable[JobIo]) -> JobFindings:
    """Return the evidence of logs on targets; ``traffic`` is all known use of them."""
    load = _Load(traffic)
    by_log = [log_samples for log in logs if (log_samples := list(_samples(log, naming, load)))]
    all_groups = [group for groups in by_log for group in groups]
    samples = [
        sample._replace(at=sample.at + place * _APART_S)
        for place, group in enumerate(all_groups)
        for sample in group
    ]
    samples.sort(key=lambda sample: (sample.at, sample.host))
    limits = default_limits(samples, _BUDGET)
    last = {(judged.host, judged.component): judged.evidence for judged in replay(samples, limits)}
    # an alarm stands until the odds for health end it; a hint, while the loss is there
    low = sorted(
        (
            JobEvidence(target, host.rpartition(" ")[2], evidence.ratio, evidence)
            for (host, target), evidence in last.items()
            if evidence and evidence.reportable
            if evidence.ratio is not None and evidence.ratio < _LOW
        ),
        key=lambda judgement: judgement.ratio,
    )
    return JobFindings(low, len(by_log), len({target for _, target in last}))


class _Load:
    """All known traffic of each target.

    It is indexed by duration, in powers of two, so that few entries outside of a time span are
    read.
    """

    def __init__(self, traffic: Iterable[JobIo]) -> None:
        self._traffic: dict[str, dict[int, list[JobIo]]] = {}
        for job_io in sorted(traffic, key=lambda io: io.begin):
            duration = frexp(job_io.end - job_io.begin)[1]
            self._traffic.setdefault(job_io.target, {}).setdefault(duration, []).append(job_io)
        self._begins = {
            (target, duration): [io.begin for io in ios]
            for target, by_duration in self._traffic.items()
            for duration, ios in by_duration.items()
        }

    def coverage(self, target: str, files: Sequence[FileIo], job: str) -> float:
        """Return a job's share of a target's traffic while it used these files."""
        begin, end = min(file.begin for file in files), max(file.end for file in files)
        own = float(sum(file.bytes for file in files))
        traffic = (io for io in self._around(target, begin, end) if io.job != job)
        others = sum(part.bytes for io in traffic if (part := io.within(begin, end)))
        return own / (own + others)

    def _around(self, target: str, begin: float, end: float) -> Iterator[JobIo]:
        """Yield the traffic that a target may have had between two moments."""
        for duration, ios in self._traffic.get(target, {}).items():
            begins = self._begins[target, duration]
            first = bisect_left(begins, begin - 2.0**duration)
            yield from ios[first : bisect_right(begins, end)]


def _samples(log: Log, naming: Naming, load: _Load) -> Iterator[list[Sampled]]:
    """Yield the samples of each group of similar files of a job."""
    begin = log.job.begin
    day = datetime.fromtimestamp(begin, timezone.utc).date().isoformat()
    for mount, operation, files in _groups(log):
        samples = []
        for index, own in files.items():
            target = naming(mount, index)
            rate = median([file.rate_Bps for file in own if file.rate_Bps])
            covered = load.coverage(target, own, log.job.id)
            samples.append(Sampled(f"{mount} {operation}", day, begin, target, rate, covered))
        yield samples


_Files = Mapping[int, Sequence[FileIo]]


def _groups(log: Log) -> Iterator[tuple[str, str, _Files]]:
    """Yield similar files of one job by OST: mount, direction, files."""
    kinds: dict[tuple[str, str, int], dict[int, list[FileIo]]] = {}
    for file in log.files:
        if len(file.shares) == 1 and file.bytes >= MIN_BYTES and file.rate_Bps:
            kind = file.mount, file.operation.value, round(log2(file.bytes))
            kinds.setdefault(kind, {}).setdefault(file.shares[0][0], []).append(file)
    for (mount, operation, _), by_ost in kinds.items():
        # an OST with more streams of the job than others gives less to each
        for streams, count in Counter(map(len, by_ost.values())).items():
            if count > MIN_PEERS:
                same = {ost: own for ost, own in by_ost.items() if len(own) == streams}
                yield mount, operation, same
