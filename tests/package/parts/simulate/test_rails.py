"""Adapters of two rails are simulated in the slots of the plan, with a noise of their own draw."""

from __future__ import annotations

from itertools import islice
from random import Random

import pytest

from plumbline.model.record import Record
from plumbline.parts.simulate.campaign import Terms, campaign, days_for
from plumbline.parts.simulate.fleet import NONE, QUIET, YEAR, Fault, Fleet, Flow, Losses
from plumbline.parts.simulate.weather import Capacity, Measuring, Weather
from tests.package.parts.simulate.fleets import fleet, outcome, records
from tests.package.rails import POLICY, rails

HOUR_S = 3600.0
RATE_BPS = 24.84e9
"""4X HDR less the headers of InfiniBand (docs/rdma.md)."""


def site() -> Fleet:
    return fleet(rails(), POLICY)


def of_verbs(flow: Flow) -> bool:
    return flow.layer == "rdma"


def test_each_adapter_writes_to_and_reads_from_each_partner_of_its_rail() -> None:
    flows = [flow for member in site().members for flow in member.flows() if of_verbs(flow)]
    assert len(flows) == 2 * 6 * 5 * 2
    assert {flow.operation.value for flow in flows} == {"write", "read"}
    assert all(flow.component[-4:] == flow.partner[-4:] for flow in flows)


def test_a_healthy_pair_reaches_the_ceiling_of_verbs() -> None:
    rates = Capacity(site()).healthy_Bps
    of_adapters = {round(rate, -7) for flow, rate in rates.items() if of_verbs(flow)}
    assert of_adapters == {RATE_BPS}


@pytest.mark.parametrize(("name", "pairs"), [("oss1-ib1", 5), ("oss1-ib0", 5), ("leaf3", 15)])
def test_a_fault_of_a_part_slows_the_pairs_that_cross_it(name: str, pairs: int) -> None:
    capacity = Capacity(site())
    under = capacity.under([Fault(name, 0.5)])
    slow = {flow for flow in under if of_verbs(flow)}
    # from both ends, in both directions
    assert len(slow) == 4 * pairs
    assert all(name in capacity.path(flow) for flow in slow)
    assert {round(under[flow] / capacity.healthy_Bps[flow], 6) for flow in slow} == {0.5}


def measured_on_a_day(policy: dict[str, object]) -> list[Record]:
    of = fleet(rails(), {**POLICY, **policy})
    measuring = Measuring(of, Weather(NONE, Random("1")))
    return [run for run in measuring.day(1, Capacity(of).healthy_Bps) if run.layer == "rdma"]


def test_adapters_are_measured_two_minutes_after_each_slot_with_one_partner() -> None:
    day = measured_on_a_day({})
    assert {run.started_at % HOUR_S for run in day} == {120.0}
    slots: dict[float, list[Record]] = {}
    for run in day:
        slots.setdefault(run.started_at, []).append(run)
    assert len(slots) == 24
    for runs in slots.values():
        ends = [end for run in runs for end in (run.component, run.partner)]
        # three pairs in each of two rails, each with a write and a read
        assert len(ends) == 2 * len(set(ends)) == 24


def test_adapters_have_slots_of_their_own_if_the_policy_says_so() -> None:
    schedule = {"slot": "4 h", "after": "10 min"}
    day = measured_on_a_day({"layers": {"rdma": {"schedule": schedule}}})
    assert {run.started_at % (4 * HOUR_S) for run in day} == {600.0}


def test_all_else_is_the_same_with_and_without_adapters() -> None:
    def others(of: Fleet) -> list[tuple[object, ...]]:
        runs = (run for run in records(of, YEAR, 6) if run.layer != "rdma")
        return [
            (run.layer, run.component, run.operation, run.partner, run.started_at, run.rate)
            for run in runs
        ]

    assert others(site()) == others(fleet(rails()))


def test_verbs_scatter_as_tests_of_the_network_do() -> None:
    runs = [run for run in records(site(), QUIET, 3) if run.layer == "rdma"]
    rates = {run.rate for run in runs}
    assert len(rates) == len(runs)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["oss1-ib1", "c2-ib1"])
def test_a_slow_adapter_is_found_by_its_own_service(name: str) -> None:
    (trial,) = outcome(site(), 6, Fault(name, 0.5, day=2), noise=YEAR).trials
    assert trial.found is not None
    assert trial.found <= 2
    assert trial.by[0] == f"rdma {name}"


@pytest.mark.slow
def test_the_part_at_fault_is_suspected_and_nobody_while_all_is_healthy() -> None:
    of = site()
    capacity = Capacity(of)
    losses = Losses(0.3, 0.9)
    broken = Terms(1, losses, YEAR, days_for(of))
    attempts = [*islice(campaign(of, capacity, broken, "1"), 8)]
    assert all(attempt.inside for attempt in attempts)
    assert any("-ib1" in fault.component for attempt in attempts for fault in attempt.faults)
    healthy = islice(campaign(of, capacity, broken._replace(faults=0), "1"), 8)
    assert not any(attempt.named for attempt in healthy)
