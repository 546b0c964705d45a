"""The alarm of a slow device is that of the target that lies on it."""

from __future__ import annotations

from typing import Any

from plumbline.plan.assignments import assignments
from plumbline.plan.policy import load
from plumbline.plan.services import services
from plumbline.topology.graph import build
from tests.package.sites import part, site


def behind(document: dict[str, Any]) -> dict[str, list[str]]:
    """Return what the service of each component of a site is behind, by their components."""
    found = _behind(document)
    return {name: bearers for name, bearers in found.items() if not name.startswith("group")}


def groups_behind(document: dict[str, Any]) -> dict[str, list[str]]:
    """Return what the service of each group of a site is behind."""
    return {
        name: bearers for name, bearers in _behind(document).items() if name.startswith("group")
    }


def _behind(document: dict[str, Any]) -> dict[str, list[str]]:
    found = services(assignments(build(document), load({})))
    names = [one.component or f"group {one.layer} {one.group}" for one in found]
    return {
        name: [names[place] for place in one.behind]
        for name, one in zip(names, found)
        if one.behind
    }


def test_a_device_is_behind_the_target_that_lies_on_it() -> None:
    assert behind(site()) == {
        "oss1-disk1": ["scratch-OST0"],
        "oss1-disk2": ["scratch-OST1"],
        "oss2-disk1": ["scratch-OST2"],
        "oss2-disk2": ["scratch-OST3"],
    }


def test_a_device_whose_target_is_retired_speaks_for_itself() -> None:
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


def test_a_target_that_lies_on_a_host_bears_the_alarm_of_no_device() -> None:
    document = site()
    targets = document["file_systems"][0]["targets"][0]
    targets.update(name="OST[0-1]", part="oss[1-2]", subvolume="scratch-client-[0-1]")
    assert behind(document) == {}


def test_what_all_devices_of_a_server_lost_is_behind_what_all_their_targets_did() -> None:
    bearer = ["group ost scratch"]
    assert groups_behind(site()) == {"group raw oss1": bearer, "group raw oss2": bearer}


def test_devices_without_a_target_alarm_as_a_group() -> None:
    document = site()
    document["file_systems"][0]["retired"] = ["scratch-OST0", "scratch-OST1"]
    assert set(groups_behind(document)) == {"group raw oss2"}
