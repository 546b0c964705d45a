"""What has grown since an earlier look: a counter that stands still is old news.

Two earlier looks are kept, half a day apart; growth is counted from the older one, so what happened
at night is still told in the morning and is forgotten after a day.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional

from plumbline.model.validation import numbers, times

KEPT_S = 43200.0
"""Age at which the newer look takes the place of the older one, and this look its own."""

MOST = 20_000
"""Counters that are kept: some thousand disks; a state file stays below a few MB."""


class Seen(NamedTuple):
    """The counters of one look."""

    at: float
    values: Mapping[str, float]


class Past(NamedTuple):
    """What is known from before; ``highest`` are the best speeds that links ever had."""

    older: Optional[Seen] = None
    newer: Optional[Seen] = None
    highest: Mapping[str, float] = {}

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {
            "older": self.older and self.older._asdict(),
            "newer": self.newer and self.newer._asdict(),
            "highest": dict(self.highest),
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Past:
        """Build from the document form; raise KeyError, TypeError or AttributeError."""
        numbers(**raw["highest"])
        return cls(_seen(raw["older"]), _seen(raw["newer"]), raw["highest"])


class Growth(NamedTuple):
    """How much a counter has grown, and since when in seconds since the epoch."""

    amount: float
    since: float


class Counters:
    """Compares the counters of this look with those of the past."""

    def __init__(self, past: Past) -> None:
        self._past = past
        self._seen: dict[str, float] = {}
        self._highest = dict(past.highest)

    def growth(self, name: str, value: float) -> Optional[Growth]:
        """Remember a counter and return its growth, None if there is none or nothing to compare."""
        if len(self._seen) < MOST:
            self._seen[name] = value
        past = self._past.older or self._past.newer
        if past is None or name not in past.values:
            return None
        # smaller than before: it began again from zero, as after a reboot
        amount = value - past.values[name] if value >= past.values[name] else value
        return Growth(amount, past.at) if amount > 0 else None

    def highest(self, name: str, value: float) -> float:
        """Remember a speed and return the highest that it ever had, this one included."""
        best = max(value, self._highest.get(name, value))
        if name in self._highest or len(self._highest) < MOST:
            self._highest[name] = best
        return best

    def after(self, now: float) -> Past:
        """Return what the next look is to know."""
        seen = Seen(now, self._seen)
        newer, older = self._past.newer, self._past.older
        # a clock that was set back would make them last for ever
        if newer is None or now < newer.at:
            return Past(None, seen, self._highest)
        if now - newer.at >= KEPT_S:
            return Past(newer, seen, self._highest)
        return Past(older, newer, self._highest)


def _seen(raw: Optional[Mapping[str, Any]]) -> Optional[Seen]:
    if raw is None:
        return None
    times(at=raw["at"])
    numbers(**raw["values"])
    return Seen(raw["at"], raw["values"])
