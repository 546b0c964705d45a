"""Growth of counters over half a day to a day, and the components of devices."""

from __future__ import annotations

import json
from pathlib import Path

from plumbline.model.codec import read, write
from plumbline.observe.node import KEPT_S, Counters, EarlierLook, Growth, Past
from tests.package.observe.symptoms_nodes import ADDRESSES, expectations, make_node


def look(past: Past, now: float, value: float) -> tuple[Past, object]:
    counters = Counters(past)
    growth = counters.growth("errors", value)
    return counters.after(now), growth


def test_the_first_look_has_no_growth() -> None:
    assert look(Past(), 0.0, 1000.0)[1] is None


def test_growth_is_shown_for_a_day() -> None:
    past, _ = look(Past(), 0.0, 1000.0)
    growing = []
    for hour in range(1, 40):
        past, growth = look(past, hour * 3600.0, 1000.0 if hour < 5 else 1010.0)
        growing.append(growth is not None)
    first, last = growing.index(True) + 1, len(growing) - growing[::-1].index(True)
    assert first == 5
    assert 12 <= last - first <= 24


def test_growth_names_its_amount_and_its_first_look() -> None:
    past = Past(EarlierLook(10.0, {"errors": 3.0}), EarlierLook(20.0, {"errors": 5.0}))
    assert Counters(past).growth("errors", 9.0) == Growth(6.0, 10.0)
    assert Counters(past).growth("errors", 3.0) is None
    assert Counters(past).growth("others", 9.0) is None


def test_a_reset_counter_has_grown_by_its_value() -> None:
    past = Past(None, EarlierLook(10.0, {"errors": 50.0}))
    assert Counters(past).growth("errors", 7.0) == Growth(7.0, 10.0)


def test_after_a_clock_was_set_back_counting_starts_again() -> None:
    past = Past(EarlierLook(1e9, {"errors": 1.0}), EarlierLook(1e9 + KEPT_S, {"errors": 1.0}))
    after, _ = look(past, 1000.0, 4.0)
    assert after == Past(None, EarlierLook(1000.0, {"errors": 4.0}), {})


def test_the_highest_speed_is_kept() -> None:
    counters = Counters(Past(highest={"link": 100.0}))
    assert [counters.highest("link", value) for value in (25.0, 200.0, 50.0)] == [100, 200, 200]
    assert counters.after(0.0).highest == {"link": 200.0}


def test_the_past_survives_the_json_round_trip() -> None:
    past = Past(EarlierLook(1.0, {"a": 1.0}), EarlierLook(2.0, {"a": 2.0}), {"link": 3.0})
    for original in (past, Past()):
        assert read(Past, json.loads(json.dumps(write(original)))) == original


# --- Components of devices


def test_a_disk_and_its_partition_belong_to_the_raw_target_on_them(tmp_path: Path) -> None:
    parts = make_node(tmp_path).parts
    assert [parts.of_block(name) for name in ("sdb", "sdb1", "sdc1", "sdz")] == [
        "oss1-disk1",
        "oss1-disk1",
        "oss1-disk2",
        "oss1",
    ]


def test_the_paths_of_a_multipath_device_belong_to_the_target_on_it(tmp_path: Path) -> None:
    links = {"/dev/disk/by-id/oss1-disk1": "../../dm-3"}
    slaves = {f"/sys/class/block/dm-3/slaves/{name}/x": "" for name in ("sdk", "sdl")}
    parts = make_node(tmp_path, slaves, links=links).parts
    assert {parts.of_block(name) for name in ("dm-3", "sdk", "sdl")} == {"oss1-disk1"}


def test_a_generic_scsi_device_is_its_disk(tmp_path: Path) -> None:
    files = {"/sys/class/scsi_generic/sg7/device/block/sdh/size": "1"}
    links = {"/dev/disk/by-id/oss1-disk1": "../../sg7"}
    assert make_node(tmp_path, files, links=links).parts.of_block("sdh") == "oss1-disk1"


def test_a_device_that_two_targets_share_belongs_to_the_node(tmp_path: Path) -> None:
    node = make_node(tmp_path)
    assert node.parts.of_blocks(["sdb", "sdc"]) == "oss1"
    assert node.parts.of_blocks(["sdb", "sdb1"]) == "oss1-disk1"


def test_the_storage_address_gives_its_interface_and_those_below_it(tmp_path: Path) -> None:
    files = {"/sys/class/net/bond0/lower_ens1f0/x": "", "/sys/class/net/bond0/lower_ens1f1/x": ""}
    answers = {"ip -json": ADDRESSES.replace("ens1f0", "bond0")}
    parts = make_node(tmp_path, files, answers).parts
    assert parts.storage_interfaces() == ("bond0", "ens1f0", "ens1f1")


def test_without_the_tool_or_the_address_no_interface_is_known(tmp_path: Path) -> None:
    assert make_node(tmp_path, answers={"ip -json": "nonsense"}).parts.storage_interfaces() == ()
    assert make_node(tmp_path, answers={"ip -json": "[]"}).parts.storage_interfaces() == ()


def test_the_only_adapter_of_its_kind_is_known(tmp_path: Path) -> None:
    parts = make_node(tmp_path).parts
    assert parts.of_kind("nic") == ("oss1-nic", 125e6)
    assert parts.of_kind("hba") == ("oss1", None)


def test_a_node_knows_its_neighbours() -> None:
    assert [tuple(part) for part in expectations("oss1").neighbours] == [("oss1-nic", "nic", 125e6)]
    assert [part.kind for part in expectations("client1").neighbours] == ["switch"]
