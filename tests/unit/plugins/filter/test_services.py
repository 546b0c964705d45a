"""Only services of the plan are checked."""

from __future__ import annotations

from ansible_collections.hpcops.plumbline.plugins.filter.services import services
from ansible_collections.hpcops.plumbline.tests.unit.plugins.fakes import PLAN

PATHS = [{"host": "lab", "description": "PATH file system scratch"}]


def test_each_node_has_an_agent_and_all_services_of_the_plan() -> None:
    assert services(PLAN, "plumbline agent", PATHS) == [
        ["client1", "plumbline agent"],
        ["oss1", "plumbline agent"],
        ["oss1", "OST scratch-OST0000 write read"],
        ["oss1", "RAW oss1-disk1 read"],
        ["oss1", "RAW oss1-disk2 read"],
        ["oss1", "NODE oss1 symptoms"],
        ["lab", "PATH file system scratch"],
    ]


def test_paths_can_be_left_out() -> None:
    assert ["lab", "PATH file system scratch"] not in services(PLAN, "plumbline agent")


def test_the_collection_service_is_on_the_host_of_the_first_path() -> None:
    checked = services(PLAN, "plumbline agent", PATHS, "PATH collection")
    assert ["lab", "PATH collection"] in checked
    assert "PATH collection" not in [name for _, name in services(PLAN, "a", [], "PATH collection")]
