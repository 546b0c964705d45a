"""Simulated runs follow the schedule of the policy, with peers in the same run."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any, Optional

import pytest

from plumbline.model.record import Record
from plumbline.parts.simulate.course import prepare
from plumbline.parts.simulate.days import end_of
from plumbline.parts.simulate.fleet import NONE, QUIET, YEAR, Noise
from plumbline.parts.simulate.weather import Capacity, Measuring, Weather
from tests.package.parts.simulate.fleets import fleet


def measured(
    first: int, last: int, policy: Optional[dict[str, Any]] = None, noise: Noise = NONE
) -> tuple[Measuring, list[Record]]:
    site = fleet(policy=policy)
    measuring = Measuring(site, Weather(noise, Random("1")))
    healthy = Capacity(site).healthy_Bps
    records = [record for day in range(first, last + 1) for record in measuring.day(day, healthy)]
    return measuring, records


CALENDARS = {"1 d": "*-*-* 03:00", "12 h": "*-*-* 03,15:00", "7 d": "Sun *-*-* 03:00"}


def policy_of(layer: str, period: str) -> dict[str, Any]:
    schedule = {"calendar": CALENDARS[period], "every": period}
    return {"schema": 1, "layers": {layer: {"schedule": schedule}}}


@pytest.mark.parametrize(("period", "runs"), [("1 d", 14), ("12 h", 28), ("7 d", 2)])
def test_a_layer_runs_as_often_as_the_policy_says_and_on_the_first_day(
    period: str, runs: int
) -> None:
    records = measured(1, 14, policy_of("raw", period))[1]
    starts = {record.started_at for record in records if record.layer == "raw"}
    assert len(starts) == runs
    assert end_of(0) <= min(starts) < end_of(1)


def test_twelve_runs_come_before_the_first_day() -> None:
    measuring, _ = measured(1, 0, policy_of("raw", "7 d"))
    assert measuring.days_before == 84
    records = measured(1 - 84, 0, policy_of("raw", "7 d"))[1]
    runs = Counter(
        (record.layer, record.operation, record.scenario)
        for record in records
        if record.component[-1] == "1"
    )
    counts = {layer: count for (layer, _, _), count in runs.items()}
    assert counts["raw"] == 12 * 2
    assert counts["ost"] == 12


def test_hosts_meet_their_partners_in_turns() -> None:
    records = [verdict for verdict in measured(1, 1)[1] if verdict.layer == "net"]
    # 24 slots a day, one pair, both directions by turns
    assert Counter(record.component for record in records) == {"oss1": 24, "oss2": 24}
    assert {(record.component, record.partner) for record in records} == {
        ("oss1", "oss2"),
        ("oss2", "oss1"),
    }


def test_a_sample_has_the_median_rate_of_its_peers() -> None:
    measuring, records = measured(1, 1, noise=YEAR)
    rates = {
        record.component: record.rate
        for record in records
        if record.layer == "ost" and record.operation.value == "read"
    }
    for name, rate in rates.items():
        others = sorted(other for key, other in rates.items() if key != name and other)
        of_target = next(
            series for series in measuring.memory.of("ost", name) if series.latest.rate == rate
        )
        assert of_target.samples[0].peers_rate == others[1]
        assert of_target.samples[0].peers == 3


def test_a_series_is_as_long_as_on_a_node() -> None:
    measuring, _ = measured(1, 40)
    series = measuring.memory.of("ost", "scratch-OST0")
    assert [len(one_series.samples) for one_series in series] == [30, 30]
    assert series[0].samples[0].started_at == series[0].latest.started_at


def test_runs_at_their_usual_rate_end_early() -> None:
    site = fleet()
    capacity = Capacity(site)
    measuring = prepare(site, capacity, Weather(QUIET, Random("1"))).measuring
    slow = {
        flow: rate / 2 if flow.component == "scratch-OST0" else rate
        for flow, rate in capacity.healthy_Bps.items()
    }
    repeats: dict[str, list[int]] = {}
    for record in measuring.day(1, slow):
        if record.layer == "ost":
            repeats.setdefault(record.component, []).append(len(record.repeats))
    assert repeats.pop("scratch-OST0") == [3, 3]
    others = Counter(number for numbers in repeats.values() for number in numbers)
    assert others[1] > others[3]
