"""``plumbline simulate``: false alarms a month and days to detection of a policy, beforehand."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
from typing import TYPE_CHECKING, Any, Callable, Iterator, NamedTuple, Optional, Sequence

from plumbline.cli import simulate_campaign
from plumbline.errors import UsageError

if TYPE_CHECKING:
    from plumbline.model.expectation import Expectation
    from plumbline.model.verdict import Verdict
    from plumbline.run.bench import Step
    from plumbline.simulate.capacity import Capacity
    from plumbline.simulate.faults import Fault, Losses
    from plumbline.simulate.fleet import Fleet
    from plumbline.simulate.memory import Memory
    from plumbline.simulate.noise import Noise
    from plumbline.simulate.score import Outcome

NOISES = ("year", "quiet", "none")

_DESCRIPTION = """\
Let the days pass on the site of an inventory: its plan measures, noise and busy spells disturb,
parts lose speed, the judge judges under the inventory's policy.  Prints how often healthy
components alarm in a month, and after how many days faults do.  Nothing is measured."""

_EPILOG = """\
noise:  year   a production file system, fitted to a year of benchmarks on five file systems
        quiet  a file system that few use
        none   every run gives the same

A loss is of the part's own speed.  A part that is faster than its paths need has slack: losing it
slows nothing, and the answer says so.  docs/simulate.md explains the model and its limits."""


class _Setting(NamedTuple):
    """What is the same for all fleets."""

    fleet: Fleet
    capacity: Capacity
    days: int
    noise: Noise
    faults: tuple[Fault, ...]
    random_faults: int
    losses: Losses
    seed: int


def add(subparsers: Any) -> None:
    """Declare the arguments."""
    parser = subparsers.add_parser(
        "simulate",
        help="false alarms a month and days to detection, before the pager is switched on",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-i", "--inventory", required=True, help="folder of the inventory")
    parser.add_argument("--days", type=_count, default=60, metavar="N", help="default 60")
    parser.add_argument(
        "--fleets", type=_count, default=1, metavar="N", help="as many sites alike, default 1"
    )
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="PART=LOSS[@DAY]",
        help="a part or target that is slower, from day 1 on or a later one: oss03-hba=40%%@12",
    )
    parser.add_argument(
        "--random-faults",
        type=_count,
        default=0,
        metavar="N",
        help="so many parts of each fleet, from days in the first half on",
    )
    parser.add_argument(
        "--loss",
        default="20-90%",
        metavar="LOSSES",
        help="of random faults: 20-90%% (default), 40%% or 15,20,30%%",
    )
    parser.add_argument("--noise", choices=NOISES, default=NOISES[0], help="default year")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="equal seeds, equal days")
    parser.add_argument("--json", action="store_true", help="print the figures for programs")
    simulate_campaign.add(parser)
    parser.set_defaults(run=run)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above zero")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Print what the simulation came to and return 0."""
    from plumbline.simulate.score import add as total

    setting = _setting(arguments)
    if arguments.campaign is not None:
        _campaign(arguments, setting)
        return 0
    outcome = total(_outcomes(setting, arguments.fleets))
    if arguments.json:
        print(json.dumps(_document(arguments, setting, outcome), indent=1, allow_nan=False))
        return 0
    from plumbline.output.simulation import Asked, tables

    asked = Asked(setting.fleet.site, len(setting.fleet.members), arguments.noise, arguments.seed)
    print("\n\n".join(tables(asked, outcome)))
    return 0


def _campaign(arguments: argparse.Namespace, setting: _Setting) -> None:
    from plumbline.cli.progress import progress
    from plumbline.cli.site import without_collector
    from plumbline.run.bench import Step
    from plumbline.simulate.campaign import Tally, Terms, days_for

    if arguments.campaign < 1 or arguments.runs < 1:
        raise UsageError("--campaign and --runs take a number above zero")
    days = days_for(setting.fleet, arguments.runs)
    terms = Terms(arguments.at_once, setting.losses, setting.noise, arguments.runs, days)
    asked, tally = (arguments.campaign, setting.seed), Tally()
    site = setting.fleet, setting.capacity
    with without_collector(), progress(quiet=False) as show:
        for number, one in enumerate(
            simulate_campaign.attempts(site, terms, asked, _judge), start=1
        ):
            tally = tally.add(one)
            show(Step("attempts", number, arguments.campaign))
    given = {
        "site": setting.fleet.site,
        "faults at once": arguments.at_once,
        "days": days,
        "runs": arguments.runs,
        "noise": arguments.noise,
        "seed": setting.seed,
    }
    simulate_campaign.show(given, tally, as_json=arguments.json)


def _document(arguments: argparse.Namespace, setting: _Setting, outcome: Outcome) -> dict[str, Any]:
    from plumbline.simulate.summary import to_json

    given = {
        "site": setting.fleet.site,
        "components": len(setting.fleet.members),
        "days": setting.days,
        "fleets": outcome.fleets,
        "noise": arguments.noise,
        "seed": setting.seed,
    }
    return to_json(outcome, given)


def _setting(arguments: argparse.Namespace) -> _Setting:
    from plumbline.cli.inventory import read_inventory, topology_of
    from plumbline.plan.policy import load
    from plumbline.simulate.capacity import Capacity
    from plumbline.simulate.faults import parse_fault, parse_losses, refuse_unknown
    from plumbline.simulate.fleet import build
    from plumbline.simulate.noise import NOISES as MODELS

    faults = tuple(dict.fromkeys(map(parse_fault, arguments.fault)))
    losses = parse_losses(arguments.loss)
    inventory = read_inventory(arguments.inventory)
    fleet = build(topology_of(inventory), load(inventory.policy))
    capacity = Capacity(fleet)
    refuse_unknown(faults, capacity.components, arguments.days)
    if arguments.random_faults > len(capacity.components):
        raise UsageError(
            f"--random-faults {arguments.random_faults} is more than the "
            f"{len(capacity.components)} parts that measurements cross"
        )
    return _Setting(
        fleet,
        capacity,
        arguments.days,
        MODELS[arguments.noise],
        faults,
        arguments.random_faults,
        losses,
        arguments.seed,
    )


def _outcomes(setting: _Setting, fleets: int) -> Iterator[Outcome]:
    """Yield the outcome of each fleet in turn; on several processors where there are several."""
    from plumbline.cli.progress import progress
    from plumbline.cli.site import without_collector
    from plumbline.run.bench import Step

    processes = min(fleets, len(os.sched_getaffinity(0)))
    with without_collector(), progress(quiet=False) as show:
        if processes == 1:
            for number in range(fleets):
                yield _one(setting, number, show)
            return
        context = multiprocessing.get_context("fork")
        with context.Pool(processes, _Worker.begin, (setting,)) as pool:
            for number, outcome in enumerate(pool.imap(_Worker.one, range(fleets)), start=1):
                show(Step("fleets", number, fleets))
                yield outcome


class _Worker:
    """A process that was forked with the setting, which is large."""

    setting: Optional[_Setting] = None

    @classmethod
    def begin(cls, setting: _Setting) -> None:
        cls.setting = setting

    @classmethod
    def one(cls, number: int) -> Outcome:
        assert cls.setting is not None
        return _one(cls.setting, number)


def _one(setting: _Setting, number: int, show: Optional[Callable[[Step], None]] = None) -> Outcome:
    """Return the outcome of one fleet; it depends on the seed and its number alone."""
    from plumbline.run.bench import Step
    from plumbline.simulate.course import Scenario, course
    from plumbline.simulate.faults import random_faults
    from plumbline.simulate.score import Score

    seed = f"{setting.seed}/{number}"
    faults = setting.faults + random_faults(
        setting.capacity.components,
        setting.random_faults,
        setting.losses,
        setting.days,
        f"{seed}/faults",
    )
    scenario = Scenario(setting.days, setting.noise, faults, seed)
    score = Score(setting.fleet, setting.capacity, faults, setting.days)
    for today in course(setting.fleet, setting.capacity, scenario, _judge):
        score.take(today)
        if show:
            show(Step(f"day {today.day}", today.day, setting.days))
    return score.outcome()


def _judge(chosen: Sequence[Expectation], memory: Memory, now: float) -> Iterator[Verdict]:
    from plumbline.cli.verdicts import Judging

    judging = Judging(memory, now, evidence=False)
    yield from judging.components(chosen)
    yield from judging.groups(chosen)
