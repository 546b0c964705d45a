"""The probe's share of what went through a target: coverage, within bounds that leave no doubt.

Bytes of others are at most what the server counted from the last reading before the run until the
first one after it, less the probe's own.  Where the operations of a run follow one another at once
these seconds hold the probe's own neighbours too; so all of its operations are looked at as well,
whose others are no fewer than those of one.
"""

from __future__ import annotations

from typing import Mapping, NamedTuple, Optional, Sequence, Union

from plumbline.coverage.counted import Bounds, Counted, covering
from plumbline.model.others import Job, Others
from plumbline.model.record import Record
from plumbline.model.trend import NodeClock
from plumbline.units import format_bytes, format_duration

MOST_APART_S = 2.0
"""Clocks that differ by more are not kept: nobody knows how far they were apart when measured."""

_COUNTED = 0.001
"""Of what is counted: rates of seconds are whole bytes."""

_FEWER = 0.02
"""By so much fewer than the probe's own bytes may be counted, and not by more."""

_NAMED = 0.1
"""A job that moved less than this share of the others' bytes explains nothing."""


class Covered(NamedTuple):
    """What a record gets: its coverage, None where it stays in doubt, and what was found."""

    coverage: Optional[float]
    others: Others


class Servers(NamedTuple):
    """What servers counted of each of some targets, by name, and how the clocks stand, by host."""

    counted: Mapping[str, Sequence[Counted]]
    clocks: Mapping[str, NodeClock]


class _Window(NamedTuple):
    """A time by the client's clock, and the bytes that the probe moved in it."""

    begin: float
    end: float
    own: float


class _Followed(NamedTuple):
    """A server that has followed a target, and by how much its clock is ahead of the client's."""

    counted: Counted
    ahead_s: float
    slack_s: float


def covered(
    record: Record, run: Sequence[Record], servers: Servers, min_coverage: float
) -> Optional[Covered]:
    """Return what the counters say of a record, None as long as they do not cover its time.

    ``run`` are all measurements of the same component in the same run, this one among them.
    """
    if not record.bytes:
        return None
    window = _Window(record.started_at, record.finished_at, record.bytes)
    followed: list[_Followed] = []
    for samplings in servers.counted.values():
        found = _followed(record, samplings, servers.clocks)
        if found is None or isinstance(found, Covered):
            return found
        followed.append(found)
    if not followed:
        return None
    names = ", ".join(dict.fromkeys(one.counted.host for one in followed))
    counted = _moved(followed, window)
    if counted.most * (1 + _FEWER) < window.own:
        return _unknown(
            names,
            f"the probe moved {format_bytes(window.own)}, but {names} counted only "
            f"{format_bytes(counted.most)} meanwhile",
        )
    whole = _whole(run, window)
    others = _others(followed, window, whole, counted)
    least, likely, most = (window.own / (window.own + one) for one in reversed(others))
    decided = least >= min_coverage or most < min_coverage
    job = _job(record, followed, (whole or window).own) if least < min_coverage else None
    if job is not None and job.bytes < _NAMED * others.most:
        job = None
    said = Others(names, round(least, 4), round(most, 4), job)
    return Covered(round(likely, 4) if decided else None, said)


def _unknown(server: str, why: str) -> Covered:
    return Covered(None, Others(server, unknown=why))


def _followed(
    record: Record, samplings: Sequence[Counted], clocks: Mapping[str, NodeClock]
) -> Union[_Followed, Covered, None]:
    """Return who has followed a target meanwhile, or why that does not help."""
    for host in dict.fromkeys(one.host for one in samplings):
        own = [one for one in samplings if one.host == host]
        ahead_s, slack_s = _ahead(record.host, host, clocks)
        begin, end = record.started_at + ahead_s, record.finished_at + ahead_s
        found = covering(own, begin, end, slack_s)
        if found is None:
            continue
        if abs(ahead_s) - slack_s > MOST_APART_S:
            return _unknown(
                host,
                f"the clocks of {record.host} and {host} are {format_duration(abs(ahead_s))} "
                "apart; synchronize them",
            )
        return _Followed(found, ahead_s, slack_s)
    return None


def _ahead(client: str, server: str, clocks: Mapping[str, NodeClock]) -> tuple[float, float]:
    """Return how far a server's clock is ahead of a client's, and how well that is known.

    A clock that was never compared is taken to be as far off as one that is kept may be.
    """
    if client == server:
        return 0.0, 0.0
    unknown = NodeClock("", 0.0, 0.0, MOST_APART_S)
    mine, its = clocks.get(client, unknown), clocks.get(server, unknown)
    return its.ahead_s - mine.ahead_s, its.within_s + mine.within_s


def _moved(followed: Sequence[_Followed], window: _Window) -> Bounds:
    found = [
        one.counted.moved(window.begin + one.ahead_s, window.end + one.ahead_s, one.slack_s)
        for one in followed
    ]
    return sum(found[1:], found[0])


def _whole(run: Sequence[Record], window: _Window) -> Optional[_Window]:
    """Return the time of all operations of a run; None where they are not one after the other."""
    known = sorted(run, key=lambda sample: sample.started_at)
    known = [one for one in known if one.bytes]
    if any(one.finished_at > after.started_at for one, after in zip(known, known[1:])):
        return None
    begin, end = known[0].started_at, max(one.finished_at for one in known)
    own = sum(one.bytes for one in known)
    return _Window(begin, end, own) if begin <= window.begin and end >= window.end else None


def _others(
    followed: Sequence[_Followed], window: _Window, whole: Optional[_Window], counted: Bounds
) -> Bounds:
    """Return the bytes of others in a window: at least, probably, at most."""
    most = counted.most * (1 + _COUNTED) - window.own
    if whole is not None and all(_covers(one, whole) for one in followed):
        beside = _moved(followed, whole).most * (1 + _COUNTED) - whole.own
        # fewer than the probe's own: something of it is not where it is looked for
        most = min(most, beside) if beside >= 0 else most
    most = max(0.0, most)
    least = min(most, max(0.0, counted.least * (1 - _COUNTED) - window.own))
    return Bounds(least, min(most, max(least, counted.likely - window.own)), most)


def _covers(followed: _Followed, window: _Window) -> bool:
    begin, end = window.begin + followed.ahead_s, window.end + followed.ahead_s
    return followed.counted.covers(begin, end, followed.slack_s)


def _job(record: Record, followed: Sequence[_Followed], own: float) -> Optional[Job]:
    """Return the job that moved most beside the probe, which moved ``own`` bytes in its run."""
    rows = [
        row
        for one in followed
        for row in one.counted.jobs
        if row.end > record.started_at + one.ahead_s
        and row.begin < record.finished_at + one.ahead_s
    ]
    moved: dict[str, float] = {}
    for row in rows:
        already = -own if _may_be_own(row.job, record) else 0.0
        moved[row.job] = moved.get(row.job, already) + row.bytes
    job = max(moved, key=lambda name: moved[name], default="")
    if not job or moved[job] <= 0:
        return None
    seconds = max(row.end for row in rows) - min(row.begin for row in rows)
    return Job(job, round(moved[job]), round(seconds, 1))


def _may_be_own(job: str, record: Record) -> bool:
    """Return whether a job may be the probe's, or hold it: Lustre names it by program or host.

    No scheduler has given it a number.
    """
    tool = record.tool.name if record.tool else ""
    program = "python" if tool == "mpi" else tool
    return any(word and word in job for word in (program, record.host))
