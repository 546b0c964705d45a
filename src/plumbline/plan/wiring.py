"""Wiring: what reads at once say about the parts that the topology draws before them.

Reads that really share a part get its rate together.  If they get more, they do not share it.  If
some of them get less than they give alone while the others do not, they share a part that is not
drawn.  Both need reads that ask for more than a part gives, so that nothing can be told of others.
"""

from __future__ import annotations

from math import fsum
from typing import Iterator, Mapping, NamedTuple, Optional

from plumbline.model.names import several
from plumbline.model.units import format_rate
from plumbline.topology.ceiling import Capacities, together
from plumbline.topology.graph import Route

MIN_RUNS = 3
"""Fewest runs of which a median shows the wiring and not a disturbance."""

_MORE = 0.1
"""Least excess over a part's rate: rates of data sheets are exceeded by a few percent."""

_JOINED = 0.75
_FREE = 0.9
"""Rates beside the others, as shares of what was expected: of reads that share a part, and of
those that do not.  What lies between them, such as an uneven share of a part, says nothing."""


class Reads(NamedTuple):
    """Reads that ran at once: for each component its path, and median rates in bytes per second."""

    title: str
    paths: Mapping[str, Route]
    alone_Bps: Mapping[str, float]
    at_once_Bps: Mapping[str, float]

    def behind(self, part: str) -> list[str]:
        """Return the components whose path crosses a part."""
        return [name for name, path in self.paths.items() if part in path]


class Wiring(NamedTuple):
    """Differences of the wiring from the topology, and the parts that are as drawn."""

    differences: tuple[str, ...]
    proven: tuple[str, ...]


class _Load(NamedTuple):
    """Part that reads ask for more than it gives, and what they get at once."""

    part: str
    components: list[str]
    rate_Bps: float
    total_Bps: float

    @property
    def share(self) -> float:
        return self.total_Bps / self.rate_Bps

    def sentence(self) -> str:
        return (
            f"reads of {several(self.components)} at once give {format_rate(self.total_Bps)}, "
            f"{100 * self.share:.0f} % of the {format_rate(self.rate_Bps)} of {self.part}: they do "
            "not all cross it as drawn, or it is faster than the topology says"
        )


def wiring(capacities: Capacities, reads: Reads) -> Wiring:
    """Return what reads at once show; ``capacities`` are those of the topology for reads."""
    loads = [*_loads(capacities, reads)]
    exceeded = [load for load in loads if load.total_Bps > (1 + _MORE) * load.rate_Bps]
    # parts before the one whose rate is exceeded most are exceeded with it
    worst = max(exceeded, key=lambda load: load.share, default=None)
    sentences = (worst and worst.sentence(), _joined(capacities, reads))
    differences = tuple(text for text in sentences if text)
    # a part that is not drawn holds up what the drawn ones would show
    return Wiring(differences, () if differences else tuple(load.part for load in loads))


def _loads(capacities: Capacities, reads: Reads) -> Iterator[_Load]:
    for part in dict.fromkeys(name for path in reads.paths.values() for name in path):
        rate, components = capacities.get(part), reads.behind(part)
        alone = [reads.alone_Bps[name] for name in components]
        if rate and len(components) > 1 and fsum(alone) > (1 + _MORE) * rate and max(alone) <= rate:
            total = fsum(reads.at_once_Bps[name] for name in components)
            yield _Load(part, components, rate, total)


def _joined(capacities: Capacities, reads: Reads) -> Optional[str]:
    """Return the sentence on reads that hold each other up without a part drawn before them."""
    shares = _shares(capacities, reads)
    slowed = [name for name, share in shares.items() if share <= _JOINED]
    free = [name for name, share in shares.items() if share >= _FREE]
    drawn = {part for name in slowed for part in reads.paths[name] if reads.behind(part) == slowed}
    if len(slowed) < 2 or not free or len(slowed) + len(free) < len(shares) or drawn:
        return None
    at_once, alone = (
        fsum(rates[name] for name in slowed) for rates in (reads.at_once_Bps, reads.alone_Bps)
    )
    return (
        f"{several(slowed)} give {100 * at_once / alone:.0f} % of what they give alone when "
        f"{reads.title} are read at once, and the others what is expected: they share a part that "
        "the topology does not draw"
    )


def _shares(capacities: Capacities, reads: Reads) -> dict[str, float]:
    """Return each rate at once as a share of the expected one.

    Expected is the fair share of the drawn parts, at most what the component gives alone.
    """
    own = {f"{name} alone": rate for name, rate in reads.alone_Bps.items()}
    paths = {name: (*path, f"{name} alone") for name, path in reads.paths.items()}
    limits = together({**capacities, **own}, paths)
    return {
        name: reads.at_once_Bps[name] / limit.ceiling.rate
        for name, limit in limits.items()
        if limit
    }
