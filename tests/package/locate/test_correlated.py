"""Measurements of a node that one part slows together."""

from __future__ import annotations

from plumbline.locate.observation import Site
from plumbline.locate.observe import correlated
from tests.package.locate.scenes import Scene, lab
from tests.package.sites import paper


def named(scene: Scene, node: str) -> set[tuple[str, ...]]:
    placed = tuple(Site(scene.plan.expectations).of(node))
    return {tuple(placed[index].of.name for index in each) for each in correlated(placed)}


def test_the_write_and_the_read_of_a_target_and_both_ways_between_two_hosts() -> None:
    found = named(Scene(lab()), "client1")
    assert ("ost scratch-OST0000 write", "ost scratch-OST0000 read") in found
    assert ("net client1 send with oss1", "net client1 receive with oss1") in found


def test_devices_that_are_read_together_behind_a_part_that_they_share() -> None:
    found = named(Scene(lab()), "oss1")
    assert ("raw oss1-disk1 read together", "raw oss1-disk2 read together") in found
    assert ("raw oss1-disk1 read", "raw oss1-disk1 read together") in found


def test_nothing_is_asked_twice_and_nothing_alone() -> None:
    nodes = Scene(paper("redstorm")).plan.expectations
    for node in nodes:
        found = correlated(tuple(Site(nodes).of(node)))
        assert len(found) == len(set(found))
        assert all(len(each) > 1 for each in found)
