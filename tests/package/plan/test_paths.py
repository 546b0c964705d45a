"""Each file system and each component that several paths share has a service that says suspects."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.codec import read, write
from plumbline.model.service import PathService
from plumbline.plan.assignments import assignments
from plumbline.plan.policy import load
from plumbline.plan.services import parents, path_services, services, site_host
from plumbline.topology.graph import Topology, build
from tests.package.sites import paper, parts, site

PLAIN = {"kind": "server", "rate": "1 GB/s"}


def found(topology: Topology) -> dict[str, tuple[PathService, list[str]]]:
    """Return by name each service with the descriptions of its members."""
    measured = assignments(topology, load({}))
    every = services(measured)
    return {
        one.name: (one, [every[place].description for place in one.members])
        for one in path_services(topology, measured, every)
    }


def of_site(document: dict[str, Any]) -> dict[str, tuple[PathService, list[str]]]:
    return found(build(document))


def test_a_server_has_all_whose_bytes_cross_it_as_members() -> None:
    service, members = of_site(site())["server oss1"]
    assert (service.host, service.description) == ("oss1", "PATH server oss1")
    assert members == [
        "OST scratch-OST0 write read",
        "OST scratch-OST1 write read",
        "RAW oss1-disk1 read",
        "RAW oss1-disk2 read",
        "NET oss1 send receive",
        "RAW group oss1",
    ]


def test_a_file_system_has_its_targets_and_their_group() -> None:
    service, members = of_site(site())["file system scratch"]
    assert (service.host, service.file_system, service.component) == ("lab", "scratch", "")
    targets = [f"OST scratch-OST{index} write read" for index in range(4)]
    assert members == [*targets, "OST group scratch"]


def test_what_no_second_measurement_crosses_has_no_service_of_its_own() -> None:
    assert not [name for name in of_site(site()) if "disk" in name]


def test_what_several_hosts_share_is_shown_on_the_site() -> None:
    enclosure, members = found(paper("edison"))["enclosure ssu01"]
    assert enclosure.host == "edison"
    assert len([name for name in members if name.startswith("OST fs1-")]) == 8


def test_a_part_of_one_server_is_shown_on_it() -> None:
    assert found(paper("redstorm"))["link oss001-link"][0].host == "oss001"


@pytest.mark.slow
def test_no_two_services_have_one_name() -> None:
    for machine in ("redstorm", "edison", "bgl"):
        topology = paper(machine)
        measured = assignments(topology, load({}))
        every = path_services(topology, measured, services(measured))
        assert every
        assert len({one.description for one in every}) == len(every)


def test_the_site_has_a_name_that_no_host_has() -> None:
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
def test_the_parent_of_a_host_is_the_host_that_all_its_ways_cross(
    feeds: dict[str, Any], expected: dict[str, list[str]]
) -> None:
    hosts = [{"name": name, **PLAIN, "feeds": feeds[name]} for name in feeds]
    assert parents(build(parts({"name": "net", "kind": "switch"}, *hosts))) == expected


def test_a_service_of_the_document_is_the_same_again() -> None:
    service, _ = of_site(site())["switch switch1"]
    assert read(PathService, write(service)) == service
