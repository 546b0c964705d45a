"""The odds that an alarm takes, from the false alarms that a site may have in a month."""

from __future__ import annotations

from typing import Iterable

from plumbline.plan.policy import Policy
from plumbline.units import LARGEST

MONTH_S = 30.44 * 86400.0

LEAST_ODDS = 20.0
"""However large the budget, nobody is woken by what chance makes of one run in so many."""


def alarm_odds(policy: Policy, layers: Iterable[str]) -> float:
    """Return the odds against chance that an alarm takes.

    ``layers`` names the layer of each component that is measured.
    Each run of a component asks whether it is slow.  Answers that take odds of T are false once in
    T questions in the mean, so a site that asks Q questions a month has the budget with T = Q /
    budget.
    """
    asked = {layer: MONTH_S / _period_s(policy, layer) for layer in ("ost", "raw", "net", "fs")}
    questions = sum(asked[layer] for layer in layers)
    return min(LARGEST, max(LEAST_ODDS, questions / policy.alarm_budget))


def _period_s(policy: Policy, layer: str) -> float:
    if layer == "net":
        return policy.layers.net.schedule.slot
    timed = {"ost": policy.layers.ost, "raw": policy.layers.raw, "fs": policy.layers.fs}
    return timed[layer].schedule.every
