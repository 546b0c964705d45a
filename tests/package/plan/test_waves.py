"""What one client measures at the same time disturbs nobody: the ceiling says so."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from plumbline.model.expectation import Expectation, in_waves
from plumbline.model.record import Operation
from plumbline.plan.expectations import MOST_AT_ONCE, Plan, compile_plan
from plumbline.plan.policy import load
from plumbline.plan.references import speeds
from plumbline.topology.ceiling import alone, together
from plumbline.topology.graph import Topology, build
from tests.package.sites import paper, part, site


def plan(document: dict[str, Any], probe: Optional[dict[str, Any]] = None) -> Plan:
    policy = {"layers": {"ost": {"probe": probe}}} if probe else {}
    return compile_plan(build(document), load(policy), {})


def waves(compiled: Plan, node: str = "client1") -> list[list[Expectation]]:
    chosen = [one for one in compiled.expectations[node] if one.layer == "ost"]
    return in_waves(chosen, lambda one: one.wave)


def names(compiled: Plan, node: str = "client1") -> list[str]:
    """Return the last figures of the targets of each wave."""
    return ["".join(one.component[-1] for one in wave) for wave in waves(compiled, node)]


def wide(servers: int, disks: int, rate: str = "1 TB/s") -> dict[str, Any]:
    """Return a client whose link has a rate, and servers with disks of 80 MB/s."""
    document = site()
    for one in document["parts"]:
        one["name"] = one["name"].replace("oss[1-2]", f"oss[1-{servers}]")
        one["name"] = one["name"].replace("disk[1-2]", f"disk[1-{disks}]")
        one["feeds"] = one.get("feeds", "").replace("oss[1-2]", f"oss[1-{servers}]") or []
        one.pop("address", None)
    part(document, "client1")["rate"] = rate
    last = servers * disks - 1
    targets = document["file_systems"][0]["targets"][0]
    targets["name"] = f"scratch-OST[0-{last}]"
    targets["part"] = f"oss[1-{servers}]-disk[1-{disks}]"
    targets["subvolume"] = f"scratch-client-[0-{last}]"
    return document


def test_targets_of_different_servers_are_measured_at_the_same_time() -> None:
    compiled = plan(site())
    order = [one.component for one in compiled.expectations["client1"] if one.layer == "ost"]
    on = {one.component: one.host for one in compiled.expectations["client1"]}
    assert [[on[one.component] for one in wave] for wave in waves(compiled)] == [
        ["oss1", "oss2"],
        ["oss1", "oss2"],
    ]
    # the order of the document stays
    assert order == [f"scratch-OST{number}" for number in range(4)]


@pytest.mark.parametrize(
    ("rate", "sizes"), [("500 MB/s", [6]), ("320 MB/s", [4, 2]), ("159 MB/s", [1] * 6)]
)
def test_the_sum_of_the_ceilings_fits_the_link_of_the_client(rate: str, sizes: list[int]) -> None:
    assert [len(wave) for wave in waves(plan(wide(6, 1, rate)))] == sizes


def test_a_probe_with_a_cap_takes_no_more_than_that() -> None:
    capped = plan(wide(6, 1, "320 MB/s"), {"rate_cap": "50 MB/s"})
    assert [len(wave) for wave in waves(capped)] == [6]


def test_a_client_whose_link_has_no_rate_measures_one_after_the_other() -> None:
    document = wide(4, 1)
    del part(document, "client1")["rate"]
    assert [len(wave) for wave in waves(plan(document))] == [1] * 4
    # nor does the rate of the switch say how wide the client's own link is
    part(document, "switch1")["rate"] = "1 TB/s"
    assert [len(wave) for wave in waves(plan(document))] == [1] * 4


def test_a_switch_that_all_cross_carries_the_sum_or_has_no_rate() -> None:
    document = wide(4, 1)
    part(document, "switch1")["rate"] = "170 MB/s"
    assert [len(wave) for wave in waves(plan(document))] == [2, 2]


@pytest.mark.parametrize("kind", ["controller", "enclosure", "hba", "array"])
def test_what_shares_a_part_of_the_storage_is_measured_in_turn(kind: str) -> None:
    document = wide(4, 1)
    document["parts"].insert(-1, {"name": "shared[1-2]", "kind": kind, "feeds": "oss[1-4]"})
    disks = part(document, "oss[1-4]-disk[1-1]")
    disks["feeds"], disks["through"] = "shared[1-2]", "oss[1-4]"
    # a part without a rate never limits, but is one all the same
    for wave in waves(plan(document)):
        crossed = [name for one in wave for name in one.path if name.startswith("shared")]
        assert len(set(crossed)) == len(crossed) == 2


def test_a_wave_has_so_many_targets_at_most() -> None:
    sizes = [len(wave) for wave in waves(plan(wide(MOST_AT_ONCE + 4, 1)))]
    assert sizes == [MOST_AT_ONCE, 4]


def test_a_server_that_measures_its_own_disks_reads_them_one_by_one() -> None:
    document = site()
    document["file_systems"][0]["client"] = "oss1"
    part(document, "oss[1-2]")["rate"] = "1 GB/s"
    targets = document["file_systems"][0]["targets"][0]
    targets.update(name="scratch-OST[0-1]", part="oss1-disk[1-2]", subvolume="scratch-client-[0-1]")
    assert [len(wave) for wave in waves(plan(document), "oss1")] == [1, 1]


def disturbed(topology: Topology, wave: list[Expectation], operation: Operation) -> list[str]:
    """Return those that have less of their paths beside the others than alone."""
    capacities = speeds(topology).of(operation)
    beside = together(capacities, {one.component: one.path for one in wave})
    found = []
    for one in wave:
        limit, own = beside[one.component], alone(capacities, one.path)
        assert limit is not None
        assert own is not None
        if limit.ceiling.rate_Bps < own.ceiling.rate_Bps * (1 - 1e-6):
            found.append(one.component)
    return found


@pytest.mark.parametrize("operation", [Operation.WRITE, Operation.READ])
def test_nobody_has_less_beside_the_others_of_a_wave_than_alone(operation: Operation) -> None:
    topology = paper("redstorm")
    compiled = compile_plan(topology, load({}), {})
    found = waves(compiled, "login1")
    assert sum(map(len, found)) == 320
    assert [len(wave) for wave in found] == [10] * 32
    assert [disturbed(topology, wave, operation) for wave in found] == [[]] * 32


def test_red_storm_is_measured_within_the_limit_of_its_unit() -> None:
    compiled = compile_plan(paper("redstorm"), load({}), {})
    # 320 targets of 200 MB/s through 2.1 GB/s: ten at a time, 1 GiB written and read three times
    assert compiled.takes_s("ost")["login1"] == pytest.approx(4 + 32 * 6 * 2**30 / 200e6)
    assert compiled.takes_s("ost")["login1"] < compiled.schedule["ost"]["limit_s"]
