"""A measurement with an impossible value cannot be built."""

from __future__ import annotations

import math
from typing import Any

import pytest

from plumbline.model.errors import ToolError
from plumbline.model.record import Latency, Measurement


def measurement(**changes: Any) -> Measurement:
    values: dict[str, Any] = {
        "bytes": 400,
        "seconds": 2.0,
        "rate_Bps": 200.0,
        "profile_Bps": (190.0, 210.0),
        "latency": Latency(0.1, 0.1, 0.2, 0.3),
        "retransmits": 3,
    }
    return Measurement(**{**values, **changes})


def test_a_sound_measurement_keeps_its_values() -> None:
    sound = measurement()
    assert (sound.rate_Bps, sound.retransmits, sound.flags) == (200.0, 3, ())


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e19, 0.0, -1.0])
@pytest.mark.parametrize("key", ["bytes", "seconds", "rate_Bps"])
def test_bytes_seconds_and_rate_are_positive_numbers(key: str, value: float) -> None:
    name = key.replace("_Bps", "")
    with pytest.raises(ToolError, match=rf"measured {name} .* not a positive"):
        measurement(**{key: value})


@pytest.mark.parametrize(
    "changes",
    [
        {"profile_Bps": (1.0, -1.0)},
        {"profile_Bps": (math.nan,)},
        {"latency": Latency(0.1, math.inf, 0.2, 0.3)},
        {"retransmits": -1},
        {"retransmits": 10**400},
    ],
)
def test_no_detail_is_negative_or_not_a_number(changes: dict[str, Any]) -> None:
    with pytest.raises(ToolError, match="measured detail"):
        measurement(**changes)
