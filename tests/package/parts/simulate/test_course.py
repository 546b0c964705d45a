"""Courses: the production judge sees the faults of a fleet, and nothing else without noise."""

from __future__ import annotations

import pytest

from plumbline.model.verdict import Reason, State, Verdict
from plumbline.parts.simulate.course import Scenario, Today, simulated_days
from plumbline.parts.simulate.fleet import BEFORE, NONE, YEAR, Fault
from plumbline.parts.simulate.memory import Memory
from plumbline.parts.simulate.weather import Capacity
from tests.package.judgements import judge_service
from tests.package.parts.simulate.fleets import days, fleet
from tests.package.sites import part, site

ALARMS = (State.WARNING, State.CRITICAL)


def bad(verdicts: tuple[Verdict, ...]) -> dict[str, str]:
    return {
        f"{verdict.layer} {verdict.component}": verdict.state.name
        for verdict in verdicts
        if verdict.state is not State.OK
    }


def test_without_faults_and_noise_every_day_is_fine() -> None:
    course = list(days(fleet(), 20))
    assert [today.day for today in course] == list(range(1, 21))
    assert all(bad(today.verdicts) == {} for today in course)


def test_small_reads_are_not_simulated_and_hide_no_verdict() -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]")["media"] = "flash"
    (today,) = days(fleet(document), 1)
    assert bad(today.verdicts) == {}
    flash = next(entry for entry in today.nodes["oss1"] if entry.layer == "raw")
    assert [*flash.references] == ["read/single", "read/together"]


def test_every_component_and_group_is_judged_each_day() -> None:
    (today,) = days(fleet(), 1)
    assert len(today.verdicts) == 4 + 4 + 2 + 3


def test_the_bytes_of_planned_runs_are_counted_from_the_first_day() -> None:
    first, second = days(fleet(), 2)
    spec = first.nodes["client1"][0].spec
    # without any spread no rate is usual, so each run has all its repeats
    assert first.planned_bytes == spec.bytes * spec.repeats * sum(
        len(entry.references)
        for entries in first.nodes.values()
        for entry in entries
        if entry.layer in ("ost", "raw")
    )
    assert second.planned_bytes == 2 * first.planned_bytes
    assert second.confirmed_bytes == 0


def test_a_shared_loss_is_an_alarm_of_the_group() -> None:
    *_, today = days(fleet(), 12, Fault("client1", 0.97, day=2))
    assert bad(today.verdicts) == {"ost scratch": "CRITICAL"}


def test_the_first_run_under_a_release_is_remembered() -> None:
    *_, today = days(fleet(), 8, Fault("release-2.4.0", 0.1, 3))
    memory = today.judging.memory
    assert isinstance(memory, Memory)
    (write, *_) = memory.of("ost", "scratch-OST0")
    assert memory.changed_at(write.latest) == write.samples[5].started_at
    assert memory.copy().changed_at(write.latest) == write.samples[5].started_at
    (device, *_) = memory.of("raw", "oss1-disk1")
    assert memory.changed_at(device.latest) is None
    assert not device.latest.versions


def test_a_site_that_was_always_slow_is_below_its_floor_without_baselines() -> None:
    new_site = fleet()
    scenario = Scenario(6, NONE, (Fault("site", 0.75, 0),), "1", new=True)
    course = list(simulated_days(new_site, Capacity(new_site), scenario))
    assert course[-1].judging.memory.of("ost", "scratch-OST0")[0].samples[5:] != ()
    assert course[-1].judging.memory.of("ost", "scratch-OST0")[0].samples[6:] == ()
    below = [verdict for verdict in course[4].verdicts if verdict.reason is Reason.BELOW_FLOOR]
    assert {(alarm.layer, alarm.component) for alarm in below} >= {
        ("ost", "scratch"),
        ("raw", "oss1"),
    }
    assert not [
        verdict for today in course[:4] for verdict in today.verdicts if verdict.state in ALARMS
    ]


def rates(today: Today, component: str) -> dict[str, float]:
    """Return the last rate of each operation of a component relative to its baseline."""
    shares = {}
    for expectations in today.nodes.values():
        for entry in expectations:
            if (entry.layer, entry.component) == ("raw", component):
                for series in today.judging.memory.of(entry.layer, entry.component):
                    latest = series.latest
                    baseline = entry.reference(latest.operation, latest.scenario).baseline
                    assert baseline
                    assert latest.rate
                    shares[latest.scenario.value] = latest.rate / baseline.median
    return shares


@pytest.mark.parametrize(
    ("fault", "share"),
    [
        (Fault("oss1-disk1", 0.05, BEFORE, last=0), 1 / 0.95),
        (Fault("oss1-disk1", 0.05, BEFORE), 1.0),
        (Fault("oss1-disk1", -0.1, 3), 1.1),
    ],
    ids=["only before", "from before on", "replaced by a faster one"],
)
def test_a_component_faster_than_its_baseline_has_no_alarm(fault: Fault, share: float) -> None:
    *_, today = days(fleet(), 8, fault)
    assert rates(today, "oss1-disk1")["single"] == pytest.approx(share)
    assert not [verdict for verdict in today.verdicts if verdict.state in ALARMS]


def test_a_fault_changes_no_day_before_it_and_no_noise() -> None:
    healthy = [today.verdicts for today in days(fleet(), 8, noise=YEAR)]
    fault = Fault("scratch-OST0", 0.4, 5)
    faulty = [today.verdicts for today in days(fleet(), 8, fault, noise=YEAR)]
    assert healthy[:4] == faulty[:4]
    hosts = [
        [[verdict for verdict in verdicts if verdict.layer == "net"] for verdicts in course]
        for course in (healthy, faulty)
    ]
    assert hosts[0] == hosts[1]


def test_the_verdicts_equal_those_of_the_judge() -> None:
    *_, today = days(fleet(), 9, Fault("oss2-disk1", 0.3, 2), noise=YEAR)
    verdicts = {
        (verdict.layer, verdict.component): verdict
        for verdict in today.verdicts
        if not verdict.group
    }
    for entries in today.nodes.values():
        for entry in entries:
            series = today.judging.memory.of(entry.layer, entry.component)
            evidence = today.weighing.evidence((entry.layer, entry.component, False))
            alone = judge_service(entry, series, (), today.judging.now, evidence)
            simulated = verdicts[entry.layer, entry.component]
            if alone.state is State.OK:
                # the simulation leaves its words out
                alone = alone._replace(sentence=simulated.sentence)
            assert simulated == alone._replace(evidence=(), figures=())


def test_baselines_are_captured_from_the_days_before_the_course() -> None:
    (today,) = days(fleet(), 1)
    baselines = [
        reference.baseline
        for entries in today.nodes.values()
        for entry in entries
        for reference in entry.references.values()
    ]
    assert len(baselines) == 4 * 2 + 4 * 2 + 2 * 2
    for baseline in baselines:
        assert baseline is not None
        assert baseline.runs == 12
        assert baseline.last == "2025-12-31"


def test_a_component_far_below_its_siblings_gets_no_baseline() -> None:
    noise = NONE._replace(component=0.3)
    (today,) = days(fleet(), 1, noise=noise, seed="3")
    without = [
        node.component
        for node in today.nodes["client1"]
        if node.references["read/single"].baseline is None
    ]
    rates = {
        node.component: today.judging.memory.of("ost", node.component)[0].latest.rate
        for node in today.nodes["client1"]
    }
    assert without
    assert min(rates, key=lambda name: rates[name] or 0.0) in without
