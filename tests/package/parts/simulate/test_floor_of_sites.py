"""Floors on the machines of the papers, slow or healthy from the first night on."""

from __future__ import annotations

import re
from random import Random
from typing import Iterator, Mapping, Optional

import pytest

from plumbline.judge.judging import Judging, judge_day
from plumbline.model.expectation import Expectation
from plumbline.model.record import Operation, Scenario
from plumbline.model.verdict import Reason, State, Verdict
from plumbline.parts.simulate.course import weigh
from plumbline.parts.simulate.days import end_of
from plumbline.parts.simulate.fleet import NONE, QUIET, REACHED, YEAR, Flow, Noise, build
from plumbline.parts.simulate.weather import Capacity, Measuring, Weather
from plumbline.plan.expectations import compile_plan
from plumbline.plan.policy import Policy, load
from tests.package.judge.test_floor import recorded
from tests.package.judgements import NOW, judge_file_system, snapshot
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
        judging = Judging(memory, weigh(nodes, memory), end_of(day), evidence=False)
        yield [*judge_day(nodes, judging)]


@pytest.mark.study
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


@pytest.mark.study
@pytest.mark.parametrize(("rate_MBps", "systems"), [(700, []), (100, ["fs1", "fs2", "fs3"])])
def test_a_target_of_edison_is_compared_with_its_share_of_a_unit(
    rate_MBps: float, systems: list[str]
) -> None:
    judged = list(nights("edison", NONE, 6, {"ost": rate_MBps / 4000 / REACHED}))
    below = [verdict for verdict in judged[-1] if verdict.reason in FLOORS]
    assert [verdict.component for verdict in below] == systems
    if not systems:
        assert not [verdict for night in judged for verdict in night if verdict.state.alarm]


@pytest.mark.study
@pytest.mark.parametrize(
    ("name", "noise"), [("edison", YEAR), ("redstorm", YEAR), ("bgl", QUIET), ("jaguar", YEAR)]
)
def test_a_healthy_site_is_above_its_floors(name: str, noise: Noise) -> None:
    verdicts = [verdict for night in nights(name, noise, 6, {}) for verdict in night]
    assert not [verdict.sentence for verdict in verdicts if verdict.reason in FLOORS]


def on_five_nights(name: str, system: str, write_GBps: float, read_GBps: float) -> Verdict:
    """Return the verdict on all targets of a file system at once after five equal nights."""
    plan = compile_plan(paper(name), policy(name), {})
    (whole,) = [
        entry
        for entries in plan.expectations.values()
        for entry in entries
        if (entry.layer, entry.component) == ("fs", system)
    ]
    rates = {Operation.WRITE: write_GBps, Operation.READ: read_GBps, Operation.REREAD: read_GBps}
    memory = snapshot(
        *(
            recorded(
                [1e9 * rate] * 5,
                layer="fs",
                component=system,
                host=whole.host,
                operation=operation,
                scenario=Scenario.TOGETHER,
                spec_hash=whole.spec.hash(),
            )
            for operation, rate in rates.items()
        )
    )
    return judge_file_system([whole], system, memory, NOW)


@pytest.mark.parametrize(("system", "full_GBps"), [("fs1", 48.0), ("fs2", 48.0), ("fs3", 72.0)])
def test_a_file_system_of_edison_at_a_quarter_is_below_the_floor_of_all_targets_at_once(
    system: str, full_GBps: float
) -> None:
    quarter = on_five_nights("edison", system, full_GBps / 4, full_GBps / 4)
    assert (quarter.state, quarter.reason) == (State.WARNING, Reason.BELOW_FLOOR)
    # as the paper demonstrated FS1
    shown = on_five_nights("edison", system, 0.6 * full_GBps, 0.6 * full_GBps)
    assert shown.reason is not Reason.BELOW_FLOOR


@pytest.mark.parametrize(
    ("write_GBps", "read_GBps", "reason"),
    # the first test, the last one, and one between
    [(12, 12, Reason.BELOW_FLOOR), (29, 22, None), (23, 15, None)],
)
def test_the_first_file_system_of_blue_gene_alarms_and_the_repaired_one_does_not(
    write_GBps: float, read_GBps: float, reason: Optional[Reason]
) -> None:
    verdict = on_five_nights("bgl", "lustre", write_GBps, read_GBps)
    assert (verdict.reason is Reason.BELOW_FLOOR) is (reason is Reason.BELOW_FLOOR)
    if reason:
        assert verdict.sentence.startswith(
            "file system lustre write together: best of 5 nights 35.7 % of the ceiling 33.6 GB/s "
            "(limited by array ddn01"
        )
        assert verdict.state is State.WARNING
