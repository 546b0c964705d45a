"""Sums of host pairs that measure at once: what the topology lets them carry through one part.

All pairs of a slot of layer ``net`` measure at the same time, so their sum loads switches, line
cards and uplinks that a single pair never fills.  BlueGene/L's network was tested in this way, as a
whole and one switch at a time, with all hosts and with a balanced load (Uselton and Behlendorf,
Visualizing I/O Performance During the BGL Deployment, 2007, section 2 and figure 3).
"""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush
from itertools import chain
from statistics import median
from typing import Collection, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.errors import UsageError
from plumbline.model.expectation import Expectation
from plumbline.model.layers import LAYERS
from plumbline.model.limits import Ceiling
from plumbline.model.names import several
from plumbline.model.record import Record
from plumbline.model.rounds import cycle, pairs_in, span
from plumbline.model.service import SitePart
from plumbline.model.shared import MIN_OVERLAP_SHARE, overlap_s
from plumbline.topology.ceiling import together, total

Pair = tuple[str, str]
"""Measuring host and its partner."""

_MIN_OTHERS = 2
"""Fewest other pairs to compare a pair with: of two pairs alone either may be the healthy one."""

_FULL = 1 + 1e-9
"""Load of a full part; sums of shares differ by rounding."""


class PairNetwork:
    """Paths of all host pairs of a site, and the rates of the parts between them."""

    def __init__(self, entries: Iterable[Expectation], parts: Mapping[str, SitePart]) -> None:
        """Take expectations, of which those of layer ``net`` count, and the parts by name.

        Pairs of adapters have no sum: the adapters of a host take turns in a slot.
        """
        paired = [own for own in entries if LAYERS[own.layer].paired]
        self.hosts = {own.component: own for own in paired if LAYERS[own.layer].of_hosts}
        self.adapters = [own for own in paired if LAYERS[own.layer].by_verbs]
        self.paths: dict[Pair, tuple[str, ...]] = {
            (own.component, to.name): to.path for own in self.hosts.values() for to in own.partners
        }
        self.networks = [*dict.fromkeys(tuple(own.target["hosts"]) for own in self.hosts.values())]
        self.parts = parts
        # both directions cross a part, so the slower one limits
        self.capacities = {
            name: min(part.read_Bps, part.write_Bps)
            for name, part in parts.items()
            if part.read_Bps is not None and part.write_Bps is not None
        }
        # both slots of a round have the same pairs, and these come back after some days
        self._ceilings: dict[frozenset[Pair], Optional[Ceiling]] = {}

    @property
    def complete(self) -> int:
        """Return the number of pairs in a complete round."""
        return sum(len(hosts) // 2 for hosts in self.networks)

    def ceiling(self, pairs: Collection[Pair]) -> Optional[Ceiling]:
        """Return the ceiling of the sum of pairs at once, in bytes per second, None if unknown.

        The limiting part that most of them cross comes first.
        """
        key = frozenset(pairs)
        if key not in self._ceilings:
            flows = self._flows(pairs)
            ceiling = total(self.capacities, flows)
            if ceiling is not None:
                users = Counter(chain.from_iterable(flows.values()))
                limits = sorted(ceiling.limited_by, key=lambda name: (-users[name], name))
                ceiling = ceiling._replace(limited_by=tuple(limits))
            self._ceilings[key] = ceiling
        return self._ceilings[key]

    def shares(self, pairs: Collection[Pair]) -> dict[Pair, float]:
        """Return the max-min fair rate of each pair at once, in bytes per second.

        A pair whose path has no rate is left out.
        """
        limits = together(self.capacities, self._flows(pairs))
        return {
            pair: limit.ceiling.rate
            for pair, limit in zip(pairs, limits.values())
            if limit is not None
        }

    def slot(self, part: str, number: int) -> PartSlot:
        """Return the pairs of a slot that cross a part."""
        crossing = [pair for pair in self._pairs(number) if part in self.paths[pair]]
        behind = [[part in self.hosts[host].path for host in pair] for pair in crossing]
        within = tuple(pair for pair, ends in zip(crossing, behind) if all(ends))
        leaving = tuple(pair for pair, ends in zip(crossing, behind) if not all(ends))
        return PartSlot(number, within, leaving, self.ceiling(crossing))

    def _pairs(self, number: int) -> Iterator[Pair]:
        for hosts in self.networks:
            # later slots repeat the pairs
            if number < cycle(len(hosts)):
                yield from pairs_in(hosts, number)

    def balanced(self, slot: PartSlot) -> PartSlot:
        """Return a slot with as many of its pairs as all parts carry at their full speed.

        The pair whose path is used least comes next, so line cards and uplinks fill evenly.
        """
        used: dict[str, float] = {}
        rated = {
            pair: [name for name in self.paths[pair] if name in self.capacities]
            for pair in slot.pairs
        }
        queue = [(0.0, pair) for pair in sorted(rated)]
        chosen: set[Pair] = set()
        while queue:
            bound, pair = heappop(queue)
            load = sum(used.get(name, 0.0) for name in rated[pair])
            if load > bound:
                # loads only grow, so an older one is a lower bound
                heappush(queue, (load, pair))
                continue
            rate_Bps = min((self.capacities[name] for name in rated[pair]), default=0.0)
            asked = {
                name: used.get(name, 0.0) + rate_Bps / self.capacities[name] for name in rated[pair]
            }
            if max(asked.values(), default=0.0) <= _FULL:
                used.update(asked)
                chosen.add(pair)
        within = tuple(pair for pair in slot.within if pair in chosen)
        leaving = tuple(pair for pair in slot.leaving if pair in chosen)
        return PartSlot(slot.number, within, leaving, self.ceiling((*leaving, *within)))

    def _flows(self, pairs: Iterable[Pair]) -> dict[str, tuple[str, ...]]:
        return {" ".join(pair): self.paths[pair] for pair in pairs}


class PartSlot(NamedTuple):
    """Pairs of one slot that cross a part: ``within`` it, or ``leaving`` it for another part.

    ``ceiling`` is that of their sum in bytes per second, with the parts that limit it; None if
    unknown.
    """

    number: int
    within: tuple[Pair, ...]
    leaving: tuple[Pair, ...]
    ceiling: Optional[Ceiling]

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Return all pairs, those that leave the part first."""
        return *self.leaving, *self.within


def slots_through(network: PairNetwork, part: str, *, balanced: bool = False) -> list[PartSlot]:
    """Return the slots whose pairs load a part most, in the order of the rounds.

    They are as many as a host needs to send to five partners, out of all until the pairs repeat.
    In a ``balanced`` slot only as many pairs measure as all parts carry at their full speed.

    Raises:
        UsageError: the plan does not have the part, or no pair crosses it.
    """
    if part not in network.parts:
        crossed = dict.fromkeys(name for path in network.paths.values() for name in path)
        shared = [name for name in crossed if name not in network.hosts]
        raise UsageError(
            f"the plan has no part {part}; pairs of hosts cross {several(shared, 8) or 'nothing'}"
        )
    most = max((cycle(len(hosts)) for hosts in network.networks), default=0)
    slots = [network.slot(part, number) for number in range(most)]
    crossing = [slot for slot in slots if slot.pairs]
    if not crossing:
        raise UsageError(
            f"no pair of hosts crosses {network.parts[part].kind} {part}; layer net measures pairs "
            f"of {len(network.hosts)} hosts{_by_verbs(network, part)}"
        )
    number = max(span(len(hosts)) for hosts in network.networks)
    crossing.sort(key=lambda slot: (-len(slot.pairs), slot.number))
    chosen = sorted(crossing[:number], key=lambda slot: slot.number)
    return [network.balanced(slot) for slot in chosen] if balanced else chosen


def _by_verbs(network: PairNetwork, part: str) -> str:
    """Return why pairs of adapters through a part do not help, empty if there are none."""
    crosses = any(part in partner.path for own in network.adapters for partner in own.partners)
    if not crosses:
        return ""
    return (
        "; pairs of adapters cross it, but the adapters of a host take turns in a slot, so these "
        "have no sum: look at the services RDMA"
    )


class SlowPair(NamedTuple):
    """Pair that is slow by itself: its share of its fair rate, and the median of others' shares."""

    pair: Pair
    rate_Bps: float
    share: float
    others: float


class SlotSum(NamedTuple):
    """Sum of the pairs of a slot in one direction, in bytes per second.

    ``measured`` are the pairs with a rate; ``ceiling`` is that of their sum, None if unknown.
    ``overlap`` is the share of their time in which all of them were measuring.  ``retransmits`` is
    the number of segments that they sent again, None if no pair counted them.
    """

    slot: PartSlot
    operation: str
    measured: tuple[Pair, ...]
    moved_Bps: float
    ceiling: Optional[Ceiling]
    slow: tuple[SlowPair, ...]
    overlap: float
    retransmits: Optional[int]

    @property
    def at_once(self) -> bool:
        """True if the pairs measured at once; otherwise their sum never crossed the part."""
        return self.overlap >= MIN_OVERLAP_SHARE

    @property
    def share(self) -> Optional[float]:
        """Moved / ceiling, None if the ceiling is unknown or the pairs did not run at once."""
        return self.moved_Bps / self.ceiling.rate if self.ceiling and self.at_once else None


def sums_of(
    network: PairNetwork, slots: Sequence[PartSlot], records: Iterable[Record]
) -> list[SlotSum]:
    """Return the sums of slots by direction, from the records of one run; the newest one counts."""
    # nodes also have records of layers that no plan has, such as those of flows
    of_hosts = {layer.name for layer in LAYERS.values() if layer.of_hosts}
    newest: dict[tuple[str, Pair], Record] = {}
    for record in records:
        if record.layer in of_hosts and record.partner:
            key = record.operation.value, (record.component, record.partner)
            if key not in newest or newest[key].started_at < record.started_at:
                newest[key] = record
    rated = {key: record for key, record in newest.items() if record.rate is not None}
    operations = dict.fromkeys(operation for operation, _ in rated)
    return [
        _sum(network, slot, operation, rated)
        for operation in sorted(operations, reverse=True)
        for slot in slots
    ]


def _sum(
    network: PairNetwork,
    slot: PartSlot,
    operation: str,
    rated: Mapping[tuple[str, Pair], Record],
) -> SlotSum:
    own = {pair: rated[operation, pair] for pair in slot.pairs if (operation, pair) in rated}
    rates = {pair: record.rate for pair, record in own.items() if record.rate is not None}
    ceiling = network.ceiling(rates) if rates else None
    overlap = _overlap([*own.values()])
    # one after the other the pairs have other shares than at once
    slow = tuple(_slow(network, rates)) if overlap >= MIN_OVERLAP_SHARE else ()
    counts = [record.retransmits for record in own.values() if record.retransmits is not None]
    retransmits = sum(counts) if counts else None
    moved_Bps = sum(rates.values())
    return SlotSum(slot, operation, tuple(own), moved_Bps, ceiling, slow, overlap, retransmits)


def _overlap(records: Sequence[Record]) -> float:
    """Return the time in which all records were measured, as a share of the longest of them."""
    if not records:
        return 0.0
    spans = [(record.started_at, record.started_at + record.seconds) for record in records]
    return max(0.0, overlap_s(spans)) / max(record.seconds for record in records)


def _slow(network: PairNetwork, rates: Mapping[Pair, float]) -> Iterator[SlowPair]:
    """Yield the pairs that get much less of their fair rate than the others of the slot get.

    The policy's limits of layer net tell how much less; what slows all pairs accuses none.
    """
    fair = network.shares(tuple(rates))
    shares = {pair: rates[pair] / rate for pair, rate in fair.items()}
    for pair, share in shares.items():
        others = [other for name, other in shares.items() if name != pair]
        if len(others) >= _MIN_OTHERS:
            middle = median(others)
            if network.hosts[pair[0]].limits.alerts(100 * share / middle):
                yield SlowPair(pair, rates[pair], share, middle)
