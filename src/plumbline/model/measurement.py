"""What one run of one tool measured, if it measured anything: probe -> run.

Trouble is never a measurement: a tool that failed raises :class:`~plumbline.errors.ToolError`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

from plumbline.errors import ToolError
from plumbline.model.record import Flag, Latency
from plumbline.units import LARGEST


class _MeasurementFields(NamedTuple):
    bytes: int
    seconds: float
    rate_Bps: float
    profile_Bps: tuple[float, ...] = ()
    latency: Optional[Latency] = None
    retransmits: Optional[int] = None
    flags: tuple[Flag, ...] = ()


class Measurement(_MeasurementFields):
    """One operation, once: bytes moved, seconds it took, and the rate the tool gives for it.

    ``profile_Bps`` holds one value a second, empty where the tool tells none; ``retransmits``
    counts TCP segments, None where that is unknown; ``flags`` are SHORT (the time limit
    came before the bytes) and CONFIDENCE_MISSED.  With an impossible value it cannot be built.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Measurement:
        """Build and validate; raise ToolError naming the impossible value."""
        self = super().__new__(cls, *args, **kwargs)
        positive = {"bytes": self.bytes, "seconds": self.seconds, "rate": self.rate_Bps}
        for name, value in positive.items():
            if not 0 < value <= LARGEST:
                raise _impossible(name, value, "is not a positive, plausible number")
        times = self.latency or ()
        zero_or_more = (*self.profile_Bps, *times, self.retransmits or 0)
        for value in zero_or_more:
            if not 0 <= value <= LARGEST:
                raise _impossible("detail", value, "is negative or not a plausible number")
        return self


def _impossible(name: str, value: float, why: str) -> ToolError:
    return ToolError(f"measured {name} {value!r} {why}; run the tool by hand to see what it prints")
