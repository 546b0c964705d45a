"""Metadata targets in simulated days: weather and faults of their own, alarms by their own runs."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.layers import LAYERS
from plumbline.parts.simulate.fleet import METADATA, QUIET, YEAR, Fault, Fleet
from plumbline.parts.simulate.weather import Capacity
from tests.package.parts.simulate.fleets import fleet, outcome, records
from tests.package.plan.test_metadata import HOSTS
from tests.package.sites import parts

MDT = "scratch-MDT0000"


def small(metadata: str = "scratch-MDT[0000-0001]", part: str = "mds[1-2]") -> Fleet:
    """Return a fleet of four OSTs and some MDTs, which the policy names."""
    system: dict[str, Any] = {
        "name": "scratch",
        "kind": "lustre",
        "mount": "/scratch",
        "client": "client1",
        "targets": [{"name": "scratch-OST[0000-0003]", "part": "oss1-lun[1-4]"}],
        "metadata": [{"name": metadata, "part": part}],
    }
    disks = {"name": "oss1-lun[1-4]", "kind": "disk", "rate": "200 MB/s", "feeds": "oss1"}
    return fleet(parts(*HOSTS, disks, file_systems=[system]), {"layers": {"mdt": {}}})


def test_calls_have_their_own_rates_which_no_part_of_the_path_limits() -> None:
    of = small()
    capacity = Capacity(of)
    calls = {flow: rate for flow, rate in capacity.healthy_Bps.items() if flow.layer == "mdt"}
    assert {flow.operation.value for flow in calls} == {"create", "mknod", "unlink", "mkdir"}
    assert set(calls.values()) == {10_000.0}
    assert {capacity.path(flow) for flow in calls} == {("scratch-MDT0000",), ("scratch-MDT0001",)}
    assert of.kinds[MDT] == METADATA


def test_a_fault_of_an_mdt_slows_its_calls_alone_and_a_server_slows_no_calls() -> None:
    capacity = Capacity(small())
    slowed = capacity.under([Fault(MDT, 0.5)])
    assert {(flow.component, rate) for flow, rate in slowed.items()} == {(MDT, 5000.0)}
    of_operation = capacity.under([Fault(MDT, 0.5, operation="mkdir")])
    assert [flow.operation.value for flow in of_operation] == ["mkdir"]
    servers = capacity.under([Fault("oss1-lun1", 0.5)])
    assert {flow.layer for flow in servers} == {"ost"}


def test_locating_never_draws_a_metadata_target() -> None:
    capacity = Capacity(small())
    assert MDT in capacity.components
    assert set(capacity.components) - set(capacity.located) == {MDT, "scratch-MDT0001"}


def test_each_metadata_target_has_days_of_its_own_and_calls_scatter_more_than_bytes() -> None:
    of = small()
    systems = {member.system for member in of.members if LAYERS[member.key[0]].of_metadata}
    assert systems == {MDT, "scratch-MDT0001"}

    def scatter(layer: str) -> float:
        rates = [r.rate for r in records(of, QUIET, 60) if r.layer == layer and r.rate]
        return (max(rates) - min(rates)) / sum(rates) * len(rates)

    assert scatter("mdt") > 2 * scatter("ost")


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "nights"), [(QUIET, 3), (YEAR, 7)])
def test_a_lone_mdt_at_half_of_its_rate_is_found_in_time(noise: Any, nights: int) -> None:
    of = small(MDT, "mds1")
    result = outcome(of, 20, Fault(MDT, 0.5, 8), noise=noise, seed="4711")
    (trial,) = result.trials
    assert trial.found is not None
    assert trial.found <= nights
    assert trial.by[0] == f"mdt {MDT}"
    assert trial.kind == METADATA
