"""File systems in the plan: layer ``fs``, whose first client launches ranks on all targets at once.

Each target and the whole file system are components, and so is each further test, which uses the
same targets but does not judge them.

The layout of ranks decides which client works on which target; it differs between writing and
reading.  All ranks move the same bytes, so a run takes as long as the slowest part needs: the
ceiling of the whole is the lowest max-min fair share times the number of ranks.  The ceiling of a
single target is not such a share, because a network seldom divides evenly: it is the capacity of
the target's own path without other traffic.  It also has an even share of the whole: a target that
reaches this share is not slow, even if others were faster and finished earlier.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.errors import DocumentError
from plumbline.model.expectation import PARALLEL
from plumbline.model.layers import LAYERS
from plumbline.model.layers.fs import FS
from plumbline.model.limits import Ceiling
from plumbline.model.ranks import (
    Names,
    RunSize,
    assign,
    contradiction,
    named_test,
    pattern,
    readers,
    share_of_memory,
    spread,
)
from plumbline.model.record import Operation
from plumbline.model.spec import ProbeSpec
from plumbline.model.units import format_size
from plumbline.plan.places import Assignment, Place, Step, StepLimits, system_of
from plumbline.plan.policy import FsLayer, Policy, explicit, of_test, spec_of
from plumbline.plan.speeds import Speeds
from plumbline.topology.ceiling import Capacities, Limit, in_sum, together
from plumbline.topology.graph import Route, Target, Topology
from plumbline.topology.paths import host_of, to_target

_BUDGET = 64 << 30
"""Default budget of a run whose bytes follow from memory, as in ``plumbline probe fs``."""


_NAMES = Names("bytes", "transfer", "direct: true")


def parallel(topology: Topology, policy: Policy) -> list[Place]:
    """Return for each file system its targets, the whole and its further tests.

    Empty without clients.

    Raises:
        DocumentError: a client is not in the topology, or names clash.
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
    for member in targets:
        path = to_target(topology, member._replace(client=launcher))
        host = host_of(topology, path)
        places.append(Place(member.name, launcher, host, name, member.reach, path, FS.steps()))
    parallel_target = _parallel_target(topology, policy, name)
    for test in policy.layers.fs.tests:
        own = name if test == policy.layers.fs.tests[0] else f"{name}:{test}"
        # in a separate group: the sum has no peers
        group = f"{own} as a whole"
        target = {**parallel_target, "test": test}
        places.append(Place(own, launcher, launcher, group, target, (launcher,), FS.steps()))
    return places


def _parallel_target(topology: Topology, policy: Policy, name: str) -> dict[str, Any]:
    """Return the parameters for driving all targets of a file system."""
    rules = policy.layers.fs
    return {
        "kind": PARALLEL,
        "file_system": name,
        "ranks_per_target": rules.ranks_per_target,
        "clients": _interleaved([(name, topology.routes[name][0]) for name in rules.clients]),
        "launcher": rules.launcher,
        "work": rules.work,
    }


def _interleaved(routes: Sequence[tuple[str, Route]]) -> list[str]:
    """Order clients so that neighbours use different switches, and then different cards.

    Ranks go to the first clients, so if only some are used, they share as little of the network as
    possible.  The first client stays first.
    """
    if len(routes) < 2:
        return [name for name, _ in routes]
    by_part: dict[Route, list[tuple[str, Route]]] = {}
    for name, route in routes:
        by_part.setdefault(route[-1:], []).append((name, route[:-1]))
    turns = zip_longest(*map(_interleaved, by_part.values()))
    return [name for turn in turns for name in turn if name is not None]


def _test_of(policy: Policy, place: Place) -> str:
    """Return the test that measures a component, the first one by default."""
    return str(place.target.get("test", policy.layers.fs.tests[0]))


def is_further_test(policy: Policy, place: Place) -> bool:
    """Return whether a place is a test of a file system that does not judge its targets."""
    return _test_of(policy, place) != policy.layers.fs.tests[0]


def file_system_spec(policy: Policy, place: Place, places: Sequence[Place]) -> ProbeSpec:
    """Return the terms of a place in a file system, which are the same for all its targets.

    Raises:
        DocumentError: the terms contradict each other.
    """
    rules, name, test = policy.layers.fs, system_of(place), named_test(_test_of(policy, place))
    targets = sum(member.group == name for member in places)
    spec = _sized(spec_of(policy, FS.name, name, name), policy, name, targets)
    if is_further_test(policy, place):
        spec = of_test(spec, test)
    test = test._replace(transfer=spec.transfer_bytes)
    trouble = contradiction(test, spec.bytes, direct=spec.direct, names=_NAMES)
    if trouble:
        raise DocumentError(f"plumbline_policy: layer fs: {name}: {trouble}")
    _refuse_too_much(spec, policy, name, targets)
    size = RunSize(rules.ranks_per_target * targets, targets, len(rules.clients))
    return spec._replace(pattern=pattern(test, size, "data"))


def _sized(spec: ProbeSpec, policy: Policy, name: str, targets: int) -> ProbeSpec:
    """Return the terms with more bytes than caches can hold, if the memory is given.

    The bytes of a run are fixed in the plan: more memory makes it another specification.
    """
    rules = policy.layers.fs
    if rules.memory is None or "bytes" in explicit(policy, FS.name, name, name, "probe"):
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


def launching(layer: FsLayer) -> Optional[dict[str, Any]]:
    """Return the roles' part of the layer that drives all targets at once."""
    if not layer.clients:
        return None
    return {
        "launcher": layer.clients[0],
        "clients": list(layer.clients),
        "program": layer.launcher,
        "work": layer.work,
        **({"memory_bytes": layer.memory} if layer.memory else {}),
    }


_Paths = Mapping[str, Route]


class _Ranks(NamedTuple):
    """Target of each rank's data, and the clients that write and read it."""

    targets: tuple[str, ...]
    writers: tuple[str, ...]
    readers: tuple[str, ...]

    def clients(self, operation: Operation) -> tuple[str, ...]:
        return self.writers if operation is Operation.WRITE else self.readers


def by_file_system(
    measured: Sequence[Assignment],
) -> Iterator[tuple[list[Assignment], list[Assignment]]]:
    """Yield members and tests of each file system of layer ``fs``; the first test is the whole."""
    assignments = [assignment for assignment in measured if LAYERS[assignment.layer].whole]
    tests: dict[str, list[Assignment]] = {}
    for assignment in assignments:
        if assignment.target["kind"] == PARALLEL:
            tests.setdefault(assignment.target["file_system"], []).append(assignment)
    for name, own in tests.items():
        yield [assignment for assignment in assignments if assignment.group == name], own


def file_system_limits(
    topology: Topology,
    capacities: Speeds,
    members: Sequence[Assignment],
    tests: Sequence[Assignment],
) -> StepLimits:
    """Return the limits of each step, for the members and for the tests, which have the same."""
    whole = tests[0]
    ranks = _layout(members, whole)
    limits: dict[tuple[str, str, Step], Optional[Limit]] = {}
    for step in whole.steps:
        operation = step[0]
        parts = capacities.of(operation)
        paths = _paths(topology, ranks, operation)
        slowest = _slowest(parts, paths)
        limits.update({(whole.layer, test.component, step): slowest for test in tests})
        even = slowest.ceiling.rate / len(members) if slowest else None
        for member in members:
            own = {
                place: path
                for place, path in paths.items()
                if ranks.targets[int(place)] == member.component
            }
            total = in_sum(parts, own)
            limits[member.layer, member.component, step] = _with_even(total and total.limit, even)
    return limits


def _with_even(limit: Optional[Limit], even: Optional[float]) -> Optional[Limit]:
    return limit and limit._replace(ceiling=limit.ceiling._replace(even=even))


def _layout(members: Sequence[Assignment], whole: Assignment) -> _Ranks:
    ranks_per_target: int = whole.target["ranks_per_target"]
    names: Sequence[str] = whole.target["clients"]
    targets = [assignment for assignment in members for _ in range(ranks_per_target)]
    shares = spread(len(targets), len(names))
    clients = [name for name, share in zip(names, shares) for _ in range(share)]
    places = assign([assignment.host for assignment in targets], clients)
    writer_of_place, reader_of_place = dict(zip(places, clients)), {}
    for rank, author in enumerate(readers(clients)):
        reader_of_place[places[author]] = clients[rank]
    order = range(len(targets))
    return _Ranks(
        tuple(assignment.component for assignment in targets),
        tuple(writer_of_place[place] for place in order),
        tuple(reader_of_place[place] for place in order),
    )


def _paths(topology: Topology, ranks: _Ranks, operation: Operation) -> _Paths:
    """Return the path to each rank's data by number."""
    clients = ranks.clients(operation)
    path_of = {
        pair: to_target(topology, topology.targets[pair[0]]._replace(client=pair[1]))
        for pair in set(zip(ranks.targets, clients))
    }
    return {str(place): path_of[pair] for place, pair in enumerate(zip(ranks.targets, clients))}


def _slowest(parts: Capacities, paths: _Paths) -> Optional[Limit]:
    """Return the limit of a run, which ends with its slowest part, and the next limit."""
    now = _lowest(parts, paths)
    if now is None:
        return None
    lifted = frozenset(now.limited_by)
    remaining = {place: [n for n in path if n not in lifted] for place, path in paths.items()}
    return Limit(now, _lowest(parts, remaining))


def _lowest(parts: Capacities, paths: Mapping[str, Sequence[str]]) -> Optional[Ceiling]:
    shares = [limit.ceiling for limit in together(parts, paths).values() if limit]
    if not shares:
        return None
    least = min(shares, key=lambda share: share.rate)
    names = dict.fromkeys(
        name for ceiling in shares if ceiling.rate <= least.rate for name in ceiling.limited_by
    )
    return Ceiling(least.rate * len(paths), tuple(names))
