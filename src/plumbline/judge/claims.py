"""From measurements beside their references to the claims that are weighed of a component."""

from __future__ import annotations

from typing import NamedTuple, Sequence

from plumbline.judge.alarm import Alone, Claim, Shared
from plumbline.judge.noise import Noise, Source
from plumbline.judge.references import Held, Measurement


class Asked(NamedTuple):
    """One measurement of a component: its operation in words, its partner's name if it has one."""

    what: str
    partner: str
    measurement: Measurement


Compared = Sequence[tuple[Asked, Held]]
"""Measurements, each with the runs beside its reference."""


def numbered(held: Compared) -> Compared:
    """Return the same runs, told apart by the operation that they are of."""
    words = list(dict.fromkeys(one.what for one, _ in held))
    found = []
    for one, (source, against) in held:
        number = words.index(one.what)
        runs = tuple(run._replace(source=number) for run in source.runs)
        found.append((one, Held(source._replace(runs=runs), against)))
    return found


def claim(held: Compared) -> Claim:
    """Return the claim that one operation is slow; of a host it is slow with all partners."""
    sources = tuple(found.source for _, found in held)
    return Alone(sources[0]) if len(sources) == 1 else Shared(sources)


def together(held: Compared) -> Claim:
    """Return the claim that all operations are slow, of a host with all partners."""
    merged = tuple(
        _merged([found.source for one, found in held if one.partner == name])
        for name in dict.fromkeys(one.partner for one, _ in held)
    )
    return Alone(merged[0]) if len(merged) == 1 else Shared(merged)


def _merged(sources: Sequence[Source]) -> Source:
    """Return several measurements as one, with the noise of the worst of them."""
    runs = sorted(run for source in sources for run in source.runs)
    noise: Noise = max((source.noise for source in sources), key=lambda one: one.lower)
    return Source(tuple(runs), max(source.off for source in sources), noise)
