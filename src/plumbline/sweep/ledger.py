"""What a sweep has done so far: enough to go on where it ended, and to print its table."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional, Sequence

from plumbline.errors import DocumentError
from plumbline.model.record import Operation
from plumbline.model.validation import numbers, rates_or_none, same_schema, texts
from plumbline.sweep.grid import Point

SCHEMA = 1


class Done(NamedTuple):
    """One measured point; ``rates`` in bytes per second of all targets together.

    ``written`` are the bytes that it has written, ``seconds`` what all of it took.  An operation
    without a rate is missing in ``rates``, and ``reason`` says why.
    """

    point: Point
    run_id: str
    spec_hash: str
    targets: int
    ranks: int
    started_at: float
    seconds: float
    written: int
    rates: Mapping[Operation, float]
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        rates = {operation.value: rate_Bps for operation, rate_Bps in self.rates.items()}
        return {**self._asdict(), "point": self.point._asdict(), "rates": rates}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Done:
        """Build from the document form; raise KeyError, TypeError, ValueError or DocumentError."""
        point = Point(**raw["point"])
        rates = {Operation(name): rate_Bps for name, rate_Bps in raw["rates"].items()}
        done = cls(**{**raw, "point": point, "rates": rates})
        numbers(**point._asdict(), started_at=done.started_at, seconds=done.seconds)
        numbers(targets=done.targets, ranks=done.ranks, written=done.written)
        rates_or_none(**{operation.value: rate for operation, rate in rates.items()})
        texts("text", (done.run_id, done.spec_hash, done.reason))
        return done


class Ledger(NamedTuple):
    """A sweep and its measured points; ``terms`` is what another sweep would differ in.

    ``point_bytes`` is what each point writes, the same of all.  ``written`` and ``seconds`` are
    what was spent in all, also on points that gave no figure; what a point will cost counts before
    its first byte is written, so that a killed one is not forgotten.
    """

    terms: Mapping[str, Any]
    point_bytes: int
    done: tuple[Done, ...] = ()
    written: int = 0
    seconds: float = 0.0

    def left(self, points: Sequence[Point]) -> tuple[Point, ...]:
        """Return the points that have no figures yet, in their order."""
        over = {done.point for done in self.done if not done.reason}
        return tuple(point for point in points if point not in over)

    def begun(self, seconds: float) -> Ledger:
        """Return the ledger with a point that is about to write and may take so many seconds."""
        return self._replace(
            written=self.written + self.point_bytes, seconds=self.seconds + seconds
        )

    def ended(self, done: Done) -> Ledger:
        """Return the ledger with a point that is over; it takes the place of a failed one."""
        others = tuple(one for one in self.done if one.point != done.point)
        return self._replace(
            done=(*others, done),
            written=self.written + done.written,
            seconds=self.seconds + done.seconds,
        )

    def of(self, point: Point) -> Optional[Done]:
        """Return what came of a point, None when it was not measured."""
        return next((done for done in self.done if done.point == point), None)

    def to_json(self) -> dict[str, Any]:
        """Return the document form, schema number first."""
        done = [one.to_json() for one in self.done]
        return {"schema": SCHEMA, **self._asdict(), "done": done}

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Ledger:
        """Build from the document form; raise DocumentError when it is not one of this version."""
        try:
            same_schema(raw, SCHEMA, "the sweep", "begin it with --again")
            done = tuple(map(Done.from_json, raw["done"]))
            values = {key: value for key, value in raw.items() if key != "schema"}
            ledger = cls(**{**values, "done": done})
            numbers(written=ledger.written, seconds=ledger.seconds, bytes=ledger.point_bytes)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DocumentError(
                f"what the sweep has done is damaged ({error!r}); begin it with --again"
            ) from error
        return ledger
