"""Flows that run together, from their paths."""

from __future__ import annotations

from typing import Any

from plumbline.topology.graph import build
from plumbline.topology.paths import Sharing, sharings
from tests.package.sites import paper, part, site


def sharings_of(document: dict[str, Any]) -> dict[tuple[str, str], Sharing]:
    return {(sharing.flows, sharing.of): sharing for sharing in sharings(build(document))}


def test_targets_run_together_behind_each_shared_part_and_in_each_file_system() -> None:
    sets = sharings_of(site())
    assert [(*key, sharing.whole, len(sharing.paths)) for key, sharing in sets.items()] == [
        ("targets", "oss1", False, 2),
        ("targets", "oss2", False, 2),
        # the switch is shared by all four too, and adds no set
        ("targets", "scratch", True, 4),
        ("servers", "servers", True, 2),
    ]
    assert sets["targets", "oss2"].paths == {
        "scratch-OST2": ("switch1", "oss2-nic", "oss2", "oss2-disk1"),
        "scratch-OST3": ("switch1", "oss2-nic", "oss2", "oss2-disk2"),
    }
    assert sets["servers", "servers"].paths == {
        "oss1": ("switch1", "oss1-nic", "oss1"),
        "oss2": ("switch1", "oss2-nic", "oss2"),
    }


def test_several_file_systems_run_together() -> None:
    document = site()
    targets = {"name": "home[0-1]", "part": "oss1-disk[1-2]", "subvolume": "home-client-[0-1]"}
    home = {**document["file_systems"][0], "name": "home", "targets": [targets]}
    document["file_systems"].append(home)
    sets = sharings_of(document)
    assert [of for flows, of in sets if flows == "targets"] == [
        # two targets of two file systems lie on each disk of the first server
        *("oss1-disk1", "oss1-disk2", "oss2", "home", "oss1", "scratch", "lab"),
    ]
    assert len(sets["targets", "oss1"].paths) == 4
    assert (sets["targets", "lab"].whole, len(sets["targets", "lab"].paths)) == (True, 6)


def test_a_retired_target_has_no_flow() -> None:
    document = site()
    document["file_systems"][0]["retired"] = ["scratch-OST3"]
    assert [of for flows, of in sharings_of(document) if flows == "targets"] == ["oss1", "scratch"]


def test_clients_share_the_parts_of_their_network() -> None:
    document = site()
    document["parts"].append({"name": "leaf", "kind": "switch", "feeds": "switch1"})
    document["parts"].append({"name": "c[1-3]", "kind": "client", "feeds": "leaf"})
    sets = sharings_of(document)
    assert list(sets["clients", "leaf"].paths) == ["c1", "c2", "c3"]
    assert list(sets["clients", "clients"].paths) == ["client1", "c1", "c2", "c3"]


def test_a_host_with_several_ways_to_the_network_is_left_out() -> None:
    document = site()
    document["parts"].append({"name": "switch2", "kind": "switch"})
    part(document, "oss[1-2]-nic")["feeds"] = ["switch1", "switch2"]
    part(document, "client1")["feeds"] = "switch1"
    assert [of for flows, of in sharings_of(document) if flows == "servers"] == []


def test_targets_behind_an_adapter_and_a_controller_of_red_storm_run_together() -> None:
    sets = {sharing.of: tuple(sharing.paths) for sharing in sharings(paper("redstorm"))}
    assert sets["oss002-hba"] == ("scratch-OST0001", "scratch-OST00a1")
    assert sets["ddn01b-data"] == tuple(f"scratch-OST00a{number}" for number in range(4))
    assert len(sets["scratch"]) == 320
