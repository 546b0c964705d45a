"""Nagios services: one for each component, group and shared part, one alarm per fault."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.codec import read, write
from plumbline.model.errors import DocumentError
from plumbline.model.service import Service
from plumbline.plan.assignments import assignments
from plumbline.plan.policy import load
from plumbline.plan.services import parents, services, site_host
from plumbline.topology.graph import build
from tests.package.recorded import table
from tests.package.sites import part, parts, site


def of_site(document: dict[str, Any], **layers: Any) -> dict[str, Service]:
    policy = load({"layers": layers})
    return {entry.description: entry for entry in services(assignments(build(document), policy))}


@pytest.mark.parametrize(
    "case", table("services.yml"), ids=lambda case: case["service"]["description"]
)
def test_a_service_belongs_to_the_judged_host_and_runs_on_the_measuring_node(
    case: dict[str, Any],
) -> None:
    service = read(Service, case["service"])
    assert of_site(site(), **case["layers"])[service.description] == service


def test_targets_of_several_clients_are_a_group_for_each_client() -> None:
    document = site()
    document["parts"][-1]["name"] = "client[1-2]"
    document["file_systems"][0]["client"] = "client[1-2]"
    entries = services(assignments(build(document), load({})))
    groups = [entry.node for entry in entries if entry.description == "OST group scratch"]
    assert groups == ["client1", "client2"]


def test_a_single_member_is_no_group() -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]")["name"] = "oss[1-2]-disk1"
    targets = {"name": "scratch-OST0", "part": "oss1-disk1", "subvolume": "s-client-0"}
    document["file_systems"][0]["targets"] = [targets]
    assert not [name for name in of_site(document) if "group" in name]


def test_a_retired_target_has_no_service() -> None:
    document = site()
    document["file_systems"][0]["retired"] = "scratch-OST[0-2]"
    names = [name for name in of_site(document) if name.startswith("OST")]
    assert names == ["OST scratch-OST3 write read"]


def test_commands_have_only_safe_characters() -> None:
    document = site()
    targets = document["file_systems"][0]["targets"][0]
    targets["name"] = "tank@pool:x[0-3]"
    commands = [
        entry.command for entry in of_site(document).values() if entry.component[:4] == "tank"
    ]
    assert commands[0] == "plumbline_ost_tank_pool_x0"


def test_two_services_with_the_same_command_are_refused() -> None:
    document = site()
    document["file_systems"][0]["targets"] = [
        {"name": "a:b", "part": "oss1-disk1", "subvolume": "s-client-0"},
        {"name": "a@b", "part": "oss1-disk2", "subvolume": "s-client-1"},
    ]
    with pytest.raises(DocumentError, match="would both be the command plumbline_ost_a_b; rename"):
        of_site(document)


def test_all_targets_at_once_have_one_service_on_the_launching_host() -> None:
    found = of_site(site(), fs={"clients": ["client1"]})
    assert len(found) == len(of_site(site())) + 1


@pytest.mark.parametrize("behind", [["OST"], [None], "0", 0])
def test_an_invalid_index_of_a_service_is_refused(behind: Any) -> None:
    raw = write(of_site(site())["RAW oss1-disk1 read"])
    with pytest.raises((TypeError, AttributeError)):
        read(Service, {**raw, "behind": behind})


def behind(document: dict[str, Any]) -> dict[str, list[str]]:
    """Return the notifying of the alarm of each component of a site."""
    by_name = _behind(document)
    return {name: notifying for name, notifying in by_name.items() if not name.startswith("group")}


def groups_behind(document: dict[str, Any]) -> dict[str, list[str]]:
    """Return the notifying of the alarm of each group of a site."""
    return {
        name: notifying for name, notifying in _behind(document).items() if name.startswith("group")
    }


def _behind(document: dict[str, Any]) -> dict[str, list[str]]:
    entries = services(assignments(build(document), load({})))
    names = [entry.component or f"group {entry.layer} {entry.group}" for entry in entries]
    return {
        name: [names[place] for place in entry.behind]
        for name, entry in zip(names, entries)
        if entry.behind
    }


def test_a_device_with_a_retired_target_alarms_itself() -> None:
    document = site()
    document["file_systems"][0]["retired"] = ["scratch-OST0"]
    assert "oss1-disk1" not in behind(document)


def test_each_device_of_an_array_is_behind_all_targets_on_the_array() -> None:
    document = site()
    array = {"name": "oss1-array", "kind": "array", "feeds": "oss1"}
    document["parts"].append(array)
    disks = part(document, "oss[1-2]-disk[1-2]")
    disks["name"], disks["feeds"] = "oss1-disk[1-2]", "oss1-array"
    targets = document["file_systems"][0]["targets"][0]
    targets.update(name="OST[0-1]", part="oss1-array", subvolume="scratch-client-[0-1]")
    first = {**targets, "name": "OST0", "subvolume": "scratch-client-0"}
    document["file_systems"][0]["targets"] = [
        first,
        {**first, "name": "OST1", "subvolume": "scratch-client-1"},
    ]
    assert behind(document) == {name: ["OST0", "OST1"] for name in ("oss1-disk1", "oss1-disk2")}


def test_a_target_on_a_host_bears_the_alarm_of_no_device() -> None:
    document = site()
    targets = document["file_systems"][0]["targets"][0]
    targets.update(name="OST[0-1]", part="oss[1-2]", subvolume="scratch-client-[0-1]")
    assert behind(document) == {}


def test_devices_without_a_target_alarm_as_a_group() -> None:
    document = site()
    document["file_systems"][0]["retired"] = ["scratch-OST0", "scratch-OST1"]
    assert set(groups_behind(document)) == {"group raw oss2"}


PLAIN = {"kind": "server", "rate": "1 GB/s"}


def test_the_site_host_has_a_unique_name() -> None:
    document = site()
    document["site"] = "oss1"
    assert site_host(build(document)) == "oss1-site"


@pytest.mark.parametrize(
    ("feeds", "expected"),
    [
        ({"a": "net", "router": "net"}, {}),
        ({"a": "router", "router": "net"}, {"a": ["router"]}),
        ({"a": ["router", "net"], "router": "net"}, {}),
    ],
)
def test_the_parent_of_a_host_is_the_host_on_all_its_routes(
    feeds: dict[str, Any], expected: dict[str, list[str]]
) -> None:
    hosts = [{"name": name, **PLAIN, "feeds": feeds[name]} for name in feeds]
    assert parents(build(parts({"name": "net", "kind": "switch"}, *hosts))) == expected
