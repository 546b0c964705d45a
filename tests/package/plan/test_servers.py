"""Targets on their own servers: who measures them, by which path, and in which services."""

from __future__ import annotations

import re
from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.plan.assignments import assignments
from plumbline.plan.expectations import Plan, compile_plan
from plumbline.plan.places import Assignment
from plumbline.plan.policy import load
from plumbline.topology.graph import build
from tests.package.sites import parts, site

BRICKS = "oss[1-2]:/data/disk[1-2]/brick"


def served(folder: str = "/data/disk[1-2]/plumbline", **keys: str) -> dict[str, Any]:
    """Return a site of two servers with two bricks each, and a folder beside each brick."""
    document = site()
    document["file_systems"][0]["targets"][0].update({"server_folder": folder, **keys})
    return document


def compiled(document: dict[str, Any], **layers: Any) -> Plan:
    return compile_plan(build(document), load({"layers": layers}), {})


def of_oss(document: dict[str, Any], **rules: Any) -> list[Assignment]:
    policy = load({"layers": {"oss": rules}})
    return [item for item in assignments(build(document), policy) if item.layer == "oss"]


def directories(**target: str) -> dict[str, Any]:
    """Return a site with one directory of a server without a known device."""
    return parts(
        {"name": "switch", "kind": "switch"},
        {"name": "nas", "kind": "server", "feeds": "switch"},
        {"name": "pool", "kind": "array", "rate": "1 GB/s", "feeds": "nas"},
        {"name": "client1", "kind": "client", "feeds": "switch"},
        file_systems=[
            {
                "name": "home",
                "kind": "directory",
                "client": "client1",
                "targets": [
                    {"name": "home", "part": "pool", "directory": "/mnt/home", **target},
                ],
            }
        ],
    )


def test_each_server_measures_its_targets_by_the_path_behind_the_network() -> None:
    measured = of_oss(served())
    assert [(item.component, item.node, item.target["directory"]) for item in measured] == [
        ("scratch-OST0", "oss1", "/data/disk1/plumbline"),
        ("scratch-OST1", "oss1", "/data/disk2/plumbline"),
        ("scratch-OST2", "oss2", "/data/disk1/plumbline"),
        ("scratch-OST3", "oss2", "/data/disk2/plumbline"),
    ]
    first = measured[0]
    assert first.target == {
        "kind": "server-folder",
        "directory": "/data/disk1/plumbline",
        "device": "/dev/disk/by-id/oss1-disk1",
    }
    assert (first.path, first.host) == (("oss1", "oss1-disk1", "scratch-OST0"), "oss1")
    steps = [f"{operation.value} {scenario.value}" for operation, scenario in first.steps]
    assert steps == ["write single", "read single"]
    assert {item.group for item in measured} == {"scratch"}
    assert (first.spec.tool, first.spec.bytes, first.spec.direct) == ("fio", 1 << 30, True)


def test_the_ceiling_is_that_of_the_parts_behind_the_network() -> None:
    plan = compiled(served(), oss={})
    (entry, _) = (entry for entry in plan.expectations["oss1"] if entry.layer == "oss")
    ceilings = {key: reference.ceiling for key, reference in entry.references.items()}
    assert {key: ceiling and ceiling.rate for key, ceiling in ceilings.items()} == {
        "write/single": 80e6,
        "read/single": 80e6,
    }
    ceiling = ceilings["write/single"]
    assert ceiling is not None
    assert (ceiling.limited_by, ceiling.kinds) == (("oss1-disk1",), ("disk",))


def test_other_file_systems_name_a_folder_and_perhaps_no_device() -> None:
    (only,) = of_oss(directories(server_folder="/export/{name}-probe", source="nas:/export/home"))
    assert only.target == {"kind": "server-folder", "directory": "/export/home-probe"}
    assert only.path == ("nas", "pool", "home")


def test_a_client_with_a_disk_of_its_own_measures_it_as_its_server() -> None:
    document = directories(server_folder="/data/probe")
    document["parts"][2]["feeds"] = "client1"
    (only,) = of_oss(document)
    assert (only.node, only.path) == ("client1", ("client1", "pool", "home"))


def test_servers_are_planned_only_if_the_policy_names_them() -> None:
    plan = compiled(served())
    layers = {entry.layer for node in plan.expectations.values() for entry in node}
    assert layers == {"ost", "raw", "net"}
    assert ("oss" in plan.schedule, "oss" in plan.confirm) == (False, False)
    assert not [service for service in plan.services if "OSS" in service.description]
    assert plan.left_out == ()


def test_a_folder_of_the_server_is_no_key_of_the_target_through_a_client() -> None:
    plan = compiled(served(), oss={})
    entry = next(entry for entry in plan.expectations["client1"] if entry.layer == "ost")
    assert entry.target == {
        "kind": "glusterfs",
        "mount": "/mnt/scratch",
        "subvolume": "scratch-client-0",
    }


def test_servers_have_services_an_hour_and_a_confirmation_of_their_own() -> None:
    plan = compiled(served(), oss={"judge": ["p99"]})
    services = {
        service.description: (service.host, service.node, service.check)
        for service in plan.services
        if service.layer == "oss" and service.node == "oss1"
    }
    assert services == {
        "OSS scratch-OST0 write read": ("oss1", "oss1", "check_oss"),
        "OSS scratch-OST1 write read": ("oss1", "oss1", "check_oss"),
        "OSS group scratch": ("oss1", "oss1", "check_oss"),
    }
    assert plan.schedule["oss"]["calendar"] == "*-*-* 00:06"
    assert plan.confirm["oss"]["calendar"] == "*-*-* 12..18:06"
    assert plan.takes_s("oss").keys() == {"oss1", "oss2"}
    entry = next(entry for entry in plan.expectations["oss2"] if entry.layer == "oss")
    assert entry.confirm.runs == 7
    assert {"write p99/single", "read p99/single"} <= entry.references.keys()


def test_the_service_of_the_same_target_through_a_client_notifies() -> None:
    plan = compiled(served(), oss={})
    notifying = {
        service.description: {plan.services[index].description for index in service.behind}
        for service in plan.services
    }
    ost, oss = "OST scratch-OST0 write read", "OSS scratch-OST0 write read"
    assert notifying[ost] == set()
    assert notifying[oss] == {ost}
    assert notifying["RAW oss1-disk1 read"] == {ost, oss}
    assert notifying["OSS group scratch"] == {"OST group scratch"}


def test_a_target_of_two_layers_is_one_component_of_its_path() -> None:
    plan = compiled(served(), oss={})
    (server,) = (path for path in plan.paths if path.name == "server oss1")
    layers = {plan.services[index].layer for index in server.members}
    assert layers == {"ost", "oss", "raw", "net"}
    disks = [path.name for path in plan.paths if path.name.startswith("disk")]
    assert disks == []


def lustre() -> dict[str, Any]:
    """Return the file system ``work`` of Lustre on the same disks."""
    return {
        "name": "work",
        "kind": "lustre",
        "mount": "/work",
        "client": "client1",
        "targets": [{"name": "work-OST[0000-0003]", "part": "oss[1-2]-disk[1-2]"}],
    }


def test_the_plan_says_why_lustre_is_left_out_and_what_serves_instead() -> None:
    document = served()
    document["file_systems"].append(lustre())
    plan = compiled(document, oss={})
    assert plan.left_out == (
        "layer oss leaves out work: a server of Lustre has no folder beside its objects, and no "
        "echo client is run on a file system in use; plumbline stages shows whether a server's "
        "software or its disks take the time",
    )
    with pytest.raises(DocumentError, match=r"^plumbline_policy: layer oss leaves out work: a se"):
        compiled({**document, "file_systems": [lustre()]}, oss={})


def test_the_plan_names_targets_without_a_folder() -> None:
    document = served()
    targets = document["file_systems"][0]["targets"]
    targets[0].update(name="scratch-OST[0-1]", part="oss1-disk[1-2]")
    targets[0].update(subvolume="scratch-client-[0-1]")
    rest = {"name": "scratch-OST[2-3]", "part": "oss2-disk[1-2]"}
    targets.append({**rest, "subvolume": "scratch-client-[2-3]"})
    plan = compiled(document, oss={})
    (sentence,) = plan.left_out
    assert sentence == (
        "layer oss leaves out scratch-OST[2-3]: give them a server_folder in plumbline_topology"
    )
    assert {entry.layer for entry in plan.expectations["oss2"]} == {"raw", "net"}


REFUSED = {
    "the brick": (
        served("/data/disk[1-2]/brick", brick=BRICKS),
        "scratch-OST0: server_folder /data/disk1/brick is in the brick /data/disk1/brick, whose "
        "files belong to the file system; make a folder beside it, on the same file system",
    ),
    "a folder in the brick": (
        served("/data/disk[1-2]/brick/x", brick=BRICKS),
        "server_folder /data/disk1/brick/x is in the brick",
    ),
    "the exported folder": (
        directories(server_folder="/export/home", source="nas:/export/home"),
        "server_folder /export/home is what the server exports",
    ),
    "one folder for two targets": (
        served("/data/plumbline"),
        "scratch-OST0 and scratch-OST1 both have the server_folder /data/plumbline on oss1",
    ),
    "no path": (served("data"), "server_folder 'data' is not an absolute path"),
    "a folder of the system": (served("/etc/[0-3]"), "belongs to the operating system"),
    "more folders than targets": (served("/data/[1-3]"), "do not come out even"),
    "no folder at all": (site(), "layer oss leaves out scratch-OST[0-3]: give them a server_f"),
}


@pytest.mark.parametrize(("document", "words"), REFUSED.values(), ids=REFUSED)
def test_a_folder_that_no_server_may_use_is_refused(document: dict[str, Any], words: str) -> None:
    with pytest.raises(DocumentError, match=re.escape(words)):
        compiled(document, oss={})


def test_a_folder_beside_a_brick_of_a_longer_name_is_its_own() -> None:
    measured = of_oss(served("/data/disk[1-2]/brick2", brick=BRICKS))
    assert measured[0].target["directory"] == "/data/disk1/brick2"


def test_a_folder_in_an_export_is_its_own() -> None:
    document = directories(server_folder="/export/home/x", source="nas:/export/home")
    assert of_oss(document)[0].target["directory"] == "/export/home/x"


def test_a_target_behind_no_server_is_refused() -> None:
    document = directories(server_folder="/data")
    document["parts"][2]["feeds"] = "switch"
    with pytest.raises(DocumentError, match="but no server stands before pool; add its server"):
        of_oss(document)


def test_a_retired_target_is_not_measured() -> None:
    document = served()
    document["file_systems"][0]["retired"] = ["scratch-OST[0-2]"]
    assert [item.component for item in of_oss(document)] == ["scratch-OST3"]


@pytest.mark.parametrize("system", ["lustre", "metadata"])
def test_only_targets_of_data_outside_of_lustre_have_a_folder(system: str) -> None:
    document = served()
    if system == "lustre":
        document["file_systems"].append(lustre())
        document["file_systems"][1]["targets"][0]["server_folder"] = "/data"
    else:
        metadata = {"name": "m", "part": "oss1", "directory": "/mnt/scratch", "server_folder": "/d"}
        document["file_systems"][0]["metadata"] = [metadata]
    with pytest.raises(DocumentError, match="server_folder"):
        build(document)
