"""``plumbline simulate``: false alarms a month and days to detection of a policy, beforehand."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any, Iterator, Sequence

from plumbline.cli import simulate_campaign
from plumbline.errors import UsageError

if TYPE_CHECKING:
    from plumbline.simulate.faults import Fault
    from plumbline.simulate.fleet import Fleet
    from plumbline.simulate.fleets import Setting
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

faults: oss03-hba=40%@12            a part or target, from day 12 on
        oss07-lun1+neighbour=40%    a target or device and the one nearest to it
        release-2.4.0=70%:read@40   a new version, with which all targets read slower
        release-2.4.0/fs2=70%       the same for one file system
        fs2=75%, site=75%           all targets of a file system, all that is measured
        site=75%@0                  from the installation on: nothing has a baseline

A loss is of the part's own speed.  A part that is faster than its paths need has slack: losing it
slows nothing, and the answer says so.  docs/simulate.md explains the model and its limits."""


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
        metavar="WHAT=LOSS[:OPERATION][@DAY]",
        help="a part or target that is slower, from day 1 on or a later one: oss03-hba=40%%@12; "
        "more below",
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
    parser.add_argument(
        "--without-suspects",
        action="store_true",
        help="count notifications as where the console does not collect: no services PATH",
    )
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
    from plumbline.cli.progress import progress
    from plumbline.cli.simulate_fleets import outcomes
    from plumbline.simulate.score import add as total
    from plumbline.site.garbage import without_collector

    setting = _setting(arguments)
    if arguments.campaign is not None:
        _campaign(arguments, setting)
        return 0
    with without_collector(), progress(quiet=False) as show:
        outcome = total(outcomes(setting, arguments.fleets, show))
    if arguments.json:
        print(json.dumps(_document(arguments, setting, outcome), indent=1, allow_nan=False))
        return 0
    from plumbline.output.simulation import Simulated, tables

    fleet = setting.fleet
    given = (fleet.site, len(fleet.members), arguments.noise, arguments.seed, setting.budget)
    asked = Simulated(*given, longest=tuple(fleet.longest()))
    print("\n\n".join(tables(asked, outcome)))
    return 0


def _campaign(arguments: argparse.Namespace, setting: Setting) -> None:
    from plumbline.cli.progress import progress
    from plumbline.run.unit_context import Step
    from plumbline.simulate.campaign import Tally, Terms, days_for
    from plumbline.site.daily import JudgingDaily
    from plumbline.site.garbage import without_collector

    if arguments.campaign < 1:
        raise UsageError("--campaign takes a number above zero")
    days = days_for(setting.fleet)
    terms = Terms(arguments.at_once, setting.losses, setting.noise, days)
    asked, tally = (arguments.campaign, setting.seed), Tally()
    site = setting.fleet, setting.capacity
    with without_collector(), progress(quiet=False) as show:
        for number, one in enumerate(
            simulate_campaign.attempts(site, terms, asked, JudgingDaily()), start=1
        ):
            tally = tally.add(one)
            show(Step("attempts", number, arguments.campaign))
    given = {
        "site": setting.fleet.site,
        "faults at once": arguments.at_once,
        "days": days,
        "noise": arguments.noise,
        "seed": setting.seed,
    }
    simulate_campaign.show(given, tally, as_json=arguments.json)


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
        "longest_runs": [one._asdict() for one in setting.fleet.longest()],
    }
    return to_json(outcome, given)


def _setting(arguments: argparse.Namespace) -> Setting:
    from plumbline.documents.inventory import read_inventory, topology_of
    from plumbline.plan.policy import load
    from plumbline.simulate.capacity import Capacity
    from plumbline.simulate.faults import Known, parse_losses, refuse_unknown
    from plumbline.simulate.fleet import build
    from plumbline.simulate.fleets import Setting
    from plumbline.simulate.noise import NOISES as MODELS
    from plumbline.site.paths import Site
    from plumbline.site.suspecting import SuspectingDaily

    losses = parse_losses(arguments.loss)
    inventory = read_inventory(arguments.inventory)
    policy = load(inventory.policy)
    fleet = build(topology_of(inventory), policy)
    capacity, site = Capacity(fleet), Site(fleet.paths, fleet.services, fleet.parts)
    faults = tuple(dict.fromkeys(_faults(arguments.fault, fleet)))
    refuse_unknown(faults, Known(capacity.components, fleet.systems), arguments.days)
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
    from plumbline.simulate.faults import NEIGHBOUR, parse_fault

    for text in texts:
        fault = parse_fault(text)
        name = fault.component
        if name.endswith(NEIGHBOUR):
            name = name[: -len(NEIGHBOUR)]
            yield fault._replace(component=name)
            yield fault._replace(component=fleet.neighbour(name))
        else:
            yield fault
