"""Which faults no measurement of a site can see, or tell from that of another part."""

from __future__ import annotations

from typing import Iterator, Mapping, Sequence

from plumbline.simulate.capacity import Capacity
from plumbline.simulate.faults import Fault
from plumbline.simulate.fleet import Flow

VISIBLE = 0.2
"""A fault that takes less than this of every measurement is hidden: within a part's slack, or
within what healthy measurements differ by (WARNING is at 80 % by default)."""
ALIKE = 0.1
"""Faults that change no rate by more than this against one another cannot be told apart."""
_HALVINGS = 20


def visible(capacity: Capacity, faults: Sequence[Fault]) -> bool:
    """Return whether each fault takes ``VISIBLE`` of a measurement from what the others leave."""
    for fault in faults:
        others = capacity.under([one for one in faults if one is not fault])
        left = {
            flow: rate / min(capacity.healthy_Bps[flow], others.get(flow, rate / (1 - VISIBLE)))
            for flow, rate in capacity.under([fault]).items()
        }
        if not any(ratio <= 1 - VISIBLE + _ROUNDING for ratio in left.values()):
            return False
    return True


_ROUNDING = 1e-9


def twins(capacity: Capacity, fault: Fault) -> Iterator[str]:
    """Yield the other parts of which some loss gives the same rates within ``ALIKE``.

    The fault must slow something.
    """
    seen = _ratios(capacity, [fault])
    worst = min(seen, key=lambda flow: seen[flow])
    for name in capacity.path(worst):
        if name == fault.component:
            continue
        other = _ratios(capacity, [_like(capacity, worst, seen[worst], name)])
        if all(
            abs(seen.get(flow, 1.0) - other.get(flow, 1.0)) <= ALIKE for flow in {*seen, *other}
        ):
            yield name


def _ratios(capacity: Capacity, faults: Sequence[Fault]) -> Mapping[Flow, float]:
    found = capacity.under(faults)
    return {flow: rate / capacity.healthy_Bps[flow] for flow, rate in found.items()}


def _like(capacity: Capacity, flow: Flow, ratio: float, name: str) -> Fault:
    """Return the fault of a part that leaves so much of a flow; by halves, rates fall steadily."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        left = capacity.left_to(flow, Fault(name, middle)) / capacity.healthy_Bps[flow]
        low, high = (middle, high) if left > ratio else (low, middle)
    return Fault(name, (low + high) / 2)
