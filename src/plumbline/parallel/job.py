"""Messages between the launching host and the ranks: a job, and a result for each operation.

Both are JSON files in the run's folder.  A result is written as soon as its operation is over, so
it survives the death or hang of another rank.
"""

from __future__ import annotations

import json
import os
from enum import Enum
from pathlib import Path
from threading import get_ident
from typing import Any, Mapping, NamedTuple, Optional

from plumbline.model.errors import DocumentError
from plumbline.model.record import Operation
from plumbline.model.units import LARGEST
from plumbline.model.validation import counts, same_schema, texts, within
from plumbline.parallel.profile import Durations
from plumbline.parallel.terms import Aggregation, Method, Place

SCHEMA = 1
_MOST_CLASSES = 10_000
"""Classes of a histogram of durations on each side of a second (plumbline.parallel.profile)."""
JOB = "job.json"

_SAME = "install the same plumbline on all clients"


class Fixed(str, Enum):
    """End of an operation by data or time; figures of the two are never compared."""

    DATA = "data"
    TIME = "time"


class Job(NamedTuple):
    """One run of all ranks.

    ``places`` has one entry for each rank.  ``bytes`` are those of one rank and operation, whole
    transfers; ``seconds`` ends an operation in any case.  ``instrument`` keeps every call, and
    ``keep_calls`` writes them into the folder as well.
    """

    folder: str
    test: Method
    operations: tuple[Operation, ...]
    places: tuple[Place, ...]
    bytes: int
    seconds: float
    fixed: Fixed = Fixed.DATA
    direct: bool = False
    instrument: bool = True
    keep_calls: bool = False

    @property
    def transfers(self) -> int:
        """Whole transfers of one rank and operation."""
        return self.bytes // self.test.transfer

    def to_json(self) -> dict[str, Any]:
        """Return the document form, schema number first."""
        raw = {"schema": SCHEMA, **self._asdict()}
        raw["test"] = self.test._asdict()
        return raw

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Job:
        """Build from the document form; raise DocumentError when it is not one of this version."""
        try:
            same_schema(raw, SCHEMA, "the job", _SAME)
            values = {key: value for key, value in raw.items() if key != "schema"}
            gathered = raw["test"]["aggregation"]
            aggregation = None if gathered is None else Aggregation(*gathered)
            values["test"] = Method(**{**raw["test"], "aggregation": aggregation})
            values["operations"] = tuple(Operation(name) for name in raw["operations"])
            values["places"] = tuple(Place(*place) for place in raw["places"])
            values["fixed"] = Fixed(raw["fixed"])
            job = cls(**values)
            texts("job", (job.folder, *(text for place in job.places for text in place[:3])))
            counts(bytes=job.bytes, transfer=job.test.transfer)
            within(0, LARGEST, seconds=job.seconds)
            for place in job.places:
                counts(offset=place.offset)
            return job
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DocumentError(f"the job is damaged ({error!r}); {_SAME}") from error


class State(str, Enum):
    """State of one operation of one rank."""

    DONE = "done"
    SHORT = "short"
    """The time limit came before the bytes."""
    FAILED = "failed"
    ENDED = "ended"
    """The run was ended from outside while this rank was at work."""


class Result(NamedTuple):
    """One operation of one rank, times in seconds since the common start of the operation.

    ``began_at`` is that start in seconds since the epoch by the clock of the rank's own host, 0
    where it did not come to it.
    """

    rank: int
    client: str
    target: str
    operation: Operation
    state: State
    reason: str = ""
    bytes: int = 0
    began_at: float = 0.0
    begin_s: float = 0.0
    end_s: float = 0.0
    curve: tuple[float, ...] = ()
    durations: Optional[Durations] = None

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        raw = self._asdict()
        raw["durations"] = self.durations and [
            sorted(self.durations.classes.items()),
            *self.durations[1:],
        ]
        return raw

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Result:
        """Build from the document form; raise DocumentError when it is damaged."""
        try:
            values = dict(raw)
            values["operation"] = Operation(raw["operation"])
            values["state"] = State(raw["state"])
            values["curve"] = tuple(raw["curve"])
            if raw["durations"] is not None:
                classes, total, longest = raw["durations"]
                values["durations"] = Durations(dict(map(tuple, classes)), total, longest)
            return _of_right_kind(cls(**values))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DocumentError(
                f"a rank's result is damaged ({error!r}); run the probe again"
            ) from error


def _of_right_kind(result: Result) -> Result:
    """Return the result; raise TypeError if one of its values has the wrong type."""
    texts("result", (result.client, result.target, result.reason))
    counts(rank=result.rank, bytes=result.bytes)
    within(0, LARGEST, began_at=result.began_at, begin_s=result.begin_s, end_s=result.end_s)
    for value in result.curve:
        within(0, LARGEST, curve=value)
    if result.durations:
        for number, count in result.durations.classes.items():
            within(-_MOST_CLASSES, _MOST_CLASSES, number=number)
            counts(number=abs(number), count=count)
        within(0, LARGEST, total=result.durations.total_s, longest=result.durations.longest_s)
    return result


def result_name(operation: Operation, rank: int) -> str:
    """Return the name of a result's file without its suffix."""
    return f"{operation.value}-{rank:06d}"


def write_whole(path: Path, content: bytes) -> None:
    """Write a file completely or not at all."""
    # two threads may do so at once
    part = path.with_name(f"{path.name}.{get_ident()}.part")
    try:
        part.write_bytes(content)
        os.replace(part, path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def encoded(document: Mapping[str, Any]) -> bytes:
    """Return the bytes of a document."""
    return json.dumps(document, allow_nan=False).encode()
