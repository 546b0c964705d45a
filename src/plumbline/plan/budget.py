"""The odds that an alarm takes, from the false alarms that a site may have in a month."""

from __future__ import annotations

from typing import Iterator, Sequence

from plumbline.model.evidence import MONTH_S, odds_within
from plumbline.model.record import Scenario
from plumbline.plan.assignment import Assignment
from plumbline.plan.policy import Policy

_GROUPED = ("ost", "raw", "net")
"""Layers whose groups are asked as one; of hosts that is all of them."""

_ASKED_TWICE = ("net", "fs")
"""Layers of which a run shows more than its rates: segments retransmitted, a profile."""


def alarm_odds(policy: Policy, measured: Sequence[Assignment]) -> float:
    """Return the odds against chance that an alarm takes.

    Each run asks whether a component is slow, whether its group is as one, and whether a part is
    that several devices share or a pair of hosts that meet; of a host whether it retransmits, and
    of what is measured in parallel whether its profile is another.
    """
    asked = {layer: MONTH_S / _period_s(policy, layer) for layer in ("ost", "raw", "net", "fs")}
    questions = sum(asked[layer] for layer in _asked(measured))
    return odds_within(policy.alarm_budget, questions)


def _asked(measured: Sequence[Assignment]) -> Iterator[str]:
    """Yield the layer of each question of one time."""
    groups: dict[tuple[str, str], int] = {}
    parts: dict[tuple[str, str], int] = {}
    hosts = 0
    for one in measured:
        yield one.layer
        if one.layer in _ASKED_TWICE:
            yield one.layer
        hosts += one.layer == "net"
        if one.layer in _GROUPED:
            group = one.layer, "" if one.layer == "net" else one.group
            groups[group] = groups.get(group, 0) + 1
        if one.layer == "raw" and any(scenario is Scenario.TOGETHER for _, scenario in one.steps):
            for name in one.path[:-1]:
                parts[one.node, name] = parts.get((one.node, name), 0) + 1
    yield from (layer for (layer, _), members in groups.items() if members > 1)
    yield from ("raw" for members in parts.values() if members > 1)
    yield from ["net"] * (hosts // 2)


def _period_s(policy: Policy, layer: str) -> float:
    if layer == "net":
        return policy.layers.net.schedule.slot
    timed = {"ost": policy.layers.ost, "raw": policy.layers.raw, "fs": policy.layers.fs}
    return timed[layer].schedule.every
