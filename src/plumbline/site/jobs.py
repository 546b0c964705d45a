"""Jobs that used the targets of a site, and those around a slow run.

A contended run has no vote and its verdict names the job; these are the jobs of runs that vote.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.locate.observation import Observation, Vote
from plumbline.locate.suspects import Located
from plumbline.measure.probes import PROBES
from plumbline.measure.targets import KINDS
from plumbline.model.codec import write_fields
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.layers import LAYERS
from plumbline.model.layers.ost import OST as LAYER
from plumbline.model.names import OST
from plumbline.model.units import format_bytes, format_duration
from plumbline.observe.jobs import (
    Job,
    JobIo,
    JobRequests,
    Window,
    shown,
    sum_requests,
    sum_traffic,
    without_traffic,
)
from plumbline.site.nodes import require
from plumbline.store.job_traffic import JobTraffic
from plumbline.store.plan import SitePlan

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
    for observation in sorted(filter(_slow, located.observations), key=lambda low: low.ratio):
        slow.setdefault(observation.of.component, observation)
    with JobTraffic(history) as traffic:
        lowest = list(slow.values())[:_MOST_TARGETS]
        return list(filter(None, [_sentence(low, traffic, names) for low in lowest]))


def _slow(low: Observation) -> bool:
    return low.vote is Vote.BAD and LAYERS[low.of.layer].per_target and low.at > 0


def _sentence(low: Observation, traffic: JobTraffic, names: Names) -> str:
    window = Window(low.at - _AROUND_S, low.at + _AROUND_S)
    try:
        moved = _moved(low.of.component, traffic, names, window)
    except DocumentError as error:
        return f"Jobs on {low.of.component}: unknown, {error}."
    if not moved:
        return ""
    jobs = ", ".join(f"job {job} moved {format_bytes(size)}" for job, size in moved)
    at = datetime.fromtimestamp(low.at, timezone.utc).strftime("%Y-%m-%d %H:%MZ")
    around, step = format_duration(_AROUND_S), low.of.operation
    return f"Jobs on {low.of.component} within {around} of its low {step} at {at}: {jobs}."


def _moved(
    component: str, traffic: JobTraffic, names: Names, window: Window
) -> Sequence[tuple[str, float]]:
    """Return the jobs that moved most on a component, in both directions, less the probes' own."""
    moved: dict[str, float] = {}
    for ost in dict.fromkeys([*names.osts(component), component]):
        for usage in sum_traffic(traffic.between(*window, ost), window):
            if not _own(usage.job):
                moved[usage.job] = moved.get(usage.job, 0.0) + usage.bytes
    top = sorted(moved.items(), key=lambda job: (-job[1], job[0]))[:_MOST_JOBS]
    return [(shown(job), size) for job, size in top]


def _own(job: str) -> bool:
    """Return whether Lustre has named a job by the program of a probe, as in ``fio.987``."""
    return re.split(r"[.:]", job, maxsplit=1)[0] in PROBES


class Names:
    """Names of the targets of a site, by their OST, and by mount and index."""

    def __init__(self, plan: Optional[SitePlan]) -> None:
        """Take the targets of a plan; without one a target has the name of its OST."""
        self._components: dict[str, str] = {}
        self._by_mount: dict[tuple[str, int], str] = {}
        self._uncounted: set[str] = set()
        for node in plan.nodes.values() if plan else ():
            for entry in node.entries:
                if entry["layer"] == LAYER.name:
                    self._add(entry["component"], entry["target"])

    def _add(self, component: str, target: Mapping[str, Any]) -> None:
        kind = KINDS.get(target.get("kind", ""))
        counted = kind.counted(target, component) if kind else ()
        if not counted:
            self._uncounted.add(component)
        for ost in counted:
            index = int(OST.match("the OST", ost)["index"], 16)
            self._components[ost] = component
            self._by_mount[target["mount"].rstrip("/"), index] = component

    def at(self, mount: str, index: int) -> str:
        """Return the name of a target from its index; beyond the plan, one with the mount in it."""
        return self._by_mount.get((mount.rstrip("/"), index), f"{mount} OST{index:04x}")

    def of(self, ost: str) -> str:
        """Return what the site calls an OST."""
        return self._components.get(ost, ost)

    def osts(self, component: str) -> list[str]:
        """Return the OSTs of a component, its own name where it is beyond the plan."""
        osts = [ost for ost, name in self._components.items() if name == component]
        return osts or [component]

    def known(self) -> set[str]:
        """Return what the site calls its OSTs."""
        return set(self._components.values())

    def refuse_unknown(self, target: str, seen: set[str]) -> None:
        """Raise UsageError for a target that neither the site nor one of those ``seen`` is."""
        if target in self._uncounted:
            raise UsageError(
                f"{target} is no OST of Lustre, and of jobs on other file systems nothing is known"
            )
        if target not in self.known() | seen:
            raise UsageError(
                f"{target!r} is no target of the site, and no job used one of this name"
            )


class Used(NamedTuple):
    """Jobs that used targets in a time, and others that ran then; ``jobs`` by their ids."""

    window: Window
    usages: Sequence[JobIo]
    idle: Sequence[Job]
    jobs: Mapping[str, Job]
    requests: Sequence[JobRequests] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {
            "begin": self.window.begin,
            "end": self.window.end,
            "used": [{**write_fields(io), "rate_Bps": io.rate_Bps} for io in self.usages],
            "requests": [job_requests._asdict() for job_requests in self.requests],
            "jobs": {name: job._asdict() for name, job in self.jobs.items()},
            "without_traffic": [job.id for job in self.idle],
        }


@contextmanager
def traffic_of_site(history: Path) -> Iterator[JobTraffic]:
    """Open the history of a site for what it has of jobs; raise StoreError where there is none."""
    require(history)
    with JobTraffic(history) as traffic:
        yield traffic


class Traffic(NamedTuple):
    """Traffic of jobs: bytes on storage targets, requests to metadata targets."""

    moved: Sequence[JobIo]
    requests: Sequence[JobRequests] = ()


def who_used(
    traffic: Traffic, jobs: Sequence[Job], window: Window, names: Names, target: str = ""
) -> Used:
    """Return which jobs used a target in a time, or all targets where none is named.

    Raises:
        UsageError: nobody knows a target of this name.
    """
    target = names.of(target)
    seen = {io.target for io in traffic.moved} | {
        job_requests.target for job_requests in traffic.requests
    }
    if target:
        names.refuse_unknown(target, seen)
    usages, requests = (
        sum_traffic(traffic.moved, window, target),
        sum_requests(traffic.requests, window, target),
    )
    by_id = {job.id: job for job in jobs}
    meant = {usage.job for usage in usages} | {job_requests.job for job_requests in requests}
    idle = [] if target else without_traffic(by_id, meant, window)
    listed = {name: by_id[name] for name in by_id if name in meant} | {job.id: job for job in idle}
    return Used(window, usages, idle, listed, requests)
