"""The machines of the papers, slow from their first night on or healthy, without a baseline."""

from __future__ import annotations

from random import Random
from typing import Iterator, Mapping

import pytest
import yaml

from plumbline.judge.judging import judge_day
from plumbline.model.expectation import Expectation
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.plan.policy import Policy, load
from plumbline.simulate.course import weigh
from plumbline.simulate.fleet import NONE, QUIET, YEAR, Flow, Noise, build
from plumbline.simulate.weather import Capacity, Measuring, Weather, end_of
from tests.package.sites import INVENTORIES, paper

QUARTER = 0.25
FLOORS = (Reason.BELOW_FLOOR, Reason.BELOW_GOAL)


def policy(name: str) -> Policy:
    path = INVENTORIES / name / "group_vars" / "all" / "policy.yml"
    said = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}
    return load(said.get("plumbline_policy"))


def nights(
    name: str, noise: Noise, number: int, shares: Mapping[str, float]
) -> Iterator[list[Verdict]]:
    """Yield the verdicts after each night of a site whose layers give a share of their ceiling."""
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
        yield [*judge_day(nodes, memory, weigh(nodes, memory), end_of(day))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "noise", "systems"),
    [
        ("edison", YEAR, ["fs1", "fs2", "fs3"]),
        ("redstorm", YEAR, ["scratch"]),
        ("bgl", NONE, ["lustre"]),
    ],
)
def test_a_quarter_of_the_ceiling_is_one_warning_a_file_system_by_the_fifth_night(
    name: str, noise: Noise, systems: list[str]
) -> None:
    *before, fifth = nights(name, noise, 5, {"ost": QUARTER})
    assert not [verdict for night in before for verdict in night if verdict.reason in FLOORS]
    below = [verdict for verdict in fifth if verdict.reason in FLOORS]
    assert [(verdict.component, verdict.group, verdict.state) for verdict in below] == [
        (system, True, State.WARNING) for system in systems
    ]
    for verdict in below:
        assert verdict.sentence.startswith(
            f"file system {verdict.component} write: best of 5 nights 2"
        )
        assert "; read: best of 5 nights 2" in verdict.sentence
        assert verdict.sentence.count("floor 30 %: since 2026-01-01") == 2


@pytest.mark.slow
@pytest.mark.parametrize(("name", "noise"), [("edison", YEAR), ("redstorm", YEAR), ("bgl", QUIET)])
def test_a_healthy_site_is_above_its_floors(name: str, noise: Noise) -> None:
    found = [verdict for night in nights(name, noise, 8, {}) for verdict in night]
    assert not [verdict.sentence for verdict in found if verdict.reason in FLOORS]
