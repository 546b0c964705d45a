"""Two clients that measure on one server at the same hour are named."""

from __future__ import annotations

from typing import Any

from plumbline.plan.expectations import Meeting, compile_plan, meetings
from plumbline.plan.policy import load
from plumbline.topology.graph import build
from tests.package.sites import part, site


def met(document: dict[str, Any]) -> list[Meeting]:
    compiled = compile_plan(build(document), load({}), {})
    return list(meetings(compiled.expectations, compiled.parts))


def two_file_systems(disk: str) -> dict[str, Any]:
    """Return a site whose second file system has a client of its own and a target on ``disk``."""
    document = site()
    part(document, "client1")["name"] = "client[1-2]"
    first = document["file_systems"][0]
    first["targets"][0].update(
        name="scratch-OST[0-1]", part="oss1-disk[1-2]", subvolume="scratch-client-[0-1]"
    )
    target = {"name": "work-OST0", "part": disk, "subvolume": "work-client-0"}
    work = {**first, "name": "work", "client": "client2", "targets": [target]}
    document["file_systems"].append(work)
    return document


def test_clients_of_two_file_systems_meet_on_the_server_that_both_use() -> None:
    # the server and its link to the network; the switch is there for all
    assert met(two_file_systems("oss1-disk2")) == [
        Meeting(("client1", "client2"), ("oss1-nic", "oss1", "oss1-disk2"))
    ]


def test_clients_that_share_the_network_alone_do_not_meet() -> None:
    assert met(two_file_systems("oss2-disk1")) == []
