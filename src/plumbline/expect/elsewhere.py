"""The targets that a node does not measure, though they belong to file systems that it does.

So a client can tell an OST that nobody has put into the topology from a retired one.
"""

from __future__ import annotations

from typing import Mapping

from plumbline.topology.component import Target
from plumbline.topology.graph import Topology


def elsewhere(topology: Topology) -> dict[str, dict[str, str]]:
    """Return for each client the other targets of its file systems, each with its node.

    Nobody, an empty name, measures the retired ones.
    """
    of_targets = {name: _systems(target) for name, target in topology.targets.items()}
    systems: dict[str, set[str]] = {}
    for target in topology.targets.values():
        if not target.retired:
            systems.setdefault(target.client, set()).update(of_targets[target.name])
    return {
        client: {
            target.name: "" if target.retired else target.client
            for target in topology.targets.values()
            if (target.retired or target.client != client)
            and not own.isdisjoint(of_targets[target.name])
        }
        for client, own in systems.items()
    }


def _systems(target: Target) -> set[str]:
    """Return the names of a target's file system: that of the topology, and Lustre's own."""
    return {target.file_system, *_lustre(target.reach)}


def _lustre(reach: Mapping[str, str]) -> set[str]:
    """Return the name that Lustre has for the file system of an OST, none for other targets."""
    ost = reach.get("ost", "") if reach.get("kind") == "lustre" else ""
    return {f"lustre {ost.rpartition('-')[0]}"} if ost else set()
