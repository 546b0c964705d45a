"""The odds that an alarm takes, from the false alarms that a site may have in a month."""

from __future__ import annotations

from typing import Iterator, Sequence

from plumbline.layers import LAYERS, PAIRED, WHOLE
from plumbline.model.evidence import MONTH_S, odds_within
from plumbline.model.record import Scenario
from plumbline.plan.assignment import Assignment
from plumbline.plan.policy import Policy

_ASKED_TWICE = (*PAIRED, *WHOLE)
"""Layers of which a run shows more than its rates: segments retransmitted, a profile."""


def alarm_odds(policy: Policy, measured: Sequence[Assignment]) -> float:
    """Return the odds against chance that an alarm takes.

    Each run asks whether a component is slow, whether its group is as one, and whether a part is
    that several devices share or a pair of hosts that meet; of a host whether it retransmits, and
    of what is measured in parallel whether its profile is another.
    """
    asked = {layer: MONTH_S / policy.layer(layer).schedule.period_s() for layer in LAYERS}
    questions = sum(asked[layer] for layer in _asked(measured))
    return odds_within(policy.alarm_budget, questions)


def _asked(measured: Sequence[Assignment]) -> Iterator[str]:
    """Yield the layer of each question of one time."""
    groups: dict[tuple[str, str], int] = {}
    parts: dict[tuple[str, str, str], int] = {}
    hosts: dict[str, int] = {}
    for one in measured:
        yield one.layer
        if one.layer in _ASKED_TWICE:
            yield one.layer
        if one.layer in PAIRED:
            hosts[one.layer] = hosts.get(one.layer, 0) + 1
        if one.layer in WHOLE:
            continue
        # of hosts all are one group
        group = one.layer, "" if one.layer in PAIRED else one.group
        groups[group] = groups.get(group, 0) + 1
        if any(scenario is Scenario.TOGETHER for _, scenario in one.steps):
            for name in one.path[:-1]:
                place = one.layer, one.node, name
                parts[place] = parts.get(place, 0) + 1
    yield from (layer for (layer, _), members in groups.items() if members > 1)
    yield from (layer for (layer, *_), members in parts.items() if members > 1)
    for layer, number in hosts.items():
        yield from [layer] * (number // 2)
