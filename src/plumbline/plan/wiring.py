"""Wiring: what reads at once say about the parts that the topology draws before them.

Reads that really share a part get its rate together.  If they get more, they do not share it.  If
some of them get less than they give alone while the others do not, they share a part that is not
drawn.  Both need reads that ask for more than a part gives, so that nothing can be told of others.
"""

from __future__ import annotations

from math import fsum
from typing import Iterator, Mapping, NamedTuple, Optional

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

_MAX_NAMED = 4


class Reads(NamedTuple):
    """Reads that ran at once: for each component its path, and median rates in bytes per second."""

    title: str
    paths: Mapping[str, Route]
    alone_Bps: Mapping[str, float]
    at_once_Bps: Mapping[str, float]

    def behind(self, part: str) -> list[str]:
        """Return the components whose path crosses a part."""
        return [name for name, path in self.paths.items() if part in path]

    def total(self, names: list[str]) -> float:
        """Return the sum of some reads at once."""
        return fsum(self.at_once_Bps[name] for name in names)


class Wiring(NamedTuple):
    """Differences of the wiring from the topology, and the parts that are as drawn."""

    differences: tuple[str, ...]
    proven: tuple[str, ...]


def wiring(capacities: Capacities, reads: Reads) -> Wiring:
    """Return what reads at once show; ``capacities`` are those of the topology for reads."""
    asked = {
        name: (behind, rate)
        for name in dict.fromkeys(part for path in reads.paths.values() for part in path)
        if (rate := capacities.get(name))
        and len(behind := reads.behind(name)) > 1
        and fsum(reads.alone_Bps[member] for member in behind) > (1 + _MORE) * rate
        and max(reads.alone_Bps[member] for member in behind) <= rate
    }
    exceeded = {
        name: reads.total(behind) / rate
        for name, (behind, rate) in asked.items()
        if reads.total(behind) > (1 + _MORE) * rate
    }
    joined = _joined(capacities, reads)
    differences = [*_apart(reads, asked, exceeded), *([joined] if joined else [])]
    # a part that is not drawn holds up what the drawn ones would show
    proven = () if differences else tuple(name for name in asked)
    return Wiring(tuple(differences), proven)


def _apart(
    reads: Reads, asked: Mapping[str, tuple[list[str], float]], exceeded: Mapping[str, float]
) -> Iterator[str]:
    """Yield the part whose rate is exceeded most: parts before it are exceeded with it."""
    if exceeded:
        name = max(exceeded, key=lambda part: exceeded[part])
        behind, rate = asked[name]
        yield (
            f"{_named(behind)}, read at once, give {format_rate(reads.total(behind))}, "
            f"{100 * exceeded[name]:.0f} % of the {format_rate(rate)} of {name}: they do not all "
            "cross it as drawn, or it is faster than the topology says"
        )


def _joined(capacities: Capacities, reads: Reads) -> Optional[str]:
    """Return the sentence on reads that hold each other up without a part drawn before them."""
    shares = _shares(capacities, reads)
    held = [name for name, share in shares.items() if share <= _JOINED]
    others = [name for name, share in shares.items() if share >= _FREE]
    drawn = {part for name in held for part in reads.paths[name] if reads.behind(part) == held}
    if len(held) < 2 or not others or len(held) + len(others) < len(shares) or drawn:
        return None
    given, alone = reads.total(held), fsum(reads.alone_Bps[name] for name in held)
    return (
        f"{_named(held)} give {100 * given / alone:.0f} % of what they give alone when "
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


def _named(names: list[str]) -> str:
    if len(names) > _MAX_NAMED:
        return f"{', '.join(names[:_MAX_NAMED])} and {len(names) - _MAX_NAMED} more"
    return f"{', '.join(names[:-1])} and {names[-1]}"
