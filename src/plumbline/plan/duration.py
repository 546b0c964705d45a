"""Duration and bytes of a node's run of a layer, if everything is healthy.

Each operation lasts as long as its bytes take at the baseline, or else at the ceiling, and no
longer than its limit.  If only shared parts have a rate, its share of these counts: the ceiling is
that of the whole.
"""

from __future__ import annotations

from typing import Iterable, Iterator

from plumbline.model.expectation import Expectation, in_waves
from plumbline.model.quantity import BYTES_PER_S
from plumbline.model.record import Scenario

START_S = 4.0
"""Time to start a unit, prepare its target and collect the records."""


def seconds_of(entries: Iterable[Expectation], partner: str = "") -> float:
    """Return the duration in seconds of measurements, wave after wave.

    Tests of a host are with ``partner``, or with the fastest one by default.
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
    """Return the most bytes that measurements can move, with partners as in ``seconds_of``."""
    return int(
        sum(expectation.spec.repeats * _once_bytes(expectation, partner) for expectation in entries)
    )


def _seconds(entry: Expectation, scenario: Scenario, partner: str) -> float:
    durations = (lasts for step, lasts, _ in _operations(entry, partner) if step is scenario)
    return entry.spec.repeats * sum(durations)


def _once_bytes(entry: Expectation, partner: str) -> float:
    return sum(entry.spec.bytes or rate * lasts for _, lasts, rate in _operations(entry, partner))


def _operations(entry: Expectation, partner: str) -> Iterator[tuple[Scenario, float, float]]:
    """Yield scenario, duration of a repeat in seconds, and highest known rate of each step."""
    pairs = [peer.ceiling.rate for peer in entry.partners if partner in ("", peer.name)]
    for operation, scenario, reference in entry.runs():
        is_transfer = operation.quantity == BYTES_PER_S
        ceiling = reference.ceiling.rate if reference.ceiling else 0.0
        usual = reference.ceiling.demonstrable if reference.ceiling else 0.0
        most = max(pairs, default=ceiling)
        rate = max(pairs, default=usual)
        if reference.baseline and is_transfer:
            rate = reference.baseline.median
        seconds = entry.spec_of(operation).seconds
        if entry.spec.bytes and rate and is_transfer:
            seconds = min(seconds, entry.spec.bytes / rate)
        yield scenario, seconds, max(rate, most)
