"""``plumbline simulate``: false alarms a month and days to detection of a policy."""

from __future__ import annotations

import argparse
from itertools import chain, islice
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence

from plumbline.cli.output import show
from plumbline.cli.progress import progress
from plumbline.measure.unit_context import Step
from plumbline.model import parts
from plumbline.model.errors import UsageError
from plumbline.parts.simulate.campaign import Attempt, Tally, Terms, campaign, days_for
from plumbline.parts.simulate.fleet import (
    NEIGHBOUR,
    NOISES,
    Fault,
    Fleet,
    Noise,
    build,
    parse_fault,
    parse_losses,
    refuse_unknown,
)
from plumbline.parts.simulate.own_noise import in_words, own_noise
from plumbline.parts.simulate.score import Outcome, Setting, Suspects, add, outcome_of
from plumbline.parts.simulate.summary import to_json
from plumbline.parts.simulate.tables import Setup, tables
from plumbline.parts.simulate.weather import Capacity
from plumbline.plan.baseline import Baselines, read_baselines
from plumbline.plan.policy import load
from plumbline.site.forked import on_all_processors
from plumbline.site.inventory import Inventory, read_inventory, topology_of
from plumbline.store.database import Selection
from plumbline.store.files import HISTORY
from plumbline.store.history import History
from plumbline.store.plan import without_collector

_OF_A_FLEET = 10
"""Attempts that share one set of baselines."""


def simulate(arguments: argparse.Namespace) -> int:
    """Print the result of the simulation and return 0."""
    setting = _setting(arguments)
    if arguments.campaign is not None:
        _campaign(arguments, setting)
        return 0
    with without_collector(), progress(quiet=False) as step:
        outcome = add(_outcomes(setting, arguments.fleets, step))
    fleet = setting.fleet
    settings = {
        "site": fleet.site,
        "components": len(fleet.members),
        "days": setting.days,
        "fleets": outcome.fleets,
        "noise": _noise_words(arguments, setting),
        "healthy": arguments.healthy,
        "seed": setting.seed,
        "alarm_budget": setting.budget,
        "longest_runs": [*fleet.longest()],
    }
    words = settings["noise"]
    header = (fleet.site, len(fleet.members), words, arguments.seed, setting.budget)
    texts = tables(Setup(*header, tuple(fleet.longest()), arguments.healthy), outcome)
    show(arguments, to_json(outcome, settings), texts, indent=1)
    return 0


def _outcomes(setting: Setting, fleets: int, show: Callable[[Step], None]) -> Iterator[Outcome]:
    if fleets == 1:
        yield outcome_of(setting, 0, lambda day: show(Step(f"day {day}", day, setting.days)))
        return
    outcomes = on_all_processors(lambda number: outcome_of(setting, number), range(fleets))
    for number, outcome in enumerate(outcomes, start=1):
        show(Step("fleets", number, fleets))
        yield outcome


def _attempts(setting: Setting, terms: Terms, number: int) -> Iterator[Attempt]:
    """Yield ``number`` attempts; they do not depend on the number of processors."""

    def attempt_group(first: int) -> list[Attempt]:
        seed = f"{setting.seed}/{first}"
        attempts = campaign(setting.fleet, setting.capacity, terms, seed)
        return list(islice(attempts, min(_OF_A_FLEET, number - first)))

    return chain.from_iterable(on_all_processors(attempt_group, range(0, number, _OF_A_FLEET)))


def _campaign(arguments: argparse.Namespace, setting: Setting) -> None:
    days, tally = days_for(setting.fleet), Tally()
    terms = Terms(arguments.at_once, setting.losses, setting.noise, days)
    with without_collector(), progress(quiet=False) as step:
        attempts = _attempts(setting, terms, arguments.campaign)
        for number, attempt in enumerate(attempts, start=1):
            tally = tally.add(attempt)
            step(Step("attempts", number, arguments.campaign))
    settings = {
        "site": setting.fleet.site,
        "faults at once": arguments.at_once,
        "days": days,
        "noise": _noise_words(arguments, setting),
        "seed": setting.seed,
    }
    document = {"schema": 1, **settings, **tally._asdict()}
    show(arguments, document, _campaign_lines(settings, tally), indent=1)


def _campaign_lines(settings: dict[str, Any], tally: Tally) -> Iterator[str]:
    yield ", ".join(f"{name} {value}" for name, value in settings.items())
    if not settings["faults at once"]:
        yield f"{tally.suspected} of {tally.attempts} healthy fleets have a suspect."
        return
    inside = 100 * tally.inside / tally.attempts
    yield f"All parts at fault are suspected: {tally.inside} of {tally.attempts} ({inside:.1f} %)"
    if settings["faults at once"] == 1:
        yield f"Suspected alone: {tally.alone} of {tally.identifiable} that can be told apart"
    yield f"Suspects on average: {tally.suspects / tally.attempts:.1f}"
    yield (
        f"Alarms of slowed components that no suspect explains: {tally.beside} of {tally.alarms}"
    )
    yield f"{tally.hidden} more draws slow no measurement by a fifth; nothing can find these."


def _setting(arguments: argparse.Namespace) -> Setting:
    losses = parse_losses(arguments.loss)
    inventory = read_inventory(arguments.inventory)
    policy = load(inventory.policy)
    healthy = _healthy(inventory) if arguments.healthy == "baselines" else {}
    fleet = build(topology_of(inventory), policy, healthy)
    capacity = Capacity(fleet)
    faults = tuple(dict.fromkeys(_faults(arguments.fault, fleet)))
    refuse_unknown(faults, capacity.components, fleet.systems, arguments.days)
    if arguments.random_faults > len(capacity.located):
        raise UsageError(
            f"--random-faults {arguments.random_faults} is more than the "
            f"{len(capacity.located)} parts that measurements cross"
        )
    return Setting(
        fleet,
        capacity,
        arguments.days,
        _noise(arguments.noise, fleet),
        faults,
        arguments.random_faults,
        losses,
        arguments.seed,
        policy.alarm_budget,
        None if arguments.without_suspects else _suspects(fleet),
    )


def _suspects(fleet: Fleet) -> Callable[[], Suspects]:
    """Return what makes a locator; raise ToolError if the part that locates is not installed."""
    locate = parts.load("locate", "contract")
    return lambda: locate.daily_suspects(fleet.paths, fleet.services, fleet.parts)


def _noise(text: str, fleet: Fleet) -> Noise:
    """Return a noise by its name, or that of the records in a history."""
    if text in NOISES:
        return NOISES[text]
    path = Path(text)
    if not path.is_file():
        raise UsageError(
            f"--noise {text!r} is none of {', '.join(sorted(NOISES))} and no history; give the "
            f"path of a site's records, such as {HISTORY}"
        )
    with History(path) as history:
        return own_noise(fleet, history.records(Selection()))


def _noise_words(arguments: argparse.Namespace, setting: Setting) -> str:
    """Return the name of the noise; of records also what they show."""
    name: str = arguments.noise
    return name if name in NOISES else f"of {name} ({in_words(setting.noise)})"


def _healthy(inventory: Inventory) -> Baselines:
    """Return the accepted baselines of the site; raise UsageError if there are none."""
    accepted = read_baselines(inventory.baselines)
    if not accepted:
        raise UsageError(
            f"{inventory.baselines_file} has no baselines; accept some, or leave --healthy out"
        )
    return accepted


def _faults(texts: Sequence[str], fleet: Fleet) -> Iterator[Fault]:
    """Yield the requested faults; a fault of a target and its neighbour gives two."""
    for text in texts:
        fault = parse_fault(text)
        name = fault.component
        if name.endswith(NEIGHBOUR):
            name = name[: -len(NEIGHBOUR)]
            yield fault._replace(component=name)
            yield fault._replace(component=fleet.neighbour(name))
        else:
            yield fault
