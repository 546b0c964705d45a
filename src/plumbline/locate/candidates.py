"""Measurements that could be made next, those of the plan and those that follow from its paths."""

from __future__ import annotations

from enum import IntEnum
from itertools import islice
from typing import Iterable, Iterator, NamedTuple

from plumbline.layers import ON_DEVICES, PAIRED, SINGLE_TARGETS, WHOLE
from plumbline.locate.measurables import Nodes, PlannedMeasurement, Site
from plumbline.locate.observation import READ, Measurable
from plumbline.model.record import Operation, Scenario


class Intrusion(IntEnum):
    """Kinds of measurements, those that disturb least first."""

    PAIR = 0
    RAW_READ = 1
    TARGET_READ = 2
    OTHER_CLIENT = 3
    TARGET_WRITE = 4
    TOGETHER = 5
    FAILOVER = 6


_MOST_SLOW = 4


class Candidate(NamedTuple):
    """A measurement that could be made; ``words`` say which, beginning with a small letter."""

    of: Measurable
    intrusion: Intrusion
    words: str


class Candidates:
    """All measurements of a site, found by the component that they cross."""

    def __init__(self, nodes: Nodes) -> None:
        """Index what the nodes measure."""
        site = Site(nodes)
        self._clients = {
            node: one.path
            for node, found in nodes.items()
            for one in found
            if one.layer in PAIRED and node not in site.servers
        }
        self._crossing: dict[str, list[PlannedMeasurement]] = {}
        for placed in site.measurables():
            # what loads a whole file system is never the next to be asked for
            if placed.of.layer in WHOLE:
                continue
            for name in placed.of.path:
                self._crossing.setdefault(name, []).append(placed)

    def crossing(self, suspects: Iterable[str], slow: Iterable[str]) -> Iterator[Candidate]:
        """Yield what crosses one of the suspects, each once.

        Other ways and company are for the targets that are ``slow``, the first few of them.
        """
        names = tuple(suspects)
        chosen = frozenset(islice(dict.fromkeys(slow), _MOST_SLOW))
        seen: set[str] = set()
        for name in names:
            for placed in self._crossing.get(name, ()):
                for candidate in self._from(placed, names if placed.of.component in chosen else ()):
                    if candidate.of.name not in seen:
                        seen.add(candidate.of.name)
                        yield candidate

    def _from(self, placed: PlannedMeasurement, suspects: tuple[str, ...]) -> Iterator[Candidate]:
        """Yield a measurement of the plan, and what follows from it."""
        if not placed.of.expected_Bps:
            return
        yield _planned(placed)
        if suspects and placed.of.layer in SINGLE_TARGETS and placed.operation is Operation.READ:
            yield from self._other_clients(placed.of)
            yield from self._together(placed, suspects)
            yield from self._failover(placed)

    def _other_clients(self, measurable: Measurable) -> Iterator[Candidate]:
        for node, chain in self._clients.items():
            meeting = next((name for name in chain if name in measurable.path), None)
            if node == measurable.path[0] or meeting is None:
                continue
            path = chain[: chain.index(meeting)] + measurable.path[measurable.path.index(meeting) :]
            words = f"a read of {measurable.component} from {node}"
            yield _derived(measurable, words, path, Intrusion.OTHER_CLIENT)

    def _together(
        self, placed: PlannedMeasurement, suspects: tuple[str, ...]
    ) -> Iterator[Candidate]:
        of = placed.of
        for name in suspects:
            if name not in of.path:
                continue
            members = [
                other.of
                for other in self._crossing[name]
                if other.of.layer in SINGLE_TARGETS
                and other.of.operation == READ
                and other.of.path[0] == of.path[0]
            ]
            if len(members) > 1:
                counts = dict.fromkeys(of.path, 0)
                for member in members:
                    counts.update({p: counts[p] + 1 for p in member.path if p in counts})
                words = f"a read of all {len(members)} targets behind {name} together"
                made = _derived(of, words, of.path, Intrusion.TOGETHER)
                flows = tuple(counts[part] for part in of.path)
                yield made._replace(of=made.of._replace(flows=flows))

    def _failover(self, placed: PlannedMeasurement) -> Iterator[Candidate]:
        """Yield the way by another server that shares a part behind the servers."""
        of, host = placed.of, placed.expectation.host
        own = of.path[of.path.index(host) + 1 : -1] if host in of.path else ()
        partners: dict[str, tuple[str, PlannedMeasurement]] = {}
        for part in own:
            for other in self._crossing[part]:
                server = other.expectation.host
                if other.of.layer in SINGLE_TARGETS and server != host:
                    partners.setdefault(server, (part, other))
        for server, (part, other) in partners.items():
            way = other.of.path
            path = way[: way.index(part)] + of.path[of.path.index(part) :]
            words = f"a read of {of.component} failed over to {server}"
            yield _derived(of, words, path, Intrusion.FAILOVER)


def _planned(placed: PlannedMeasurement) -> Candidate:
    one, of = placed.expectation, placed.of
    if placed.partner:
        words = f"a network test of {one.component} with {placed.partner.name}"
        words += f" ({placed.operation.value})"
        return Candidate(of, Intrusion.PAIR, words)
    if placed.scenario is Scenario.TOGETHER:
        words = f"a raw read of all devices of {of.node} together, {of.component} among them"
        return Candidate(of, Intrusion.TOGETHER, words)
    if one.layer in ON_DEVICES:
        return Candidate(of, Intrusion.RAW_READ, f"a raw read of {of.component} on {of.node}")
    words = f"a {of.operation} of {of.component} from {of.node}"
    reads = placed.operation is Operation.READ
    return Candidate(of, Intrusion.TARGET_READ if reads else Intrusion.TARGET_WRITE, words)


def _derived(
    measurable: Measurable, words: str, path: tuple[str, ...], intrusion: Intrusion
) -> Candidate:
    """Return what reads the same target on another way, with all parts in the lane of reading."""
    made = measurable._replace(name=words, path=path, lanes=tuple((READ,) for _ in path), flows=())
    return Candidate(made, intrusion, words)
