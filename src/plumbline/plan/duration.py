"""How long a node's run of a layer takes, and what it moves, while everything is healthy.

Each operation lasts as long as its bytes take at the baseline, or at the ceiling where there is
none, and no longer than its limit.
"""

from __future__ import annotations

from plumbline.model.named_tuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Iterable, Iterator

    from plumbline.model.expectation import Expectation

START_S = 4.0
"""To start a unit, to prepare its target and to bring the records back."""


def seconds_of(found: Iterable[Expectation], partner: str = "") -> float:
    """Return the seconds of measurements one after the other.

    Those of a host are with one partner, or with the one to which most can be moved.
    """
    return START_S + sum(one.spec.repeats * _once_s(one, partner) for one in found)


def bytes_of(found: Iterable[Expectation], partner: str = "") -> int:
    """Return the bytes at most of measurements, with partners as above."""
    return int(sum(one.spec.repeats * _once_bytes(one, partner) for one in found))


def _once_s(one: Expectation, partner: str) -> float:
    return sum(lasts for lasts, _ in _operations(one, partner))


def _once_bytes(one: Expectation, partner: str) -> float:
    return sum(one.spec.bytes or rate * lasts for lasts, rate in _operations(one, partner))


def _operations(one: Expectation, partner: str) -> Iterator[tuple[float, float]]:
    """Yield for each operation how long a repeat lasts, and the highest rate known of it."""
    pairs = [each.ceiling.rate_Bps for each in one.partners if partner in ("", each.name)]
    for reference in one.references.values():
        ceiling = reference.ceiling.rate_Bps if reference.ceiling else 0.0
        most = max(pairs, default=ceiling)
        rate = reference.baseline.median_Bps if reference.baseline else most
        lasts = one.spec.seconds
        if one.spec.bytes and rate:
            lasts = min(lasts, one.spec.bytes / rate)
        yield lasts, max(rate, most)
