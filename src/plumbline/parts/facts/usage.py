"""Jobs that used the targets of a site, and jobs around a slow run.

The verdict on a contended run names its job; slow runs that are not contended get theirs here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.phrases import moment
from plumbline.measure.probes import TOOLS
from plumbline.measure.targets import KINDS
from plumbline.model.codec import write, write_fields
from plumbline.model.errors import DocumentError, UsageError
from plumbline.model.layers import LAYERS
from plumbline.model.layers.ost import OST as LAYER
from plumbline.model.names import OST
from plumbline.model.suspects import SlowRun
from plumbline.model.units import format_bytes, format_duration
from plumbline.parts.facts.job_traffic import JobTraffic
from plumbline.parts.facts.jobs import (
    Job,
    JobIo,
    JobRequests,
    Window,
    shown,
    sum_traffic,
    without_traffic,
)
from plumbline.store.plan import SitePlan

_AROUND_S = 600.0
"""Time before and after a measurement in which a job may explain it."""

_MAX_TARGETS = 5
_MAX_JOBS = 3


def jobs_on_slow_targets(plan: SitePlan, history: Path, slow: Sequence[SlowRun]) -> list[str]:
    """Return a sentence on the jobs of each slow target with known jobs, in the order of ``slow``.

    Raises:
        StoreError: the history cannot be read.
    """
    names = Names(plan)
    of_targets: dict[str, SlowRun] = {}
    for run in slow:
        if LAYERS[run.layer].per_target:
            of_targets.setdefault(run.component, run)
    with JobTraffic(history) as traffic:
        lowest = list(of_targets.values())[:_MAX_TARGETS]
        return list(filter(None, [_sentence(low, traffic, names) for low in lowest]))


def _sentence(low: SlowRun, traffic: JobTraffic, names: Names) -> str:
    window = Window(low.at - _AROUND_S, low.at + _AROUND_S)
    try:
        moved = _moved(low.component, traffic, names, window)
    except DocumentError as error:
        return f"Jobs on {low.component}: unknown, {error}."
    if not moved:
        return ""
    jobs = ", ".join(f"job {job} moved {format_bytes(size)}" for job, size in moved)
    around, step = format_duration(_AROUND_S), low.operation
    return f"Jobs on {low.component} within {around} of its low {step} at {moment(low.at)}: {jobs}."


def _moved(
    component: str, traffic: JobTraffic, names: Names, window: Window
) -> Sequence[tuple[str, float]]:
    """Return the jobs with the most traffic on a component, without those of probes."""
    moved: dict[str, float] = {}
    for ost in dict.fromkeys([*names.osts(component), component]):
        for usage in sum_traffic(traffic.between(*window, ost), window):
            if not _is_probe(usage.job):
                moved[usage.job] = moved.get(usage.job, 0.0) + usage.bytes
    top = sorted(moved.items(), key=lambda job: (-job[1], job[0]))[:_MAX_JOBS]
    return [(shown(job), size) for job, size in top]


def _is_probe(job: str) -> bool:
    """Return whether a job is named by the program of a probe, such as ``fio.987``."""
    return re.split(r"[.:]", job, maxsplit=1)[0] in TOOLS


class Names:
    """Names of the targets of a site, by OST, and by mount and index."""

    def __init__(self, plan: Optional[SitePlan]) -> None:
        """Take the targets of a plan; without a plan a target is named by its OST."""
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

    def component_at(self, mount: str, index: int) -> str:
        """Return the name of a target by its index; ``MOUNT OSTxxxx`` if it is not in the plan."""
        return self._by_mount.get((mount.rstrip("/"), index), f"{mount} OST{index:04x}")

    def component_of(self, ost: str) -> str:
        """Return the component of an OST; the OST itself if it is not in the plan."""
        return self._components.get(ost, ost)

    def osts(self, component: str) -> list[str]:
        """Return the OSTs of a component; its own name if it is not in the plan."""
        osts = [ost for ost, name in self._components.items() if name == component]
        return osts or [component]

    def refuse_unknown(self, target: str, seen: set[str]) -> None:
        """Raise UsageError for a target that is neither in the plan nor in ``seen``."""
        if target in self._uncounted:
            raise UsageError(
                f"{target} is no OST of Lustre, and of jobs on other file systems nothing is known"
            )
        if target not in {*self._components.values(), *seen}:
            raise UsageError(
                f"{target!r} is no target of the site, and no job used one of this name"
            )


class JobUsage(NamedTuple):
    """Jobs that used targets in a window, and others that ran then; ``jobs`` by id."""

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
            "requests": write(self.requests),
            "jobs": {name: job._asdict() for name, job in self.jobs.items()},
            "without_traffic": [job.id for job in self.idle],
        }


class Traffic(NamedTuple):
    """Traffic of jobs: bytes on storage targets, requests to metadata targets."""

    moved: Sequence[JobIo]
    requests: Sequence[JobRequests] = ()


def job_usage(
    traffic: Traffic, jobs: Sequence[Job], window: Window, names: Names, target: str = ""
) -> JobUsage:
    """Return the jobs that used ``target`` in a window; all targets if it is empty.

    Raises:
        UsageError: there is no target of this name.
    """
    target = names.component_of(target)
    seen = {io.target for io in traffic.moved} | {
        job_requests.target for job_requests in traffic.requests
    }
    if target:
        names.refuse_unknown(target, seen)
    usages = sum_traffic(traffic.moved, window, target)
    requests = sum_traffic(traffic.requests, window, target)
    by_id = {job.id: job for job in jobs}
    users = {usage.job for usage in usages} | {job_requests.job for job_requests in requests}
    idle = [] if target else without_traffic(by_id, users, window)
    listed = {name: by_id[name] for name in by_id if name in users} | {job.id: job for job in idle}
    return JobUsage(window, usages, idle, listed, requests)
