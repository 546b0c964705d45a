"""Alarms that the last runs together would raise: without a cause, and how soon with one.

    python -m tests.bench.alarms edison --fleets 4 --days 60 --seed 7
    python -m tests.bench.alarms edison --fleets 40 --loss 40 --seed 7

Every component of the site is weighed at the end of each simulated day, under the noise of the
year.  With --loss one target or device of each fleet loses so many percent, ten days after the
baselines.
"""

from __future__ import annotations

import argparse
import sys
from multiprocessing import Pool
from pathlib import Path
from random import Random
from typing import Iterator, NamedTuple, Optional

from plumbline.cli.inventory import read_inventory, topology_of
from plumbline.judge.weighing import Weighing
from plumbline.plan.budget import MONTH_S
from plumbline.plan.policy import load
from plumbline.simulate.capacity import Capacity
from plumbline.simulate.course import begin
from plumbline.simulate.faults import Fault
from plumbline.simulate.fleet import Fleet, build
from plumbline.simulate.noise import YEAR
from plumbline.simulate.weather import Weather

INVENTORIES = Path(__file__).parents[2] / "inventories"
BEGINS = 10
FOLLOWED = 30
DAY_S = 86400.0

Component = tuple[str, str]


class Asked(NamedTuple):
    """One fleet: ``loss`` in percent, None while it is healthy."""

    site: str
    seed: str
    days: int
    loss: Optional[float]


class Found(NamedTuple):
    """Alarms without a cause, the days that had one, and the day on which the fault was found."""

    raised: int
    days: int
    found: Optional[int]


def fleet_of(site: str) -> tuple[Fleet, Capacity]:
    """Return what an inventory of the project measures."""
    inventory = read_inventory(str(INVENTORIES / site))
    fleet = build(topology_of(inventory), load(inventory.policy))
    return fleet, Capacity(fleet)


def days(asked: Asked) -> Iterator[tuple[int, frozenset[Component], Optional[Component]]]:
    """Yield each day with the components that have an alarm, and the one that is slow."""
    fleet, capacity = fleet_of(asked.site)
    weather = Weather(YEAR, Random(asked.seed))
    measuring, nodes = begin(fleet, capacity, weather)
    targets = sorted(one.key for one in fleet.members if one.key[0] in ("ost", "raw"))
    slow = Random(f"{asked.seed}/faults").choice(targets) if asked.loss else None
    fault = Fault(slow[1], (asked.loss or 0.0) / 100) if slow else None
    under = capacity.under([fault]) if fault else {}
    for day in range(1, asked.days + 1):
        weather.next_day()
        there = slow is not None and day > BEGINS
        for _ in measuring.day(day, {**capacity.healthy_Bps, **(under if there else {})}):
            pass
        weighing = Weighing(nodes, dict.fromkeys(nodes, measuring.memory))
        found = {one.key: weighing.of(*one.key) for one in fleet.members}
        yield day, frozenset(key for key, one in found.items() if one and one.alarm), slow


def try_one(asked: Asked) -> Found:
    """Return what became of one fleet."""
    before: frozenset[Component] = frozenset()
    raised = bad = 0
    for day, alarms, slow in days(asked):
        if slow and day > BEGINS and slow in alarms:
            return Found(raised, bad, day - BEGINS)
        if slow is None:
            raised += len(alarms - before)
            bad += bool(alarms)
        before = alarms
    return Found(raised, bad, None)


def main() -> int:
    """Print the figures of a site."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("site")
    parser.add_argument("--fleets", type=int, default=2)
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--loss", type=float)
    parser.add_argument("--seed", default="1")
    given = parser.parse_args()
    count = BEGINS + FOLLOWED if given.loss else given.days
    asked = [
        Asked(given.site, f"{given.seed}/{number}", count, given.loss)
        for number in range(given.fleets)
    ]
    with Pool(2) as pool:
        found = list(pool.imap(try_one, asked))
    fleet, _ = fleet_of(given.site)
    odds = fleet.members[0].expectation.limits.alarm_odds
    print(f"{given.site}: {len(fleet.members)} components, odds of {odds:,.0f} to 1 for an alarm")
    if given.loss:
        days_found = [one.found for one in found if one.found]
        within = {
            limit: sum(day <= limit for day in days_found) for limit in (1, 2, 3, 7, 14, FOLLOWED)
        }
        shares = ", ".join(f"{number} within {limit} days" for limit, number in within.items())
        print(f"of {len(found)} losses of {given.loss:g} %: {shares}")
        return 0
    months = given.fleets * given.days * DAY_S / MONTH_S
    raised, bad = sum(one.raised for one in found), sum(one.days for one in found)
    print(
        f"{raised} false alarms in {months:.1f} fleet-months, {raised / months:.2f} a month, "
        f"on {bad} of {given.fleets * given.days} days"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
