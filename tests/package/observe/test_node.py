"""Growth of counters over half a day to a day, and the components of devices."""

from __future__ import annotations

import json
from pathlib import Path

from plumbline.model.codec import read, write
from plumbline.observe.node import KEPT_S, Counters, EarlierLook, Growth, Past
from tests.package.observe.symptoms_nodes import ADDRESSES, expectations, make_node


def look(past: Past, now: float, value: float) -> tuple[Past, object]:
    counters = Counters(past)
    grown = counters.growth("errors", value)
    return counters.after(now), grown


def test_the_first_look_has_nothing_to_compare() -> None:
    assert look(Past(), 0.0, 1000.0)[1] is None


def test_growth_is_told_until_a_day_has_passed() -> None:
    past, _ = look(Past(), 0.0, 1000.0)
    told = []
    for hour in range(1, 40):
        past, grown = look(past, hour * 3600.0, 1000.0 if hour < 5 else 1010.0)
        told.append(grown is not None)
    first, last = told.index(True) + 1, len(told) - told[::-1].index(True)
    assert first == 5
    assert 12 <= last - first <= 24


def test_growth_names_its_amount_and_the_look_it_is_counted_from() -> None:
    past = Past(EarlierLook(10.0, {"errors": 3.0}), EarlierLook(20.0, {"errors": 5.0}))
    assert Counters(past).growth("errors", 9.0) == Growth(6.0, 10.0)
    assert Counters(past).growth("errors", 3.0) is None
    assert Counters(past).growth("others", 9.0) is None


def test_a_counter_that_began_again_has_grown_by_what_it_shows() -> None:
    past = Past(None, EarlierLook(10.0, {"errors": 50.0}))
    assert Counters(past).growth("errors", 7.0) == Growth(7.0, 10.0)


def test_a_clock_that_was_set_back_begins_anew() -> None:
    past = Past(EarlierLook(1e9, {"errors": 1.0}), EarlierLook(1e9 + KEPT_S, {"errors": 1.0}))
    after, _ = look(past, 1000.0, 4.0)
    assert after == Past(None, EarlierLook(1000.0, {"errors": 4.0}), {})


def test_the_highest_speed_stays() -> None:
    counters = Counters(Past(highest={"link": 100.0}))
    assert [counters.highest("link", value) for value in (25.0, 200.0, 50.0)] == [100, 200, 200]
    assert counters.after(0.0).highest == {"link": 200.0}


def test_the_past_survives_its_document() -> None:
    past = Past(EarlierLook(1.0, {"a": 1.0}), EarlierLook(2.0, {"a": 2.0}), {"link": 3.0})
    for one in (past, Past()):
        assert read(Past, json.loads(json.dumps(write(one)))) == one


# --- Which component a device is


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
