"""A loss that only all pairs of a slot ask for: each pair loses as much as their sum, and tells."""

from __future__ import annotations

from itertools import chain
from math import exp
from random import Random
from typing import NamedTuple

import pytest

from plumbline.judge.judging import Judging, judge_day
from plumbline.model.rounds import pairs_in
from plumbline.parts.locate.contract import named
from plumbline.parts.simulate.course import prepare, weigh
from plumbline.parts.simulate.days import end_of, slots
from plumbline.parts.simulate.fleet import REACHED, YEAR, Flow
from plumbline.parts.simulate.fleet import build as fleet_of
from plumbline.parts.simulate.memory import Rate
from plumbline.parts.simulate.weather import Capacity, Weather
from plumbline.plan.assignments import assignments
from plumbline.plan.expectations import compile_plan
from plumbline.plan.exposure import Way, exposures
from plumbline.plan.pair_sums import PairNetwork
from plumbline.plan.policy import load
from plumbline.topology.graph import Topology, build

HOSTS = tuple(f"h{number:02}" for number in range(1, 17))
SLOT_S = 3600.0
SPREAD = 0.03
"""Of tests of pairs, three times that of the year."""
DAYS = 3


def four_switches() -> Topology:
    """Return sixteen hosts of 1 GB/s, four at each switch, with 4 GB/s to the core from each."""
    parts = [
        {"name": "core", "kind": "switch"},
        {"name": "s[1-4]-up", "kind": "link", "rate": "4 GB/s", "feeds": "core"},
        {"name": "s[1-4]", "kind": "switch", "feeds": "s[1-4]-up"},
        *(
            {"name": name, "kind": "client", "address": name, "rate": "1 GB/s"}
            | {"feeds": f"s{number // 4 + 1}"}
            for number, name in enumerate(HOSTS)
        ),
    ]
    return build({"schema": 1, "site": "four", "parts": parts, "file_systems": []})


class Found(NamedTuple):
    """Hosts in alarm and suspected parts, after some nights."""

    alarms: frozenset[str]
    parts: frozenset[str]


def found(seed: str, loss: float) -> Found:
    """Return what is found after DAYS in which the uplink of s2 has lost some of its rate.

    Before them the uplinks give all pairs of a slot their full rate.
    """
    topology, chance = four_switches(), Random(seed)
    plan = compile_plan(topology, load({}), {})
    fleet = fleet_of(topology, load({}))
    measuring, nodes = prepare(fleet, Capacity(fleet), Weather(YEAR, chance))
    uplink = plan.parts["s2-up"]
    assert uplink.read_Bps is not None
    left = uplink._replace(
        read_Bps=(1 - loss) * uplink.read_Bps, write_Bps=(1 - loss) * uplink.read_Bps
    )
    entries = chain.from_iterable(plan.expectations.values())
    network = PairNetwork(entries, {**plan.parts, "s2-up": left})
    flows: dict[tuple[str, str], list[Flow]] = {}
    for flow in chain.from_iterable(member.flows() for member in fleet.members):
        flows.setdefault((flow.component, flow.partner), []).append(flow)
    for slot in chain.from_iterable(slots(day, SLOT_S) for day in range(1, DAYS + 1)):
        for pair, most_Bps in network.shares(list(pairs_in(HOSTS, slot))).items():
            for flow in flows[pair]:
                rate = min(most_Bps, REACHED * most_Bps * exp(chance.gauss(0, SPREAD)))
                measuring.memory.add_run({flow: Rate(slot * SLOT_S, rate, (rate,), None)})
    weighing = weigh(nodes, measuring.memory)
    judging = Judging(measuring.memory, weighing, end_of(DAYS))
    alarms = (verdict for verdict in judge_day(nodes, judging) if verdict.state.alarm)
    return Found(
        frozenset(verdict.component for verdict in alarms if not verdict.group),
        named(nodes, judging, weighing).parts,
    )


@pytest.mark.parametrize("seed", ["17", "18"])
def test_pairs_alarm_by_themselves_and_name_the_uplink_that_they_fill_together(seed: str) -> None:
    topology = four_switches()
    ways = {
        item.part.name: item.way for item in exposures(topology, assignments(topology, load({})))
    }
    assert ways["s2-up"] is Way.ROUNDS
    lost = found(seed, 0.4)
    assert {"h05", "h06", "h07", "h08"} <= lost.alarms
    assert lost.parts & {"s2", "s2-up"}


@pytest.mark.parametrize("seed", ["17", "18"])
def test_a_healthy_uplink_that_all_pairs_fill_is_no_suspect(seed: str) -> None:
    assert found(seed, 0.0) == (frozenset(), frozenset())
