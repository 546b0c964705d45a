"""What the counters of a target's servers say of a run: whether others used the target meanwhile.

A record keeps it among its details: the client that has measured cannot know it.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional

from plumbline.errors import DocumentError
from plumbline.model.record import Record
from plumbline.model.validation import counts, names, within
from plumbline.units import LARGEST, format_bytes, format_duration

OTHERS = "others"
"""The name among the details of a record."""


class Job(NamedTuple):
    """The job that moved most on the target; ``seconds`` are those of the readings around a run."""

    id: str
    bytes: int
    seconds: float

    def __str__(self) -> str:
        """Return e.g. ``job 4711 moved 38.0 GB in the 40 s around it``."""
        moved, time = format_bytes(self.bytes), format_duration(self.seconds)
        return f"job {self.id} moved {moved} in the {time} around it"


class Others(NamedTuple):
    """Between what the coverage lies, as fractions, by the counters of ``server``.

    Both are None, and ``unknown`` says why, where these say nothing of the coverage.  Where they
    lie on both sides of the policy's ``min_coverage`` the record has no coverage.
    """

    server: str
    least: Optional[float] = None
    most: Optional[float] = None
    job: Optional[Job] = None
    unknown: str = ""

    def in_doubt(self) -> str:
        """Return why the coverage is not known."""
        if self.unknown or self.least is None or self.most is None:
            return self.unknown or "nothing was counted"
        between = f"coverage between {self.least:.2f} and {self.most:.2f}"
        return f"{between} by the counters of {self.server}"

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {**self._asdict(), "job": self.job and self.job._asdict()}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Others:
        """Build from the document form; raise DocumentError when it is damaged."""
        try:
            job = None if raw["job"] is None else Job(**raw["job"])
            others = cls(**{**raw, "job": job})
            names("others", (others.server, others.unknown))
            for bound in (others.least, others.most):
                if bound is not None:
                    within(0, 1, bound=bound)
            if job is not None:
                names("job", (job.id,))
                counts(bytes=job.bytes)
                within(0, LARGEST, seconds=job.seconds)
            return others
        except (KeyError, TypeError) as error:
            raise DocumentError(f"what a record says of others is damaged: {error!r}") from error


def others_of(record: Record) -> Optional[Others]:
    """Return what a record says of others, None where no server's counters were held against it.

    Raises:
        DocumentError: that is damaged.
    """
    raw = (record.details or {}).get(OTHERS)
    return None if raw is None else Others.from_json(raw)
