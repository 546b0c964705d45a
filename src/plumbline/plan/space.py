"""Space of file systems in the plan: who reads it, by which limits, and its services."""

from __future__ import annotations

from typing import Mapping, Sequence

from plumbline.measure.targets.lustre import LUSTRE
from plumbline.model.errors import DocumentError
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
    """Return the limits of the file systems whose space each node reads: those it measures.

    Raises:
        DocumentError: quotas are named of a file system that has none.
    """
    if not policy.space:
        return {}
    terms: dict[str, dict[str, SpaceTerms]] = {}
    targets = [target for target in measured if LAYERS[target.layer].per_target]
    for target in targets:
        own = terms.setdefault(target.node, {})
        own.setdefault(target.group, _terms_of(policy, policy.space, target.group))
    _check_quotas(policy.space, targets)
    return {node: tuple(own.values()) for node, own in terms.items()}


def _check_quotas(rules: SpacePolicy, targets: Sequence[Assignment]) -> None:
    kinds = {target.group: str(target.target.get("kind")) for target in targets}
    for name in rules.quotas:
        if name not in kinds:
            systems = ", ".join(kinds) or "none"
            raise DocumentError(
                f"plumbline_policy: space.quotas names {name}, which no client measures; the file "
                f"systems are {systems}"
            )
        if kinds[name] != LUSTRE.name:
            raise DocumentError(
                f"plumbline_policy: space.quotas names {name}, which is no Lustre ({kinds[name]}); "
                "quotas are read of Lustre alone"
            )


def _terms_of(policy: Policy, rules: SpacePolicy, file_system: str) -> SpaceTerms:
    return SpaceTerms(
        file_system,
        limits_of(policy, OST.name, file_system, "").fill_limit,
        rules.inode_limit,
        rules.warning,
        rules.critical,
        rules.stale_after,
        tuple(dict.fromkeys(rules.quotas.get(file_system, ()))),
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
