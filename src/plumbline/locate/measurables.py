"""What a site measures, from the expectations of all nodes: each measurement with its path."""

from __future__ import annotations

from collections import Counter
from typing import Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.judge.pair import of_pair
from plumbline.layers import GROUPED, PAIRED, WHOLE
from plumbline.locate.observation import BOTH, READ, WRITE, Measurable
from plumbline.model.expectation import Expectation, Partner
from plumbline.model.record import Operation, Scenario
from plumbline.model.reference import Reference

Nodes = Mapping[str, Sequence[Expectation]]


class PlannedMeasurement(NamedTuple):
    """A measurement and the expectation it comes from; ``partner`` is None but for host pairs."""

    of: Measurable
    expectation: Expectation
    operation: Operation
    scenario: Scenario
    partner: Optional[Partner] = None


class Site:
    """What the measurements of all nodes have to know of one another."""

    def __init__(self, nodes: Nodes) -> None:
        """Find which hosts are servers, and which parts are whose own."""
        every = [one for found in nodes.values() for one in found]
        self._nodes = nodes
        self.servers = frozenset(one.host for one in every if one.layer in GROUPED)
        """The hosts that have targets or devices."""
        self._own = {one.component: frozenset(one.path) for one in every if one.layer in PAIRED}

    def measurables(self) -> Iterator[PlannedMeasurement]:
        """Yield all that the nodes measure, in their order."""
        for node in self._nodes:
            yield from self.of(node)

    def of(self, node: str) -> Iterator[PlannedMeasurement]:
        """Yield what one node measures.

        The expected rate is the baseline's, else the ceiling, else 0.  A path's part is crossed
        towards storage by what is written and away from it by what is read; a host's test sends
        away from storage where the host is a server, and crosses what both hosts share in both
        lanes.  What is driven at once is its targets; the sum of them says nothing of its own.
        """
        found = self._nodes[node]
        together, left_out = _sharing(found), _left_out(found)
        for one in found:
            if one.layer in PAIRED:
                yield from self._pairs(node, one)
            elif (one.layer, one.component) not in left_out:
                yield from _alone(node, one, together)

    def _pairs(self, node: str, entry: Expectation) -> Iterator[PlannedMeasurement]:
        for operation, scenario, reference in steps(entry):
            for partner in entry.partners:
                other = self._own.get(partner.name, frozenset())
                sends = operation is Operation.SEND
                near = _lane(entry.component in self.servers, sends)
                far = _lane(partner.name in self.servers, not sends)
                lanes = tuple(
                    (BOTH if name in other else (near,)) if name in entry.path else (far,)
                    for name in partner.path
                )
                words = f"{operation.value} with {partner.name}"
                of = Measurable(
                    f"net {entry.component} {words}",
                    entry.layer,
                    entry.component,
                    words,
                    partner.path,
                    _rate(of_pair(entry, partner, reference)),
                    lanes,
                    (),
                    node,
                )
                yield PlannedMeasurement(of, entry, operation, scenario, partner)


def _sharing(found: Sequence[Expectation]) -> Counter[tuple[str, str]]:
    """Return how many flows cross each part when members of a group run together, by both names."""
    return Counter((_company(one), name) for one in found if _company(one) for name in one.path)


def _company(entry: Expectation) -> str:
    """Return a name for those that run together, empty for what runs alone."""
    together = any(key.endswith(f"/{Scenario.TOGETHER.value}") for key in entry.references)
    return f"{entry.layer} {entry.group}" if together else ""


def _left_out(found: Sequence[Expectation]) -> set[tuple[str, str]]:
    """Return what is no measurement of one path, by layer and component.

    With several clients the rank that reads is on another one than the rank that has written.
    """
    wholes = {one.component: one for one in found if one.parallel}
    members = [one for one in found if one.layer in WHOLE and one.group in wholes]
    several = [one for one in members if len(wholes[one.group].target["clients"]) > 1]
    return {(one.layer, one.component) for one in (*wholes.values(), *several)}


def steps(entry: Expectation) -> Iterator[tuple[Operation, Scenario, Reference]]:
    """Yield each operation that is expected, with its references."""
    for key, reference in entry.references.items():
        operation, _, scenario = key.partition("/")
        yield Operation(operation), Scenario(scenario), reference


def _alone(
    node: str, entry: Expectation, together: Counter[tuple[str, str]]
) -> Iterator[PlannedMeasurement]:
    for operation, scenario, reference in steps(entry):
        shared = scenario is Scenario.TOGETHER
        words = f"{operation.value} together" if shared else operation.value
        of = Measurable(
            f"{entry.layer} {entry.component} {words}",
            entry.layer,
            entry.component,
            words,
            entry.path,
            _rate(reference),
            tuple((WRITE if operation is Operation.WRITE else READ,) for _ in entry.path),
            tuple(together[_company(entry), name] for name in entry.path) if shared else (),
            node,
        )
        yield PlannedMeasurement(of, entry, operation, scenario)


def _lane(server: bool, leaves: bool) -> str:
    """Return the lane of a host's own parts: what leaves a server has been read."""
    return READ if server is leaves else WRITE


def _rate(reference: Reference) -> float:
    if reference.baseline:
        return reference.baseline.median_Bps
    return reference.ceiling.rate_Bps if reference.ceiling else 0.0
