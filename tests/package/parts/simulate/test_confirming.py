"""Confirmation in simulations: low components are measured again, with counted bytes."""

from __future__ import annotations

from random import Random
from typing import Any, Optional

from plumbline.judge.weighing import Weighing
from plumbline.parts.simulate.course import Confirmer, prepare
from plumbline.parts.simulate.fleet import QUIET, Fault
from plumbline.parts.simulate.weather import Capacity, Weather
from tests.package.parts.simulate.fleets import fleet
from tests.package.sites import inventory_document

LAB = inventory_document("lab", "topology")
"""Six targets are peers; two would not be confirmed."""
QUIETER = QUIET._replace(component=0.0)


def course(
    *faults: Fault, days: int = 4, policy: Optional[dict[str, Any]] = None
) -> tuple[list[set[str]], float]:
    """Return the components in alarm after each day, and the bytes of confirmation."""
    simulated = fleet(LAB, policy)
    capacity, weather = Capacity(simulated), Weather(QUIETER, Random("1"))
    measuring, nodes = prepare(simulated, capacity, weather)
    confirming = Confirmer(measuring, nodes, simulated.periods_s)
    alarms = []
    for day in range(1, days + 1):
        weather.next_day()
        rates = {**capacity.healthy_Bps, **capacity.under(faults)}
        for _ in measuring.day(day, rates):
            pass
        confirming.day(day, rates)
        alarming = set()
        for node, entries in nodes.items():
            evidence_of = Weighing({node: entries}, {node: measuring.memory}).all()
            alarming |= {
                name
                for (_, name, group), evidence in evidence_of.items()
                if (evidence.alarm or evidence.gross_since) and not group
            }
        alarms.append(alarming)
    return alarms, measuring.confirmed_bytes


def test_without_a_loss_nothing_is_measured_again() -> None:
    assert course() == ([set()] * 4, 0)


def test_a_gross_loss_is_an_alarm_on_its_first_day_at_limited_cost() -> None:
    slow = Fault("oss1-disk1", 0.7)
    once, moved = course(slow, days=1)
    assert "oss1-disk1" in once[0] or any("OST" in name for name in once[0])
    assert moved > 0
    later, moved_later = course(slow, days=4)
    assert later[-1] >= once[0]
    assert moved_later < 3 * moved


def test_components_measured_every_ten_days_are_confirmed_in_between() -> None:
    tenth = {"calendar": "*-*-01,11,21 02:06", "every": "10 d"}
    layer = {"schedule": tenth, "confirm": {"every": "1 d", "bytes": "50%"}}
    raw = {"schedule": tenth, "confirm": {"runs": 0}}
    policy = {"schema": 1, "layers": {"ost": layer, "raw": raw}}
    slow = Fault("oss1-disk1", 0.7)
    alarms, moved = course(slow, days=9, policy=policy)
    assert not alarms[0]
    assert alarms[4]
    assert alarms[4] == alarms[-1]
    assert moved == course(slow, days=5, policy=policy)[1]


def test_a_gross_loss_of_one_of_two_devices_that_no_target_shows_is_found_in_days() -> None:
    """A weekly read in a group of two: it is measured again on the next days."""
    weekly = {"calendar": "Sun *-*-* 03:06", "every": "7 d"}
    off = {"schedule": weekly, "confirm": {"runs": 0}}
    policy = {"schema": 1, "layers": {"raw": {"schedule": weekly}, "ost": off}}
    alarms, _ = course(Fault("oss1-disk1", 0.8), days=3, policy=policy)
    assert "oss1-disk1" in alarms[1]
