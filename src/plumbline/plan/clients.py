"""One client for each target: two at the same time halve each other's rates and look like a fault.

Locks hold on one host, so what two hosts could measure at the same time is refused in the plan.
"""

from __future__ import annotations

from typing import Mapping, Optional, Sequence

from plumbline.errors import DocumentError
from plumbline.layers import ON_TARGETS, WHOLE
from plumbline.model.expectation import PARALLEL
from plumbline.plan.assignment import Assignment
from plumbline.targets import KINDS


def refuse_two_clients(found: Sequence[Assignment]) -> None:
    """Raise DocumentError naming the target, both of its clients and the remedy."""
    first: dict[tuple[str, ...], Assignment] = {}
    for one in found:
        storage = _storage(one.target, one.component) if one.layer in ON_TARGETS else None
        if storage is None:
            continue
        other = first.setdefault(storage, one)
        if other.node != one.node:
            raise DocumentError(_sentence(other, one))


def _storage(target: Mapping[str, str], name: str) -> Optional[tuple[str, ...]]:
    """Return what tells a target's storage from others, None where it is the client's own."""
    kind = target["kind"]
    return None if kind == PARALLEL else KINDS[kind].storage(target, name)


def _sentence(assignment: Assignment, other: Assignment) -> str:
    names = assignment.component
    if assignment.component != other.component:
        names += f" and {other.component} are one target, which"
    text = (
        f"{names} would be measured by {assignment.node} (layer {assignment.layer}) and by "
        f"{other.node} (layer {other.layer}): two clients halve each other's rates"
    )
    if (assignment.layer in WHOLE) != (other.layer in WHOLE):
        own, launcher = (other, assignment) if assignment.layer in WHOLE else (assignment, other)
        return (
            f"plumbline_policy: {text}; name {own.node} first in layers.fs.clients, or "
            f"{launcher.node} as client of the file system {own.group}"
        )
    return f"plumbline_topology: {text}; give both the same client, or leave one out"
