"""First lines of the page: the machine is slow, or its users are many.

They count the last run of each target and device within a day: where others moved so much meanwhile
that its rate says nothing about the machine, and which jobs these were.
"""

from __future__ import annotations

from typing import Iterable, Iterator, NamedTuple, Optional, Sequence

from plumbline.model.names import several
from plumbline.model.units import format_bytes
from plumbline.observe.coverage import Job, LastRun

_MAX_JOBS = 3


class _JobTotal(NamedTuple):
    """Bytes and requests of a job during contended runs, and the number of components."""

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


def users_lines(runs: Sequence[LastRun]) -> Iterator[str]:
    """Yield the sentences, none if nothing was measured within a day."""
    counted = [run for run in runs if run.coverage is not None]
    contended = [run for run in counted if run.contended]
    if contended:
        yield (
            f"Users: others moved too much during the last runs of {len(contended)} of "
            f"{len(counted)} components; their rates say nothing about the machine: "
            f"{_names(contended)}."
        )
        if jobs := several([str(total) for total in _totals(contended)], _MAX_JOBS):
            yield f"Most came from {jobs}."
    elif counted:
        yield (
            f"Nobody else moved much during the last runs of {len(counted)} components: what is "
            "slow below is slow by itself."
        )
    if unknown := len(runs) - len(counted):
        yield (
            f"What others moved during the last runs of {unknown} of {len(runs)} components is "
            "not known; on Lustre, plumbline sample on the servers counts it."
        )


def _names(contended: Sequence[LastRun]) -> str:
    worst = sorted(contended, key=lambda run: run.coverage or 0.0)
    return several([f"{run.layer} {run.component} ({_share(run.coverage)})" for run in worst])


def _share(coverage: Optional[float]) -> str:
    return f"{100 - 100 * (coverage or 0.0):.0f} % by others"


def _totals(contended: Iterable[LastRun]) -> list[_JobTotal]:
    """Return the jobs, those that moved most first."""
    jobs: dict[str, list[Job]] = {}
    for run in contended:
        if run.job:
            jobs.setdefault(run.job.id, []).append(run.job)
    totals = [
        _JobTotal(
            name,
            sum(job.bytes for job in parts),
            sum(job.requests for job in parts),
            len(parts),
        )
        for name, parts in jobs.items()
    ]
    return sorted(totals, key=lambda total: (-total.bytes, -total.requests, total.job))
