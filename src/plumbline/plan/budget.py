"""What an alarm takes, from the false alarms that a site may have in a month."""

from __future__ import annotations

from collections import Counter
from typing import Iterator, Mapping, NamedTuple, Sequence

from plumbline.layers import LAYERS, PAIRED, WHOLE
from plumbline.model.evidence import MONTH_S, odds_within
from plumbline.model.record import Scenario
from plumbline.plan.assignment import Assignment
from plumbline.plan.policy import OstLayer, Policy

_ASKED_TWICE = (*PAIRED, *WHOLE)
"""Layers of which a run shows more than its rates: segments retransmitted, a profile."""


_AT_A_CHANGE = 100.0
"""Nights that a change of versions stands for: one comes a few times a year, and a loss that begins
at any night is as likely to begin there as at one of the hundred others.  So the nights between two
changes spend the budget once, and the change once more."""


class Needed(NamedTuple):
    """What an alarm takes: the odds against chance that it is one.

    ``change_starts`` says, by layer, for how many nights a change of versions counts as the start
    of a loss, where it is asked what all share.
    """

    odds: float
    change_starts: Mapping[str, float]


def needed(policy: Policy, measured: Sequence[Assignment]) -> Needed:
    """Return what an alarm takes at a site.

    Each run asks whether a component is slow, whether its group is as one, and whether a part is
    that several devices share or a pair of hosts that meet; of a host whether it retransmits, and
    of what is measured in parallel whether its profile is another.  A confirmation asks of its
    components once more, and there are as many as their bytes allow.

    A release slows what all share.  So what a change may spend of the budget is spent on groups,
    and on what is in none, not on each component; the layers have equal shares of it.
    """
    asked = {layer: MONTH_S / policy.layer(layer).schedule.period_s() for layer in LAYERS}
    wholes = Counter(_wholes(measured))
    questions = sum(asked[layer] for layer in _others(measured))
    questions += sum(asked[layer] * number for layer, number in wholes.items())
    share = _AT_A_CHANGE * questions / len(wholes) if wholes else 0.0
    starts = {layer: share / (asked[layer] * number) for layer, number in wholes.items()}
    questions += sum(asked[one.layer] * _confirmed(policy, one.layer) for one in measured)
    return Needed(odds_within(policy.alarm_budget, questions), starts)


def _confirmed(policy: Policy, layer: str) -> float:
    """Return how many confirmations there are for each planned run of a layer."""
    rules = policy.layer(layer)
    return rules.confirm.bytes if isinstance(rules, OstLayer) and rules.confirm.runs else 0.0


def _wholes(measured: Sequence[Assignment]) -> Iterator[str]:
    """Yield the layer of each group, and of each component that is in none."""
    for (layer, _), members in _groups(measured).items():
        # what is measured as a whole has a group of its own
        yield from [layer] * (members if layer in WHOLE else 1)


def _others(measured: Sequence[Assignment]) -> Iterator[str]:
    """Yield the layer of each other question of one time."""
    groups = _groups(measured)
    parts: dict[tuple[str, str, str], int] = {}
    hosts: dict[str, int] = {}
    for one in measured:
        if one.layer in _ASKED_TWICE:
            yield one.layer
        if one.layer in PAIRED:
            hosts[one.layer] = hosts.get(one.layer, 0) + 1
        if one.layer in WHOLE:
            continue
        if groups[_group(one)] > 1:
            yield one.layer
        if any(scenario is Scenario.TOGETHER for _, scenario in one.steps):
            for name in one.path[:-1]:
                place = one.layer, one.node, name
                parts[place] = parts.get(place, 0) + 1
    yield from (layer for (layer, *_), members in parts.items() if members > 1)
    for layer, number in hosts.items():
        yield from [layer] * (number // 2)


def _groups(measured: Sequence[Assignment]) -> dict[tuple[str, str], int]:
    """Return how many members each group has."""
    return Counter(_group(one) for one in measured)


def _group(assignment: Assignment) -> tuple[str, str]:
    # of hosts all are one group
    return assignment.layer, "" if assignment.layer in PAIRED else assignment.group
