"""Nights until a lone metadata target at half of its rate is in alarm, and alarms of a healthy one.

It has no peers and no ceiling: its reference is its own runs, one a night.  Each series has its own
noise, and one run in fifty loses a fifth or more.
"""

from __future__ import annotations

import argparse
from datetime import date, timedelta
from math import exp
from random import Random
from statistics import median
from typing import Iterator, Optional

from plumbline.judge.replay import DayVerdict, replay
from plumbline.model.evidence import odds_within
from plumbline.model.limits import Limits
from plumbline.model.series import Sampled
from plumbline.model.units import DAY_S
from plumbline.parts.simulate.fleet import MIN_TAIL_LOSS, YEAR

_FIRST = date(2026, 1, 1)
_HEALTHY_DAYS, _BEFORE, _PATIENCE = 91, 30, 21
"""Days of a healthy series, days before a fault and days that it may last."""


def _nights(chance: Random, spread: float, days: int, fault_at: Optional[int]) -> Iterator[Sampled]:
    """Yield one run a night; from night ``fault_at`` on it has half of its rate."""
    for number in range(days):
        loss = chance.gauss(0, spread)
        if chance.random() < YEAR.tail_share:
            loss += MIN_TAIL_LOSS + chance.expovariate(1 / YEAR.tail_loss)
        left = 0.5 if fault_at is not None and number >= fault_at else 1.0
        day = (_FIRST + timedelta(number)).isoformat()
        yield Sampled(
            "mds1", day, number * DAY_S + 4000, "scratch-MDT0000", 1000 * left * exp(-loss)
        )


def _alarms(rows: Iterator[Sampled], limits: Limits) -> list[int]:
    """Return the numbers of the nights that end in an alarm."""
    judged: list[DayVerdict] = [day for day in replay(rows, limits) if day.verdict.state.alarm]
    return [(date.fromisoformat(day.day) - _FIRST).days for day in judged]


def _study(spread: float, judged: int, series: int, seed: int) -> str:
    """Return the result for one spread, at a site that judges so many operations a day."""
    limits = Limits(alarm_odds=odds_within(1.0, judged * 30), end_odds=odds_within(1.0, 30))
    false, found = 0, []
    for number in range(series):
        chance = Random(f"{seed} {number}")
        alarms = _alarms(_nights(chance, spread, _HEALTHY_DAYS, None), limits)
        false += sum(night - 1 not in alarms for night in alarms)
        begins = _BEFORE + number % 10
        later = _alarms(_nights(chance, spread, begins + _PATIENCE, begins), limits)
        found.append(min((night - begins + 1 for night in later if night >= begins), default=None))
    nights = sorted(night for night in found if night is not None)
    return (
        f"spread {spread:.0%}, {judged} judged a day: {false} false alarms in {3 * series} months "
        f"of one target; {len(nights)} of {series} halved ones found, "
        f"after {median(nights):g} nights, the last after {nights[-1]}"
    )


def main() -> None:
    """Print a line for each spread and size of a site."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=20)
    parser.add_argument("--seed", type=int, default=77)
    arguments = parser.parse_args()
    for spread in (0.05, 0.15, 0.28):
        for judged in (4, 400):
            print(_study(spread, judged, arguments.series, arguments.seed), flush=True)


if __name__ == "__main__":
    main()
