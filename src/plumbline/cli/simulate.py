"""``plumbline simulate``: false alarms a month and days to detection of a policy."""

from __future__ import annotations

import argparse
import json
import os
from itertools import islice
from typing import TYPE_CHECKING, Any, Callable, Iterator, Sequence

from plumbline.measure.unit_context import Step
from plumbline.model.errors import UsageError
from plumbline.site.forked import forked

if TYPE_CHECKING:
    import argparse

    from plumbline.simulate.campaign import Attempt, Tally, Terms
    from plumbline.simulate.course import Judge
    from plumbline.simulate.fleet import Fault, Fleet
    from plumbline.simulate.score import Outcome, Setting
    from plumbline.simulate.weather import Capacity


def processors(pieces: int) -> int:
    """Return on how many processors so many pieces of work can be done at once."""
    return min(pieces, len(os.sched_getaffinity(0)))


_OF_A_FLEET = 10
"""Attempts that share baselines."""


def campaign_attempts(
    site: tuple[Fleet, Capacity], terms: Terms, asked: tuple[int, int], judge: Judge
) -> Iterator[Attempt]:
    """Yield so many attempts of a seed: ``asked`` is their number and the seed.

    Several processors have them sooner, and the same ones.
    """
    number, seed = asked
    counts = [
        (f"{seed}/{first}", min(_OF_A_FLEET, number - first))
        for first in range(0, number, _OF_A_FLEET)
    ]
    count = processors(len(counts))
    if count == 1:
        for of_one in counts:
            yield from _tried(site, terms, of_one, judge)
        return
    for attempts in forked(lambda of_one: list(_tried(site, terms, of_one, judge)), counts, count):
        yield from attempts


def _tried(
    site: tuple[Fleet, Capacity], terms: Terms, of_one: tuple[str, int], judge: Judge
) -> Iterator[Attempt]:
    """Yield the attempts that share baselines, by their seed and number."""
    from plumbline.simulate.campaign import campaign

    seed, count = of_one
    return islice(campaign(*site, terms, seed, judge), count)


def show_campaign(given: dict[str, Any], tally: Tally, *, as_json: bool) -> None:
    """Print what became of a campaign."""
    if as_json:
        print(json.dumps({"schema": 1, **given, **tally._asdict()}, indent=1))
        return
    print(", ".join(f"{name} {value}" for name, value in given.items()))
    if not given["faults at once"]:
        print(f"{tally.suspected} of {tally.attempts} healthy fleets have a suspect.")
        return
    inside = 100 * tally.inside / tally.attempts
    print(f"All parts at fault are suspected: {tally.inside} of {tally.attempts} ({inside:.1f} %)")
    if given["faults at once"] == 1:
        print(f"Suspected alone: {tally.alone} of {tally.identifiable} that can be told apart")
    print(f"Suspects in the mean: {tally.suspects / tally.attempts:.1f}")
    print(
        f"Alarms of what the faults slow that no suspect explains: {tally.beside} of {tally.alarms}"
    )
    print(f"{tally.hidden} more draws slow no measurement by a fifth; nothing can find these.")


def outcomes(setting: Setting, fleets: int, show: Callable[[Step], None]) -> Iterator[Outcome]:
    """Yield the outcome of each fleet in turn; ``show`` takes each step."""
    from plumbline.simulate.score import outcome_of
    from plumbline.site.nodes import JudgingDaily

    count = processors(fleets)
    if count == 1:
        for number in range(fleets):
            yield outcome_of(setting, number, JudgingDaily, lambda day: show(_day(day, setting)))
        return
    found = forked(lambda number: outcome_of(setting, number, JudgingDaily), range(fleets), count)
    for number, outcome in enumerate(found, start=1):
        show(Step("fleets", number, fleets))
        yield outcome


def _day(day: int, setting: Setting) -> Step:
    return Step(f"day {day}", day, setting.days)


def simulate(arguments: argparse.Namespace) -> int:
    """Print what the simulation came to and return 0."""
    from plumbline.cli.progress import progress
    from plumbline.simulate.score import add as total
    from plumbline.site.nodes import without_collector

    setting = _setting(arguments)
    if arguments.campaign is not None:
        _campaign(arguments, setting)
        return 0
    with without_collector(), progress(quiet=False) as show:
        outcome = total(outcomes(setting, arguments.fleets, show))
    if arguments.json:
        print(json.dumps(_document(arguments, setting, outcome), indent=1, allow_nan=False))
        return 0
    from plumbline.doors.simulation import Simulated, tables

    fleet = setting.fleet
    given = (fleet.site, len(fleet.members), arguments.noise, arguments.seed, setting.budget)
    asked = Simulated(*given, longest=tuple(fleet.longest()))
    print("\n\n".join(tables(asked, outcome)))
    return 0


def _campaign(arguments: argparse.Namespace, setting: Setting) -> None:
    from plumbline.cli.progress import progress
    from plumbline.measure.unit_context import Step
    from plumbline.simulate.campaign import Tally, Terms, days_for
    from plumbline.site.nodes import JudgingDaily, without_collector

    if arguments.campaign < 1:
        raise UsageError("--campaign takes a number above zero")
    days = days_for(setting.fleet)
    terms = Terms(arguments.at_once, setting.losses, setting.noise, days)
    asked, tally = (arguments.campaign, setting.seed), Tally()
    site = setting.fleet, setting.capacity
    with without_collector(), progress(quiet=False) as show:
        for number, attempt in enumerate(
            campaign_attempts(site, terms, asked, JudgingDaily()), start=1
        ):
            tally = tally.add(attempt)
            show(Step("attempts", number, arguments.campaign))
    given = {
        "site": setting.fleet.site,
        "faults at once": arguments.at_once,
        "days": days,
        "noise": arguments.noise,
        "seed": setting.seed,
    }
    show_campaign(given, tally, as_json=arguments.json)


def _document(arguments: argparse.Namespace, setting: Setting, outcome: Outcome) -> dict[str, Any]:
    from plumbline.simulate.summary import to_json

    given = {
        "site": setting.fleet.site,
        "components": len(setting.fleet.members),
        "days": setting.days,
        "fleets": outcome.fleets,
        "noise": arguments.noise,
        "seed": setting.seed,
        "alarm_budget": setting.budget,
        "longest_runs": [longest._asdict() for longest in setting.fleet.longest()],
    }
    return to_json(outcome, given)


def _setting(arguments: argparse.Namespace) -> Setting:
    from plumbline.plan.policy import load
    from plumbline.simulate.fleet import NOISES as MODELS
    from plumbline.simulate.fleet import FaultTargets, build, parse_losses, refuse_unknown
    from plumbline.simulate.score import Setting
    from plumbline.simulate.weather import Capacity
    from plumbline.site.inventory import read_inventory, topology_of
    from plumbline.site.paths import Site
    from plumbline.site.publish import SuspectingDaily

    losses = parse_losses(arguments.loss)
    inventory = read_inventory(arguments.inventory)
    policy = load(inventory.policy)
    fleet = build(topology_of(inventory), policy)
    capacity, site = Capacity(fleet), Site(fleet.paths, fleet.services, fleet.parts)
    faults = tuple(dict.fromkeys(_faults(arguments.fault, fleet)))
    refuse_unknown(faults, FaultTargets(capacity.components, fleet.systems), arguments.days)
    if arguments.random_faults > len(capacity.components):
        raise UsageError(
            f"--random-faults {arguments.random_faults} is more than the "
            f"{len(capacity.components)} parts that measurements cross"
        )
    return Setting(
        fleet,
        capacity,
        arguments.days,
        MODELS[arguments.noise],
        faults,
        arguments.random_faults,
        losses,
        arguments.seed,
        policy.alarm_budget,
        None if arguments.without_suspects else lambda: SuspectingDaily(site),
    )


def _faults(texts: Sequence[str], fleet: Fleet) -> Iterator[Fault]:
    """Yield the faults that were asked for; one of a target and its neighbour is two."""
    from plumbline.simulate.fleet import NEIGHBOUR, parse_fault

    for text in texts:
        fault = parse_fault(text)
        name = fault.component
        if name.endswith(NEIGHBOUR):
            name = name[: -len(NEIGHBOUR)]
            yield fault._replace(component=name)
            yield fault._replace(component=fleet.neighbour(name))
        else:
            yield fault
