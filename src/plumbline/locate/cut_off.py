"""Servers and mounts that keep targets from being measured: at fault for certain, no suspects.

A node says of a target that its server does not answer, or that its own mount is dead.  One alarm
on the host at fault stands for all targets behind it.
"""

from __future__ import annotations

from typing import Iterable, Iterator, NamedTuple

from plumbline.judge.phrases import moment, several
from plumbline.layers import SINGLE_TARGETS
from plumbline.model.expectation import Expectation
from plumbline.model.memory import Memory
from plumbline.model.reason import Reason
from plumbline.model.record import Outcome, Record

Measured = tuple[str, Expectation, Record]


class CutOff(NamedTuple):
    """A host at fault, for what reason, and the sentence on it."""

    host: str
    reason: Reason
    text: str


def cut_off(
    nodes: Iterable[tuple[str, Iterable[Expectation], Memory]], now: float
) -> Iterator[CutOff]:
    """Yield each host that keeps targets from being measured, by the latest records of the nodes.

    A server that another node has reached since is not at fault.

    Raises:
        DocumentError: a latest record is damaged.
        StoreError: the history cannot be read.
    """
    found = tuple(_latest(nodes, now))
    lost: dict[str, list[Measured]] = {}
    mounts: dict[str, list[Measured]] = {}
    for one in found:
        node, entry, record = one
        if record.outcome is Outcome.UNREACHABLE and not _answered(found, one):
            lost.setdefault(entry.host, []).append(one)
        elif record.outcome is Outcome.NO_MOUNT:
            mounts.setdefault(node, []).append(one)
    for host, behind in lost.items():
        nobody = several(tuple(dict.fromkeys(node for node, _, _ in behind)))
        text = f"server {host} does not answer {nobody}: {_names(behind)}"
        yield CutOff(host, Reason.UNREACHABLE, text)
    for node, behind in mounts.items():
        yield CutOff(node, Reason.NO_MOUNT, f"{behind[0][2].reason}: {_names(behind)}")


def _latest(
    nodes: Iterable[tuple[str, Iterable[Expectation], Memory]], now: float
) -> Iterator[Measured]:
    """Yield the latest record of each operation on a target that is not stale."""
    for node, entries, memory in nodes:
        for entry in entries:
            if entry.layer in SINGLE_TARGETS:
                for series in memory.of(entry.layer, entry.component):
                    if now - series.latest.finished_at <= entry.limits.stale_after_s:
                        yield node, entry, series.latest


def _answered(found: Iterable[Measured], lost: Measured) -> bool:
    """Return whether a server has given a rate after it was missed."""
    return any(
        entry.host == lost[1].host
        and record.rate_Bps is not None
        and record.started_at > lost[2].started_at
        for _, entry, record in found
    )


def _names(behind: Iterable[Measured]) -> str:
    every = tuple(behind)
    names = tuple(dict.fromkeys(entry.component for _, entry, _ in every))
    since = min(record.started_at for _, _, record in every)
    return f"{several(names)} not measured since {moment(since)}"
