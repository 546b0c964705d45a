"""``plumbline simulate --campaign``: random faults, and whether they are located."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any, Iterator

if TYPE_CHECKING:
    import argparse

    from plumbline.simulate.campaign import Attempt, Tally, Terms
    from plumbline.simulate.capacity import Capacity
    from plumbline.simulate.course import Judge
    from plumbline.simulate.fleet import Fleet

_OF_A_FLEET = 10
"""Attempts that share baselines."""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--campaign",
        type=int,
        metavar="N",
        help="instead: N times random faults, and which parts are then suspected",
    )
    parser.add_argument(
        "--at-once",
        type=int,
        choices=(0, 1, 2, 3),
        default=1,
        help="faults of one time of a campaign, default 1; 0 counts false suspects",
    )


def attempts(
    site: tuple[Fleet, Capacity], terms: Terms, asked: tuple[int, int], judge: Judge
) -> Iterator[Attempt]:
    """Yield so many attempts of a seed: ``asked`` is their number and the seed.

    Several processors have them sooner, and the same ones.
    """
    from plumbline.cli.forked import forked, processors

    number, seed = asked
    counts = [
        (f"{seed}/{first}", min(_OF_A_FLEET, number - first))
        for first in range(0, number, _OF_A_FLEET)
    ]
    dealt = processors(len(counts))
    for found in forked(lambda of_one: list(_tried(site, terms, of_one, judge)), counts, dealt):
        yield from found


def _tried(
    site: tuple[Fleet, Capacity], terms: Terms, of_one: tuple[str, int], judge: Judge
) -> Iterator[Attempt]:
    """Yield the attempts that share baselines, by their seed and number."""
    from plumbline.simulate.campaign import campaign

    seed, count = of_one
    return islice(campaign(*site, terms, seed, judge), count)


def show(given: dict[str, Any], tally: Tally, *, as_json: bool) -> None:
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
