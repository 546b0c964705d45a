"""All targets of a file system at once: who drives them, and on which terms.

The first client launches; each target and the whole are components of layer ``fs`` there.
"""

from __future__ import annotations

from typing import Any, Sequence

from plumbline.errors import DocumentError
from plumbline.layers.fs import FS
from plumbline.model.expectation import PARALLEL
from plumbline.model.spec import ProbeSpec
from plumbline.plan.places import Place
from plumbline.plan.policy import Policy, bytes_given, spec_of, test_of
from plumbline.ranks.layout import spread
from plumbline.ranks.terms import Names, RunSize, contradiction, pattern
from plumbline.ranks.tests import share_of_memory
from plumbline.topology.component import Target
from plumbline.topology.graph import Topology
from plumbline.topology.paths import host_of, to_target
from plumbline.units import format_size

_BUDGET = 64 << 30
"""Of a run whose bytes follow from memory, as for ``plumbline probe fs`` by hand."""

_NAMES = Names("bytes", "transfer", "direct: true")


def parallel(topology: Topology, policy: Policy) -> list[Place]:
    """Return, file system by file system, its targets and then the whole; none without clients.

    Raises:
        DocumentError: a client is no host of the topology, or names clash.
    """
    rules = policy.layers.fs
    hosts = {host.name for host in topology.hosts()}
    for name in rules.clients:
        if name not in hosts:
            raise DocumentError(
                f"plumbline_policy: layer fs: {name!r} is no client or server of the topology; "
                "correct clients"
            )
    systems: dict[str, list[Target]] = {}
    for target in topology.targets.values():
        if rules.clients and not target.retired:
            systems.setdefault(target.file_system, []).append(target)
    return [
        place
        for name, targets in systems.items()
        for place in _file_system(topology, policy, name, targets)
    ]


def _file_system(
    topology: Topology, policy: Policy, name: str, targets: Sequence[Target]
) -> list[Place]:
    if name in topology.targets:
        raise DocumentError(
            f"plumbline_topology: file_systems {name!r} has the name of a target; layer fs "
            "measures both, so rename one of them"
        )
    launcher = policy.layers.fs.clients[0]
    places = []
    for target in targets:
        path = to_target(topology, target._replace(client=launcher))
        host = host_of(topology, path)
        places.append(Place(target.name, launcher, host, name, target.reach, path, FS.steps()))
    # in a group of its own: the sum is nobody's peer
    group = f"{name} as a whole"
    whole = Place(name, launcher, launcher, group, _manner(policy), (launcher,), FS.steps())
    return [*places, whole]


def _manner(policy: Policy) -> dict[str, Any]:
    """Return how the launching node is to drive the whole."""
    rules = policy.layers.fs
    return {
        "kind": PARALLEL,
        "test": rules.test,
        "ranks_per_target": rules.ranks_per_target,
        "clients": list(rules.clients),
        "launcher": rules.launcher,
        "work": rules.work,
    }


def spec_of_all(policy: Policy, name: str, targets: int) -> ProbeSpec:
    """Return the terms of a file system with so many targets, the same for each of them.

    Raises:
        DocumentError: the terms do not go together.
    """
    rules = policy.layers.fs
    spec = _sized(spec_of(policy, FS.name, name, name), policy, name, targets)
    test = test_of(policy)._replace(transfer=spec.transfer_bytes)
    trouble = contradiction(test, spec.bytes, direct=spec.direct, names=_NAMES)
    if trouble:
        raise DocumentError(f"plumbline_policy: layer fs: {name}: {trouble}")
    _refuse_too_much(spec, policy, name, targets)
    size = RunSize(rules.ranks_per_target * targets, targets, len(rules.clients))
    return spec._replace(pattern=pattern(test, size, "data"))


def _sized(spec: ProbeSpec, policy: Policy, name: str, targets: int) -> ProbeSpec:
    """Return the terms with as many bytes as leave no cache large enough, if memory is said.

    What a run moves is fixed when it is planned: with more memory it is another specification.
    """
    rules = policy.layers.fs
    if rules.memory is None or bytes_given(policy, FS.name, name, name):
        return spec
    ranks = rules.ranks_per_target * targets
    share = share_of_memory(rules.memory, max(spread(ranks, len(rules.clients))))
    return spec._replace(bytes=min(share, (rules.budget or _BUDGET) // ranks))


def _refuse_too_much(spec: ProbeSpec, policy: Policy, name: str, targets: int) -> None:
    rules = policy.layers.fs
    written = spec.bytes * rules.ranks_per_target * targets
    if rules.budget is not None and written > rules.budget:
        raise DocumentError(
            f"plumbline_policy: layer fs: a run on {name} would write {format_size(written)}, its "
            f"budget is {format_size(rules.budget)}; lower bytes, or raise budget"
        )
