"""Calculate ceilings: max-min fair rates of flows, their limits, and the next limits.

From capacities and the paths of the flows follow rate and limit of each flow.  The method is
progressive filling (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2): all flows grow
equally until a component is full; its flows stop, and the others continue.  A single flow gets the
minimum along its path.

The next limit of a flow is its rate without its limiting parts: the flows with the same limits
share the spare capacity, and all other flows keep their rates.  The next limit of a sum is the sum
of all flows without any limiting part.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import fsum
from typing import Iterable, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.limits import Ceiling

_TIE = 1 + 1e-9
"""Ratio up to which shares are equal and differ only by rounding."""

Capacities = Mapping[str, Optional[float]]
"""Bytes per second of each component in one direction; None if it never limits."""

Paths = Mapping[str, Sequence[str]]
"""Components on the path of each flow, each once.

Names without a capacity, e.g. targets, never limit.
"""


class Limit(NamedTuple):
    """Ceiling, and the next one without the parts that set it.

    ``next`` is None if no other part of the path has a rate.
    """

    ceiling: Ceiling
    next: Optional[Ceiling]


class Sum(NamedTuple):
    """Sum of flows, and the lowest and highest rate of a single flow, in bytes per second.

    ``limit`` is the limit of the sum: its ceiling names all parts that limit a flow, and ``next``
    is the sum without these parts.
    """

    limit: Limit
    lowest_Bps: float
    highest_Bps: float


def alone(capacities: Capacities, path: Sequence[str]) -> Optional[Limit]:
    """Return the limit of a single flow, None if nothing on its path has a rate."""
    ceiling = minimum(capacities, path)
    if ceiling is None:
        return None
    others = [name for name in path if name not in ceiling.limited_by]
    return Limit(ceiling, minimum(capacities, others))


def together(capacities: Capacities, paths: Paths) -> dict[str, Optional[Limit]]:
    """Return the limit of each flow if all run at once, in the order of ``paths``.

    A flow without a limit has None.  The time is O(n log n) in the total length of the paths.
    """
    settled = _fill(capacities, paths)
    lifted = _next(capacities, paths, settled)
    return {
        flow: Limit(settled[flow], lifted.get(flow)) if flow in settled else None for flow in paths
    }


def total(capacities: Capacities, paths: Paths) -> Optional[Ceiling]:
    """Return the ceiling of the sum of all flows at once, None if a flow has no limit."""
    return _add(_fill(capacities, paths), paths)


def in_sum(capacities: Capacities, paths: Paths) -> Optional[Sum]:
    """Return the sum of all flows if they run at once, None if a flow has no limit.

    The time is O(n log n) in the total length of the paths.
    """
    settled = _fill(capacities, paths)
    ceiling = _add(settled, paths)
    if ceiling is None:
        return None
    lifted = frozenset(ceiling.limited_by)
    rest = {flow: [n for n in path if n not in lifted] for flow, path in paths.items()}
    rates = [ceiling.rate for ceiling in settled.values()]
    return Sum(Limit(ceiling, total(capacities, rest)), min(rates), max(rates))


def minimum(capacities: Capacities, path: Iterable[str]) -> Optional[Ceiling]:
    """Return the ceiling of a single flow, None if nothing on its path has a rate."""
    rated = {name: rate for name in path if (rate := capacities.get(name)) is not None}
    if not rated:
        return None
    least = min(rated.values())
    return Ceiling(least, tuple(name for name, rate in rated.items() if rate <= least * _TIE))


def _add(settled: Mapping[str, Ceiling], paths: Paths) -> Optional[Ceiling]:
    """Return the sum of all flows, None unless each of them has a limit."""
    if not paths or len(settled) < len(paths):
        return None
    names = dict.fromkeys(name for flow in paths for name in settled[flow].limited_by)
    return Ceiling(fsum(ceiling.rate for ceiling in settled.values()), tuple(names))


def _next(
    capacities: Capacities, paths: Paths, settled: Mapping[str, Ceiling]
) -> dict[str, Ceiling]:
    """Return the ceiling of each flow without its limiting parts; all others keep their rates."""
    spare: dict[str, float] = {}
    groups: dict[frozenset[str], list[str]] = {}
    for flow, ceiling in settled.items():
        groups.setdefault(frozenset(ceiling.limited_by), []).append(flow)
        for name in paths[flow]:
            capacity = capacities.get(name)
            if capacity is not None:
                spare[name] = spare.get(name, capacity) - ceiling.rate
    ceilings: dict[str, Ceiling] = {}
    for lifted, flows in groups.items():
        rate = settled[flows[0]].rate
        rest = {flow: [n for n in paths[flow] if n in spare and n not in lifted] for flow in flows}
        # the group gets the spare capacity, and its present shares are free again
        free: dict[str, float] = {}
        for path in rest.values():
            for name in path:
                free[name] = free.get(name, spare[name]) + rate
        for flow, ceiling in _fill(free, rest).items():
            # rounding must not reduce a rate
            ceilings[flow] = ceiling._replace(rate=max(rate, ceiling.rate))
    return ceilings


def _fill(capacities: Capacities, paths: Paths) -> dict[str, Ceiling]:
    filling = _Filling(capacities, paths)
    while filling.fill_next():
        pass
    return filling.settled


class _Filling:
    """State of progressive filling: spare capacities, and settled flows."""

    def __init__(self, capacities: Capacities, paths: Paths) -> None:
        self.settled: dict[str, Ceiling] = {}
        self._paths: dict[str, tuple[str, ...]] = {}
        self._flows: dict[str, list[str]] = {}
        self._spare: dict[str, float] = {}
        for flow, path in paths.items():
            crossed = []
            for name in path:
                capacity = capacities.get(name)
                if capacity is not None:
                    crossed.append(name)
                    self._spare[name] = capacity
                    self._flows.setdefault(name, []).append(flow)
            self._paths[flow] = tuple(crossed)
        self._growing = {name: len(flows) for name, flows in self._flows.items()}
        self._heap = [(self._share(name), name) for name in self._flows]
        heapify(self._heap)

    def _share(self, name: str) -> float:
        return self._spare[name] / self._growing[name]

    def fill_next(self) -> bool:
        """Settle the flows of the components that are full next; return False if there are none."""
        smallest = self._pop_full()
        if smallest is None:
            return False
        rate, full = smallest[0], {smallest[1]}
        while self._heap and self._heap[0][0] <= rate * _TIE:
            other = self._pop_full()
            if other is None:
                break
            if other[0] > rate * _TIE:
                heappush(self._heap, other)
                break
            full.add(other[1])
        for name in full:
            for flow in self._flows[name]:
                if flow not in self.settled:
                    self._settle(flow, rate, full)
        return True

    def _pop_full(self) -> Optional[tuple[float, str]]:
        """Return the smallest share and its component; older shares are only lower bounds."""
        while self._heap:
            bound, name = heappop(self._heap)
            if not self._growing[name]:
                continue
            share = self._share(name)
            if share <= bound * _TIE:
                return share, name
            heappush(self._heap, (share, name))
        return None

    def _settle(self, flow: str, rate: float, full: set[str]) -> None:
        path = self._paths[flow]
        self.settled[flow] = Ceiling(rate, tuple(name for name in path if name in full))
        for name in path:
            self._spare[name] -= rate
            self._growing[name] -= 1
