"""The judge of production sees the faults of a fleet, and nothing else where there is no noise."""

from __future__ import annotations

import pytest

from plumbline.judge.component import judge as judge_one
from plumbline.judge.pair import judge_pair_host
from plumbline.model.reason import Reason
from plumbline.model.state import State
from plumbline.model.verdict import Verdict
from plumbline.simulate.faults import Fault
from plumbline.simulate.noise import NONE, YEAR
from tests.package.simulate.fleets import days, fleet


def bad(verdicts: tuple[Verdict, ...]) -> dict[str, str]:
    return {
        f"{one.layer} {one.component}": one.state.name
        for one in verdicts
        if one.state is not State.OK
    }


def test_without_fault_and_noise_every_day_is_fine() -> None:
    found = list(days(fleet(), 20))
    assert [today.day for today in found] == list(range(1, 21))
    assert all(bad(today.verdicts) == {} for today in found)


def test_every_component_and_group_is_judged_each_day() -> None:
    (today,) = days(fleet(), 1)
    assert len(today.verdicts) == 4 + 4 + 2 + 3


def test_a_gross_fault_is_found_on_its_first_run_and_named() -> None:
    found = list(days(fleet(), 6, Fault("oss2-disk1", 0.6, day=4)))
    assert [bad(today.verdicts) for today in found[:3]] == [{}] * 3
    assert bad(found[3].verdicts) == {"raw oss2-disk1": "CRITICAL", "ost scratch-OST2": "CRITICAL"}
    sentence = next(one.sentence for one in found[3].verdicts if one.component == "oss2-disk1")
    assert sentence.startswith("oss2-disk1 read 28.2 MB/s, 40 % of baseline 70.4 MB/s")
    assert found[2].faults == ()
    assert found[3].faults == (Fault("oss2-disk1", 0.6, 4),)


def test_what_all_share_is_seen_by_the_group() -> None:
    *_, today = days(fleet(), 2, Fault("client1", 0.97, day=2))
    assert bad(today.verdicts) == {"ost scratch": "CRITICAL"}


def test_equal_seeds_give_equal_days() -> None:
    fault = Fault("oss1-disk1", 0.3, 5)
    found = [
        [today.verdicts for today in days(fleet(), 10, fault, noise=YEAR, seed=seed)]
        for seed in ("a", "a", "b")
    ]
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_a_fault_changes_no_day_before_it_and_no_noise() -> None:
    healthy = [today.verdicts for today in days(fleet(), 8, noise=YEAR)]
    fault = Fault("scratch-OST0", 0.4, 5)
    faulty = [today.verdicts for today in days(fleet(), 8, fault, noise=YEAR)]
    assert healthy[:4] == faulty[:4]
    hosts = [
        [[one for one in verdicts if one.layer == "net"] for verdicts in found]
        for found in (healthy, faulty)
    ]
    assert hosts[0] == hosts[1]


def test_the_verdicts_are_those_of_the_judge() -> None:
    *_, today = days(fleet(), 9, Fault("oss2-disk1", 0.3, 2), noise=YEAR)
    verdicts = {(one.layer, one.component): one for one in today.verdicts if not one.group}
    for found in today.nodes.values():
        for each in found:
            judging = judge_pair_host if each.layer == "net" else judge_one
            series = today.memory.of(each.layer, each.component)
            alone = judging(each, series, (), today.now)
            seen = verdicts[each.layer, each.component]
            assert seen._replace(evidence=()) == alone._replace(evidence=())


def test_baselines_are_captured_from_the_days_before() -> None:
    (today,) = days(fleet(), 1)
    baselines = [
        reference.baseline
        for found in today.nodes.values()
        for each in found
        for reference in each.references.values()
    ]
    assert len(baselines) == 4 * 2 + 4 * 2 + 2 * 2
    for one in baselines:
        assert one is not None
        assert one.runs == 12
        assert one.last == "2025-12-31"


def test_what_is_far_below_its_siblings_in_the_days_before_gets_no_baseline() -> None:
    noise = NONE._replace(component=0.3)
    (today,) = days(fleet(), 1, noise=noise, seed="3")
    without = [
        each.component
        for each in today.nodes["client1"]
        if each.references["read/single"].baseline is None
    ]
    rates = {
        each.component: today.memory.of("ost", each.component)[0].latest.rate_Bps
        for each in today.nodes["client1"]
    }
    assert without
    assert min(rates, key=lambda name: rates[name] or 0.0) in without


@pytest.mark.parametrize("seed", ["1", "2"])
def test_no_run_is_faster_than_the_hardware(seed: str) -> None:
    for today in days(fleet(), 15, noise=YEAR, seed=seed):
        assert not [one for one in today.verdicts if one.reason is Reason.INVALID]
