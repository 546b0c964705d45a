"""RDMA adapters are measured in pairs of one rail, with the ceilings of verbs."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation
from plumbline.model.infiniband import port_rate, verbs_on_ethernet, verbs_on_infiniband
from plumbline.plan.assignments import assignments
from plumbline.plan.expectations import Plan, compile_plan
from plumbline.plan.policy import load
from plumbline.plan.references import pairs
from plumbline.topology.graph import build
from tests.package.sites import part, parts


def site() -> dict[str, Any]:
    """Return three hosts with two rails; the second rail of the client is slower."""
    return parts(
        {"name": "leaf[1-2]", "kind": "switch", "feeds": "core"},
        {"name": "core", "kind": "switch"},
        {"name": "oss[1-2]-ib0", "kind": "nic", "infiniband": "4X HDR", "feeds": "leaf1"},
        {"name": "oss[1-2]-ib1", "kind": "nic", "infiniband": "4X HDR", "feeds": "leaf2"},
        {"name": "c1-ib0", "kind": "nic", "infiniband": "4X HDR", "feeds": "leaf1"},
        {"name": "c1-ib1", "kind": "nic", "infiniband": "4X EDR", "feeds": "leaf2"},
        {"name": "oss[1-2]-eth", "kind": "nic", "link": "10 Gbit/s", "encoding": "none"},
        {
            "name": "oss[1-2]",
            "kind": "server",
            "address": "10.0.0.[1-2]",
            "feeds": ["oss[1-2]-ib0", "oss[1-2]-ib1"],
            "through": "oss[1-2]-ib0",
        },
        {
            "name": "c1",
            "kind": "client",
            "address": "10.0.0.9",
            "feeds": ["c1-ib0", "c1-ib1"],
            "through": "c1-ib0",
        },
    )


def with_adapters(document: dict[str, Any]) -> dict[str, Any]:
    """Return the site with the devices of its adapters."""
    for entry in document["parts"]:
        if "infiniband" in entry:
            entry["rdma"] = f"mlx5_{entry['name'][-1]}"
    return document


def plan(document: dict[str, Any], **rules: Any) -> Plan:
    return compile_plan(build(document), load({"layers": {"rdma": rules}}), {})


def adapters(document: dict[str, Any], **rules: Any) -> dict[str, Expectation]:
    compiled = plan(document, **rules)
    return {
        entry.component: entry
        for entries in compiled.expectations.values()
        for entry in entries
        if entry.layer == "rdma"
    }


def test_adapters_of_one_rail_are_partners() -> None:
    entries = adapters(with_adapters(site()))
    partners = {name: sorted(p.name for p in entry.partners) for name, entry in entries.items()}
    assert partners == {
        "c1-ib0": ["oss1-ib0", "oss2-ib0"],
        "c1-ib1": ["oss1-ib1", "oss2-ib1"],
        "oss1-ib0": ["c1-ib0", "oss2-ib0"],
        "oss1-ib1": ["c1-ib1", "oss2-ib1"],
        "oss2-ib0": ["c1-ib0", "oss1-ib0"],
        "oss2-ib1": ["c1-ib1", "oss1-ib1"],
    }


def test_an_adapter_has_device_port_and_the_address_of_its_host() -> None:
    first, second = (adapters(with_adapters(site()))[name] for name in ("oss1-ib0", "oss1-ib1"))
    assert (first.host, first.target["address"], first.target["adapter"]) == (
        "oss1",
        "10.0.0.1",
        "mlx5_0/1",
    )
    assert (first.target["port"], second.target["port"]) == (18515, 18518)
    assert (first.target["negotiated"], second.target["adapter"]) == ("4X HDR", "mlx5_1/1")
    assert first.path == ("oss1", "oss1-ib0", "leaf1", "core")
    assert list(first.references) == ["write/single", "read/single", "latency/single"]
    assert first.spec.tool == "perftest"


def test_the_ceiling_of_a_pair_is_that_of_the_slower_adapter_after_its_headers() -> None:
    entry = adapters(with_adapters(site()))["oss1-ib1"]
    ceilings = {partner.name: partner.ceiling for partner in entry.partners}
    full = port_rate("4X HDR") * verbs_on_infiniband()
    assert ceilings["oss2-ib1"].rate == pytest.approx(full)
    assert ceilings["c1-ib1"].rate == pytest.approx(full / 2)
    assert ceilings["c1-ib1"].limited_by == ("c1-ib1",)
    ends = {partner.name: (partner.path[0], partner.path[-1]) for partner in entry.partners}
    assert ends == {"oss2-ib1": ("oss1", "oss2"), "c1-ib1": ("oss1", "c1")}
    own = entry.references["write/single"].ceiling
    assert own is not None
    assert own.rate == pytest.approx(full)
    assert entry.references["latency/single"].ceiling is None


def test_a_rate_that_is_supposed_is_that_of_verbs_too() -> None:
    topology = build(with_adapters(site())).with_rate(["c1-ib1"], 1e9)
    compiled = compile_plan(topology, load({"layers": {"rdma": {}}}), {})
    (entry,) = (item for item in compiled.expectations["oss1"] if item.component == "oss1-ib1")
    ceilings = {partner.name: partner.ceiling.rate for partner in entry.partners}
    assert ceilings["c1-ib1"] == 1e9


def test_roce_has_the_headers_of_the_mtu_and_tcp_those_of_its_own() -> None:
    document = parts(
        {"name": "switch1", "kind": "switch"},
        {
            "name": "oss[1-2]-nic",
            "kind": "nic",
            "rdma": "mlx5_bond_0",
            "feeds": "switch1",
            "link": "100 Gbit/s",
            "encoding": "none",
            "mtu": 9000,
        },
        {
            "name": "oss[1-2]",
            "kind": "server",
            "address": "10.0.0.[1-2]",
            "feeds": "oss[1-2]-nic",
        },
    )
    (partner,) = adapters(document)["oss1-nic"].partners
    assert partner.ceiling.rate == pytest.approx(12.5e9 * verbs_on_ethernet(9000))
    (tcp,) = (entry for entry in plan(document).expectations["oss1"] if entry.layer == "net")
    assert tcp.partners[0].ceiling.rate == pytest.approx(12.5e9 * 8960 / 9038)
    assert adapters(document)["oss1-nic"].target["negotiated"] == "100 Gb/sec"


def test_nothing_is_measured_that_the_policy_does_not_name() -> None:
    document = with_adapters(site())
    compiled = compile_plan(build(document), load({}), {})
    layers = {entry.layer for entries in compiled.expectations.values() for entry in entries}
    assert layers == {"net"}
    assert "rdma" not in compiled.schedule


def test_rdma_runs_in_the_slots_of_host_pairs_after_tcp() -> None:
    schedule = plan(with_adapters(site())).schedule
    assert schedule["net"]["calendar"] == "*-*-* 0/1:00:00 UTC"
    assert schedule["rdma"]["calendar"] == "*-*-* 0/1:02:00 UTC"
    assert (schedule["rdma"]["window_s"], schedule["rdma"]["slots"]) == (180, 6)
    short = plan(with_adapters(site()), schedule={"slot": "15 min"}).schedule
    assert short["rdma"]["calendar"] == "*-*-* *:2/15:00 UTC"


def test_each_adapter_has_a_service_on_its_host() -> None:
    services = [s for s in plan(with_adapters(site())).services if s.layer == "rdma"]
    assert {(service.host, service.component) for service in services} == {
        ("oss1", "oss1-ib0"),
        ("oss1", "oss1-ib1"),
        ("oss2", "oss2-ib0"),
        ("oss2", "oss2-ib1"),
        ("c1", "c1-ib0"),
        ("c1", "c1-ib1"),
    }
    assert {service.check for service in services} == {"check_rdma"}


def test_ceilings_list_the_pairs_of_each_rail_once() -> None:
    topology = build(with_adapters(site()))
    lines = pairs(topology, assignments(topology, load({"layers": {"rdma": {}}})))
    of_rdma = [line for line in lines if line.layer == "rdma"]
    assert {line.operation for line in of_rdma} == {"write or read"}
    assert len(of_rdma) == 6


REFUSED = [
    ("c1", {"address": None}, "c1 has the RDMA adapter c1-ib0, but no address"),
    ("c1-ib1", {"rdma": "mlx5_0"}, "c1-ib0 and c1-ib1 both have the port mlx5_0/1 of c1"),
    ("c1-ib1", {"feeds": ["leaf1", "leaf2"]}, "c1-ib1 has rdma and reaches the network by"),
    ("oss[1-2]-eth", {"rdma": "mlx5_9"}, "oss1-eth has rdma, but no client or server feeds it"),
    ("c1", {"feeds": ["c1-ib0", "oss1-ib1"]}, "oss1-ib1 has rdma, but several hosts feed it"),
    ("c1-ib1", {"rdma": "mlx5_0/x"}, "rdma 'mlx5_0/x' is not a port of an RDMA device"),
    ("leaf[1-2]", {"rdma": "mlx5_0"}, "a switch is no RDMA adapter"),
    ("c1-ib1", {"infiniband": "5X HDR"}, "is no width and speed of InfiniBand"),
    ("c1-ib1", {"rate": "1 GB/s"}, "give the speed once"),
]


@pytest.mark.parametrize(("name", "changes", "says"), REFUSED)
def test_an_adapter_that_cannot_be_paired_is_refused(
    name: str, changes: dict[str, Any], says: str
) -> None:
    document = with_adapters(site())
    entry = part(document, name)
    entry.update(changes)
    for key in [key for key, value in changes.items() if value is None]:
        del entry[key]
    with pytest.raises(DocumentError, match=says):
        plan(document)


def test_an_adapter_without_a_partner_of_its_rail_is_refused() -> None:
    document = with_adapters(site())
    del part(document, "leaf[1-2]")["feeds"]
    # the second adapter becomes the first rail of its host, on the other switch
    del part(document, "c1-ib0")["rdma"]
    with pytest.raises(DocumentError, match="c1-ib1 is the adapter of rail 1 of its host and"):
        plan(document)


def test_a_policy_that_names_rdma_needs_adapters() -> None:
    with pytest.raises(DocumentError, match="no adapter of plumbline_topology has rdma"):
        plan(site())


def test_more_rails_than_the_window_holds_are_refused() -> None:
    with pytest.raises(DocumentError, match=r"2 adapters of .* take 3 min, but the receiving end"):
        plan(with_adapters(site()), probe={"seconds": "30 s"})
