"""First lines of the page: the machine is slow, or its users are many.

They count the last run of each target and device within a day: where others moved so much meanwhile
that its rate says nothing about the machine, and which jobs these were.
"""

from __future__ import annotations

from typing import Iterable, Iterator, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import several
from plumbline.model.expectation import Expectation
from plumbline.model.units import format_bytes
from plumbline.observe.coverage import Job, LastRun

_MAX_JOBS = 3


class _JobTotal(NamedTuple):
    """What a job moved during the runs that others disturbed, and the number of components."""

    job: str
    bytes: int
    requests: int
    components: int

    def __str__(self) -> str:
        amounts = (
            format_bytes(self.bytes) if self.bytes else "",
            f"{self.requests} requests" if self.requests else "",
        )
        did = " and ".join(filter(None, amounts))
        return f"job {self.job} ({did} during the runs of {self.components})"


def users_lines(runs: Sequence[LastRun], expectations: Iterable[Expectation]) -> Iterator[str]:
    """Yield the sentences, none if nothing was measured within a day."""
    limits = {(entry.layer, entry.component): entry.limits for entry in expectations}
    planned = [run for run in runs if run.place in limits]
    counted = [run for run in planned if run.coverage is not None]
    disturbed = [run for run in counted if limits[run.place].contended(run.coverage)]
    if disturbed:
        yield (
            f"Users: others moved too much during the last runs of {len(disturbed)} of "
            f"{len(counted)} components; their rates say nothing about the machine: "
            f"{_names(disturbed)}."
        )
        if jobs := several([str(total) for total in _totals(disturbed)], _MAX_JOBS):
            yield f"Most came from {jobs}."
    elif counted:
        yield (
            f"Nobody else moved much during the last runs of {len(counted)} components: what is "
            "slow below is slow by itself."
        )
    if unknown := len(planned) - len(counted):
        yield (
            f"What others moved during the last runs of {unknown} of {len(planned)} components is "
            "not known; on Lustre, plumbline sample on the servers counts it."
        )


def _names(disturbed: Sequence[LastRun]) -> str:
    worst = sorted(disturbed, key=lambda run: run.coverage or 0.0)
    return several([f"{run.layer} {run.component} ({_share(run.coverage)})" for run in worst])


def _share(coverage: Optional[float]) -> str:
    return f"{100 - 100 * (coverage or 0.0):.0f} % by others"


def _totals(disturbed: Iterable[LastRun]) -> list[_JobTotal]:
    """Return the jobs, those that moved most first."""
    by_name: dict[str, list[Job]] = {}
    for run in disturbed:
        if run.job:
            by_name.setdefault(run.job.id, []).append(run.job)
    totals = [
        _JobTotal(name, sum(job.bytes for job in own), sum(job.requests for job in own), len(own))
        for name, own in by_name.items()
    ]
    return sorted(totals, key=lambda total: (-total.bytes, -total.requests, total.job))
