"""What a parallel run is in words, how long it may take, and what does not go together in it.

The console plans with these, and a node that takes its terms from options has the same.
"""

from __future__ import annotations

from typing import NamedTuple

from plumbline.profile.calls import CALL_BYTES
from plumbline.ranks.tests import Method
from plumbline.units import format_bytes

START_S = 60.0
DRAIN_S = 60.0
SPARE_S = 60.0

_BLOCK = 4096
_MOST_NOTES = 1 << 30


class RunSize(NamedTuple):
    """How many take part: ranks in all, targets, clients."""

    ranks: int
    targets: int
    clients: int


def pattern(test: Method, crowd: RunSize, fixed: str) -> str:
    """Return in words what a probe's specification has no field for; ``fixed`` is data or time."""
    gathered = test.aggregation
    words = [
        test.name,
        f"fixed {fixed}",
        f"{crowd.ranks} ranks on {crowd.targets} targets",
        f"{crowd.clients} clients",
        f"{gathered.buffers} buffers of {gathered.size} bytes" if gathered else "",
    ]
    return ", ".join(word for word in words if word)


def limit_s(seconds: float, operations: int) -> float:
    """Return after how many seconds a run of so many operations hangs."""
    return START_S + operations * (seconds + max(seconds, DRAIN_S))


def may_be_direct(test: Method) -> bool:
    """Return whether the calls of a test can bypass the page cache: POSIX ones of whole blocks.

    Gathered transfers must be whole blocks too, or else the last buffer, filled in part, is none.
    """
    return test.api == "posix" and not _odd(test)


class Names(NamedTuple):
    """What the terms are called where they are said: bytes of a rank, of a call, O_DIRECT."""

    bytes: str
    transfer: str
    direct: str


def contradiction(test: Method, rank_bytes: int, *, direct: bool, names: Names) -> str:
    """Return why these do not go together, naming what to change; empty where they do."""
    gathered = test.aggregation
    call_bytes = gathered.size if gathered else test.transfer
    notes = CALL_BYTES * rank_bytes // call_bytes
    if rank_bytes < test.transfer:
        return (
            f"{format_bytes(rank_bytes)} for each rank are less than one transfer of "
            f"{test.transfer} bytes; raise {names.bytes}"
        )
    if notes > _MOST_NOTES:
        return (
            f"to note every call of {test.transfer} bytes each rank would need "
            f"{format_bytes(notes)} of memory; lower {names.bytes}, or raise {names.transfer}"
        )
    if direct and test.api == "mpiio":
        return f"MPI-IO, which {test.name} uses, has no {names.direct}; choose another test"
    if direct and _odd(test):
        return (
            f"{names.direct} needs transfers and buffers of whole {_BLOCK} bytes, which "
            f"{test.name} has not; do without it, or choose another {names.transfer}"
        )
    return ""


def _odd(test: Method) -> bool:
    """Return whether a call may not be of whole blocks."""
    gathered = test.aggregation
    return bool(test.transfer % _BLOCK or (gathered and gathered.size % _BLOCK))
