"""First lines of the page: the machine is slow, or its users are many.

They count the last run of each target and device within a day: where others moved so much meanwhile
that its rate says nothing about the machine, and which jobs these were.
"""

from __future__ import annotations

from typing import Iterable, Iterator, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import several
from plumbline.model.expectation import Expectation
from plumbline.model.units import format_bytes
from plumbline.observe.coverage import LastRun

_MAX_JOBS = 3


class _JobTotal(NamedTuple):
    """Bytes that a job moved during the runs that others disturbed, and the components there."""

    job: str
    bytes: int
    components: int

    def __str__(self) -> str:
        moved = format_bytes(self.bytes)
        return f"job {self.job} ({moved} during the runs of {self.components})"


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
            yield f"Most was moved by {jobs}."
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
    moved: dict[str, dict[str, int]] = {}
    for run in disturbed:
        if run.job:
            own: dict[str, int] = moved.setdefault(run.job.id, {})
            own[run.component] = max(own.get(run.component, 0), run.job.bytes)
    totals = [_JobTotal(job, sum(own.values()), len(own)) for job, own in moved.items()]
    return sorted(totals, key=lambda total: (-total.bytes, total.job))
