"""Samples of other tools are judged day by day by the rules for plumbline's own."""

from __future__ import annotations

from datetime import date, timedelta
from math import exp
from random import Random
from typing import Any

import pytest

from plumbline.judge.replay import DayVerdict, default_limits, replay
from plumbline.model.limits import Limits
from plumbline.model.series import Sampled
from plumbline.model.verdict import Reason, State

DISKS = tuple(f"disk{number}" for number in range(12))
PER_DAY = 20


def samples(days: int, slow: float = 1.0, noise: float = 0.15) -> list[Sampled]:
    """Return samples of twelve disks, disk3 ``slow`` times slower, with repeatable noise."""
    random = Random(11)
    rows = []
    for number in range(days * PER_DAY):
        day, place = divmod(number, PER_DAY)
        shared = random.gauss(0, 0.3)
        for disk in DISKS:
            rate = 1e4 * exp(shared + random.gauss(0, noise)) / (slow if disk == "disk3" else 1)
            at = 1_700_006_400.0 + 86400 * day + 3600 * place
            rows.append(Sampled("host1", f"2023-11-{15 + day}", at, disk, rate))
    return rows


def alarms(rows: list[Sampled]) -> list[DayVerdict]:
    bad = (State.WARNING, State.CRITICAL)
    return [day for day in replay(rows, Limits()) if day.verdict.state in bad]


def test_a_disk_a_fifth_slower_is_found_within_days_and_alone() -> None:
    judged = alarms(samples(7, slow=1.25))
    assert {(alarm.component, alarm.verdict.reason) for alarm in judged} == {("disk3", Reason.SLOW)}
    assert judged[0].day <= "2023-11-19"
    assert judged[0].to_json("B/s")["ratio"] == pytest.approx(0.8, abs=0.08)


def test_a_healthy_noisy_host_raises_no_alarm() -> None:
    assert alarms(samples(7, noise=0.4)) == []


def test_a_gross_loss_is_watched_on_the_first_day_and_an_alarm_soon() -> None:
    rows = samples(5, slow=3)
    first, *_, last = [
        verdict for verdict in replay(rows, Limits()) if verdict.component == "disk3"
    ]
    assert (first.verdict.state, first.verdict.reason) == (State.OK, Reason.WATCHED)
    assert (last.verdict.state, last.verdict.reason) == (State.CRITICAL, Reason.SLOW)
    assert {alarm.component for alarm in alarms(rows)} == {"disk3"}


def test_the_order_of_the_rows_does_not_matter() -> None:
    rows = samples(3, slow=1.25)
    shuffled = list(rows)
    Random(5).shuffle(shuffled)
    assert sorted(replay(shuffled, Limits())) == sorted(replay(rows, Limits()))


def test_contended_samples_do_not_count_against_a_component() -> None:
    rows = [
        row._replace(coverage=0.3) if row.component == "disk3" else row
        for row in samples(3, slow=1.25)
    ]
    assert alarms(rows) == []


def test_without_peers_each_sample_is_a_run_and_a_lasting_loss_is_found() -> None:
    rates = [100.0, 120, 90, 110, 95, 105, 100, 98] + [60.0] * 10
    rows = [
        Sampled("", f"2023-11-{10 + day}", 1_699_574_400.0 + 86400 * day, "fs", rate)
        for day, rate in enumerate(rates)
    ]
    judged = list(replay(rows, Limits(alarm_odds=100.0)))
    states = [day_verdict.verdict.state for day_verdict in judged]
    assert states[:8] == [State.UNKNOWN] * 8
    assert set(states[8:10]) == {State.OK}
    assert states[-1] is State.WARNING
    assert judged[-1].to_json("B/s")["ratio"] == pytest.approx(0.6, abs=0.03)


def test_a_baseline_that_the_file_states_is_used() -> None:
    row = Sampled("", "2023-11-10", 1_699_574_400.0, "fs", 60.0, baseline=100.0)
    (judged,) = replay([row], Limits())
    assert (judged.verdict.state, judged.verdict.reason) == (State.OK, Reason.WATCHED)
    assert judged.to_json("calls/s") == {
        "host": "",
        "component": "fs",
        "day": "2023-11-10",
        "state": "OK",
        "reason": "watched",
        "ratio": 0.6,
        "sentence": "fs watching: read 60 calls/s, 60 % of baseline 100 calls/s (5 runs to "
        "2023-11-10); one run is no evidence yet",
    }


@pytest.mark.parametrize(("components", "odds"), [(1, 30.44), (10, 304.4), (100, 3044.0)])
def test_the_default_budget_is_one_false_alarm_a_month_for_all_components(
    components: int, odds: float
) -> None:
    rows = [Sampled("h", "2023-11-10", 0.0, str(number), 1.0) for number in range(components)]
    assert default_limits(rows).alarm_odds == pytest.approx(odds)
    assert default_limits([*rows, *rows], 0.5).alarm_odds == pytest.approx(2 * odds)


def alone(rates: list[float], **changes: Any) -> list[DayVerdict]:
    """Judge a component without peers, a sample a day."""
    rows = [
        Sampled(
            "", str(date(2023, 11, 10) + timedelta(day)), 1_699_574_400.0 + 86400 * day, "fs", rate
        )
        for day, rate in enumerate(rates)
    ]
    return list(replay([row._replace(**changes) for row in rows], Limits()))


def test_each_day_is_judged_by_its_own_rate() -> None:
    judged = alone([100.0, 60.0, 100.0], baseline=100.0)
    assert [day.to_json("B/s")["ratio"] for day in judged] == [1.0, 0.6, 1.0]


def test_the_last_sample_of_a_day_without_peers_is_judged() -> None:
    rows = [
        Sampled("", "2023-11-10", 1_699_574_400.0, "fs", 100.0, baseline=100.0),
        Sampled("", "2023-11-10", 1_699_578_000.0, "fs", 60.0, baseline=120.0),
    ]
    (judged,) = replay(rows, Limits())
    assert judged.to_json("B/s")["ratio"] == 0.5


@pytest.mark.parametrize("days", [29, 30, 31, 40])
def test_thirty_runs_are_remembered(days: int) -> None:
    verdict = alone([60.0] * days, baseline=100.0)[-1]
    assert f"over {min(days, 30)} runs since" in verdict.sentence("B/s")


@pytest.mark.parametrize(("coverage", "watched"), [(0.89, False), (0.9, True), (1.0, True)])
def test_a_contended_sample_does_not_count_for_its_day(coverage: float, watched: bool) -> None:
    """Half of the samples of a disk are slow and contended."""
    rows = [
        row._replace(rate=row.rate / 3, coverage=coverage)
        if row.component == "disk3" and number // len(DISKS) % 2
        else row
        for number, row in enumerate(samples(1, noise=0.01))
    ]
    (judged,) = [verdict for verdict in replay(rows, Limits()) if verdict.component == "disk3"]
    assert (judged.verdict.reason is Reason.WATCHED) is watched


def test_a_day_with_peers_is_dated_by_its_last_sample() -> None:
    rows = samples(5, slow=3, noise=0.05)
    last = [verdict for verdict in replay(rows, Limits()) if verdict.component == "disk3"][-1]
    assert "over 5 runs since 2023-11-15 19:00 UTC" in last.sentence("B/s")


def test_a_day_without_peers_is_compared_with_the_last_day_with_peers() -> None:
    peers = samples(3, noise=0.05)
    alone = [row for row in samples(4, slow=3, noise=0.05) if row.component == "disk3"][-PER_DAY:]
    last = [day for day in replay(peers + alone, Limits()) if day.component == "disk3"][-1]
    assert (last.day, last.verdict.reason) == ("2023-11-18", Reason.SLOW)
