"""The odds that an alarm takes, from the false alarms that a site may have in a month."""

from __future__ import annotations

from typing import Iterable

from plumbline.model.evidence import MONTH_S, odds_within
from plumbline.plan.policy import Policy


def alarm_odds(policy: Policy, layers: Iterable[str]) -> float:
    """Return the odds against chance that an alarm takes.

    ``layers`` names the layer of each component that is measured.
    Each run of a component asks whether it is slow.
    """
    asked = {layer: MONTH_S / _period_s(policy, layer) for layer in ("ost", "raw", "net", "fs")}
    questions = sum(asked[layer] for layer in layers)
    return odds_within(policy.alarm_budget, questions)


def _period_s(policy: Policy, layer: str) -> float:
    if layer == "net":
        return policy.layers.net.schedule.slot
    timed = {"ost": policy.layers.ost, "raw": policy.layers.raw, "fs": policy.layers.fs}
    return timed[layer].schedule.every
