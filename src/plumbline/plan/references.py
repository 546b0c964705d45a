"""References of all measurements: ceilings alone and together, baselines, goals.

``plumbline ceiling`` shows the lines made here from topology and measurements.
"""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.errors import DocumentError
from plumbline.model.expectation import PARALLEL, Expectation, Partner
from plumbline.model.layers import BY_DEPTH, LAYERS
from plumbline.model.layers.net import NET
from plumbline.model.layers.ost import OST
from plumbline.model.layers.raw import RAW
from plumbline.model.limits import Ceiling, Reference
from plumbline.model.quantity import BYTES_PER_S
from plumbline.model.record import Operation, Scenario
from plumbline.model.rounds import partners
from plumbline.model.small_reads import RANDREAD32
from plumbline.plan.assignments import by_server
from plumbline.plan.baseline import Baselines, Key
from plumbline.plan.file_systems import by_file_system, file_system_limits
from plumbline.plan.places import Assignment, Step, StepLimits
from plumbline.plan.policy import Policy, goal_of
from plumbline.plan.shared import flows_of
from plumbline.plan.speeds import Speeds, speeds, verbs_of
from plumbline.topology.ceiling import Capacities, Limit, alone, in_sum, minimum, together
from plumbline.topology.document import NETWORK
from plumbline.topology.graph import Route, Topology, join
from plumbline.topology.paths import Sharing, sharings

Goals = Mapping[tuple[str, str, Step], Reference]
"""By layer, component and step: references that have only a goal."""


def find_goals(
    policy: Policy,
    measured: Sequence[Assignment],
    ceilings: Mapping[tuple[str, str, Step], Optional[Ceiling]],
) -> Goals:
    """Return the goals of all steps of groups with a goal.

    Each member's part is proportional to its ceiling, so that newer hardware of a group owes more.
    If a member has no ceiling, all parts are equal.
    """
    goals: dict[tuple[str, str, Step], Reference] = {}
    groups: dict[tuple[str, str, Step], list[Assignment]] = {}
    for assignment in measured:
        is_whole = assignment.target["kind"] == PARALLEL
        for step in assignment.steps:
            if is_whole:
                goal = goal_of(policy, assignment.layer, assignment.component, _direction(step))
                goals[assignment.layer, assignment.component, step] = Reference(
                    None, None, goal=goal
                )
            elif not LAYERS[assignment.layer].whole:
                groups.setdefault((assignment.layer, assignment.group, step), []).append(assignment)
    for (layer, group, step), members in groups.items():
        goal = goal_of(policy, layer, group, _direction(step))
        if goal is not None:
            rates = [ceilings.get((layer, member.component, step)) for member in members]
            for assignment, part in zip(members, _parts(rates)):
                reference = Reference(None, None, goal_part=part * goal)
                goals[layer, assignment.component, step] = reference
    return goals


def _direction(step: Step) -> str:
    """Return the direction of a step's goal, empty if it cannot have one."""
    return step[0].value if step[0] in (Operation.WRITE, Operation.READ) else ""


def _parts(ceilings: Sequence[Optional[Ceiling]]) -> Iterator[float]:
    rates = [ceiling.rate if ceiling else None for ceiling in ceilings]
    rated = [rate for rate in rates if rate is not None]
    even = len(rated) < len(rates)
    for rate in rates:
        yield 1 / len(rates) if even or rate is None else rate / sum(rated)


Ceilings = Mapping[tuple[str, str, Step], Optional[Ceiling]]
"""By layer, component and step; None if no part on the path has a rate."""

_NO_GOAL = Reference(None, None)


def find_limits(topology: Topology, measured: Sequence[Assignment]) -> StepLimits:
    """Return the limits of all steps; peers that run together share the parts on their paths.

    Steps measured in bytes have a ceiling, and those that a data sheet states.
    """
    capacities = speeds(topology)
    sharers = _sharers(measured)
    limits = {
        (assignment.layer, assignment.component, step): _with_share(
            topology,
            assignment,
            _capacities_of(topology, assignment, capacities, step[0]),
            sharers,
        )
        if step[0].quantity == BYTES_PER_S
        else _of_data_sheet(topology, assignment, step[0])
        for assignment in measured
        for step in assignment.steps
        if step[1] is Scenario.SINGLE
    }
    step = (Operation.READ, Scenario.TOGETHER)
    for members in by_server(measured):
        shares = together(
            capacities.reads, {assignment.component: assignment.path for assignment in members}
        )
        limits.update({(RAW.name, name, step): share for name, share in shares.items()})
    paths = {(item.layer, item.component): item.path for item in measured}
    for shared in (item for item in measured if LAYERS[item.layer].joint):
        flows = flows_of(shared.target)
        of_flows = {flow.component: paths[flow.layer, flow.component] for flow in flows}
        total = in_sum(capacities.reads, of_flows)
        limits[shared.layer, shared.component, step] = total and total.limit
    for members, tests in by_file_system(measured):
        limits.update(file_system_limits(topology, capacities, members, tests))
    return limits


def _of_data_sheet(
    topology: Topology, assignment: Assignment, operation: Operation
) -> Optional[Limit]:
    """Return the small reads per second that a data sheet states: with many of them in flight."""
    part = topology.components.get(assignment.component)
    if part is None or part.iops is None or operation is not RANDREAD32:
        return None
    return Limit(Ceiling(float(part.iops), (part.name,)), None)


def _sharers(measured: Sequence[Assignment]) -> Mapping[tuple[str, str], int]:
    """Return the number of a layer's targets or devices behind each part."""
    return Counter(
        (assignment.layer, name)
        for assignment in measured
        if LAYERS[assignment.layer].grouped
        for name in assignment.path
    )


def _with_share(
    topology: Topology,
    assignment: Assignment,
    parts: Capacities,
    sharers: Mapping[tuple[str, str], int],
) -> Optional[Limit]:
    """Return the limit of one component alone, with its share if it has no storage part for itself.

    Parts of the measuring node and of the network do not count.
    """
    limit = alone(parts, assignment.path)
    if limit is None or not LAYERS[assignment.layer].grouped:
        return limit
    node_parts = {name for route in topology.routes[assignment.node] for name in route}
    shares = [
        (sharers[assignment.layer, name], rate)
        for name in assignment.path
        if name not in node_parts and (rate := parts.get(name)) is not None
        if topology.components[name].kind not in NETWORK
    ]
    least = min((rate / number for number, rate in shares), default=limit.ceiling.rate)
    if least >= limit.ceiling.rate or any(number == 1 for number, _ in shares):
        return limit
    return limit._replace(ceiling=limit.ceiling._replace(share=least))


def find_ceilings(topology: Topology, measured: Sequence[Assignment]) -> Ceilings:
    """Return the ceiling of each step, with the kinds of the limiting parts."""
    return {
        key: _with_kinds(topology, limit) for key, limit in find_limits(topology, measured).items()
    }


def _capacities_of(
    topology: Topology, assignment: Assignment, capacities: Speeds, operation: Operation
) -> Capacities:
    layer = LAYERS[assignment.layer]
    if layer.by_verbs:
        return capacities.verbs
    kind = topology.components[assignment.component].kind if layer.paired else ""
    return capacities.of(operation, kind)


def _with_kinds(topology: Topology, limit: Optional[Limit]) -> Optional[Ceiling]:
    if limit is None:
        return None
    kinds = tuple(topology.components[name].kind for name in limit.ceiling.limited_by)
    return limit.ceiling._replace(kinds=kinds)


def expectation(
    assignment: Assignment,
    ceilings: Ceilings,
    accepted: Baselines,
    goals: Goals,
    pair_limits: PairLimits,
) -> Expectation:
    """Return the expectation of a measurement; the judge compares its conditions."""
    references = {
        f"{operation.value}/{scenario.value}": goals.get(
            (assignment.layer, assignment.component, (operation, scenario)), _NO_GOAL
        )._replace(
            ceiling=ceilings.get((assignment.layer, assignment.component, (operation, scenario))),
            baseline=accepted.get(
                Key(assignment.layer, assignment.component, operation.value, scenario.value)
            ),
        )
        for operation, scenario in (*assignment.steps, *assignment.quantities)
    }
    return Expectation(
        layer=assignment.layer,
        component=assignment.component,
        host=assignment.host,
        group=assignment.group,
        target=assignment.target,
        path=assignment.path,
        spec=assignment.spec,
        references=references,
        limits=assignment.limits,
        partners=pair_limits.partners(assignment) if LAYERS[assignment.layer].paired else (),
    )


class PairLimits:
    """Paths and ceilings of pairs, for both directions; each pair is looked up once."""

    def __init__(self, topology: Topology, measured: Sequence[Assignment]) -> None:
        """Take the rates of the parts that have them, and the routes of the ``measured``."""
        self._topology = topology
        self._tcp = {
            part.name: min(part.read_Bps, part.write_Bps)
            for part in topology.components.values()
            if part.read_Bps is not None and part.write_Bps is not None
        }
        self._verbs = {
            name: rate
            for name, part in topology.components.items()
            if (rate := verbs_of(part)) is not None
        }
        self._ends = {
            (assignment.layer, assignment.component): assignment
            for assignment in measured
            if LAYERS[assignment.layer].paired
        }
        self._found: dict[tuple[str, str, str], tuple[Route, Ceiling]] = {}

    def partners(self, assignment: Assignment) -> tuple[Partner, ...]:
        """Return the partners of a host or an adapter with their ceilings.

        Raises:
            DocumentError: two ends are not connected, or nothing between them has a rate.
        """
        layer, own = assignment.layer, assignment.component
        return tuple(
            Partner(name, self._ends[layer, name].target["address"], *self._pair(layer, own, name))
            for name in partners(assignment.target["hosts"], own)
        )

    def limit(self, layer: str, own: str, name: str) -> tuple[Route, Optional[Limit]]:
        """Return the path between two ends, and its limit for both directions."""
        path = self._path(layer, own, name)
        return path, alone(self._capacities(layer), path)

    def _capacities(self, layer: str) -> Capacities:
        return self._verbs if LAYERS[layer].by_verbs else self._tcp

    def _path(self, layer: str, own: str, name: str) -> Route:
        return join([self._ends[layer, own].path], [self._ends[layer, name].path])

    def _pair(self, layer: str, own: str, name: str) -> tuple[Route, Ceiling]:
        known = self._found.pop((layer, name, own), None)
        if known:
            path, ceiling = known
            backwards = ceiling.limited_by[::-1], ceiling.kinds[::-1]
            return path[::-1], Ceiling(ceiling.rate, *backwards)
        path = self._path(layer, own, name)
        least = minimum(self._capacities(layer), path)
        if least is None:
            raise DocumentError(
                f"plumbline_topology: nothing between {own} and {name} has a rate; "
                "give the network ports of one of them link and encoding, or take its address away"
            )
        kinds = tuple([self._topology.components[part].kind for part in least.limited_by])
        self._found[layer, own, name] = path, Ceiling(least.rate, least.limited_by, kinds)
        return self._found[layer, own, name]


class Line(NamedTuple):
    """One ceiling.

    ``flows`` is ``one``, or the kind of the flows at once: targets, clients or servers; ``number``
    is their count.  ``component`` is the measured one, or the part or system that the flows share.
    ``scenario`` is ``single``, ``together`` or ``all``.  ``limit`` is that of the sum, None if a
    flow has no part with a rate on its path.  ``each_Bps`` is the lowest and the highest rate of a
    flow.  ``demonstrated`` are the baselines of the same flows in bytes per second, by layer from
    the disk to all targets at once.
    """

    layer: str
    flows: str
    number: int
    component: str
    partner: Optional[str]
    operation: str
    scenario: str
    limit: Optional[Limit]
    each_Bps: Optional[tuple[float, float]]
    path: tuple[str, ...]
    demonstrated: Mapping[str, float] = MappingProxyType({})

    def to_json(self) -> dict[str, Any]:
        """Return the document form; missing rates are None, missing parts empty."""
        now = self.limit.ceiling if self.limit else None
        then = self.limit.next if self.limit else None
        return {
            "layer": self.layer,
            "component": self.component,
            "partner": self.partner,
            "operation": self.operation,
            "scenario": self.scenario,
            "flows": self.flows,
            "number": self.number,
            "rate_Bps": now.rate if now else None,
            "limited_by": now.limited_by if now else (),
            "next_Bps": then.rate if then else None,
            "next_limited_by": then.limited_by if then else (),
            "each_Bps": self.each_Bps,
            "demonstrated_Bps": dict(self.demonstrated),
            "path": self.path,
        }


def measurements(topology: Topology, measured: Sequence[Assignment]) -> Iterator[Line]:
    """Yield the limits of all measurements by layer."""
    limits = find_limits(topology, measured)
    # further tests of a file system have the limits of the first one
    further = {test.component for _, (_, *tests) in by_file_system(measured) for test in tests}
    for assignment in (entry for entry in measured if entry.component not in further):
        for operation, scenario in assignment.steps:
            # what a data sheet states follows from no path
            if operation in LAYERS[assignment.layer].chosen:
                continue
            limit = limits[assignment.layer, assignment.component, (operation, scenario)]
            yield _single_line(assignment, None, (operation.value, scenario.value), limit)


def pairs(topology: Topology, measured: Sequence[Assignment]) -> Iterator[Line]:
    """Yield the network limit of each pair of hosts or adapters, once."""
    limits = PairLimits(topology, measured)
    for layer in (layer for layer in LAYERS.values() if layer.paired):
        ends = [assignment for assignment in measured if assignment.layer == layer.name]
        operations = (step for step in layer.operations if step.quantity == BYTES_PER_S)
        step = " or ".join(operations), "single"
        for index, assignment in enumerate(ends):
            partner_names = frozenset(assignment.target["hosts"])
            for other in (end for end in ends[index + 1 :] if end.component in partner_names):
                path, limit = limits.limit(layer.name, assignment.component, other.component)
                own = assignment._replace(path=path)
                yield _single_line(own, other.component, step, limit)


def _single_line(
    assignment: Assignment, partner: Optional[str], step: tuple[str, str], limit: Optional[Limit]
) -> Line:
    rates = (limit.ceiling.rate,) * 2 if limit else None
    return Line(
        assignment.layer,
        "one",
        1,
        assignment.component,
        partner,
        *step,
        limit,
        rates,
        assignment.path,
    )


def at_once(topology: Topology) -> Iterator[Line]:
    """Yield the limits of all targets or hosts that share a part, and of all of them at once."""
    capacities = speeds(topology)
    for sharing in sharings(topology):
        yield from _sharing_lines(sharing, capacities)


def _sharing_lines(sharing: Sharing, capacities: Speeds) -> Iterator[Line]:
    layer = OST if sharing.flows == "targets" else NET
    outward, inward = layer.operations
    kind = sharing.flows.rstrip("s")
    sent = in_sum(capacities.of(outward, kind), sharing.paths)
    is_symmetric = capacities.reads is capacities.writes
    received = sent if is_symmetric else in_sum(capacities.of(inward, kind), sharing.paths)
    for operation, share in ((outward, sent), (inward, received)):
        yield Line(
            layer.name,
            sharing.flows,
            len(sharing.paths),
            sharing.of,
            None,
            operation.value,
            "all" if sharing.whole else "together",
            share and share.limit,
            share and (share.lowest_Bps, share.highest_Bps),
            (),
        )


def with_demonstrated(
    topology: Topology, lines: Iterable[Line], accepted: Baselines
) -> Iterator[Line]:
    """Add to each line the accepted baselines of the same flows and of a target's device."""
    for line in lines:
        target = topology.targets.get(line.component)
        names = (line.component, target.on) if target else (line.component,)
        scenario = "together" if line.scenario == "all" else line.scenario
        keys = (
            Key(layer.name, name, line.operation, scenario) for layer in BY_DEPTH for name in names
        )
        rates = {key.layer: accepted[key].median for key in keys if key in accepted}
        yield line._replace(demonstrated=rates)
