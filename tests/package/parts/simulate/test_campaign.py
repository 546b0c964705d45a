"""Random faults of a simulated site are located, and healthy sites have no suspect."""

from __future__ import annotations

from itertools import islice

import pytest

from plumbline.model.errors import UsageError
from plumbline.parts.simulate.campaign import (
    Attempt,
    Tally,
    Terms,
    campaign,
    days_for,
    twins,
    visible,
)
from plumbline.parts.simulate.fleet import NONE, QUIET, Fault, Losses, Noise
from plumbline.parts.simulate.weather import Capacity
from tests.package.parts.simulate.fleets import fleet

SITE = fleet()
CAPACITY = Capacity(SITE)
LARGE = Losses(0.4, 0.9)


def attempts_of(
    faults: int, number: int, noise: Noise = NONE, losses: Losses = LARGE
) -> list[Attempt]:
    terms = Terms(faults, losses, noise, days_for(SITE))
    return list(islice(campaign(SITE, CAPACITY, terms, "1"), number))


def test_equal_seeds_give_equal_attempts() -> None:
    assert attempts_of(1, 4, QUIET) == attempts_of(1, 4, QUIET)


def test_losses_that_no_measurement_sees_are_refused() -> None:
    with pytest.raises(UsageError, match="choose larger ones"):
        attempts_of(1, 1, losses=Losses(0.01, 0.02))


def test_a_fault_behind_a_slower_one_is_not_visible() -> None:
    name = attempts_of(1, 1)[0].faults[0].component
    assert visible(CAPACITY, [Fault(name, 0.6)])
    assert not visible(CAPACITY, [Fault(name, 0.05)])


def test_twins_are_parts_that_would_look_alike() -> None:
    for attempt in attempts_of(1, 8):
        assert set(attempt.twins) == set(twins(CAPACITY, attempt.faults[0]))
        assert attempt.true.isdisjoint(attempt.twins)


def test_a_tally_counts_faults_that_were_suspected_alone() -> None:
    fault = (Fault("disk", 0.5),)
    alone = Attempt(fault, 1, frozenset({"disk"}), (), (), (), 2, 1)
    missed = Attempt(fault, 0, frozenset(), ("port",), (), ("read",), 1, 1)
    tally = Tally().add(alone).add(missed)
    assert (tally.attempts, tally.inside, tally.identifiable, tally.alone) == (2, 1, 1, 1)
    assert (tally.suspected, tally.unexplained, tally.alarms, tally.beside) == (1, 1, 3, 2)
