"""Floors on the machines of the papers over simulated nights, slow or healthy from the first on."""

from __future__ import annotations

import re
from random import Random
from typing import Iterator, Mapping

import pytest

from plumbline.judge.component import Detail
from plumbline.judge.judging import Judging, judge_day
from plumbline.model.expectation import Expectation
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.parts.simulate.course import weigh
from plumbline.parts.simulate.days import end_of
from plumbline.parts.simulate.fleet import NONE, QUIET, REACHED, YEAR, Flow, Noise, build
from plumbline.parts.simulate.weather import Capacity, Measuring, Weather
from plumbline.plan.policy import Policy, load
from tests.package.sites import inventory_document, paper

QUARTER = 0.25
FLOORS = (Reason.BELOW_FLOOR, Reason.BELOW_GOAL)


def policy(name: str) -> Policy:
    return load(inventory_document(name, "policy"))


def nights(
    name: str, noise: Noise, number: int, shares: Mapping[str, float]
) -> Iterator[list[Verdict]]:
    """Yield each night's verdicts of a site whose layers reach a share of their ceiling."""
    fleet = build(paper(name), policy(name))
    weather = Weather(noise, Random("floors"))
    measuring = Measuring(fleet, weather)
    rates: dict[Flow, float] = {
        flow: rate * shares.get(flow.layer, 1.0)
        for flow, rate in Capacity(fleet).healthy_Bps.items()
    }
    nodes: dict[str, list[Expectation]] = {}
    for member in fleet.members:
        nodes.setdefault(member.node, []).append(member.expectation)
    for day in range(1, number + 1):
        weather.next_day()
        for _ in measuring.day(day, rates):
            pass
        memory = measuring.memory
        judging = Judging(memory, weigh(nodes, memory), end_of(day), detail=Detail.STATE)
        yield [*judge_day(nodes, judging)]


@pytest.mark.parametrize(
    ("name", "noise", "systems", "even"),
    [
        # share of the ceiling when eight and sixteen targets run together
        ("edison", YEAR, ["fs1", "fs2", "fs3"], 500 / 4000),
        ("redstorm", YEAR, ["scratch"], 1.0),
        ("bgl", NONE, ["lustre"], 50 / 125),
    ],
)
def test_a_quarter_of_the_ceiling_is_one_warning_per_file_system_by_the_fifth_night(
    name: str, noise: Noise, systems: list[str], even: float
) -> None:
    *before, fifth = nights(name, noise, 5, {"ost": QUARTER * even})
    assert not [verdict for night in before for verdict in night if verdict.reason in FLOORS]
    below = [verdict for verdict in fifth if verdict.reason in FLOORS]
    assert [(verdict.component, verdict.group, verdict.state) for verdict in below] == [
        (system, True, State.WARNING) for system in systems
    ]
    for verdict in below:
        shares = re.findall(r"best of 5 nights ([0-9.]+) % of", verdict.sentence)
        assert len(shares) == 2
        assert all(14 < float(share) < 30 for share in shares)
        assert verdict.sentence.count("floor 30 %: since 2026-01-01") == 2


@pytest.mark.parametrize(("rate_MBps", "systems"), [(700, []), (100, ["fs1", "fs2", "fs3"])])
def test_a_target_of_edison_is_compared_with_its_share_of_a_unit(
    rate_MBps: float, systems: list[str]
) -> None:
    judged = list(nights("edison", NONE, 6, {"ost": rate_MBps / 4000 / REACHED}))
    below = [verdict for verdict in judged[-1] if verdict.reason in FLOORS]
    assert [verdict.component for verdict in below] == systems
    if not systems:
        assert not [verdict for night in judged for verdict in night if verdict.state.alarm]


@pytest.mark.parametrize(
    ("name", "noise"), [("edison", YEAR), ("redstorm", YEAR), ("bgl", QUIET), ("jaguar", YEAR)]
)
def test_a_healthy_site_is_above_its_floors(name: str, noise: Noise) -> None:
    verdicts = [verdict for night in nights(name, noise, 6, {}) for verdict in night]
    assert not [verdict.sentence for verdict in verdicts if verdict.reason in FLOORS]
