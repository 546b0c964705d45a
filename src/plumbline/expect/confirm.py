"""What each node must know to measure again what was low: how often, and with how many bytes."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from plumbline.layers import GROUPED
from plumbline.model.confirm import OFF, Confirm
from plumbline.model.expectation import Expectation
from plumbline.plan.assignment import Assignment
from plumbline.plan.policy import OstLayer, Policy
from plumbline.units import DAY_S, LARGEST

_IN_A_RUN = 3
"""A component and two healthy peers."""

Nodes = Mapping[str, Sequence[Expectation]]


def with_confirm(
    nodes: Nodes, policy: Policy, measured: Sequence[Assignment]
) -> dict[str, tuple[Expectation, ...]]:
    """Return what each node measures, with how it is confirmed where it was low."""
    here: dict[tuple[str, str], list[Assignment]] = {}
    for one in measured:
        here.setdefault((one.node, one.layer), []).append(one)
    rules = _rules(policy)
    terms = {
        place: _terms(rules[place[1]], found) for place, found in here.items() if place[1] in rules
    }
    return {
        node: tuple(one._replace(confirm=terms.get((node, one.layer), OFF)) for one in entries)
        for node, entries in nodes.items()
    }


def confirm_schedule(policy: Policy) -> dict[str, dict[str, Any]]:
    """Return when each layer is confirmed, as the roles must know it; nothing where it is off."""
    return {
        name: {
            "calendar": layer.confirm.calendar,
            "randomized_delay_s": round(layer.confirm.randomized_delay),
            "limit_s": round(layer.confirm.limit),
        }
        for name, layer in _rules(policy).items()
        if layer.confirm.runs
    }


def _terms(layer: OstLayer, measured: Sequence[Assignment]) -> Confirm:
    """Return the terms of a node's layer, of which something is measured.

    What one component takes to be confirmed can always be saved up, however little a node measures.
    """
    policy = layer.confirm
    each = [one.spec.bytes * one.spec.repeats * len(one.steps) for one in measured]
    share = policy.bytes * sum(each)
    whole = policy.runs * _IN_A_RUN * max(each)
    daily = share * DAY_S / layer.schedule.every
    # whatever a person types, it is a number that a document holds
    return Confirm(policy.runs, policy.every, min(LARGEST, daily), min(LARGEST, whole + share))


def _rules(policy: Policy) -> dict[str, OstLayer]:
    found = {name: policy.layer(name) for name in GROUPED}
    return {name: rules for name, rules in found.items() if isinstance(rules, OstLayer)}
