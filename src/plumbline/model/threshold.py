"""Nagios threshold ranges, ``[@]start:end``, the one way in which levels are written."""

from __future__ import annotations

from math import inf

from plumbline.errors import DocumentError
from plumbline.model.named_tuple import NamedTuple
from plumbline.units import LARGEST

_LONGEST = 64


class Range(NamedTuple):
    """A range that alerts outside (or, with ``inside``, within) start..end, both included."""

    start: float
    end: float
    inside: bool = False

    @classmethod
    def parse(cls, text: str) -> Range:
        """Parse ``80:``, ``10``, ``~:5``, ``@10:20``; raise DocumentError for anything else."""
        body = text[1:] if text.startswith("@") else text
        start_text, colon, end_text = body.rpartition(":")
        try:
            if not colon:
                start, end = 0.0, _number(body)
            else:
                start = -inf if start_text == "~" else _number(start_text or "0")
                end = _number(end_text) if end_text else inf
        except ValueError:
            raise DocumentError(
                f"threshold {text[:_LONGEST]!r} is not a Nagios range; "
                "write for example 80: or 10:20"
            ) from None
        if not start <= end:
            raise DocumentError(f"threshold {text!r} starts above its end")
        return cls(start, end, text.startswith("@"))

    def alerts(self, value: float) -> bool:
        """Return whether ``value`` raises the alert."""
        return (self.start <= value <= self.end) is self.inside

    def scaled(self, factor: float) -> Range:
        """Return the range with both ends multiplied, e.g. from percent to bytes per second."""
        return Range(self.start * factor, self.end * factor, self.inside)

    def __str__(self) -> str:
        """Return the shortest Nagios form."""
        start = "~" if self.start == -inf else f"{self.start:.15g}"
        end = "" if self.end == inf else f"{self.end:.15g}"
        body = end if start == "0" and end else f"{start}:{end}"
        return f"@{body}" if self.inside else body


def _number(text: str) -> float:
    """Return a plausible number; raise ValueError for anything else."""
    value = float(text) if len(text) <= _LONGEST else inf
    if not -LARGEST <= value <= LARGEST:
        raise ValueError(text)
    return value
