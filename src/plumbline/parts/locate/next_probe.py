"""Possible next measurements, and the one that divides an ambiguity best.

Each alternative predicts the rate of a measurement.  Alternatives with the same prediction stay
together whatever it shows, so the best measurement leaves the fewest in the mean; among equals the
one that disturbs least.  Measurements since the fault began are not repeated: they have voted, and
all alternatives agree with them.
"""

from __future__ import annotations

from enum import IntEnum
from itertools import islice
from typing import Iterable, Iterator, Mapping, NamedTuple, Optional

from plumbline.model.layers import LAYERS
from plumbline.model.record import Operation, Scenario
from plumbline.parts.locate.observation import (
    READ,
    Measurable,
    Nodes,
    PlannedMeasurement,
    Site,
    Vote,
)
from plumbline.parts.locate.suspects import AmbiguitySet, Located, Suspect


class Intrusion(IntEnum):
    """Kinds of measurements, those that disturb least first."""

    PAIR = 0
    RAW_READ = 1
    TARGET_READ = 2
    OTHER_CLIENT = 3
    TARGET_WRITE = 4
    TOGETHER = 5
    FAILOVER = 6


_MAX_SLOW = 4


class Candidate(NamedTuple):
    """A possible measurement; ``words`` name it, beginning with a small letter."""

    of: Measurable
    intrusion: Intrusion
    words: str


class Candidates:
    """All measurements of a site, indexed by the components that they cross."""

    def __init__(self, nodes: Nodes) -> None:
        """Index the measurements of the nodes."""
        site = Site(nodes)
        self._clients = {
            node: expectation.path
            for node, expectations in nodes.items()
            for expectation in expectations
            if LAYERS[expectation.layer].of_hosts and node not in site.servers
        }
        self._crossing: dict[str, list[PlannedMeasurement]] = {}
        for placed in site.measurables():
            # a test that loads a whole file system is never the next one
            if LAYERS[placed.of.layer].whole:
                continue
            for name in placed.of.path:
                self._crossing.setdefault(name, []).append(placed)

    def crossing(self, suspects: Iterable[str], slow: Iterable[str]) -> Iterator[Candidate]:
        """Yield the measurements that cross one of the suspects, each once.

        Other paths and joint runs are for the first few ``slow`` targets.
        """
        names = tuple(suspects)
        chosen = frozenset(islice(dict.fromkeys(slow), _MAX_SLOW))
        tried: set[str] = set()
        for name in names:
            for placed in self._crossing.get(name, ()):
                for candidate in self._from(placed, names if placed.of.component in chosen else ()):
                    if candidate.of.name not in tried:
                        tried.add(candidate.of.name)
                        yield candidate

    def _from(self, placed: PlannedMeasurement, suspects: tuple[str, ...]) -> Iterator[Candidate]:
        if not placed.of.expected:
            return
        yield _planned(placed)
        if suspects and LAYERS[placed.of.layer].per_target and placed.operation is Operation.READ:
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
        read = placed.of
        for name in suspects:
            if name not in read.path:
                continue
            members = [
                other.of
                for other in self._crossing[name]
                if LAYERS[other.of.layer].per_target
                and other.of.operation == READ
                and other.of.path[0] == read.path[0]
            ]
            if len(members) > 1:
                counts = dict.fromkeys(read.path, 0)
                for member in members:
                    counts.update({hop: counts[hop] + 1 for hop in member.path if hop in counts})
                words = f"a read of all {len(members)} targets behind {name} together"
                candidate = _derived(read, words, read.path, Intrusion.TOGETHER)
                flows = tuple(counts[hop] for hop in read.path)
                yield candidate._replace(of=candidate.of._replace(flows=flows))

    def _failover(self, placed: PlannedMeasurement) -> Iterator[Candidate]:
        """Yield the path over another server that shares a part behind the servers."""
        read, host = placed.of, placed.expectation.host
        own = read.path[read.path.index(host) + 1 : -1] if host in read.path else ()
        partners: dict[str, tuple[str, PlannedMeasurement]] = {}
        for part in own:
            for other in self._crossing[part]:
                server = other.expectation.host
                if LAYERS[other.of.layer].per_target and server != host:
                    partners.setdefault(server, (part, other))
        for server, (part, other) in partners.items():
            chain = other.of.path
            path = chain[: chain.index(part)] + read.path[read.path.index(part) :]
            words = f"a read of {read.component} failed over to {server}"
            yield _derived(read, words, path, Intrusion.FAILOVER)


def _planned(placed: PlannedMeasurement) -> Candidate:
    expectation, test = placed.expectation, placed.of
    if placed.partner:
        kind = "an RDMA test" if LAYERS[expectation.layer].by_verbs else "a network test"
        words = f"{kind} of {expectation.component} with {placed.partner.name}"
        words += f" ({placed.operation.value})"
        return Candidate(test, Intrusion.PAIR, words)
    if placed.scenario is Scenario.TOGETHER:
        words = f"a raw read of all devices of {test.node} together, {test.component} among them"
        return Candidate(test, Intrusion.TOGETHER, words)
    if LAYERS[expectation.layer].on_devices:
        return Candidate(test, Intrusion.RAW_READ, f"a raw read of {test.component} on {test.node}")
    place = "on its server" if LAYERS[expectation.layer].on_servers else "from"
    words = f"a {test.operation} of {test.component} {place} {test.node}"
    reads = placed.operation is Operation.READ
    return Candidate(test, Intrusion.TARGET_READ if reads else Intrusion.TARGET_WRITE, words)


def _derived(
    measurable: Measurable, words: str, path: tuple[str, ...], intrusion: Intrusion
) -> Candidate:
    """Return the measurement that reads the same target on another path, in the read lane."""
    derived = measurable._replace(
        name=words, path=path, lanes=tuple((READ,) for _ in path), flows=()
    )
    return Candidate(derived, intrusion, words)


ALIKE = 0.15
"""Share of the expected rate below which a difference counts as the same outcome."""


class Outcome(NamedTuple):
    """One possible result, as a share of the expected rate, and the remaining alternatives."""

    ratio: float
    alternatives: tuple[tuple[str, ...], ...]


class NextProbe(NamedTuple):
    """Next measurement; ``outcomes`` begin with the slowest."""

    candidate: Candidate
    outcomes: tuple[Outcome, ...]


def next_probe(
    located: Located, ambiguity: AmbiguitySet, candidates: Iterable[Candidate]
) -> Optional[NextProbe]:
    """Return the measurement that divides the alternatives best, None if none does."""
    begun = max(located.observations[index].since for index in ambiguity.explains)
    measured = {
        observation.of.name
        for observation in located.observations
        if observation.vote is not Vote.NONE and observation.at >= begun
    }
    suspects = {suspect.name: suspect for suspect in ambiguity.suspects}
    best: Optional[tuple[tuple[float, int, str], NextProbe]] = None
    for candidate in candidates:
        if candidate.of.name in measured:
            continue
        outcomes = _outcomes(candidate.of, ambiguity, suspects)
        remain = sum(len(outcome.alternatives) ** 2 for outcome in outcomes) / len(
            ambiguity.alternatives
        )
        rank = (remain, int(candidate.intrusion), candidate.of.name)
        if len(outcomes) > 1 and (best is None or rank < best[0]):
            best = rank, NextProbe(candidate, outcomes)
    return best[1] if best else None


def _outcomes(
    measurable: Measurable, ambiguity: AmbiguitySet, suspects: Mapping[str, Suspect]
) -> tuple[Outcome, ...]:
    """Return the alternatives by the rate that they allow, the slowest first."""
    rated = sorted(
        (min(_ratio(measurable, suspects[name]) for name in names), names)
        for names in ambiguity.alternatives
    )
    groups: list[list[tuple[float, tuple[str, ...]]]] = []
    for ratio, names in rated:
        if groups and ratio - groups[-1][0][0] < ALIKE:
            groups[-1].append((ratio, names))
        else:
            groups.append([(ratio, names)])
    return tuple(Outcome(group[0][0], tuple(names for _, names in group)) for group in groups)


def _ratio(measurable: Measurable, suspect: Suspect) -> float:
    """Return the share of the expected rate that a suspect would leave to a measurement."""
    return min(1.0, suspect.leaves(measurable) / measurable.expected)
