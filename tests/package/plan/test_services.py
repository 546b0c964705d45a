"""Nagios asks once for each component and group, on the host whose part is judged."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plumbline.model.codec import read, write
from plumbline.model.errors import DocumentError
from plumbline.model.service import Service
from plumbline.plan.assignments import assignments
from plumbline.plan.policy import load
from plumbline.plan.services import services
from plumbline.topology.graph import build
from tests.package.sites import part, site


def of_site(document: dict[str, Any], **layers: Any) -> dict[str, Service]:
    policy = load({"layers": layers})
    return {one.description: one for one in services(assignments(build(document), policy))}


def test_a_target_is_asked_of_its_client_and_shown_on_its_server() -> None:
    assert of_site(site())["OST scratch-OST2 write read"] == Service(
        host="oss2",
        node="client1",
        description="OST scratch-OST2 write read",
        command="plumbline_ost_scratch-OST2",
        check="check_ost",
        arguments=("--component", "scratch-OST2"),
        layer="ost",
        component="scratch-OST2",
        group="",
        freshness_s=129600,
        anchor="ost-scratch-OST2",
    )


def test_every_component_and_group_has_one_service() -> None:
    assert list(of_site(site())) == [
        *(f"OST scratch-OST{index} write read" for index in range(4)),
        *(f"RAW oss{oss}-disk{disk} read" for oss in (1, 2) for disk in (1, 2)),
        "NET oss1 send receive",
        "NET oss2 send receive",
        "OST group scratch",
        "RAW group oss1",
        "RAW group oss2",
        *(f"NODE {node} probes" for node in ("client1", "oss1", "oss2")),
    ]


def test_the_probes_of_a_node_have_one_service_that_goes_stale_with_the_first_of_them() -> None:
    assert of_site(site(), net={"schedule": {"slot": "15min"}})["NODE oss2 probes"] == Service(
        host="oss2",
        node="oss2",
        description="NODE oss2 probes",
        command="plumbline_node_probes",
        check="check_node",
        arguments=(),
        layer="node",
        component="oss2",
        group="",
        freshness_s=2700,
    )


def test_a_group_is_asked_of_the_node_that_measures_it() -> None:
    found = of_site(site())
    group = found["OST group scratch"]
    assert (group.host, group.node, group.component) == ("client1", "client1", "")
    assert group.arguments == ("--group", "scratch")
    assert group.command == "plumbline_ost_group_scratch"
    assert group.anchor == "ost-group-scratch"
    assert found["RAW group oss2"].host == "oss2"


def test_targets_of_several_clients_are_a_group_of_each() -> None:
    document = site()
    document["parts"][-1]["name"] = "client[1-2]"
    document["file_systems"][0]["client"] = "client[1-2]"
    found = services(assignments(build(document), load({})))
    groups = [one.node for one in found if one.description == "OST group scratch"]
    assert groups == ["client1", "client2"]


def test_one_member_is_no_group() -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]")["name"] = "oss[1-2]-disk1"
    targets = {"name": "scratch-OST0", "part": "oss1-disk1", "subvolume": "s-client-0"}
    document["file_systems"][0]["targets"] = [targets]
    assert not [name for name in of_site(document) if "group" in name]


def test_a_retired_target_has_no_service() -> None:
    document = site()
    document["file_systems"][0]["retired"] = "scratch-OST[0-2]"
    found = [name for name in of_site(document) if name.startswith("OST")]
    assert found == ["OST scratch-OST3 write read"]


def test_commands_have_safe_characters_only() -> None:
    document = site()
    targets = document["file_systems"][0]["targets"][0]
    targets["name"] = "tank@pool:x[0-3]"
    commands = [one.command for one in of_site(document).values() if one.component[:4] == "tank"]
    assert commands[0] == "plumbline_ost_tank_pool_x0"


def test_two_services_with_one_command_are_refused() -> None:
    document = site()
    document["file_systems"][0]["targets"] = [
        {"name": "a:b", "part": "oss1-disk1", "subvolume": "s-client-0"},
        {"name": "a@b", "part": "oss1-disk2", "subvolume": "s-client-1"},
    ]
    with pytest.raises(DocumentError, match="would both be the command plumbline_ost_a_b; rename"):
        of_site(document)


def test_all_targets_at_once_have_one_service_on_the_host_that_launches() -> None:
    found = of_site(site(), fs={"clients": ["client1"]})
    assert len(found) == len(of_site(site())) + 1
    assert found["FS scratch write read"] == Service(
        host="client1",
        node="client1",
        description="FS scratch write read",
        command="plumbline_fs_scratch",
        check="check_fs",
        arguments=("--group", "scratch"),
        layer="fs",
        component="",
        group="scratch",
        freshness_s=907200,
        anchor="fs-group-scratch",
    )


def test_a_service_of_the_document_is_the_same_again() -> None:
    service = of_site(site())["RAW oss1-disk1 read"]
    assert service.behind
    raw = json.loads(json.dumps(write(service)))
    assert read(Service, raw) == service
    del raw["behind"]
    # of an older version
    assert read(Service, raw) == service._replace(behind=())


@pytest.mark.parametrize("behind", [["OST"], [None], "0", 0])
def test_what_is_no_place_of_a_service_is_refused(behind: Any) -> None:
    raw = write(of_site(site())["RAW oss1-disk1 read"])
    with pytest.raises((TypeError, AttributeError)):
        read(Service, {**raw, "behind": behind})
