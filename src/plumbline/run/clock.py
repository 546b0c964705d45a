"""The two clocks of a run: the wall's for dates, the monotonic one for every duration.

A wall clock that is stepped backwards in the middle of a run therefore changes a date at most.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time and waits."""

    def wall(self) -> float:
        """Return seconds since the epoch."""
        ...

    def monotonic(self) -> float:
        """Return seconds since some fixed moment; never goes back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def wall(self) -> float:
        """Return seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds since boot or so."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)
