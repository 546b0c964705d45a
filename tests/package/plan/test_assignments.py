"""Who measures what follows from topology and policy."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.plan.assignments import Assignment, assignments, by_server
from plumbline.plan.policy import load
from plumbline.topology.graph import build
from tests.package.sites import part, site


def planned(document: dict[str, Any], **policy: Any) -> dict[str, Assignment]:
    found = assignments(build(document), load(policy))
    return {f"{one.layer} {one.component}": one for one in found}


def steps(one: Assignment) -> list[str]:
    return [f"{operation.value} {scenario.value}" for operation, scenario in one.steps]


def test_a_target_is_measured_by_its_client_and_judged_on_its_server() -> None:
    one = planned(site())["ost scratch-OST2"]
    assert (one.node, one.host, one.group) == ("client1", "oss2", "scratch")
    assert steps(one) == ["write single", "read single"]
    assert one.target["subvolume"] == "scratch-client-2"
    assert one.path[0] == "client1"


def test_devices_of_one_server_are_also_measured_together() -> None:
    one = planned(site())["raw oss2-disk1"]
    assert (one.node, one.host, one.group) == ("oss2", "oss2", "oss2")
    assert steps(one) == ["read single", "read together"]
    device = "/dev/disk/by-id/oss2-disk1"
    assert one.target == {"kind": "device", "device": device, "block_size": 512}


def test_a_server_with_one_device_measures_it_alone() -> None:
    document = site()
    document["file_systems"] = []
    part(document, "oss[1-2]-disk[1-2]")["name"] = "oss[1-2]-disk1"
    assert steps(planned(document)["raw oss1-disk1"]) == ["read single"]


def test_hosts_with_an_address_are_paired() -> None:
    found = planned(site(), layers={"net": {"port": 5000}})
    assert [name for name in found if name.startswith("net")] == ["net oss1", "net oss2"]
    one = found["net oss2"]
    assert steps(one) == ["send single", "receive single"]
    assert one.target == {
        "kind": "pair",
        "address": "10.0.0.2",
        "hosts": ["oss1", "oss2"],
        "slot_s": 3600.0,
        "window_s": 300.0,
        "port": 5000,
    }


def test_one_address_alone_makes_no_pair() -> None:
    document = site()
    part(document, "oss[1-2]").pop("address")
    part(document, "client1")["address"] = "10.0.0.9"
    assert not [name for name in planned(document) if name.startswith("net")]


def test_a_retired_target_is_not_measured() -> None:
    document = site()
    document["file_systems"][0]["retired"] = ["scratch-OST1"]
    found = planned(document)
    assert "ost scratch-OST1" not in found
    assert "ost scratch-OST2" in found


def test_each_server_with_several_devices_is_listed_once() -> None:
    groups = list(by_server(list(planned(site()).values())))
    assert [[one.component for one in members] for members in groups] == [
        ["oss1-disk1", "oss1-disk2"],
        ["oss2-disk1", "oss2-disk2"],
    ]


def test_staleness_follows_the_schedule() -> None:
    found = planned(site(), layers={"net": {"schedule": {"slot": "15 min"}}})
    assert found["ost scratch-OST0"].limits.stale_after_s == 1.5 * 86400
    # two hosts begin by turns: two slots, and half as long again
    assert found["net oss1"].limits.stale_after_s == 1.5 * 2 * 900


def test_a_run_hangs_when_all_repeats_have_used_their_time() -> None:
    probe = {"seconds": "10 s", "repeats": 2}
    found = planned(site(), layers={"ost": {"probe": probe}})
    assert found["ost scratch-OST0"].limits.hung_after_s == (2 * 2 + 1) * 10 + 60
    limits = {"hung_after": "20 min"}
    found = planned(site(), layers={"ost": {"probe": probe, "limits": limits}})
    assert found["ost scratch-OST0"].limits.hung_after_s == 1200


@pytest.mark.parametrize(
    ("layer", "sentence"),
    [
        ({"groups": {"home": {}}}, "layer ost has no group 'home'"),
        ({"components": {"scratch-OST9": {}}}, "layer ost has no component 'scratch-OST9'"),
        ({"limits": {"critical": "90:"}}, "critical 90: begins above warning 80:"),
        ({"probe": {"tool": "fioo"}}, "tool 'fioo' does not measure this layer; write one of: fio"),
        ({"probe": {"tool": "sgp_dd"}}, "layer ost: scratch-OST0: the tool 'sgp_dd' does not"),
        (
            {"probe": {"bytes": "1 MiB", "transfer": "2 MiB"}},
            "layer ost: scratch-OST0: fio cannot move 1048576 bytes in transfers of 2097152",
        ),
    ],
)
def test_a_policy_that_does_not_fit_the_site_is_refused(
    layer: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(DocumentError, match=sentence):
        planned(site(), layers={"ost": layer})


@pytest.mark.parametrize(
    ("layer", "probe", "sentence"),
    [
        ("net", {"tool": "fio"}, "layer net: oss1: the tool 'fio' .* one of: netperf, iperf3"),
        ("net", {"queue_depth": 2}, "netperf sends one stream, not 2; set queue_depth to 1 or use"),
        ("net", {"rate_cap": "1 MB/s"}, "netperf cannot cap its rate"),
        ("raw", {"tool": "fio"}, "layer raw: oss1-disk1: the tool 'fio' .* one of: sgp_dd"),
        ("raw", {"transfer": "1000 B"}, "transfer_bytes 1000 is no multiple of the logical block"),
        ("raw", {"queue_depth": 1025}, "sgp_dd has 1024 threads at most, not 1025"),
        (
            "ost",
            {"transfer": "1000 B"},
            "direct: true needs transfers of whole 512 bytes, not 1000",
        ),
        ("net", {"tool": "iperf3", "queue_depth": 129}, "iperf3 sends 128 streams at most"),
        ("net", {"seconds": "150 s"}, "both directions take 5 min, but the .* open for 5 min"),
    ],
)
def test_terms_that_would_only_fail_on_a_node_are_refused(
    layer: str, probe: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(DocumentError, match=rf"^plumbline_policy: .*{sentence}"):
        planned(site(), layers={layer: {"probe": probe}})


def test_what_is_measured_within_the_cache_has_blocks_of_any_size() -> None:
    probe = {"transfer": "1000 B", "direct": False}
    found = planned(site(), layers={"ost": {"probe": probe}})["ost scratch-OST0"]
    assert found.spec.transfer_bytes == 1000


def test_two_parts_of_a_server_cannot_be_the_same_device() -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]")["device"] = "/dev/sdb"
    said = "oss1-disk1 and oss1-disk2 both have the device /dev/sdb of oss1; give each its own"
    with pytest.raises(DocumentError, match=f"^plumbline_topology: {said}"):
        planned(document)


def test_a_device_may_have_one_name_on_all_servers() -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]")["device"] = "/dev/ost[0-1]"
    targets = [one.target for one in planned(document).values() if one.layer == "raw"]
    assert [one["device"] for one in targets] == ["/dev/ost0", "/dev/ost1"] * 2


def test_two_hosts_cannot_have_the_same_address() -> None:
    document = site()
    client = next(one for one in document["parts"] if one["kind"] == "client")
    client["address"] = "10.0.0.1"
    said = f"{client['name']} and oss1 both have the address 10.0.0.1; give each its own"
    with pytest.raises(DocumentError, match=f"^plumbline_topology: {said}"):
        planned(document)


def test_a_device_that_only_its_server_would_refuse_is_refused() -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]")["device"] = "/etc/{name}"
    with pytest.raises(DocumentError, match="device '/etc/oss1-disk1' is not a device under /dev"):
        planned(document)
