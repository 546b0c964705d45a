"""Ways over linked parts: from a part to the network, and from one end to the other."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import Mapping, Sequence

from plumbline.errors import DocumentError

Route = tuple[str, ...]
"""Names from one part to a part that feeds nothing, the network."""

_MOST_ROUTES = 256
_LONGEST_ROUTE = 100
"""Parts of one way; no storage system has a tenth."""
_MOST_STEPS = 3_000_000
"""Parts of all ways together: 15 times as many as 10,000 targets with two ways of ten parts."""


def find_routes(
    feeds: Mapping[str, Sequence[str]], through: Mapping[str, Sequence[str]]
) -> dict[str, tuple[Route, ...]]:
    """Return all ways of each part along ``feeds``, less those that miss its ``through``.

    Raises:
        DocumentError: parts that feed one another in a ring, a ``through`` that is on no way, more
            than 256 ways of one part, or ways too long or too many to follow.
    """
    try:
        order = list(TopologicalSorter(feeds).static_order())
    except CycleError as error:
        ring = " -> ".join(reversed(error.args[1]))
        raise DocumentError(
            f"plumbline_topology: the parts {ring} feed one another in a ring; "
            "a part feeds its neighbour nearer to the network"
        ) from error
    routes: dict[str, tuple[Route, ...]] = {}
    steps = 0
    for name in order:
        ways = tuple((name, *way) for other in feeds[name] for way in routes[other]) or ((name,),)
        routes[name] = _leading_through(name, ways, through.get(name, ()))
        steps += _steps(name, routes[name])
        if steps > _MOST_STEPS:
            raise DocumentError(
                f"plumbline_topology: the ways to the network have more than {_MOST_STEPS} parts "
                "together; choose some with through"
            )
    return routes


def _steps(name: str, ways: Sequence[Route]) -> int:
    """Return how many parts the ways of a part have together."""
    longest = max(map(len, ways))
    if longest > _LONGEST_ROUTE:
        raise DocumentError(
            f"plumbline_topology: a way of {name} to the network leads over {longest} parts, more "
            f"than {_LONGEST_ROUTE}; a part feeds its neighbour nearer to the network, correct "
            "feeds"
        )
    return sum(map(len, ways))


def _leading_through(
    name: str, ways: tuple[Route, ...], waypoints: Sequence[str]
) -> tuple[Route, ...]:
    chosen = tuple(way for way in ways if set(waypoints).issubset(way))
    if not chosen:
        raise DocumentError(
            f"plumbline_topology: no way of {name} to the network leads through "
            f"{' and '.join(waypoints)}; correct through or feeds"
        )
    if len(chosen) > _MOST_ROUTES:
        raise DocumentError(
            f"plumbline_topology: {name} has more than {_MOST_ROUTES} ways to the network; "
            "choose one with through"
        )
    return chosen


def join(near: Sequence[Route], far: Sequence[Route]) -> Route:
    """Return the one path from the start of the ``near`` ways to the start of the ``far`` ones.

    It goes along a near way to the first part that a far way has too, then back along that.

    Raises:
        DocumentError: the two ends are not connected, or in several ways, which the message names.
    """
    start, end = near[0][0], far[0][0]
    paths = dict.fromkeys(path for one in near for other in far for path in _joined(one, other))
    if not paths:
        raise DocumentError(
            f"plumbline_topology: {end} is not connected to {start}; "
            "follow feeds from both: they must come to the same part"
        )
    if len(paths) > 1:
        raise DocumentError(
            f"plumbline_topology: from {start} to {end} there are {len(paths)} ways, by "
            f"{' or by '.join(_differences(list(paths)))}; choose with through"
        )
    return next(iter(paths))


def _joined(route: Route, other: Route) -> list[Route]:
    for index, name in enumerate(route):
        if name in other:
            return [route[: index + 1] + tuple(reversed(other[: other.index(name)]))]
    return []


def _differences(paths: list[Route]) -> list[str]:
    """Return what each path has that not all have."""
    shared = set(paths[0]).intersection(*paths[1:])
    return [", ".join(name for name in path if name not in shared) or "none" for path in paths]
