"""Cost of a step: seconds if nodes take turns, and maximum bytes."""

from __future__ import annotations

import pytest

from plumbline.parts.locate.investigation import Step, Steps
from plumbline.plan.duration import START_S
from plumbline.topology.graph import build
from tests.package.parts.locate.scenes import LAB, Scene
from tests.package.sites import part, site

GIGABIT = 125_000_000


def whole(layer: str, forks: int, scene: Scene = LAB) -> Step:
    step = Steps(scene.plan.expectations, forks).all(layer)
    assert step
    return step


@pytest.mark.parametrize(("forks", "turns"), [(1, 3), (2, 2), (3, 1), (50, 1)])
def test_nodes_that_take_turns_take_longer_and_move_no_more(forks: int, turns: int) -> None:
    # the devices of three servers
    at_once, in_turns = whole("raw", 3), whole("raw", forks)
    assert in_turns.seconds == turns * at_once.seconds
    assert in_turns.bytes == at_once.bytes


@pytest.mark.parametrize(("forks", "turns"), [(1, 2), (2, 1), (50, 1)])
def test_half_of_the_hosts_begin_in_each_slot_and_may_take_turns(forks: int, turns: int) -> None:
    # four hosts meet in six slots, for ten seconds in each direction
    assert whole("net", forks).seconds == 6 * turns * (START_S + 20)


def mixed() -> Scene:
    """Return two servers and two clients, all but the first with links of 10 Gbit/s."""
    document = site()
    nics = part(document, "oss[1-2]-nic")
    nics["name"] = "oss1-nic"
    document["parts"] += [
        {**nics, "name": "oss2-nic", "link": "10 Gbit/s"},
        {**nics, "name": "client[1-2]-nic", "link": "10 Gbit/s"},
        {
            "name": "client[1-2]",
            "kind": "client",
            "address": "10.0.0.[11-12]",
            "feeds": "client[1-2]-nic",
        },
    ]
    document["parts"] = [entry for entry in document["parts"] if entry["name"] != "client1"]
    # the slow host comes first
    document["parts"].sort(key=lambda entry: not str(entry["name"]).startswith("oss1"))
    return Scene(build(document))


def test_the_bytes_of_the_network_are_those_of_all_hosts() -> None:
    moved = whole("net", 50, mixed()).bytes
    # both directions, ten seconds; in each slot one of two pairs has fast hosts
    pairs = 6 * 20 * (10 * GIGABIT + GIGABIT)
    assert pairs <= moved <= 2 * pairs


@pytest.mark.parametrize(("partner", "times"), [("oss1", 1), ("client2", 10)])
def test_the_bytes_of_a_pair_follow_its_own_link(partner: str, times: int) -> None:
    scene = mixed()
    steps = Steps(scene.plan.expectations)
    by_partner = {
        step.partner: step
        for candidate in scene.candidates.crossing(["client1"], ())
        if candidate.of.layer == "net" and (step := steps.of(candidate)) and step.node == "client1"
    }
    assert by_partner[partner].bytes == 20 * times * GIGABIT
