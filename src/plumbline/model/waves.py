"""Waves: what the plan lets one node measure at the same time, one wave after the other."""

from __future__ import annotations

from plumbline.model.named_tuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Callable, Iterable, TypeVar

    T = TypeVar("T")

ALONE = 0
"""The number of the wave of what is measured alone."""


def in_waves(found: Iterable[T], number: Callable[[T], int]) -> list[list[T]]:
    """Return what is measured at the same time, in the order of the first of each wave."""
    waves: list[list[T]] = []
    numbered: dict[int, list[T]] = {}
    for one in found:
        wave = number(one)
        if wave in numbered:
            numbered[wave].append(one)
            continue
        waves.append([one])
        if wave != ALONE:
            numbered[wave] = waves[-1]
    return waves
