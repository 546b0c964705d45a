"""Alarms that the last runs together would raise: without a cause, and how soon with one.

    python -m tests.bench.alarms edison --fleets 4 --days 60 --seed 7
    python -m tests.bench.alarms edison --fleets 40 --loss 40 --seed 7

Each node weighs its components at the end of each simulated day, under the noise of the year, once
what was low has been confirmed (--no-confirm leaves that out).  With --loss one target or device
of each fleet loses so many percent, ten days after the baselines.
"""

from __future__ import annotations

import argparse
import sys
from multiprocessing import Pool
from pathlib import Path
from random import Random
from typing import Iterator, NamedTuple, Optional

from plumbline.documents.inventory import read_inventory, topology_of
from plumbline.judge.confirm import bytes_of
from plumbline.judge.weighing import Weighing
from plumbline.model.evidence import MONTH_S
from plumbline.model.expectation import Expectation
from plumbline.plan.policy import load
from plumbline.simulate.capacity import Capacity
from plumbline.simulate.confirming import Confirming
from plumbline.simulate.course import begin
from plumbline.simulate.faults import Fault
from plumbline.simulate.fleet import Fleet, build
from plumbline.simulate.noise import YEAR
from plumbline.simulate.weather import Weather

INVENTORIES = Path(__file__).parents[2] / "inventories"
BEGINS = 10
FOLLOWED = 30
DAY_S = 86400.0
HALF = 0.5

Component = tuple[str, str]


class Asked(NamedTuple):
    """One fleet: ``loss`` in percent, None while it is healthy."""

    site: str
    seed: str
    days: int
    loss: Optional[float]
    confirm: bool
    begins: int


class Found(NamedTuple):
    """Alarms without a cause, the days that had one, and the day on which the fault was found.

    ``share`` is what confirmation moved, as a fraction of what was planned.
    """

    raised: int
    days: int
    found: Optional[int]
    share: float


class Day(NamedTuple):
    """The components that have an alarm, the one that is slow, and the bytes of confirmation."""

    number: int
    alarms: frozenset[Component]
    slow: Optional[Component]
    share: float


def fleet_of(site: str) -> tuple[Fleet, Capacity]:
    """Return what an inventory of the project measures."""
    inventory = read_inventory(str(INVENTORIES / site))
    fleet = build(topology_of(inventory), load(inventory.policy))
    return fleet, Capacity(fleet)


def days(asked: Asked) -> Iterator[Day]:
    """Yield each day."""
    fleet, capacity = fleet_of(asked.site)
    weather = Weather(YEAR, Random(asked.seed))
    measuring, nodes = begin(fleet, capacity, weather)
    slow = Random(f"{asked.seed}/faults").choice(visible(fleet, capacity)) if asked.loss else None
    if slow:
        # what other nodes see of it does not matter
        nodes = {node: found for node, found in nodes.items() if slow in map(key_of, found)}
    confirming = Confirming(measuring, nodes if asked.confirm else {}, fleet.periods_s)
    planned = planned_bytes(fleet)
    fault = Fault(slow[1], (asked.loss or 0.0) / 100) if slow else None
    under = capacity.under([fault]) if fault else {}
    for day in range(1, asked.days + 1):
        weather.next_day()
        there = slow is not None and day > asked.begins
        rates = {**capacity.healthy_Bps, **(under if there else {})}
        for _ in measuring.day(day, rates):
            pass
        confirming.day(day, rates)
        found: set[Component] = set()
        for node, entries in nodes.items() if there or not slow else ():
            weighing = Weighing({node: entries}, {node: measuring.memory})
            for key in [slow] if slow else map(key_of, entries):
                known = weighing.evidence((*key, False))
                found |= {key} if known and known.alarm else set()
        yield Day(day, frozenset(found), slow, confirming.moved_bytes / (day * planned))


def visible(fleet: Fleet, capacity: Capacity) -> list[Component]:
    """Return the targets and devices of which a measurement shows what they lose.

    Where another part of the path is much slower, a loss is within the slack of what is behind it.
    """
    return sorted(
        one.key
        for one in fleet.members
        if one.key[0] in ("ost", "raw")
        and any(
            (flow.layer, flow.component) == one.key and rate <= HALF * capacity.healthy_Bps[flow]
            for flow, rate in capacity.under([Fault(one.key[1], 1 - HALF**2)]).items()
        )
    )


def key_of(one: Expectation) -> Component:
    """Return layer and name."""
    return one.layer, one.component


def planned_bytes(fleet: Fleet) -> float:
    """Return what the planned runs of a day move at most."""
    return sum(
        bytes_of(one.expectation, together=True) * DAY_S / fleet.periods_s[one.key[0]]
        for one in fleet.members
    )


def try_one(asked: Asked) -> Found:
    """Return what became of one fleet."""
    before: frozenset[Component] = frozenset()
    raised = bad = 0
    share = 0.0
    for day, alarms, slow, share in days(asked):
        if slow and day > asked.begins and slow in alarms:
            return Found(raised, bad, day - asked.begins, share)
        if slow is None:
            raised += len(alarms - before)
            bad += bool(alarms)
        before = alarms
    return Found(raised, bad, None, share)


def main() -> int:
    """Print the figures of a site."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("site")
    parser.add_argument("--fleets", type=int, default=2)
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--loss", type=float)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--no-confirm", action="store_true")
    parser.add_argument("--begins", type=int, default=BEGINS, help="healthy days before the loss")
    given = parser.parse_args()
    count = given.begins + FOLLOWED if given.loss else given.days
    asked = [
        Asked(
            given.site,
            f"{given.seed}/{number}",
            count,
            given.loss,
            not given.no_confirm,
            given.begins,
        )
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
        f"on {bad} of {given.fleets * given.days} days; confirmation moved "
        f"{100 * sum(one.share for one in found) / len(found):.1f} % more"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
