"""Links of parts, and refusal of parts that do not fit together."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from plumbline.model.errors import DocumentError
from plumbline.topology.graph import Component, build
from tests.package.sites import paper, part, parts, site

Change = Callable[[dict[str, Any]], None]


def test_each_part_of_a_range_has_its_own_neighbour() -> None:
    topology = build(site())
    device, among = "/dev/disk/by-id/oss2-disk1", "oss[1-2]-disk[1-2]"
    assert topology.components["oss2-disk1"] == Component(
        "oss2-disk1", "disk", 80e6, 80e6, ("oss2",), (), "", device, among
    )
    assert [host.name for host in topology.hosts()] == ["oss1", "oss2", "client1"]
    assert topology.components["oss2"].address == "10.0.0.2"
    assert len(topology.devices()) == 4


def test_each_target_has_its_part_its_client_and_its_mount() -> None:
    target = build(site()).targets["scratch-OST2"]
    assert (target.on, target.client, target.retired) == ("oss2-disk1", "client1", False)
    assert target.among == "scratch-OST[0-3]"
    assert target.reach == {
        "kind": "glusterfs",
        "mount": "/mnt/scratch",
        "subvolume": "scratch-client-2",
    }


def test_a_lustre_target_is_reached_by_its_own_name() -> None:
    target = paper("redstorm").targets["scratch-OST013f"]
    assert target.on == "ddn40b-lun4"
    assert target.reach == {"kind": "lustre", "mount": "/scratch", "ost": "scratch-OST013f"}


def test_directories_need_no_mount() -> None:
    document = site()
    document["file_systems"] = [
        {
            "name": "bricks",
            "kind": "directory",
            "client": "client1",
            "targets": [{"name": "b[1-2]", "part": "oss[1-2]-disk1", "directory": "/mnt/b[1-2]"}],
        }
    ]
    targets = document["file_systems"][0]["targets"][0]
    targets["source"] = "nas:/export/b[1-2]"
    reach = build(document).targets["b2"].reach
    assert reach == {"kind": "directory", "directory": "/mnt/b2", "source": "nas:/export/b2"}


def test_device_names_without_the_server_are_repeated() -> None:
    document = site()
    part(document, "oss[1-2]-disk[1-2]")["device"] = "/dev/mapper/ost[0-1]"
    devices = [disk.device for disk in build(document).devices()]
    assert devices == ["/dev/mapper/ost0", "/dev/mapper/ost1"] * 2


def test_clients_share_the_targets() -> None:
    document = site()
    document["parts"][-1]["name"] = "client[1-2]"
    document["file_systems"][0]["client"] = "client[1-2]"
    clients = [target.client for target in build(document).targets.values()]
    assert clients == ["client1", "client1", "client2", "client2"]


def test_a_retired_target_is_marked() -> None:
    document = site()
    document["file_systems"][0]["retired"] = "scratch-OST[1-2]"
    retired = [target.name for target in build(document).targets.values() if target.retired]
    assert retired == ["scratch-OST1", "scratch-OST2"]


def _set(written: str, /, **changes: Any) -> Change:
    return lambda document: part(document, written).update(changes)


def _file_system(**changes: Any) -> Change:
    return lambda document: document["file_systems"][0].update(changes)


def _targets(**changes: Any) -> Change:
    return lambda document: document["file_systems"][0]["targets"][0].update(changes)


DISKS = "oss[1-2]-disk[1-2]"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (_set(DISKS, feeds="oos[1-2]"), "oss1-disk1 feeds 'oos1', which is no part"),
        (_set(DISKS, through="hba"), "oss1-disk1 through 'hba', which is no part"),
        (_set(DISKS, name="oss1"), "the name 'oss1' is given twice"),
        (_set(DISKS, name="a b[1-4]"), "the name 'a b1' is empty or has unsafe characters"),
        (_set(DISKS, name="$(id)[1-4]"), "the name '$(id)1' is empty or has unsafe characters"),
        (_targets(name="../../etc/x[1-4]"), "the name '../../etc/x1' is empty or has unsafe"),
        (_file_system(name=""), "the name '' is empty or has unsafe characters"),
        (_set(DISKS, feeds="oss[1-3]"), "4 names (oss1-disk1 to oss2-disk2) cannot be spread"),
        (_set(DISKS, name="d[1-"), "parts 'd[1-': name 'd[1-' has a bracket without"),
        (_set("oss[1-2]", feeds=DISKS), "feed one another in a ring"),
        (_set("oss[1-2]", address="10.0.0.1"), "2 hosts need as many addresses"),
        (_targets(part="oss[1-2]-disc[1-2]"), "OST0 lies on 'oss1-disc1', which is no part"),
        (_targets(part="oss[1-2]-disk[1-2]-[1-2]"), "fewer targets 'scratch-OST[0-3]' (4) than"),
        (_targets(name="oss[1-4]"), "the name 'oss1' is given twice"),
        (_targets(subvolume="scratch-client-0"), "4 targets 'scratch-OST[0-3]' need as many"),
        (_targets(through="nowhere"), "lies on 'nowhere', which is no part"),
        (_file_system(client="client9"), "'client9' is no client or server"),
        (_file_system(client="switch1"), "'switch1' is no client or server"),
        (_file_system(retired="scratch-OST9"), "retired 'scratch-OST9' is none of its targets"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(change: Change, sentence: str) -> None:
    document = site()
    change(document)
    with pytest.raises(DocumentError) as caught:
        build(document)
    assert sentence in str(caught.value)
    assert str(caught.value).startswith("plumbline_topology")


def test_a_ring_is_named_in_the_order_of_feeding() -> None:
    ring = [
        {"name": "a", "kind": "server", "feeds": "b"},
        {"name": "b", "kind": "nic", "feeds": "c"},
        {"name": "c", "kind": "switch", "feeds": "a"},
    ]
    with pytest.raises(DocumentError) as caught:
        build(parts(*ring))
    named = str(caught.value).split("parts ")[1].split(" feed")[0].split(" -> ")
    assert named[0] == named[-1]
    assert list(zip(named, named[1:])) in (
        [("a", "b"), ("b", "c"), ("c", "a")],
        [("b", "c"), ("c", "a"), ("a", "b")],
        [("c", "a"), ("a", "b"), ("b", "c")],
    )


HOSTILE = ["a\nb", "a;b", "a|b", "a'b", "a`b", "../a", "-a", "a\x1b[0m", '"']


def _hostile(place: str, text: str) -> dict[str, Any]:
    """Return the site with a text at one of its places."""
    document = site()
    system = document["file_systems"][0]
    target = system["targets"][0]
    rooted = f"/mnt/{text}"
    if place == "site":
        document["site"] = text
    elif place == "host":
        part(document, "client1")["name"] = text
    elif place == "file system":
        system["name"] = text
    elif place == "mount":
        system["mount"] = rooted
    elif place == "device":
        part(document, "oss[1-2]-disk[1-2]")["device"] = f"/dev/{text}-{{name}}"
    elif place == "address":
        part(document, "oss[1-2]")["address"] = f"{text}[1-2]"
    elif place == "subvolume":
        target["subvolume"] = f"{text}-client-[0-3]"
    elif place == "brick":
        target["brick"] = f"oss[1-2]:{rooted}/[1-2]"
    else:
        keys = {"directory": "/mnt/[0-3]", "source": "nas:/[0-3]"}
        keys[place] = f"{rooted}[0-3]" if place == "directory" else f"{text}[0-3]"
        shared = {"name": target["name"], "part": target["part"], **keys}
        document["file_systems"] = [
            {"name": "nfs", "kind": "directory", "client": "client1", "targets": [shared]}
        ]
    return document


@pytest.mark.parametrize(
    "place",
    [
        *("site", "host", "file system", "mount", "device", "address"),
        *("subvolume", "brick", "directory", "source"),
    ],
)
@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_an_unsafe_name_is_refused_at_any_place(place: str, text: str) -> None:
    inner = place in ("mount", "device", "brick", "directory") and text == "-a"
    if inner:
        # after a slash it is no option
        text = "a-;"
    with pytest.raises(DocumentError, match=r"^plumbline_topology") as caught:
        build(_hostile(place, text))
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("path", ["/etc/plumbline", "/usr", "/dev/sda", "/lib64/x", "/proc/1"])
@pytest.mark.parametrize("place", ["mount", "directory"])
def test_no_target_lies_in_a_folder_of_the_operating_system(place: str, path: str) -> None:
    document = site()
    system = document["file_systems"][0]
    if place == "mount":
        system["mount"] = path
    else:
        target = {"name": "b[1-2]", "part": "oss[1-2]-disk1", "directory": f"{path}/b[1-2]"}
        document["file_systems"] = [
            {"name": "b", "kind": "directory", "client": "client1", "targets": [target]}
        ]
    with pytest.raises(DocumentError, match="belongs to the operating system"):
        build(document)


@pytest.mark.parametrize("path", ["/mnt/b", "/dev/shm/b", "/etcetera", "/library", "/srv/usr"])
def test_all_other_folders_can_be_measured(path: str) -> None:
    document = site()
    document["file_systems"][0]["mount"] = path
    assert build(document).targets["scratch-OST0"].reach["mount"] == path


@pytest.mark.parametrize("place", ["site", "host", "mount", "address", "directory", "source"])
def test_a_plain_name_is_accepted_at_the_same_places(place: str) -> None:
    document = _hostile(place, "plain")
    for system in document["file_systems"]:
        system["client"] = "plain" if place == "host" else "client1"
    assert build(document).targets
