"""The theoretical rate of flows that run together: their max-min fair shares of the components.

Takes capacities and the paths of the flows, gives each flow's rate and what limits it.  The shares
are found by progressive filling (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2): all
flows grow alike until a component is full, its flows stop there, the rest grow on.  One flow alone
gets the minimum along its path.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Mapping, Optional, Sequence

from plumbline.model.reference import Ceiling

_TIE = 1 + 1e-9
"""Shares closer than this are equal: they differ by rounding alone."""

Capacities = Mapping[str, Optional[float]]
"""Bytes per second of each component in one direction; None where it never limits."""


def alone(capacities: Capacities, path: Sequence[str]) -> Optional[Ceiling]:
    """Return the ceiling of one flow, None when nothing on its path has a rate."""
    return together(capacities, {"": path})[""]


def together(
    capacities: Capacities, paths: Mapping[str, Sequence[str]]
) -> dict[str, Optional[Ceiling]]:
    """Return the ceiling of each flow when all run at once, in the order of ``paths``.

    Names on a path that ``capacities`` does not have, targets for instance, never limit.  A flow
    that nothing limits has None.  Takes O(n log n) of the summed length of the paths.
    """
    filling = _Filling(capacities, paths)
    while filling.fill_next():
        pass
    return {flow: filling.settled.get(flow) for flow in paths}


class _Filling:
    """Components with what is left of them, and the flows that are settled."""

    def __init__(self, capacities: Capacities, paths: Mapping[str, Sequence[str]]) -> None:
        self.settled: dict[str, Ceiling] = {}
        self._paths: dict[str, tuple[str, ...]] = {}
        self._flows: dict[str, list[str]] = {}
        self._left: dict[str, float] = {}
        for flow, path in paths.items():
            limiting = tuple(dict.fromkeys(name for name in path if capacities.get(name)))
            self._paths[flow] = limiting
            for name in limiting:
                self._flows.setdefault(name, []).append(flow)
                self._left[name] = capacities[name] or 0.0
        self._growing = {name: len(flows) for name, flows in self._flows.items()}
        self._heap = [(self._share(name), name) for name in self._flows]
        heapify(self._heap)

    def _share(self, name: str) -> float:
        return self._left[name] / self._growing[name]

    def fill_next(self) -> bool:
        """Settle the flows of the components that are full next; False when none is left."""
        first = self._pop_full()
        if first is None:
            return False
        rate, full = first[0], {first[1]}
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
        """Return the smallest share and its component; shares only grow, so old ones are low."""
        while self._heap:
            noted, name = heappop(self._heap)
            if not self._growing[name]:
                continue
            share = self._share(name)
            if share <= noted * _TIE:
                return share, name
            heappush(self._heap, (share, name))
        return None

    def _settle(self, flow: str, rate: float, full: set[str]) -> None:
        path = self._paths[flow]
        self.settled[flow] = Ceiling(rate, tuple(name for name in path if name in full))
        for name in path:
            self._left[name] -= rate
            self._growing[name] -= 1
