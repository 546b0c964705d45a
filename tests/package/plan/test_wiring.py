"""Reads at once that get more than a drawn part, or hold each other up without one."""

from __future__ import annotations

import random
from math import fsum

import pytest

from plumbline.plan.wiring import Reads, Wiring, wiring
from plumbline.topology.ceiling import together

ALONE = 200e6
DRAWN = {"lun1": "ctl1", "lun2": "ctl1", "lun3": "ctl2", "lun4": "ctl2"}


def reads_of(
    drawn: dict[str, str],
    true: dict[str, str],
    capacities: dict[str, float],
    rng: random.Random,
    *,
    noise: float = 0.0,
) -> Reads:
    """Return what a server's devices give at once if their controllers are the ``true`` ones."""
    alone = {name: ALONE * (1 - abs(rng.gauss(0, noise))) for name in drawn}
    own = {f"{name} own": rate for name, rate in alone.items()}
    paths = {name: ("hba", true[name], f"{name} own") for name in drawn}
    limits = together({**capacities, **own}, paths)
    at_once = {
        name: limit.ceiling.rate * (1 + rng.gauss(0, noise))
        for name, limit in limits.items()
        if limit
    }
    return Reads(
        "the devices of oss1",
        {name: ("oss1", "hba", part, name) for name, part in drawn.items()},
        alone,
        at_once,
    )


def of_site(true: dict[str, str], **capacities: float) -> Wiring:
    rated = {"hba": 2e9, "ctl1": 300e6, "ctl2": 300e6, **capacities}
    return wiring(rated, reads_of(DRAWN, true, rated, random.Random(1)))


def test_a_site_that_is_wired_as_drawn_is_proven() -> None:
    assert of_site(DRAWN) == Wiring((), ("ctl1", "ctl2"))


def test_reads_that_get_more_than_a_part_do_not_share_it() -> None:
    (text,) = wiring(
        {"ctl1": 300e6},
        Reads(
            "the reads of ctl1",
            {"lun1": ("oss1", "ctl1", "lun1"), "lun2": ("oss2", "ctl1", "lun2")},
            {"lun1": ALONE, "lun2": ALONE},
            {"lun1": ALONE, "lun2": 195e6},
        ),
    ).differences
    assert text == (
        "reads of lun1, lun2 at once give 395.0 MB/s, 132 % of the 300.0 MB/s of ctl1: they do "
        "not all cross it as drawn, or it is faster than the topology says"
    )


def test_reads_that_hold_each_other_up_share_a_part_that_is_not_drawn() -> None:
    moved = {**DRAWN, "lun3": "ctl1"}
    (text,) = of_site(moved).differences
    assert text == (
        "lun1, lun2, lun3 give 50 % of what they give alone when the devices of oss1 are read "
        "at once, and the others what is expected: they share a part that the topology does not "
        "draw"
    )


@pytest.mark.parametrize("slower", ["ctl1", "hba"])
def test_a_drawn_part_that_is_slower_than_its_rate_is_no_difference(slower: str) -> None:
    capacities = {"hba": 600e6, "ctl1": 300e6, "ctl2": 300e6}
    rates = reads_of(
        DRAWN, DRAWN, {**capacities, slower: 0.6 * capacities[slower]}, random.Random(1)
    )
    assert wiring(capacities, rates).differences == ()


def test_nothing_is_told_of_reads_that_ask_for_no_more_than_a_part_gives() -> None:
    assert of_site(dict.fromkeys(DRAWN, "ctl1"), ctl1=900e6, ctl2=900e6) == Wiring((), ())


def random_site(rng: random.Random) -> tuple[dict[str, str], dict[str, float]]:
    parts = [f"ctl{number}" for number in range(1, rng.randint(2, 4) + 1)]
    drawn = {f"{part}-lun{n}": part for part in parts for n in range(rng.randint(2, 5))}
    capacities = {
        part: ALONE * list(drawn.values()).count(part) * rng.uniform(0.4, 0.85) for part in parts
    }
    return drawn, {**capacities, "hba": fsum(capacities.values()) * rng.uniform(0.9, 1.5)}


def measured(seed: int, *, moved: bool) -> tuple[str, ...]:
    """Return the differences at a random site whose parts give 90 to 100 % of their rates."""
    rng = random.Random(seed)
    drawn, capacities = random_site(rng)
    true = dict(drawn)
    if moved:
        name = rng.choice([*drawn])
        true[name] = rng.choice(
            [part for part in dict.fromkeys(drawn.values()) if part != drawn[name]]
        )
    real = {part: rate * rng.uniform(0.9, 1.0) for part, rate in capacities.items()}
    return wiring(capacities, reads_of(drawn, true, real, rng, noise=0.03)).differences


def test_no_true_topology_of_a_hundred_is_said_to_differ() -> None:
    assert [seed for seed in range(100) if measured(seed, moved=False)] == []


def test_half_of_the_leaves_at_another_part_are_seen() -> None:
    """The others ask their new part, or the old one, for no more than it gives."""
    assert sum(bool(measured(seed, moved=True)) for seed in range(100)) >= 50
