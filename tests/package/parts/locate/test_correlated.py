"""Correlated measurements of a node: those that one part slows together."""

from __future__ import annotations

from plumbline.parts.locate.observation import Site
from plumbline.parts.locate.observe import correlated
from tests.package.parts.locate.scenes import LAB, Scene
from tests.package.sites import paper


def named(scene: Scene, node: str) -> set[tuple[str, ...]]:
    placed = tuple(Site(scene.plan.expectations).of(node))
    return {tuple(placed[index].of.name for index in members) for members in correlated(placed)}


def test_write_and_read_of_a_target_and_both_ways_of_a_pair_are_correlated() -> None:
    sets = named(LAB, "client1")
    assert ("ost scratch-OST0000 write", "ost scratch-OST0000 read") in sets
    assert ("net client1 send with oss1", "net client1 receive with oss1") in sets


def test_devices_read_together_behind_a_shared_part_are_correlated() -> None:
    sets = named(LAB, "oss1")
    assert ("raw oss1-disk1 read together", "raw oss1-disk2 read together") in sets
    assert ("raw oss1-disk1 read", "raw oss1-disk1 read together") in sets


def test_correlated_sets_are_distinct_and_have_several_members() -> None:
    nodes = Scene(paper("redstorm")).plan.expectations
    for node in nodes:
        sets = correlated(tuple(Site(nodes).of(node)))
        assert len(sets) == len(set(sets))
        assert all(len(members) > 1 for members in sets)
