"""Messages between the launching host and the ranks: a job, and a result for each operation.

Both are JSON files in the run's folder.  A rank writes its result as soon as the operation is over,
so it survives the death or hang of another rank.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, NamedTuple, Optional

from plumbline.model.codec import form
from plumbline.model.profile import Durations
from plumbline.model.ranks import Method, Place
from plumbline.model.record import Operation
from plumbline.model.validation import amounts, counts

Positive = Annotated[float, amounts]

JOB = "job.json"

_SAME = "install the same plumbline on all clients"


class Fixed(str, Enum):
    """End of an operation after fixed data or fixed time; their rates are never compared."""

    DATA = "data"
    TIME = "time"


@form(1, "job", _SAME)
class Job(NamedTuple):
    """One run of all ranks.

    ``places`` has one entry for each rank.  ``bytes`` is for one rank and operation, a multiple of
    the transfer size; ``seconds`` limits an operation in any case.  ``keep_calls``
    writes all calls to the folder.
    """

    folder: str
    test: Method
    operations: tuple[Operation, ...]
    places: tuple[Place, ...]
    bytes: Annotated[int, counts]
    seconds: Annotated[float, amounts]
    fixed: Fixed = Fixed.DATA
    direct: bool = False
    keep_calls: bool = False

    @property
    def transfers(self) -> int:
        """Number of transfers of one rank and operation."""
        return self.bytes // self.test.transfer


class State(str, Enum):
    """State of one operation of one rank."""

    DONE = "done"
    SHORT = "short"
    """The time limit came before all bytes were moved."""
    FAILED = "failed"
    ENDED = "ended"
    """The run was ended from outside while this rank was at work."""


class Result(NamedTuple):
    """Result of one operation of one rank; times are seconds since the common start.

    ``began_at`` is the common start in seconds since the epoch, by the clock of the rank's host, 0
    if the rank did not start.
    """

    rank: Annotated[int, counts]
    client: str
    target: str
    operation: Operation
    state: State
    reason: str = ""
    bytes: Annotated[int, counts] = 0
    began_at: Positive = 0.0
    begin_s: Positive = 0.0
    end_s: Positive = 0.0
    curve: tuple[Positive, ...] = ()
    durations: Optional[Durations] = None


def result_name(operation: Operation, rank: int) -> str:
    """Return the name of a result's file without its suffix."""
    return f"{operation.value}-{rank:06d}"
