"""Where more no longer brings more: a remark for each line of measured points of a sweep."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from plumbline.model.record import Operation
from plumbline.sweep.grid import AXES, Point, phrase
from plumbline.sweep.ledger import Done
from plumbline.units import format_rate

GAIN = 0.05
"""A gain below this is none: what single runs on a quiet system differ by."""

LOSS = 0.10
"""A loss above this is said."""

_PER_TARGET = "oversubscription"
"""On this axis the number of targets changes, and with it what they can give in sum."""


class Line(NamedTuple):
    """Measured points that differ on one ``axis``; values ascend, rates are bytes per second."""

    axis: str
    operation: Operation
    beside: str
    values: tuple[int, ...]
    rates: tuple[float, ...]


class Remark(NamedTuple):
    """The knee of a line: ``value`` gives ``rate_Bps``, and what lies beyond no more than that.

    ``rising``: it is the last value that was measured, and still better than the one before.
    ``last_ratio`` is the rate at the last value over the highest.
    """

    axis: str
    operation: Operation
    beside: str
    value: int
    rate_Bps: float
    rising: bool
    last: int
    last_ratio: float

    def to_json(self) -> dict[str, Any]:
        """Return the document form, with the sentence."""
        return {**self._asdict(), "operation": self.operation.value, "text": self.sentence()}

    def sentence(self) -> str:
        """Return it in words."""
        here, last = phrase(self.axis, self.value), phrase(self.axis, self.last)
        where = f" ({self.beside})" if self.beside else ""
        each = " a target" if self.axis == _PER_TARGET else ""
        gives = f"{self.operation.value}{where}: {here} gives {format_rate(self.rate_Bps)}{each}"
        if self.axis == "writers" and self.value != 1:
            gives = gives.replace(" gives ", " give ")
        if self.rising:
            return f"{gives}, the most; it still rises there, so more may bring more"
        falls = f"; {last}: {self.last_ratio * 100:.0f} % of the best" if self._falls else ""
        return f"{gives}; beyond that nothing brings {GAIN * 100:.0f} % more{falls}"

    @property
    def _falls(self) -> bool:
        return self.last_ratio < 1 - LOSS


def remarks(done: Sequence[Done], operations: Sequence[Operation]) -> tuple[Remark, ...]:
    """Return the knee of each line that has two measured points or more."""
    return tuple(
        _remark(line)
        for axis in AXES
        for operation in operations
        for line in _lines(axis, operation, done)
        if len(line.values) > 1
    )


def _lines(axis: str, operation: Operation, done: Sequence[Done]) -> list[Line]:
    others = [name for name in AXES if len({getattr(one.point, name) for one in done}) > 1]
    found: dict[Point, dict[int, float]] = {}
    for one in done:
        rate_Bps = one.rates.get(operation)
        if rate_Bps is not None:
            changed: Mapping[str, Any] = {axis: 0}
            line = found.setdefault(one.point._replace(**changed), {})
            line[getattr(one.point, axis)] = (
                rate_Bps / one.targets if axis == _PER_TARGET else rate_Bps
            )
    return [
        Line(
            axis,
            operation,
            ", ".join(phrase(name, getattr(at, name)) for name in others if name != axis),
            tuple(sorted(rates)),
            tuple(rates[value] for value in sorted(rates)),
        )
        for at, rates in sorted(found.items())
    ]


def _remark(line: Line) -> Remark:
    best = max(line.rates)
    # the fewest that come within the gain of the best
    place = next(i for i, rate_Bps in enumerate(line.rates) if rate_Bps * (1 + GAIN) >= best)
    last = len(line.values) - 1
    return Remark(
        line.axis,
        line.operation,
        line.beside,
        line.values[place],
        line.rates[place],
        place == last,
        line.values[-1],
        line.rates[-1] / best,
    )
