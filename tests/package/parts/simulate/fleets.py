"""Fleets for tests: the small site with the changes of a test."""

from __future__ import annotations

from random import Random
from typing import Any, Iterator, Optional

from plumbline.model.record import Record
from plumbline.parts.simulate.course import Scenario, Today, simulated_days
from plumbline.parts.simulate.fleet import NONE, Fault, Fleet, Noise, build
from plumbline.parts.simulate.score import Outcome, Score
from plumbline.parts.simulate.weather import Capacity, Measuring, Weather
from plumbline.plan.policy import load
from plumbline.topology.graph import build as built
from tests.package.sites import site


def fleet(
    document: Optional[dict[str, Any]] = None, policy: Optional[dict[str, Any]] = None
) -> Fleet:
    """Return the fleet of a topology document, else of the small site."""
    return build(built(document or site()), load(policy or {}))


def days(
    of: Fleet, number: int, *faults: Fault, noise: Noise = NONE, seed: str = "1"
) -> Iterator[Today]:
    """Yield the days of a course."""
    return simulated_days(of, Capacity(of), Scenario(number, noise, faults, seed))


def outcome(
    of: Fleet, number: int, *faults: Fault, noise: Noise = NONE, seed: str = "1"
) -> Outcome:
    """Return the outcome of a course."""
    score = Score(of, Capacity(of), faults, number)
    for today in days(of, number, *faults, noise=noise, seed=seed):
        score.take(today)
    return score.outcome()


def records(of: Fleet, noise: Noise, number: int) -> list[Record]:
    """Return the records of some nights without faults, each with a name and that of its run."""
    weather = Weather(noise, Random("noise"))
    measuring, rates = Measuring(of, weather), Capacity(of).healthy_Bps
    groups = {member.key: member.expectation.group for member in of.members}
    kept: list[Record] = []
    for day in range(1, number + 1):
        weather.next_day()
        for record in measuring.day(day, rates):
            run = f"{record.layer} {groups[record.layer, record.component]} {record.started_at}"
            kept.append(record._replace(id=str(len(kept)), run_id=run))
    return kept
