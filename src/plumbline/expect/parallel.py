"""Ceilings of all targets of a file system that are driven at once by their clients.

Which client works on which target follows from how ranks are laid out, and differs between writing
and reading.  With the same bytes for every rank, the run takes as long as the fullest part needs:
the whole gets the lowest of the max-min fair shares times the number of ranks.  Rates of single
targets are no such shares, because a network seldom divides itself evenly: a target's ceiling is
what its own way carries when nobody else is there.  Its even share of the whole stands beside it:
who gets that is not slow, however much faster those were that ended earlier.
"""

from __future__ import annotations

from typing import Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.ceiling import Capacities, Limit, in_sum, together
from plumbline.expect.speeds import Limits, Speeds
from plumbline.layers import WHOLE
from plumbline.model.expectation import PARALLEL
from plumbline.model.record import Operation
from plumbline.model.reference import Ceiling
from plumbline.plan.assignment import Assignment
from plumbline.plan.places import Step
from plumbline.ranks.layout import assign, readers, spread
from plumbline.topology.graph import Topology
from plumbline.topology.paths import to_target
from plumbline.topology.routes import Route

_Paths = Mapping[str, Route]


class _Ranks(NamedTuple):
    """Target and client of each rank's place when it writes, and when others read it."""

    targets: tuple[str, ...]
    writers: tuple[str, ...]
    readers: tuple[str, ...]

    def clients(self, operation: Operation) -> tuple[str, ...]:
        """Return the client that works on each place."""
        return self.writers if operation is Operation.WRITE else self.readers


def by_file_system(
    measured: Sequence[Assignment],
) -> Iterator[tuple[list[Assignment], Assignment]]:
    """Yield the members and the whole of each file system of layer ``fs``."""
    found = [one for one in measured if one.layer in WHOLE]
    for whole in found:
        if whole.target["kind"] == PARALLEL:
            yield [one for one in found if one.group == whole.component], whole


def limits_of_all(
    topology: Topology, capacities: Speeds, members: Sequence[Assignment], whole: Assignment
) -> Limits:
    """Return the limits of each step of the members and of the whole."""
    ranks = _layout(members, whole)
    found: dict[tuple[str, str, Step], Optional[Limit]] = {}
    for step in whole.steps:
        operation = step[0]
        parts = capacities.of(operation)
        paths = _paths(topology, ranks, operation)
        slowest = _slowest(parts, paths)
        found[whole.layer, whole.component, step] = slowest
        even_Bps = slowest.ceiling.rate_Bps / len(members) if slowest else None
        for member in members:
            own = {
                place: path
                for place, path in paths.items()
                if ranks.targets[int(place)] == member.component
            }
            total = in_sum(parts, own)
            found[member.layer, member.component, step] = _beside(total and total.limit, even_Bps)
    return found


def _beside(limit: Optional[Limit], even_Bps: Optional[float]) -> Optional[Limit]:
    return limit and limit._replace(ceiling=limit.ceiling._replace(even_Bps=even_Bps))


def _layout(members: Sequence[Assignment], whole: Assignment) -> _Ranks:
    each: int = whole.target["ranks_per_target"]
    names: Sequence[str] = whole.target["clients"]
    targets = [one for one in members for _ in range(each)]
    shares = spread(len(targets), len(names))
    clients = [name for name, share in zip(names, shares) for _ in range(share)]
    places = assign([one.host for one in targets], clients)
    writers, others = dict(zip(places, clients)), {}
    for rank, author in enumerate(readers(clients)):
        others[places[author]] = clients[rank]
    order = range(len(targets))
    return _Ranks(
        tuple(one.component for one in targets),
        tuple(writers[place] for place in order),
        tuple(others[place] for place in order),
    )


def _paths(topology: Topology, ranks: _Ranks, operation: Operation) -> _Paths:
    """Return the path of each place, by its number."""
    clients = ranks.clients(operation)
    known = {
        pair: to_target(topology, topology.targets[pair[0]]._replace(client=pair[1]))
        for pair in set(zip(ranks.targets, clients))
    }
    return {str(place): known[pair] for place, pair in enumerate(zip(ranks.targets, clients))}


def _slowest(parts: Capacities, paths: _Paths) -> Optional[Limit]:
    """Return what all come to in the time of the slowest, with what limits it now and next."""
    now = _lowest(parts, paths)
    if now is None:
        return None
    lifted = frozenset(now.limited_by)
    rest = {place: [n for n in path if n not in lifted] for place, path in paths.items()}
    return Limit(now, _lowest(parts, rest))


def _lowest(parts: Capacities, paths: Mapping[str, Sequence[str]]) -> Optional[Ceiling]:
    shares = [limit.ceiling for limit in together(parts, paths).values() if limit]
    if not shares:
        return None
    least = min(shares, key=lambda share: share.rate_Bps)
    names = dict.fromkeys(
        name for one in shares if one.rate_Bps <= least.rate_Bps for name in one.limited_by
    )
    return Ceiling(least.rate_Bps * len(paths), tuple(names))
