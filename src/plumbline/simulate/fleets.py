"""What the days of fleets alike are worth, each of them with faults of its own."""

from __future__ import annotations

from typing import Callable, Iterable, NamedTuple, Optional, Sequence

from plumbline.simulate.capacity import Capacity
from plumbline.simulate.course import Judge, Scenario, Today, course
from plumbline.simulate.faults import Fault, Losses, random_faults
from plumbline.simulate.fleet import Fleet
from plumbline.simulate.noise import Noise
from plumbline.simulate.notifying import Suspects
from plumbline.simulate.score import Outcome, Score

Judges = Callable[[], Judge]
"""Gives a judge who knows nothing of the days before."""


class Setting(NamedTuple):
    """What is the same for all fleets."""

    fleet: Fleet
    capacity: Capacity
    days: int
    noise: Noise
    faults: tuple[Fault, ...]
    random_faults: int
    losses: Losses
    seed: int
    budget: float
    suspects: Optional[Callable[[], Suspects]] = None
    """Gives what looks for suspects, and knows nothing of the days before; None: nobody looks."""


def outcome_of(
    setting: Setting, number: int, judge: Judges, show: Optional[Callable[[int], None]] = None
) -> Outcome:
    """Return the outcome of one fleet; it depends on the seed and its number alone.

    Each course of it has a judge of its own; ``show`` is called with each day that is over.
    """
    seed, of = f"{setting.seed}/{number}", (setting.fleet, setting.capacity)
    faults = setting.faults + random_faults(
        setting.capacity.components,
        setting.random_faults,
        setting.losses,
        setting.days,
        f"{seed}/faults",
    )
    new = any(fault.day == 0 for fault in faults)
    scenario = Scenario(setting.days, setting.noise, faults, seed, new)
    outcome = _scored(setting, faults, course(*of, scenario, judge()), show)
    if faults:
        healthy = scenario._replace(faults=())
        without = _scored(setting, faults, course(*of, healthy, judge()), show)
        outcome = outcome._replace(chance=without.trials)
    return outcome


def _scored(
    setting: Setting,
    faults: Sequence[Fault],
    days: Iterable[Today],
    show: Optional[Callable[[int], None]],
) -> Outcome:
    """Return what days are worth if there are these faults, or were."""
    suspects = setting.suspects() if setting.suspects else None
    score = Score(setting.fleet, setting.capacity, faults, setting.days, suspects)
    for today in days:
        score.take(today._replace(faults=tuple(one for one in faults if one.day <= today.day)))
        if show:
            show(today.day)
    return score.outcome()
