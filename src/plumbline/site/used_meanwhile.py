"""Which jobs used a target around the time at which it was found slow, as its servers counted.

What was contended has no vote, and its verdict names the job; here are the jobs beside what votes.
"""

from __future__ import annotations

import re
from datetime import datetime, timezone
from pathlib import Path
from typing import Sequence

from plumbline.errors import DocumentError
from plumbline.jobs.job import shown
from plumbline.jobs.usage import Window, used
from plumbline.layers import SINGLE_TARGETS
from plumbline.locate.observation import Observation, Vote
from plumbline.locate.suspects import Located
from plumbline.probes import PROBES
from plumbline.site.jobs import Names
from plumbline.store.job_traffic import JobTraffic
from plumbline.store.plan import SitePlan
from plumbline.units import format_bytes, format_duration

_AROUND_S = 600.0
"""Before and after a measurement: a job that came or went with it explains it as well."""

_MOST_TARGETS = 5
_MOST_JOBS = 3


def used_meanwhile(plan: SitePlan, history: Path, located: Located) -> list[str]:
    """Return a sentence on each slow target of which it is known, the slowest first.

    Raises:
        StoreError: the history cannot be read.
    """
    names = Names(plan)
    slow: dict[str, Observation] = {}
    for one in sorted(filter(_slow, located.observations), key=lambda found: found.ratio):
        slow.setdefault(one.of.component, one)
    with JobTraffic(history) as traffic:
        found = [_sentence(one, traffic, names) for one in list(slow.values())[:_MOST_TARGETS]]
    return [text for text in found if text]


def _slow(low: Observation) -> bool:
    return low.vote is Vote.BAD and low.of.layer in SINGLE_TARGETS and low.at > 0


def _sentence(low: Observation, traffic: JobTraffic, names: Names) -> str:
    window = Window(low.at - _AROUND_S, low.at + _AROUND_S)
    try:
        moved = _moved(low.of.component, traffic, names, window)
    except DocumentError as error:
        return f"Jobs on {low.of.component}: unknown, {error}."
    if not moved:
        return ""
    said = ", ".join(f"job {job} moved {format_bytes(size)}" for job, size in moved)
    at = datetime.fromtimestamp(low.at, timezone.utc).strftime("%Y-%m-%d %H:%MZ")
    around, step = format_duration(_AROUND_S), low.of.operation
    return f"Jobs on {low.of.component} within {around} of its low {step} at {at}: {said}."


def _moved(
    component: str, traffic: JobTraffic, names: Names, window: Window
) -> Sequence[tuple[str, float]]:
    """Return the jobs that moved most on a component, in both directions, less the probes' own."""
    moved: dict[str, float] = {}
    for ost in dict.fromkeys([*names.osts(component), component]):
        for one in used(traffic.between(*window, ost), window):
            if not _own(one.job):
                moved[one.job] = moved.get(one.job, 0.0) + one.bytes
    top = sorted(moved.items(), key=lambda job: (-job[1], job[0]))[:_MOST_JOBS]
    return [(shown(job), size) for job, size in top]


def _own(job: str) -> bool:
    """Return whether Lustre has named a job by the program of a probe, as in ``fio.987``."""
    return re.split(r"[.:]", job, maxsplit=1)[0] in PROBES
