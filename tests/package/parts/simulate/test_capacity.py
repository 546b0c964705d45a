"""Faults slow the flows that cross the part and need the lost capacity, and no others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.model.limits import DEMONSTRATED, Baseline
from plumbline.model.record import Operation, Scenario
from plumbline.parts.simulate.fleet import REACHED, Fault, Fleet, Flow, build
from plumbline.parts.simulate.weather import Capacity
from plumbline.plan.baseline import Key
from plumbline.plan.policy import load
from tests.package.parts.simulate.fleets import fleet
from tests.package.sites import paper, part, site

SMALL = fleet()
CAPACITY = Capacity(SMALL)
READ, WRITE = Operation.READ, Operation.WRITE
ALONE, TOGETHER = Scenario.SINGLE, Scenario.TOGETHER


def shares(capacity: Capacity, *faults: Fault) -> dict[Flow, float]:
    """Return the share of its healthy rate that each slowed flow keeps."""
    return {
        flow: rate / capacity.healthy_Bps[flow] for flow, rate in capacity.under(faults).items()
    }


@pytest.mark.parametrize("machine", ["edison", "redstorm", "bgl", "jaguar"])
def test_a_healthy_flow_reaches_the_ceiling_of_the_plan(machine: str) -> None:
    large = build(paper(machine), load({}))
    healthy = Capacity(large).healthy_Bps
    for member in large.members:
        for flow in member.flows():
            ceiling = member.expectation.reference(flow.operation, flow.scenario).ceiling
            assert ceiling is not None
            assert healthy[flow] == pytest.approx(ceiling.rate)


def test_a_slow_disk_slows_its_target_and_its_own_reads() -> None:
    slowed_ = shares(CAPACITY, Fault("oss1-disk2", 0.4))
    assert set(slowed_) == {
        Flow("ost", "scratch-OST1", WRITE, ALONE),
        Flow("ost", "scratch-OST1", READ, ALONE),
        Flow("raw", "oss1-disk2", READ, ALONE),
        Flow("raw", "oss1-disk2", READ, TOGETHER),
    }
    assert list(slowed_.values()) == pytest.approx([0.6] * 4)


def test_a_part_without_a_rate_is_just_fast_enough() -> None:
    slowed_ = shares(CAPACITY, Fault("oss1", 0.1))
    # both disks together need all of the server; a single one leaves slack
    assert slowed_[Flow("raw", "oss1-disk1", READ, TOGETHER)] == pytest.approx(0.9)
    assert Flow("raw", "oss1-disk1", READ, ALONE) not in slowed_
    # and so does a single write
    assert Flow("ost", "scratch-OST0", WRITE, ALONE) not in slowed_
    half = shares(CAPACITY, Fault("oss1", 0.8))
    assert half[Flow("ost", "scratch-OST0", WRITE, ALONE)] < 1


def test_flows_that_run_together_share_the_remaining_capacity() -> None:
    document = site()
    part(document, "oss[1-2]")["rate"] = "200 MB/s"
    capacity = Capacity(fleet(document))
    slowed_ = shares(capacity, Fault("oss1", 0.5))
    together = {flow: share for flow, share in slowed_.items() if flow.scenario is TOGETHER}
    assert {flow.component for flow in together} == {"oss1-disk1", "oss1-disk2"}
    assert list(together.values()) == pytest.approx([100 / 160] * 2)
    assert Flow("raw", "oss1-disk1", READ, ALONE) not in slowed_


def test_every_kind_of_part_on_a_path_can_have_a_fault() -> None:
    kinds = {SMALL.kinds[name] for name in CAPACITY.components}
    assert kinds == {"switch", "nic", "server", "disk", "client", "target"}


faults = st.lists(
    st.builds(Fault, st.sampled_from(CAPACITY.components), st.floats(0.01, 0.99)), max_size=3
)


@given(faults)
def test_no_fault_makes_a_flow_faster_or_slower_than_its_own_loss(drawn: list[Fault]) -> None:
    remaining = 1.0
    for fault in drawn:
        remaining *= 1 - fault.loss
    for share in shares(CAPACITY, *drawn).values():
        assert remaining * (1 - 1e-9) <= share < 1


@given(st.sampled_from(CAPACITY.components), st.floats(0.01, 0.9), st.floats(0.01, 0.09))
def test_a_larger_loss_never_gives_a_higher_rate(component: str, loss: float, more: float) -> None:
    mild, worse = (CAPACITY.under([Fault(component, size)]) for size in (loss, loss + more))
    for flow, rate in mild.items():
        assert worse[flow] <= rate


def test_a_fleet_knows_the_kind_of_each_part() -> None:
    assert isinstance(SMALL, Fleet)
    assert SMALL.kinds["oss1-disk1"] == "disk"
    assert SMALL.kinds["scratch-OST0"] == "target"


def test_a_release_slows_one_operation_of_all_targets() -> None:
    slowed_ = shares(CAPACITY, Fault("release-2.4.0", 0.7, operation="read"))
    assert {flow.layer for flow in slowed_} == {"ost"}
    assert {flow.operation for flow in slowed_} == {READ}
    assert len({flow.component for flow in slowed_}) == 4
    assert list(slowed_.values()) == pytest.approx([0.3] * len(slowed_))
    assert slowed_ == shares(CAPACITY, Fault("release-2.4.0/scratch", 0.7, operation="read"))


def test_a_whole_file_system_or_site_may_be_slow() -> None:
    system, site_ = (shares(CAPACITY, Fault(name, 0.75)) for name in ("scratch", "site"))
    assert {flow.layer for flow in system} == {"ost"}
    assert set(site_) == set(CAPACITY.healthy_Bps)
    assert {*system.values(), *site_.values()} == {0.25}


def test_a_part_may_be_slow_in_one_operation() -> None:
    both, reads = (shares(CAPACITY, Fault("oss1-disk1", 0.4, 1, way)) for way in ("", "read"))
    assert {flow.operation for flow in both} == {READ, WRITE}
    assert reads == {flow: share for flow, share in both.items() if flow.operation is READ}


def test_the_losses_of_a_part_and_a_release_add_up() -> None:
    disk, release = Fault("oss1-disk1", 0.4), Fault("release-2.4.0", 0.5)
    both, alone = shares(CAPACITY, disk, release), shares(CAPACITY, disk)
    slowed = [flow for flow in alone if flow.layer == "ost"]
    assert slowed
    assert [both[flow] for flow in slowed] == pytest.approx([alone[flow] / 2 for flow in slowed])


def baseline(rate: float) -> Baseline:
    return Baseline(rate, 0, 1, "2014-05-07", "2014-05-07", DEMONSTRATED, {}, "ada", "a paper")


def test_a_healthy_flow_reaches_its_demonstrated_rate_or_even_share() -> None:
    topology = paper("edison")
    healthy = {
        Key("fs", "edison", "write", "together"): baseline(168e9),
        Key("fs", "fs1", "write", "together"): baseline(28.8e9),
        Key("ost", "ssu01", "write", "together"): baseline(3.2e9),
        Key("fs", "ssu01", "write", "together"): baseline(3.6e9),
        Key("ost", "fs1-OST0001", "write", "single"): baseline(450e6),
    }
    healthy_Bps = Capacity(build(topology, load({}), healthy)).healthy_Bps
    rates = {
        (flow.component, flow.operation): rate * REACHED / 1e6
        for flow, rate in healthy_Bps.items()
        if flow.layer == "ost"
    }
    # demonstrated: its own, of its unit in the lower layer, its file system, the site; its ceiling
    assert rates["fs1-OST0001", WRITE] == pytest.approx(450)
    assert rates["fs1-OST0000", WRITE] == pytest.approx(400)
    assert rates["fs1-OST0008", WRITE] == pytest.approx(300)
    assert rates["fs2-OST0000", WRITE] == pytest.approx(500)
    assert rates["fs2-OST0000", READ] == pytest.approx(4000 * REACHED)


def test_a_fault_slows_a_demonstrated_rate_without_slack() -> None:
    steps = ("write", "read")
    healthy = {Key("fs", "fs1", step, "together"): baseline(28.8e9) for step in steps}
    capacity = Capacity(build(paper("edison"), load({}), healthy))
    array = shares(capacity, Fault("oss01-array1", 0.4, operation="write"))
    assert list(array.values()) == pytest.approx([0.6])
    # a unit of 4 GB/s has slack for one target of 300 MB/s
    unit = shares(capacity, Fault("ssu01", 0.4, operation="write"))
    assert not unit
