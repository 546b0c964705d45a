"""Measurements of a site with their paths, and their votes."""

from __future__ import annotations

from collections import Counter
from enum import Enum
from math import isfinite
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.pair import of_pair
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation, Partner
from plumbline.model.layers import LAYERS
from plumbline.model.limits import Reference
from plumbline.model.record import Operation, Scenario
from plumbline.model.verdict import State

Nodes = Mapping[str, Sequence[Expectation]]


class PlannedMeasurement(NamedTuple):
    """A measurement and its expectation; ``partner`` is None except for pairs."""

    of: Measurable
    expectation: Expectation
    operation: Operation
    scenario: Scenario
    partner: Optional[Partner] = None


class Site:
    """Servers, shared parts and paths of all nodes of a site."""

    def __init__(self, nodes: Nodes) -> None:
        """Find the servers, and the owner of each part."""
        expectations = [expectation for entries in nodes.values() for expectation in entries]
        self._nodes = nodes
        self.servers = frozenset(
            expectation.host for expectation in expectations if LAYERS[expectation.layer].grouped
        )
        """The hosts that have targets or devices."""
        self._own = {
            (expectation.layer, expectation.component): frozenset(expectation.path)
            for expectation in expectations
            if LAYERS[expectation.layer].paired
        }

    def measurables(self) -> Iterator[PlannedMeasurement]:
        """Yield all measurements of the nodes, in their order."""
        for node in self._nodes:
            yield from self.of(node)

    def of(self, node: str) -> Iterator[PlannedMeasurement]:
        """Yield the measurables of one node.

        The expected rate is the baseline's, else the ceiling, else 0.  Writes cross a part towards
        storage, reads away from it; a host's test sends away from storage if the host is a server,
        and crosses the parts that both hosts share in both lanes.  So does an adapter's write into
        the memory of its partner; its read comes back.  A joint run counts as its targets; their
        sum is no measurement of its own.  Parts carry bytes: other quantities are left out.

        TCP and verbs share the lanes of adapters, links and switches, which carry bytes of any
        kind: verbs at full rate clear them of slow TCP, which processors may limit, and slow TCP
        accuses the hosts.  TCP that needs less than what slow verbs leave clears nothing.  At the
        two hosts verbs bypass the kernel and have lanes of their own, so they clear no host of
        slow TCP or slow devices.
        """
        expectations = self._nodes[node]
        flows, excluded = _flows_by_part(expectations), _not_one_path(expectations)
        for expectation in expectations:
            if LAYERS[expectation.layer].paired:
                yield from self._pairs(node, expectation)
            elif (expectation.layer, expectation.component) not in excluded:
                yield from _unpaired(node, expectation, flows)

    def _pairs(self, node: str, entry: Expectation) -> Iterator[PlannedMeasurement]:
        for operation, scenario, reference in entry.steps_in_bytes():
            for partner in entry.partners:
                words = f"{operation.value} with {partner.name}"
                test = Measurable(
                    f"{entry.layer} {entry.component} {words}",
                    entry.layer,
                    entry.component,
                    words,
                    partner.path,
                    _rate(of_pair(entry, partner, operation, reference)),
                    tuple(self._pair_lanes(entry, partner, operation)),
                    (),
                    node,
                    partner.name,
                )
                yield PlannedMeasurement(test, entry, operation, scenario, partner)

    def _pair_lanes(
        self, entry: Expectation, partner: Partner, operation: Operation
    ) -> Iterator[tuple[str, ...]]:
        """Yield the lanes of each part between two hosts, or two adapters with their hosts."""
        ends = partner.path[0], partner.path[-1]
        other = self._own.get((entry.layer, partner.name), frozenset())
        sends = operation in _SENDS
        near = _lane(ends[0] in self.servers, sends)
        far = _lane(ends[1] in self.servers, not sends)
        for name in partner.path:
            lanes: tuple[str, ...] = (far,)
            if name in entry.path:
                lanes = BOTH if name in other else (near,)
            passes = LAYERS[entry.layer].by_verbs and name in ends
            yield tuple(VERBS + lane for lane in lanes) if passes else lanes


def _flows_by_part(expectations: Sequence[Expectation]) -> Counter[tuple[str, str]]:
    """Return the flows that cross each part in a joint run, by the names of run and part."""
    return Counter(
        (_joint_group(expectation), name)
        for expectation in expectations
        if _joint_group(expectation)
        for name in expectation.path
    )


def _joint_group(entry: Expectation) -> str:
    """Return a name for the members of a joint run, empty for others."""
    together = any(key.endswith(f"/{Scenario.TOGETHER.value}") for key in entry.references)
    return f"{entry.layer} {entry.group}" if together else ""


def _not_one_path(expectations: Sequence[Expectation]) -> set[tuple[str, str]]:
    """Return the tests that do not measure one path, by layer and component.

    With several clients the reading rank is on another client than the writing one.
    """
    wholes = {
        expectation.component: expectation for expectation in expectations if expectation.parallel
    }
    members = [
        expectation
        for expectation in expectations
        if LAYERS[expectation.layer].whole
        and expectation.group in wholes
        and len(wholes[expectation.group].target["clients"]) > 1
    ]
    return {
        (expectation.layer, expectation.component) for expectation in (*wholes.values(), *members)
    }


def _unpaired(
    node: str, entry: Expectation, flows: Counter[tuple[str, str]]
) -> Iterator[PlannedMeasurement]:
    for operation, scenario, reference in entry.steps_in_bytes():
        shared = scenario is Scenario.TOGETHER
        words = f"{operation.value} together" if shared else operation.value
        test = Measurable(
            f"{entry.layer} {entry.component} {words}",
            entry.layer,
            entry.component,
            words,
            entry.path,
            _rate(reference),
            _lanes(entry, operation),
            tuple(flows[_joint_group(entry), name] for name in entry.path) if shared else (),
            node,
        )
        yield PlannedMeasurement(test, entry, operation, scenario)


def _lanes(entry: Expectation, operation: Operation) -> tuple[tuple[str, ...], ...]:
    """Return the lanes of each part; a target on its own server has another one."""
    lanes = (WRITE if operation is Operation.WRITE else READ,)
    own = (SERVER + lanes[0],) if LAYERS[entry.layer].on_servers else lanes
    return tuple(own if name == entry.component else lanes for name in entry.path)


_SENDS = (Operation.SEND, Operation.WRITE)
"""Operations of pairs whose bytes go from the measuring end to its partner."""


def _lane(server: bool, leaves: bool) -> str:
    """Return the lane of a host's own parts: data that leaves a server was read."""
    return READ if server is leaves else WRITE


def _rate(reference: Reference) -> float:
    if reference.baseline:
        return reference.baseline.median
    return reference.ceiling.rate if reference.ceiling else 0.0


READ = "read"
WRITE = "write"
BOTH = (READ, WRITE)
"""The lanes of a part: towards storage (write), and back (read).  A part can lose only one of
them."""


NETWORK = "network "
"""Prefix of a host's lane: its remaining rate in tests of the network, which end in it, if that
differs from the rate of its devices."""

SERVER = "server "
"""Prefix of a target's lane on its own server: its file system there, without what serves it to
clients.  A slow file system slows both lanes, a slow daemon only that of the clients."""

VERBS = "RDMA "
"""Prefix of a host's lane: its remaining rate by verbs, which bypass its kernel."""

SEGMENTS = "segments "
"""Prefix of a lane for retransmitted segments, which show a bad cable before rates fall."""


class Vote(str, Enum):
    """Vote of an observation; contended, invalid and unknown ones do not vote."""

    BAD = "bad"
    GOOD = "good"
    NONE = "does not vote"


class Measurable(NamedTuple):
    """A measurement that can be made, and the parts that its bytes cross.

    ``name`` is unique in a site; ``component`` is the measured target, disk, host or adapter,
    ``path`` the components crossed, each once, client end first.  ``lanes`` are the lanes crossed
    in each of them, empty if all are crossed in the lane ``operation``; ``flows`` the number of
    flows of the same run that share each evenly, empty if this is the only one.  ``expected`` is
    the rate in bytes per second while everything is healthy, ``node`` the measuring node,
    ``partner`` the other host or adapter of a pair, else empty.
    """

    name: str
    layer: str
    component: str
    operation: str
    path: tuple[str, ...]
    expected: float
    lanes: tuple[tuple[str, ...], ...] = ()
    flows: tuple[int, ...] = ()
    node: str = ""
    partner: str = ""

    @property
    def is_rate(self) -> bool:
        """Return whether it measures a rate, not retransmitted segments."""
        return not (self.lanes and self.lanes[0][0].startswith(SEGMENTS))

    def crossings(self) -> Iterator[tuple[str, tuple[str, ...], int]]:
        """Yield each component with the lanes crossed and the flows that share it."""
        same = (self.operation,)
        for index, name in enumerate(self.path):
            lanes = self.lanes[index] if self.lanes else same
            yield name, lanes, self.flows[index] if self.flows else 1


class _ObservationFields(NamedTuple):
    of: Measurable
    vote: Vote
    measured: float = 0.0
    error: float = 0.0
    at: float = 0.0
    since: float = 0.0
    reason: str = ""
    state: State = State.WARNING


class Observation(_ObservationFields):
    """One measurement with its verdict.

    ``error`` is the standard error of ``measured`` as a fraction of it; a rate of 0 is that of a
    hung measurement.  ``at`` is its time, ``since`` the time when a bad one was not yet known to be
    bad, in seconds since the epoch; ``reason`` is the sentence of the verdict, ``state`` that of
    the alarm of a bad one.  A voting observation has a finite rate that is not negative, an
    expectation and an error; anything else cannot be built.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Observation:
        """Build and validate; raise DocumentError naming the measurement and the value."""
        self = super().__new__(cls, *args, **kwargs)
        if self.vote is not Vote.NONE:
            measured, expected = self.measured, self.of.expected
            if not (isfinite(measured) and measured >= 0 and isfinite(expected) and expected > 0):
                raise DocumentError(
                    f"{self.of.name} cannot vote: {measured!r} of {expected!r} B/s are no rates; "
                    "judge it again"
                )
            if not (isfinite(self.error) and self.error > 0):
                raise DocumentError(
                    f"{self.of.name} cannot vote: its error {self.error!r} is no fraction above 0; "
                    "judge it again"
                )
        return self

    @property
    def ratio(self) -> float:
        """Return measured / expected of a voting observation."""
        return self.measured / self.of.expected
