"""What was promised: the goal of a file system as a whole, and each member's part of a group's."""

from __future__ import annotations

from typing import Iterator, Mapping, Optional, Sequence

from plumbline.layers import WHOLE
from plumbline.model.expectation import PARALLEL
from plumbline.model.record import Operation
from plumbline.model.reference import Ceiling, Reference
from plumbline.plan.assignment import Assignment
from plumbline.plan.places import Step
from plumbline.plan.policy import Policy, goal_of

Goals = Mapping[tuple[str, str, Step], Reference]
"""By layer, component and step: references that have a goal alone."""


def find_goals(
    policy: Policy,
    measured: Sequence[Assignment],
    ceilings: Mapping[tuple[str, str, Step], Optional[Ceiling]],
) -> Goals:
    """Return the goals of all steps for which something was promised.

    A part is in proportion to the ceiling: a group of new and old hardware owes more of what was
    promised to the new.  Where a member has no ceiling, all parts are equal.
    """
    found: dict[tuple[str, str, Step], Reference] = {}
    groups: dict[tuple[str, str, Step], list[Assignment]] = {}
    for one in measured:
        whole = one.target["kind"] == PARALLEL
        for step in one.steps:
            if whole:
                goal_Bps = goal_of(policy, one.layer, one.component, _direction(step))
                found[one.layer, one.component, step] = Reference(None, None, goal_Bps=goal_Bps)
            elif one.layer not in WHOLE:
                groups.setdefault((one.layer, one.group, step), []).append(one)
    for (layer, group, step), members in groups.items():
        goal_Bps = goal_of(policy, layer, group, _direction(step))
        if goal_Bps is not None:
            rates = [ceilings[layer, one.component, step] for one in members]
            for one, part in zip(members, _parts(rates)):
                reference = Reference(None, None, goal_part_Bps=part * goal_Bps)
                found[layer, one.component, step] = reference
    return found


def _direction(step: Step) -> str:
    """Return the direction of which a goal is, empty for one that has none."""
    return step[0].value if step[0] in (Operation.WRITE, Operation.READ) else ""


def _parts(ceilings: Sequence[Optional[Ceiling]]) -> Iterator[float]:
    rates = [one.rate_Bps if one else None for one in ceilings]
    known = [rate for rate in rates if rate is not None]
    even = len(known) < len(rates)
    for rate in rates:
        yield 1 / len(rates) if even or rate is None else rate / sum(known)
