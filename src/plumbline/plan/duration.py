"""Duration of a node's run of a layer, and the bytes it moves, while everything is healthy.

Each operation lasts as long as its bytes take at the baseline, or at the ceiling where there is
none, and no longer than its limit.
"""

from __future__ import annotations

from typing import Iterable, Iterator

from plumbline.model.expectation import Expectation, in_waves
from plumbline.model.quantity import BYTES_PER_S
from plumbline.model.record import Operation, Scenario

START_S = 4.0
"""To start a unit, to prepare its target and to bring the records back."""


def seconds_of(entries: Iterable[Expectation], partner: str = "") -> float:
    """Return the seconds of measurements wave after wave.

    Those of a host are with one partner, or with the one to which most can be moved.
    """
    waves = in_waves(entries, lambda entry: entry.wave)
    alone = sum(
        max(_seconds(expectation, Scenario.SINGLE, partner) for expectation in wave)
        for wave in waves
    )
    together = (
        _seconds(expectation, Scenario.TOGETHER, partner) for wave in waves for expectation in wave
    )
    return START_S + alone + max(together, default=0.0)


def bytes_of(entries: Iterable[Expectation], partner: str = "") -> int:
    """Return the bytes at most of measurements, with partners as above."""
    return int(
        sum(expectation.spec.repeats * _once_bytes(expectation, partner) for expectation in entries)
    )


def _seconds(entry: Expectation, scenario: Scenario, partner: str) -> float:
    lasts = (lasts for step, lasts, _ in _operations(entry, partner) if step is scenario)
    return entry.spec.repeats * sum(lasts)


def _once_bytes(entry: Expectation, partner: str) -> float:
    return sum(entry.spec.bytes or rate * lasts for _, lasts, rate in _operations(entry, partner))


def _operations(entry: Expectation, partner: str) -> Iterator[tuple[Scenario, float, float]]:
    """Yield for each step how long a repeat lasts, and the highest rate known of it."""
    pairs = [each.ceiling.rate for each in entry.partners if partner in ("", each.name)]
    for key, reference in entry.references.items():
        operation, _, scenario = key.partition("/")
        moves = Operation(operation).quantity == BYTES_PER_S
        ceiling = reference.ceiling.rate if reference.ceiling else 0.0
        most = max(pairs, default=ceiling)
        rate = reference.baseline.median if reference.baseline and moves else most
        lasts = entry.spec.seconds
        if entry.spec.bytes and rate:
            lasts = min(lasts, entry.spec.bytes / rate)
        yield Scenario(scenario), lasts, max(rate, most)
