"""Assignments: the node of each measurement, and refusals."""

from __future__ import annotations

import json
import re
from collections import Counter
from fnmatch import fnmatchcase
from typing import Any, Optional

import pytest

from plumbline.model.codec import read_document
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectations
from plumbline.model.ledger import DEFAULT_PARAMETERS
from plumbline.model.limits import Ceiling
from plumbline.model.ranks import TESTS
from plumbline.model.record import Operation, Scenario
from plumbline.model.units import DAY_S
from plumbline.plan.assignments import assignments
from plumbline.plan.expectations import compile_plan
from plumbline.plan.places import Assignment
from plumbline.plan.policy import load
from plumbline.plan.references import Line, at_once, find_ceilings, pairs
from plumbline.topology.ceiling import Limit
from plumbline.topology.graph import build
from tests.package.recorded import data
from tests.package.sites import paper, part, site
from tests.project.repository import ROOT


def planned(document: dict[str, Any], **policy: Any) -> dict[str, Assignment]:
    assigned = assignments(build(document), load(policy))
    return {f"{item.layer} {item.component}": item for item in assigned}


def steps(assignment: Assignment) -> list[str]:
    return [f"{operation.value} {scenario.value}" for operation, scenario in assignment.steps]


def test_a_server_with_one_device_measures_it_alone() -> None:
    document = site()
    document["file_systems"] = []
    part(document, "oss[1-2]-disk[1-2]")["name"] = "oss[1-2]-disk1"
    assert steps(planned(document)["raw oss1-disk1"]) == ["read single"]


def test_a_quantity_is_judged_if_the_policy_names_it() -> None:
    for names, judged in (["p99"], ["write p99", "read p99"]), ([], []):
        by_name = planned(site(), layers={"ost": {"judge": names}})
        target = next(item for item in by_name.values() if item.layer == "ost")
        assert steps(target) == ["write single", "read single"]
        assert [operation.value for operation, _ in target.quantities] == judged


def test_hosts_with_an_address_are_paired() -> None:
    by_name = planned(site(), layers={"net": {"port": 5000}})
    assert [name for name in by_name if name.startswith("net")] == ["net oss1", "net oss2"]
    pair = by_name["net oss2"]
    assert steps(pair) == ["send single", "receive single"]
    assert pair.target == {
        "kind": "pair",
        "address": "10.0.0.2",
        "hosts": ["oss1", "oss2"],
        "slot_s": 3600.0,
        "window_s": 300.0,
        "port": 5000,
    }


def test_a_single_address_makes_no_pair() -> None:
    document = site()
    part(document, "oss[1-2]").pop("address")
    part(document, "client1")["address"] = "10.0.0.9"
    assert not [name for name in planned(document) if name.startswith("net")]


def test_a_retired_target_is_not_measured() -> None:
    document = site()
    document["file_systems"][0]["retired"] = ["scratch-OST1"]
    by_name = planned(document)
    assert "ost scratch-OST1" not in by_name
    assert "ost scratch-OST2" in by_name


def test_staleness_follows_the_schedule() -> None:
    by_name = planned(site(), layers={"net": {"schedule": {"slot": "15 min"}}})
    assert by_name["ost scratch-OST0"].limits.stale_after_s == 1.5 * 86400
    # two hosts take turns: two slots, and half as long again
    assert by_name["net oss1"].limits.stale_after_s == 1.5 * 2 * 900


def test_a_run_hangs_after_twice_the_time_of_all_repeats() -> None:
    probe = {"seconds": "10 s", "repeats": 2}
    by_name = planned(site(), layers={"ost": {"probe": probe}})
    assert by_name["ost scratch-OST0"].limits.hung_after_s == (2 * 2 + 1) * 10 + 60
    limits = {"hung_after": "20 min"}
    by_name = planned(site(), layers={"ost": {"probe": probe, "limits": limits}})
    assert by_name["ost scratch-OST0"].limits.hung_after_s == 1200


def test_a_buffered_probe_may_have_any_transfer_size() -> None:
    probe = {"transfer": "1000 B", "direct": False}
    target = planned(site(), layers={"ost": {"probe": probe}})["ost scratch-OST0"]
    assert target.spec.transfer_bytes == 1000


def test_two_parts_of_a_server_cannot_be_the_same_device() -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]")["device"] = "/dev/sdb"
    sentence = "oss1-disk1 and oss1-disk2 both have the device /dev/sdb of oss1; give each its own"
    with pytest.raises(DocumentError, match=f"^plumbline_topology: {sentence}"):
        planned(document)


def test_a_device_may_have_one_name_on_all_servers() -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]")["device"] = "/dev/ost[0-1]"
    targets = [entry.target for entry in planned(document).values() if entry.layer == "raw"]
    assert [target["device"] for target in targets] == ["/dev/ost0", "/dev/ost1"] * 2


@pytest.mark.parametrize("address", ["127.0.0.2", "::1", "localhost", "localhost.localdomain"])
def test_a_host_cannot_have_an_address_by_which_each_reaches_itself(address: str) -> None:
    document = site()
    part(document, "client1")["address"] = address
    with pytest.raises(DocumentError, match=f"client1 has the address {address}, by which each"):
        assignments(build(document), load({}))


def test_two_hosts_cannot_have_the_same_address() -> None:
    document = site()
    client = next(entry for entry in document["parts"] if entry["kind"] == "client")
    client["address"] = "10.0.0.1"
    sentence = f"{client['name']} and oss1 both have the address 10.0.0.1; give each its own"
    with pytest.raises(DocumentError, match=f"^plumbline_topology: {sentence}"):
        planned(document)


def test_an_invalid_device_is_refused_on_the_console() -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]")["device"] = "/etc/{name}"
    with pytest.raises(DocumentError, match="device '/etc/oss1-disk1' is not a device under /dev"):
        planned(document)


def two_clients(**file_system: Any) -> dict[str, Any]:
    """Return the site with client2, and with a second file system if given."""
    document = site()
    document["parts"].append({"name": "client2", "kind": "client", "feeds": "switch1"})
    if file_system:
        document["file_systems"].append({"client": "client2", **file_system})
    return document


def refused(document: dict[str, Any], **fs: Any) -> str:
    with pytest.raises(DocumentError) as error:
        assignments(build(document), load({"layers": {"fs": fs}} if fs else {}))
    return str(error.value)


def test_more_clients_than_targets_are_refused() -> None:
    document = two_clients()
    document["file_systems"][0]["client"] = "client[1-2]"
    target = document["file_systems"][0]["targets"][0]
    target.update(name="scratch-OST0", part="oss1-disk1", subvolume="scratch-client-0")
    text = refused(document)
    assert "target scratch-OST0 would be measured by client1 and client2" in text
    assert text.endswith("name one client, or at most as many as there are targets")


def test_clients_may_share_the_targets() -> None:
    document = two_clients()
    document["file_systems"][0]["client"] = "client[1-2]"
    items = assignments(build(document), load({}))
    assert [item.node for item in items if item.layer == "ost"] == ["client1"] * 2 + ["client2"] * 2


def test_a_brick_with_two_names_is_one_target() -> None:
    again = {"name": "again-OST0", "part": "oss1-disk1", "subvolume": "scratch-client-0"}
    document = two_clients(name="again", kind="glusterfs", mount="/mnt/again", targets=[again])
    text = refused(document)
    assert "scratch-OST0 and again-OST0 are one target, which would be measured by client1" in text
    assert "and by client2 (layer ost)" in text
    document["file_systems"][1]["client"] = "client1"
    assert assignments(build(document), load({}))


@pytest.mark.parametrize(("source", "shared"), [("nas:/export", True), ("/dev/sdb1", False)])
def test_directories_with_the_same_server_as_source_are_one_target(
    source: str, shared: bool
) -> None:
    document = two_clients()
    document["file_systems"] = [
        {
            "name": f"nfs{number}",
            "kind": "directory",
            "client": f"client{number}",
            "targets": [
                {
                    "name": f"mount{number}",
                    "part": "oss1-disk1",
                    "directory": f"/mnt/{number}",
                    "source": source,
                }
            ],
        }
        for number in (1, 2)
    ]
    if shared:
        assert "mount1 and mount2 are one target" in refused(document)
    else:
        assert assignments(build(document), load({}))


def test_all_targets_at_once_need_the_client_that_measures_each_of_them() -> None:
    text = refused(two_clients(), clients=["client2"])
    assert text == (
        "plumbline_policy: scratch-OST0 would be measured by client1 (layer ost) and by client2 "
        "(layer fs): two clients halve each other's rates; name client1 first in "
        "layers.fs.clients, or client2 as client of the file system scratch"
    )
    several = {"clients": ["client1", "client2"], "work": "/mnt/scratch"}
    assert assignments(build(two_clients()), load({"layers": {"fs": several}}))


def shared(document: dict[str, Any]) -> dict[tuple[str, str], Line]:
    return {(line.component, line.operation): line for line in at_once(build(document))}


def test_servers_send_at_their_read_rate_and_clients_at_their_write_rate() -> None:
    document = site()
    document["parts"].append({"name": "client2", "kind": "client", "feeds": "switch1"})
    for name in ("client1", "client2", "oss[1-2]-nic"):
        host = part(document, name)
        for key in ("rate", "link", "encoding"):
            host.pop(key, None)
        host.update(read="90 MB/s", write="70 MB/s")
    lines = shared(document)
    sums = {
        key: line.limit.ceiling.rate
        for key, line in lines.items()
        if key[0] != "oss1" and line.limit
    }
    assert sums["servers", "send"] == sums["clients", "receive"] == 180e6
    assert sums["servers", "receive"] == sums["clients", "send"] == 140e6


def test_a_sum_is_unknown_if_a_flow_has_no_part_with_a_rate() -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]").pop("rate")
    nic = part(document, "oss[1-2]-nic")
    nic.pop("link"), nic.pop("encoding")
    line = shared(document)["scratch", "read"]
    assert (line.limit, line.each_Bps) == (None, None)
    assert line.to_json()["rate_Bps"] is None


def test_a_pair_of_hosts_is_listed_once() -> None:
    document = site()
    part(document, "client1").update(address="10.0.0.9", rate="100 MB/s")
    topology = build(document)
    lines = list(pairs(topology, assignments(topology, load({}))))
    assert [(line.component, line.partner) for line in lines] == [
        ("client1", "oss1"),
        ("client1", "oss2"),
        ("oss1", "oss2"),
    ]
    assert lines[0].limit == Limit(Ceiling(100e6, ("client1",)), Ceiling(125e6, ("oss1-nic",)))
    assert lines[2].path == ("oss1", "oss1-nic", "switch1", "oss2-nic", "oss2")


def driven(document: dict[str, Any], **fs: Any) -> dict[str, Assignment]:
    items = assignments(build(document), load({"layers": {"fs": {"clients": ["client1"], **fs}}}))
    return {item.component: item for item in items if item.layer == "fs"}


def test_every_target_the_whole_and_the_further_tests_are_in_one_run() -> None:
    members = driven(site())
    tests = [f"scratch:{name}" for name in TESTS if name != "ost"]
    assert list(members) == [*(f"scratch-OST{index}" for index in range(4)), "scratch", *tests]
    target, whole = members["scratch-OST2"], members["scratch"]
    assert (target.node, target.host, target.group) == ("client1", "oss2", "scratch")
    assert (whole.node, whole.host, whole.group) == ("client1", "client1", "scratch as a whole")
    steps = [f"{operation.value}/{scenario.value}" for operation, scenario in whole.steps]
    assert steps == ["write/together", "read/together", "reread/together"]
    assert target.steps == whole.steps


def test_a_further_test_has_its_own_terms_and_group_and_the_ceiling_of_the_whole() -> None:
    rules = {
        "probe": {"bytes": "2 GiB", "transfer": "4 MiB"},
        "limits": {"min_efficiency": "40 %"},
        "groups": {"scratch": {"limits": {"min_runs": 3}}},
    }
    members = driven(site(), **rules)
    whole, test = members["scratch"], members["scratch:mpiio-shared-10k"]
    assert (test.target["file_system"], test.target["test"]) == ("scratch", "mpiio-shared-10k")
    assert test.group == "scratch:mpiio-shared-10k as a whole"
    assert (whole.spec.transfer_bytes, test.spec.transfer_bytes) == (4 << 20, 10_000)
    assert (whole.spec.direct, test.spec.direct) == (True, False)
    assert whole.spec.bytes == test.spec.bytes == 2 << 30
    # small calls have no expected share of the ceiling
    assert (whole.limits.min_efficiency, test.limits.min_efficiency) == (0.4, 0.0)
    assert whole.limits.min_runs == test.limits.min_runs == 3
    ceilings = find_ceilings(build(site()), tuple(members.values()))
    for step in whole.steps:
        assert ceilings["fs", "scratch", step] == ceilings["fs", test.component, step] is not None


def test_results_of_tests_in_turn_are_stale_after_twice_the_round() -> None:
    def stale_after_days(**fs: Any) -> float:
        return driven(site(), **fs)["scratch"].limits.stale_after_s / DAY_S

    assert stale_after_days() == 14
    assert stale_after_days(tests=["ost"]) == 1.5
    assert stale_after_days(tests=["ost", "posix-fpp-1m2"]) == 4
    assert stale_after_days(schedule={"stale_after": "8 d"}) == 8


def test_all_members_have_the_same_terms_with_the_number_of_ranks() -> None:
    several = {"clients": ["client1", "oss1"], "work": "/mnt/scratch"}
    members = driven(site(), ranks_per_target=2, tests=["ost"], **several)
    assert {member.spec.pattern for member in members.values()} == {
        "ost, fixed data, 8 ranks on 4 targets, 2 clients"
    }
    assert len({member.spec.hash() for member in members.values()}) == 1


def test_a_run_hangs_after_twice_the_time_of_every_operation() -> None:
    assert driven(site())["scratch"].limits.hung_after_s == 60 + 3 * 120 + 60
    set_by_policy = driven(site(), limits={"hung_after": "20 min"})
    assert set_by_policy["scratch"].limits.hung_after_s == 1200


def test_the_whole_has_the_limits_of_its_file_system_or_its_own() -> None:
    group = driven(site(), tests=["ost"], groups={"scratch": {"limits": {"min_runs": 3}}})
    assert [member.limits.min_runs for member in group.values()] == [3] * 5
    own = driven(site(), tests=["ost"], components={"scratch": {"limits": {"min_runs": 3}}})
    assert [member.limits.min_runs for member in own.values()] == [5, 5, 5, 5, 3]


GIB = 1 << 30


@pytest.mark.parametrize(
    ("fs", "size"),
    [
        ({}, GIB),
        ({"probe": {"bytes": "2 GiB"}, "memory": "8 GiB"}, 2 * GIB),
        ({"groups": {"scratch": {"probe": {"bytes": "3 GiB"}}}, "memory": "8 GiB"}, 3 * GIB),
        # four targets: four ranks on one client, two on each of two
        ({"memory": "8 GiB"}, 3 * GIB),
        ({"memory": "8 GiB", "clients": ["client1", "oss1"], "work": "/mnt/scratch"}, 6 * GIB),
        ({"memory": "8 GiB", "ranks_per_target": 2}, 3 * GIB // 2),
        ({"memory": "1 TiB"}, 16 * GIB),
        ({"memory": "1 TiB", "budget": "400 GiB"}, 100 * GIB),
    ],
)
def test_a_run_moves_the_given_bytes_or_one_and_a_half_memories_within_the_budget(
    fs: dict[str, Any], size: int
) -> None:
    assert {member.spec.bytes for member in driven(site(), **fs).values()} == {size}


def test_runs_with_another_memory_size_are_not_compared() -> None:
    small, large = (driven(site(), memory=size)["scratch"].spec for size in ("8 GiB", "16 GiB"))
    assert small.hash() != large.hash()


def test_a_retired_target_has_no_rank() -> None:
    document = site()
    document["file_systems"][0]["retired"] = ["scratch-OST1"]
    members = driven(document)
    assert "scratch-OST1" not in members
    assert "3 ranks on 3 targets" in members["scratch"].spec.pattern


def test_a_target_with_the_name_of_its_file_system_is_refused() -> None:
    document = site()
    document["file_systems"][0]["name"] = "scratch-OST0"
    with pytest.raises(DocumentError, match="has the name of a target"):
        driven(document)


WRITE = (Operation.WRITE, Scenario.TOGETHER)
READ = (Operation.READ, Scenario.TOGETHER)
REREAD = (Operation.REREAD, Scenario.TOGETHER)


def ceiling(document: dict[str, Any], name: str, step: Any = WRITE, **fs: Any) -> Optional[Ceiling]:
    rules = {"clients": ["client1"], "work": "/mnt/scratch", **fs}
    topology = build(document)
    measured = assignments(topology, load({"layers": {"fs": rules}}))
    return find_ceilings(topology, measured)["fs", name, step]


def test_one_slow_kind_of_disk_limits_the_whole() -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]")["name"] = "oss[1-2]-disk1"
    document["parts"].append(
        {"name": "oss[1-2]-disk2", "kind": "disk", "rate": "20 MB/s", "feeds": "oss[1-2]"}
    )
    document["file_systems"][0]["targets"][0]["part"] = "oss[1-2]-disk[1-2]"
    whole = ceiling(document, "scratch")
    assert whole is not None
    assert (whole.rate, whole.limited_by) == (4 * 20e6, ("oss1-disk2", "oss2-disk2"))


def test_several_ranks_of_a_target_share_its_path() -> None:
    target = ceiling(site(), "scratch-OST3", ranks_per_target=3)
    assert target is not None
    assert target.rate == pytest.approx(80e6)
    assert target.limited_by == ("oss2-disk2",)


def test_a_target_read_by_another_client_has_the_ceiling_of_that_client() -> None:
    """Two targets on one server each: client1 writes OST0 and reads the file of client2."""
    document = site()
    document["parts"].append(
        {"name": "client2", "kind": "client", "rate": "30 MB/s", "feeds": "switch1"}
    )
    targets = document["file_systems"][0]["targets"][0]
    targets["name"], targets["subvolume"] = "scratch-OST[0-1]", "scratch-client-[0-1]"
    targets["part"] = "oss[1-2]-disk1"
    clients = {"clients": ["client1", "client2"]}
    rates = {
        (name, step): limit.rate
        for name in ("scratch-OST0", "scratch-OST1")
        for step in (WRITE, READ)
        if (limit := ceiling(document, name, step, **clients))
    }
    assert rates == {
        ("scratch-OST0", WRITE): 80e6,
        ("scratch-OST0", READ): 30e6,
        ("scratch-OST1", WRITE): 30e6,
        ("scratch-OST1", READ): 80e6,
    }
    whole = ceiling(document, "scratch", WRITE, **clients)
    assert whole == Ceiling(60e6, ("client2",), ("client",))


def test_without_any_rate_there_is_no_ceiling() -> None:
    document = site()
    for entry in document["parts"]:
        for key in ("rate", "link", "encoding"):
            entry.pop(key, None)
    assert ceiling(document, "scratch") is None
    assert ceiling(document, "scratch-OST0") is None


def parameters(policy: object) -> set[tuple[str, ...]]:
    """Return the parameters that the nodes of a small site record."""
    plan = json.loads(json.dumps(compile_plan(build(site()), load(policy), {}).to_json()))
    return {read_document(Expectations, node).parameters for node in plan["nodes"].values()}


def test_every_node_has_the_default_parameters() -> None:
    assert parameters({}) == {DEFAULT_PARAMETERS}


def test_parameters_of_the_policy_replace_the_defaults() -> None:
    chosen = ["osc.*.max_dirty_mb", "llite.*.fast_read", "osc.*.max_dirty_mb"]
    assert parameters({"conditions": {"parameters": chosen}}) == {tuple(chosen[:2])}
    assert parameters({"conditions": {"parameters": []}}) == {()}


def test_the_parameters_of_the_documented_example_exist_in_a_real_lustre() -> None:
    page = (ROOT / "docs/policy.md").read_text(encoding="utf-8")
    example = re.search(r"^    parameters: \[(.*)\]$", page, re.MULTILINE)
    assert example
    printed = data("lustre/drift_values.txt").splitlines()
    names = [line.partition("=")[0] for line in printed]
    patterns = example[1].replace('"', "").split(", ")
    absent = [
        pattern for pattern in patterns if not any(fnmatchcase(name, pattern) for name in names)
    ]
    assert absent == []


def test_ranks_are_spread_over_switches_first_and_then_over_cards() -> None:
    topology = paper("bgl")
    policy = load({"layers": {"fs": {"clients": ["io[0001-1024]"], "work": "/p/lustre/probe"}}})
    measured = assignments(topology, policy)
    (whole,) = (entry for entry in measured if (entry.layer, entry.component) == ("fs", "lustre"))
    names = whole.target["clients"]
    # the launcher stays first, and all clients take part
    assert names[:7] == ["io0001", "io0193", "io0385", "io0577", "io0769", "io0961", "io0025"]
    assert sorted(names) == [f"io{number:04d}" for number in range(1, 1025)]
    chosen = [topology.routes[name][0] for name in names[:448]]
    assert set(Counter(way[2] for way in chosen).values()) == {64, 76, 77}
    assert set(Counter(way[1] for way in chosen).values()) == {9, 10, 21, 22}
    # section 1 of the paper: the arrays limit; the first 448 in order would reach 17.5 GB/s
    ceilings = find_ceilings(topology, measured)
    for operation, rate in ((Operation.WRITE, 33.6e9), (Operation.READ, 28 * 857e6)):
        ceiling = ceilings["fs", "lustre", (operation, Scenario.TOGETHER)]
        assert ceiling is not None
        assert ceiling.rate == pytest.approx(rate)
        assert set(ceiling.kinds) == {"array"}
