"""Moment of the last change, from the measurements that saw it."""

from __future__ import annotations

from typing import Optional, Sequence

import pytest

from plumbline.judge.cases import last_change
from plumbline.judge.kinds import Era, Measurement
from plumbline.model.limits import Limits
from plumbline.model.units import DAY_S


def measurement_with_change(at: Optional[float]) -> Measurement:
    era = Era("Lustre 2.3.0", at, with_group=True)
    return Measurement("kind", "a", (), None, Limits(), None, era)


NIGHT = 40 * DAY_S


@pytest.mark.parametrize(
    ("moments", "expected"),
    [
        ([], None),
        ([None], None),
        ([NIGHT], NIGHT),
        ([NIGHT + 600, NIGHT, None], NIGHT),
        ([NIGHT - DAY_S / 2 + 1, NIGHT], NIGHT - DAY_S / 2 + 1),
        ([NIGHT - DAY_S / 2, NIGHT], NIGHT),
        ([NIGHT - 0.6 * DAY_S, NIGHT - 0.4 * DAY_S, NIGHT], NIGHT - 0.4 * DAY_S),
    ],
    ids=["nothing", "unknown", "once", "in turns", "half a day", "a half", "the night before"],
)
def test_the_last_change_dates_from_the_first_measurement_of_its_night(
    moments: Sequence[Optional[float]], expected: Optional[float]
) -> None:
    assert last_change([measurement_with_change(at) for at in moments]) == expected
