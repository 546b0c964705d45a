"""Caches of one target, by its reads with and without each of them."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, NamedTuple, Optional, Sequence

from plumbline.measure.caches import WITHOUT
from plumbline.model.record import Operation, Record
from plumbline.model.units import format_rate, format_size

_SERVED, _SAME = 1.5, 1.2
"""Least speedup of a read served by a cache, and greatest of one that is not.

A speedup between them may be noise.
"""

SERVER = "server cache"


class Phase(NamedTuple):
    """One read: the cache dropped last before it, its rate, or the reason why there is none."""

    without: str
    rate_Bps: Optional[float]
    reason: str

    @property
    def name(self) -> str:
        """Return the name of the read."""
        return f"read without {self.without}" if self.without else "read at once"


class Drop(NamedTuple):
    """Gain of a cache: ``times`` is the speedup of a read with it."""

    cache: str
    times: float

    @property
    def served(self) -> Optional[bool]:
        """Return whether the cache served the read, None if that is uncertain."""
        return True if self.times >= _SERVED else False if self.times < _SAME else None


class Caches(NamedTuple):
    """Reads of one target; ``write`` is None if it did not start."""

    component: str
    write: Optional[Record]
    phases: tuple[Phase, ...]

    @property
    def drops(self) -> tuple[Drop, ...]:
        """Return the gain of each dropped cache, the nearest to the reader first.

        The slowest read so far counts, because no cache makes a read slower.
        """
        rates = [(phase.without, phase.rate_Bps) for phase in self.phases if phase.rate_Bps]
        slowest = accumulate((rate for _, rate in rates), min)
        return tuple(Drop(name, before / rate) for before, (name, rate) in zip(slowest, rates[1:]))

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return sentences on the caches that served the reads, and the consequence for probes."""
        if self.write is None or self.write.rate is None:
            reason = self.write.reason if self.write else "it was not begun"
            return (f"{self.component}: nothing is known of its caches, {reason}.",)
        if not self.drops:
            return (f"{self.component}: nothing is known of its caches, none could be dropped.",)
        size = format_size(self.write.bytes)
        sentences = [
            f"The {drop.cache} served {size} just written: {drop.times:.1f} times the rate without "
            "it."
            for drop in self.drops
            if drop.served
        ]
        sentences += [
            f"Whether the {drop.cache} served it is not certain: {drop.times:.1f} times the rate "
            "without it may be noise; try again, or with more bytes."
            for drop in self.drops
            if drop.served is None
        ]
        none = f"No cache that was dropped had served {size} just written."
        return (*(sentences or [none]), self._probe_sentence(size), self._lower_caches())

    def _probe_sentence(self, size: str) -> str:
        """Return a sentence on ``plumbline probe ost``, which bypasses client caches."""
        storage_rate = format_rate(min(phase.rate_Bps for phase in self.phases if phase.rate_Bps))
        server = next((drop for drop in self.drops if drop.cache == SERVER), None)
        if server and server.served:
            return (
                f"A probe of {size} reads from the server's memory, not from its storage, which "
                f"gives {storage_rate}: raise bytes of the layer ost above what the server caches."
            )
        source = "the storage" if server and server.served is False else size
        return f"A probe that passes this client's caches reads {source} at {storage_rate}."

    def _lower_caches(self) -> str:
        dropped = any(drop.cache == SERVER for drop in self.drops)
        return f"What {'an array' if dropped else 'a server or array'} caches was not dropped."

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return {
            "component": self.component,
            "bytes": self.write.bytes if self.write else None,
            "write_Bps": self.write.rate if self.write else None,
            "reads": [phase._asdict() for phase in self.phases],
            "caches": [{**drop._asdict(), "served": drop.served} for drop in self.drops],
            "sentences": list(self.sentences),
        }


def caches_of(component: str, records: Sequence[Record]) -> Caches:
    """Return the caches of one target by its records."""
    component_records = [record for record in records if record.component == component]
    writes = [record for record in component_records if record.operation is Operation.WRITE]
    phases = (
        Phase(str((record.details or {}).get(WITHOUT, "")), record.rate, record.reason)
        for record in component_records
        if record.operation is Operation.READ
    )
    return Caches(component, writes[0] if writes else None, tuple(phases))
