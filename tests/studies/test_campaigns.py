"""Random faults with noise on simulated sites; ``tests/bench`` runs many more."""

from __future__ import annotations

from functools import cache
from itertools import islice
from random import Random

import pytest

from plumbline.parts.simulate.campaign import Terms, days_for
from plumbline.parts.simulate.campaign import campaign as attempts
from plumbline.parts.simulate.fleet import NONE, QUIET, YEAR, Fault, Losses
from plumbline.parts.simulate.score import Outcome, Trial
from plumbline.parts.simulate.weather import Capacity
from tests.bench.locating_campaign import Fleet, campaign
from tests.package.parts.simulate.fleets import fleet, outcome
from tests.package.sites import site

FLEETS = ("edison", "redstorm")
machine = cache(Fleet)
LAB = fleet()


@pytest.mark.parametrize("name", FLEETS)
def test_single_faults_are_among_the_suspects_and_alone_where_they_can_be(name: str) -> None:
    score = campaign(machine(name), 40, 1, Random(f"7 {name}"), verbose=False)
    assert score.inside == score.runs == 40
    assert score.identifiable > 0
    assert score.alone == score.identifiable
    assert score.parts < 3


@pytest.mark.parametrize("name", FLEETS)
def test_double_faults_are_among_the_suspects(name: str) -> None:
    score = campaign(machine(name), 20, 2, Random(f"7 {name}"), verbose=False)
    assert score.inside == score.runs == 20
    assert score.parts < 6


def test_hosts_of_different_speed_are_not_suspects_and_a_slow_one_is() -> None:
    """A host has one baseline for all its partners; not all pairs can reach it."""
    document = site()
    document["parts"] += [
        {"name": "login[1-4]", "kind": "client", "rate": "125 MB/s", "feeds": "switch1"},
        {"name": "old1", "kind": "client", "rate": "60 MB/s", "feeds": "switch1"},
    ]
    document["parts"][-2]["address"] = "10.0.1.[1-4]"
    document["parts"][-1]["address"] = "10.0.1.9"
    mixed = fleet(document)
    capacity = Capacity(mixed)
    terms = Terms(0, Losses(0.4, 0.9), QUIET, days_for(mixed))
    assert [attempt.named for attempt in islice(attempts(mixed, capacity, terms, "1"), 2)] == [
        frozenset()
    ] * 2
    terms = terms._replace(faults=1)
    assert all(attempt.inside for attempt in islice(attempts(mixed, capacity, terms, "1"), 6))


def alarms(outcomes: Outcome) -> int:
    return sum(outcomes.raised.values())


def test_noise_beyond_the_model_of_the_judge_raises_false_alarms() -> None:
    worse = YEAR._replace(run=0.6, tail_share=0.5, tail_loss=2.0)
    none, quiet, bad = (outcome(LAB, 20, noise=noise) for noise in (NONE, QUIET, worse))
    assert alarms(none) == alarms(quiet) == 0
    assert (none.false_days, quiet.false_days) == (0, 0)
    assert alarms(bad) > 0
    assert bad.false_days > 0


def test_a_larger_loss_is_not_found_later() -> None:
    faults = [Fault("scratch-OST1", loss, 4) for loss in (0.12, 0.3, 0.6)]
    trials: list[Trial] = [outcome(LAB, 16, fault, noise=QUIET).trials[0] for fault in faults]
    days = [float("inf") if trial.found is None else trial.found for trial in trials]
    assert days == sorted(days, reverse=True)
    assert days[-1] <= 4
