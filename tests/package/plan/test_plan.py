"""The plan says to every node what it measures, and survives the way there."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from plumbline.measure.targets import target_for
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectations
from plumbline.plan.duration import START_S
from plumbline.plan.expectations import Plan, compile_plan
from plumbline.plan.policy import load
from plumbline.topology.graph import build
from tests.package.sites import INVENTORIES, paper, site


def plan(**fs: Any) -> Plan:
    policy = {"layers": {"fs": fs}} if fs else {}
    return compile_plan(build(site()), load(policy), {})


def test_a_node_gets_its_own_measurements_in_measuring_order() -> None:
    found = {
        node: [f"{entry.layer} {entry.component}" for entry in entries]
        for node, entries in plan().expectations.items()
    }
    assert found == {
        "oss1": ["raw oss1-disk1", "raw oss1-disk2", "net oss1"],
        "oss2": ["raw oss2-disk1", "raw oss2-disk2", "net oss2"],
        "client1": [f"ost scratch-OST{index}" for index in range(4)],
    }


def test_a_node_that_measures_nothing_has_an_empty_document() -> None:
    document = site()
    document["parts"].append({"name": "client2", "kind": "client", "feeds": "switch1"})
    compiled = compile_plan(build(document), load({}), {})
    assert compiled.node("client2").to_json()["entries"] == ()


def test_expectations_survive_the_way_to_the_node() -> None:
    compiled = plan()
    raw = json.loads(json.dumps(compiled.to_json(), allow_nan=False))
    for node, entries in compiled.expectations.items():
        received = Expectations.from_json(raw["nodes"][node])
        assert received.node == node
        for layer in {entry.layer for entry in entries}:
            assert received.find(layer) == tuple(one for one in entries if one.layer == layer)


def test_the_document_has_what_the_roles_need() -> None:
    raw = json.loads(json.dumps(plan().to_json()))
    keys = ["schema", "site", "nodes", "schedule", "takes_s", "confirm", "symptoms", "netserver"]
    keys += ["services", "hosts", "parts", "paths", "parents", "kernel_messages"]
    assert list(raw) == keys
    assert raw["schedule"] == {
        "ost": {"calendar": "*-*-* 02:06", "randomized_delay_s": 600, "limit_s": 2400},
        "raw": {"calendar": "*-*-* 03:06", "randomized_delay_s": 600, "limit_s": 2400},
        "net": {
            "calendar": "*-*-* 0/1:00:00 UTC",
            "randomized_delay_s": 0,
            "limit_s": 300,
            "slots": 2,
            "window_s": 300,
        },
    }
    # 1 GiB at 80 MB/s, three times: of two servers at the same time one target after the other is
    # written and read, on each server one disk after the other is read, then both together
    once = 2**30 / 80e6
    assert raw["takes_s"] == {
        "ost": {"client1": pytest.approx(START_S + 2 * 2 * 3 * once, abs=0.1)},
        "raw": dict.fromkeys(
            ["oss1", "oss2"], pytest.approx(START_S + (2 + 1) * 3 * once, abs=0.1)
        ),
    }
    assert raw["netserver"] == {"port": 12865}
    assert raw["hosts"][0] == {"name": "oss1", "kind": "server", "address": "10.0.0.1"}
    assert raw["hosts"][-1] == {"name": "client1", "kind": "client", "address": "client1"}
    assert raw["services"][0]["arguments"] == ["--component", "scratch-OST0"]
    disk = {"kind": "disk", "read_Bps": 80e6, "write_Bps": 80e6}
    assert raw["parts"]["oss1-disk1"] == disk
    assert raw["parts"]["scratch-OST0"] == {"kind": "target", "read_Bps": None, "write_Bps": None}


@pytest.mark.slow
def test_the_machines_of_the_papers_can_be_planned() -> None:
    measured = {
        name: sum(map(len, compile_plan(paper(name), load({}), {}).expectations.values()))
        for name in ("redstorm", "edison", "bgl")
    }
    assert measured == {"redstorm": 640, "edison": 336, "bgl": 448}


def test_every_kind_of_target_is_understood_where_it_is_measured() -> None:
    directory = {
        "name": "d[0-1]",
        "part": "oss1-disk[1-2]",
        "directory": "/d[0-1]",
        "source": "{name}",
    }
    document = site()
    document["file_systems"][0]["targets"][0]["brick"] = "oss[1-2]:/data/disk[1-2]/brick"
    document["file_systems"].append(
        {"name": "local", "kind": "directory", "client": "oss1", "targets": [directory]}
    )
    kinds = set()
    for topology in (build(document), paper("edison")):
        for entries in compile_plan(topology, load({}), {}).expectations.values():
            for entry in entries:
                if entry.layer != "net":
                    kinds.add(entry.target["kind"])
                    # raises for a key that it does not take
                    target_for(entry.target, entry.component, entry.limits.fill_limit)
    assert kinds == {"glusterfs", "directory", "lustre", "device"}


def test_a_server_is_told_which_targets_of_lustre_the_topology_puts_on_it() -> None:
    plan = compile_plan(paper("edison"), load({}), {})
    found = [name for node in plan.expectations for name in plan.node(node).served]
    hosts = {
        one.target["ost"]: one.host
        for every in plan.expectations.values()
        for one in every
        if one.layer == "ost"
    }
    assert sorted(found) == sorted(hosts)
    assert len(found) == 336
    assert all(name in plan.node(host).served for name, host in hosts.items())
    node = plan.node(hosts[found[0]])
    assert Expectations.from_json(json.loads(json.dumps(node.to_json()))).served == node.served
    older = {key: value for key, value in node.to_json().items() if key != "served"}
    assert Expectations.from_json(older).served == ()
    assert compile_plan(build(site()), load({}), {}).node("oss1").served == ()


def test_all_of_the_lab_is_measured() -> None:
    folder = INVENTORIES / "lab" / "group_vars" / "all"
    raw = yaml.safe_load((folder / "topology.yml").read_text(encoding="utf-8"))
    policy = yaml.safe_load((folder / "policy.yml").read_text(encoding="utf-8"))
    compiled = compile_plan(build(raw["plumbline_topology"]), load(policy["plumbline_policy"]), {})
    layers = [entry.layer for entries in compiled.expectations.values() for entry in entries]
    counts = {layer: layers.count(layer) for layer in layers}
    assert counts == {"raw": 6, "net": 4, "ost": 6, "fs": 7}
    assert [host["name"] for host in compiled.hosts] == ["oss1", "oss2", "oss3", "client1"]


def test_a_site_without_clients_of_parallel_runs_is_planned_as_if_there_were_none() -> None:
    document = plan().to_json()
    assert "fs" not in document
    assert list(document["schedule"]) == ["ost", "raw", "net"]
    assert "fs" not in {service["layer"] for service in document["services"]}


def test_the_first_client_measures_all_targets_at_once_for_everybody() -> None:
    compiled = plan(clients=["client1", "oss2"], work="/mnt/scratch", launcher="srun")
    document = compiled.to_json()
    assert document["fs"] == {
        "launcher": "client1",
        "clients": ["client1", "oss2"],
        "program": "srun",
        "work": "/mnt/scratch",
    }
    large = plan(clients=["client1"], memory="8 GiB").to_json()["fs"]
    assert large["memory_bytes"] == 8 << 30
    assert document["schedule"]["fs"] == {
        "calendar": "Sun *-*-* 04:06",
        "randomized_delay_s": 600,
        "limit_s": 2400,
    }
    found = compiled.node("client1").find("fs")
    targets = [f"scratch-OST{index}" for index in range(4)]
    assert [one.component for one in found] == [*targets, "scratch"]
    assert found[-1].target == {
        "kind": "parallel",
        "test": "ost",
        "ranks_per_target": 1,
        "clients": ["client1", "oss2"],
        "launcher": "srun",
        "work": "/mnt/scratch",
    }
    assert not [one for one in compiled.expectations["oss2"] if one.layer == "fs"]


def test_the_policy_names_the_clients_that_may_drop_caches() -> None:
    plan = compile_plan(build(site()), load({"drop_caches": ["client[1-1]"]}), {})
    nodes = plan.to_json()["nodes"]
    assert [name for name in nodes if Expectations.from_json(nodes[name]).drops_caches] == [
        "client1"
    ]
    with pytest.raises(DocumentError, match="drop_caches client9 is no host"):
        compile_plan(build(site()), load({"drop_caches": ["client9"]}), {})
