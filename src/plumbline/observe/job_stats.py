"""Jobs that use the Lustre targets of this server most, if ``job_stats`` is on.

Reading a list of jobs may take seconds, unlike a counter.  So it is read in a separate thread, for
a hundredth of the time at most, and never again after one reading took too long.
"""

from __future__ import annotations

import queue
import re
from typing import Mapping, NamedTuple, Optional, Sequence, Union

from plumbline.model.command import Files
from plumbline.model.errors import ToolError
from plumbline.model.record import Operation
from plumbline.model.units import format_duration, format_size
from plumbline.observe.command import Clock
from plumbline.observe.coverage import JobRow, RequestRow
from plumbline.observe.lustre_output import METADATA, ROOTS, job_requests, job_stats

PAUSE_S = 10.0
"""Least time between two readings; a probe of a target takes at least as long."""

MAX_READING_S = 1.0
"""If one reading of all targets takes longer, the server is not read again."""

MAX_BYTES = 4 << 20
"""Limit of one target's list: about 1,600 jobs."""

_SHARE = 100
_TOP = 3
"""Jobs kept per target and interval; one may be the probe itself."""


class JobTraffic(NamedTuple):
    """Traffic of a job on a target between two readings: bytes, or metadata requests."""

    target: str
    row: Union[JobRow, RequestRow]


class _Reading(NamedTuple):
    begin: float
    end: float
    jobs: Mapping[str, Mapping[str, int]]


class Jobs:
    """Follows the jobs of targets: :meth:`look` runs in one thread, :meth:`drain` in another."""

    def __init__(self, files: Files, targets: Sequence[str], clock: Clock) -> None:
        """Take the Lustre names of the targets."""
        self._files = files
        self._targets = tuple(targets)
        self._clock = clock
        self._start = clock.wall() - clock.monotonic()
        self._before: dict[str, _Reading] = {}
        self._traffic: queue.SimpleQueue[JobTraffic] = queue.SimpleQueue()
        self.trouble = ""
        """Why jobs are no longer followed, empty while they are."""

    def look(self) -> Optional[float]:
        """Read the lists once; return the seconds until the next reading, None for never."""
        start = self._clock.monotonic()
        try:
            has_jobs = [self._read(target) for target in self._targets]
        except ToolError as error:
            self.trouble = str(error)
            return None
        took_s = self._clock.monotonic() - start
        if not any(has_jobs):
            return None
        if took_s > MAX_READING_S:
            self.trouble = (
                f"reading job_stats took {format_duration(took_s)}; jobs are not followed further"
            )
            return None
        return max(PAUSE_S, _SHARE * took_s)

    def drain(self) -> list[JobTraffic]:
        """Return the traffic since the last call."""
        traffics: list[JobTraffic] = []
        while not self._traffic.empty():
            traffics.append(self._traffic.get())
        return traffics

    def _read(self, target: str) -> bool:
        """Read the list of one target; return whether there is one."""
        begin = self._start + self._clock.monotonic()
        path, text = self._text(target)
        if not text:
            return False
        if len(text) > MAX_BYTES:
            raise ToolError(
                f"{path} has more than {format_size(MAX_BYTES)}, some 1,600 jobs; jobs are not "
                "followed; lower job_cleanup_interval of the target, so that it forgets them sooner"
            )
        jobs = (job_requests if _is_metadata(target) else job_stats)(text, path)
        now = _Reading(begin, self._start + self._clock.monotonic(), jobs)
        before = self._before.get(target)
        self._before[target] = now
        for row in _top(target, before, now) if before else ():
            self._traffic.put(JobTraffic(target, row))
        return True

    def _text(self, target: str) -> tuple[str, str]:
        kind = "mdt" if _is_metadata(target) else "obdfilter"
        for root in ROOTS:
            path = f"{root}/{kind}/{target}/job_stats"
            text = self._files.read(path, 2 * MAX_BYTES)
            if text:
                return path, text
        return "", ""


def _top(target: str, before: _Reading, now: _Reading) -> list[Union[JobRow, RequestRow]]:
    """Return the traffic of the busiest jobs; a cleared list begins at zero."""
    growth = {
        job: {
            kind: _growth(count, before.jobs.get(job, {}).get(kind, 0))
            for kind, count in counts.items()
        }
        for job, counts in now.jobs.items()
    }
    totals = {job: sum(parts.values()) for job, parts in growth.items()}
    jobs = sorted(filter(totals.get, totals), key=lambda job: -totals[job])
    span = round(before.begin, 2), round(now.end, 2)
    if _is_metadata(target):
        return [
            RequestRow(*span, job, {name: count for name, count in growth[job].items() if count})
            for job in jobs[:_TOP]
        ]
    kinds = (Operation.READ, Operation.WRITE)
    return [
        JobRow(*span, job, *(growth[job].get(kind, 0) for kind in kinds)) for job in jobs[:_TOP]
    ]


def _growth(now: int, before: int) -> int:
    return now - before if now >= before else now


def _is_metadata(target: str) -> bool:
    return re.fullmatch(METADATA, target) is not None
