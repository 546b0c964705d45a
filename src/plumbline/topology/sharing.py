"""Which targets and hosts share which parts: the sets of flows that are worth running together.

Nobody writes them down: they follow from the paths.
"""

from __future__ import annotations

from typing import Iterator, Mapping, NamedTuple, Sequence

from plumbline.topology.document import HOSTS
from plumbline.topology.graph import Topology
from plumbline.topology.paths import storage_side
from plumbline.topology.routes import Route


class Sharing(NamedTuple):
    """Flows of one kind that meet in a part, or all there are.

    ``flows`` is ``targets``, ``clients`` or ``servers``; ``of`` the part they meet in, or, where
    they are all (``whole``), the file system, the site, or ``flows`` once more.  ``paths`` begin at
    the network.
    """

    flows: str
    of: str
    whole: bool
    paths: Mapping[str, Route]


def sharings(topology: Topology) -> Iterator[Sharing]:
    """Yield the sets, small ones first: targets on the storage side, then clients, then servers.

    Of parts that the same flows cross the last one counts, which is the nearest to storage, or to
    the hosts.  A host with several ways to the network is left out.
    """
    yield from _of_targets(topology)
    for kind in HOSTS:
        paths = {
            host.name: tuple(reversed(topology.routes[host.name][0]))
            for host in topology.hosts()
            if host.kind == kind and len(topology.routes[host.name]) == 1
        }
        yield from _shared(f"{kind}s", paths, [(f"{kind}s", list(paths))])


def _of_targets(topology: Topology) -> Iterator[Sharing]:
    paths: dict[str, Route] = {}
    systems: dict[str, list[str]] = {}
    for target in topology.targets.values():
        if not target.retired:
            # a target is no part, so it shares nothing
            paths[target.name] = storage_side(topology, target)[:-1]
            systems.setdefault(target.file_system, []).append(target.name)
    yield from _shared("targets", paths, [*systems.items(), (topology.site, list(paths))])


def _shared(
    flows: str, paths: Mapping[str, Route], wholes: Sequence[tuple[str, Sequence[str]]]
) -> Iterator[Sharing]:
    crossing: dict[str, list[str]] = {}
    for flow, path in paths.items():
        for name in path:
            crossing.setdefault(name, []).append(flow)
    # of equal sets the later part is nearer to their end, and the earlier whole the smaller one
    shared = {tuple(found): name for name, found in crossing.items() if len(found) > 1}
    whole: dict[tuple[str, ...], str] = {}
    for name, found in wholes:
        if len(found) > 1:
            whole.setdefault(tuple(found), name)
    for members, name in sorted({**shared, **whole}.items(), key=lambda item: len(item[0])):
        yield Sharing(flows, name, members in whole, {flow: paths[flow] for flow in members})
