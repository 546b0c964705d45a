"""Space of file systems in the plan: who reads it, by which limits, and its services."""

from __future__ import annotations

from typing import Mapping, Sequence

from plumbline.model.layers import LAYERS
from plumbline.model.layers.ost import OST
from plumbline.model.names import anchor
from plumbline.model.service import Service
from plumbline.model.space import SPACE, SpaceTerms
from plumbline.plan.looks import SpacePolicy
from plumbline.plan.places import Assignment
from plumbline.plan.policy import Policy, limits_of
from plumbline.plan.services import command_of

_CHECK = "check_space"


def space_terms(
    policy: Policy, measured: Sequence[Assignment]
) -> dict[str, tuple[SpaceTerms, ...]]:
    """Return the limits of the file systems whose space each node reads: those it measures."""
    terms: dict[str, dict[str, SpaceTerms]] = {}
    for target in measured if policy.space else ():
        if LAYERS[target.layer].per_target:
            own = terms.setdefault(target.node, {})
            own.setdefault(target.group, _terms_of(policy, target.group))
    return {node: tuple(own.values()) for node, own in terms.items()}


def _terms_of(policy: Policy, file_system: str) -> SpaceTerms:
    rules = policy.space or SpacePolicy()
    return SpaceTerms(
        file_system,
        limits_of(policy, OST.name, file_system, "").fill_limit,
        rules.inode_limit,
        rules.warning,
        rules.critical,
        rules.stale_after,
    )


def space_services(by_node: Mapping[str, Sequence[SpaceTerms]]) -> tuple[Service, ...]:
    """Return the service of each file system on each node that reads its space."""
    return tuple(
        Service(
            node,
            node,
            f"SPACE {terms.file_system}",
            command_of(SPACE, terms.file_system),
            _CHECK,
            (
                *("--file-system", terms.file_system, "--node", node),
                *("--stale-after", f"{terms.stale_after_s:.0f}"),
            ),
            SPACE,
            terms.file_system,
            "",
            round(terms.stale_after_s),
            anchor(SPACE, terms.file_system),
        )
        for node, own in by_node.items()
        for terms in own
    )
