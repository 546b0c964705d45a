"""Out of a history, only what is a component's own speaks for it."""

from __future__ import annotations

from math import log

import pytest

from plumbline.model.record import Flag
from plumbline.siblings import DAY_S
from plumbline.store.days import Days, Member
from plumbline.store.history import History, SeriesKey
from tests.package.records import record


@pytest.mark.parametrize(
    "excuse", [{"coverage": 0.5}, {"flags": (Flag.DEGRADED,)}, {"flags": (Flag.FAILED_OVER,)}]
)
def test_a_rate_that_is_not_the_component_s_own_does_not_speak(
    history: History, excuse: dict[str, object]
) -> None:
    now = 30 * DAY_S
    for name, rate_Bps in (("a", 50e6), ("b", 100e6), ("c", 100e6)):
        for number, more in enumerate((excuse if name == "a" else {}, {})):
            history.save(
                record(
                    id=f"{name}{number}",
                    run_id=f"run{number}",
                    component=name,
                    started_at=now - (2 - number) * DAY_S,
                    rate_Bps=rate_Bps,
                    **more,
                )
            )
    groups = {("ost", name): Member("scratch", 0.9) for name in "abc"}
    key = SeriesKey("ost", "a", "read", "single", "")
    points = {
        key._replace(component=c): history.points(key._replace(component=c), 9) for c in "abc"
    }
    found = Days(points, groups, now).of(key)
    assert [day.day for day in found] == [29]
    assert found[0].loss == pytest.approx(log(2), abs=1e-5)
