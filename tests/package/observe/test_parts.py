"""Which component a device is."""

from __future__ import annotations

from pathlib import Path

from tests.package.observe.symptoms_nodes import ADDRESSES, expectations, make_node


def test_a_disk_and_its_partition_are_the_raw_target_that_they_lie_under(tmp_path: Path) -> None:
    parts = make_node(tmp_path).parts
    assert [parts.of_block(name) for name in ("sdb", "sdb1", "sdc1", "sdz")] == [
        "oss1-disk1",
        "oss1-disk1",
        "oss1-disk2",
        "oss1",
    ]


def test_the_paths_of_a_multipath_device_are_the_target_upon_it(tmp_path: Path) -> None:
    links = {"/dev/disk/by-id/oss1-disk1": "../../dm-3"}
    slaves = {f"/sys/class/block/dm-3/slaves/{name}/x": "" for name in ("sdk", "sdl")}
    parts = make_node(tmp_path, slaves, links=links).parts
    assert {parts.of_block(name) for name in ("dm-3", "sdk", "sdl")} == {"oss1-disk1"}


def test_a_generic_scsi_device_is_its_disk(tmp_path: Path) -> None:
    files = {"/sys/class/scsi_generic/sg7/device/block/sdh/size": "1"}
    links = {"/dev/disk/by-id/oss1-disk1": "../../sg7"}
    assert make_node(tmp_path, files, links=links).parts.of_block("sdh") == "oss1-disk1"


def test_what_two_targets_share_is_the_nodes(tmp_path: Path) -> None:
    node = make_node(tmp_path)
    assert node.parts.of_blocks(["sdb", "sdc"]) == "oss1"
    assert node.parts.of_blocks(["sdb", "sdb1"]) == "oss1-disk1"


def test_the_storage_address_leads_to_its_interface_and_those_below_it(tmp_path: Path) -> None:
    files = {"/sys/class/net/bond0/lower_ens1f0/x": "", "/sys/class/net/bond0/lower_ens1f1/x": ""}
    answers = {"ip -json": ADDRESSES.replace("ens1f0", "bond0")}
    parts = make_node(tmp_path, files, answers).parts
    assert parts.storage_interfaces() == ("bond0", "ens1f0", "ens1f1")


def test_without_the_tool_or_the_address_no_interface_is_known(tmp_path: Path) -> None:
    assert make_node(tmp_path, answers={"ip -json": "nonsense"}).parts.storage_interfaces() == ()
    assert make_node(tmp_path, answers={"ip -json": "[]"}).parts.storage_interfaces() == ()


def test_an_adapter_is_known_when_it_is_the_only_one_of_its_kind(tmp_path: Path) -> None:
    parts = make_node(tmp_path).parts
    assert parts.of_kind("nic") == ("oss1-nic", 125e6)
    assert parts.of_kind("hba") == ("oss1", None)


def test_a_node_is_told_its_neighbours() -> None:
    assert [tuple(one) for one in expectations("oss1").neighbours] == [("oss1-nic", "nic", 125e6)]
    assert [one.kind for one in expectations("client1").neighbours] == ["switch"]
