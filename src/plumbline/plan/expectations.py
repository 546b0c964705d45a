"""The plan of a site: one document with everything that the roles need.

Each node gets the names of targets that other nodes measure, so that a client can distinguish an
OST missing from the topology from a retired one.

The targets of a wave are measured at the same time.  They share only the client's link and the
network, whose rates suffice for the sum of their ceilings.  Without a rate of its link, a client
measures its targets one after the other.

The format of the plan is described in docs/architecture.md, "The plan".
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Collection, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.codec import write
from plumbline.model.errors import DocumentError
from plumbline.model.evidence import MONTH_S, odds_within
from plumbline.model.expectation import ALONE, OFF, Confirm, Expectation, Expectations, Neighbour
from plumbline.model.layers import LAYERS
from plumbline.model.layers.fs import FS
from plumbline.model.parts import is_installed, load
from plumbline.model.record import Scenario
from plumbline.model.rounds import cycle
from plumbline.model.service import PathService, Service, SitePart
from plumbline.model.shared import SharedReads
from plumbline.model.space import SpaceTerms
from plumbline.model.units import DAY_S, LARGEST
from plumbline.plan.assignments import Assignment, assignments
from plumbline.plan.baseline import Baselines
from plumbline.plan.duration import seconds_of
from plumbline.plan.exposure import MAX_AT_ONCE
from plumbline.plan.policy import FsLayer, OstLayer, Policy
from plumbline.plan.references import PairLimits, expectation, find_ceilings, find_goals
from plumbline.plan.schedule import Timer
from plumbline.plan.services import parents, path_services, services, symptom_services
from plumbline.plan.shared import with_own_terms
from plumbline.plan.space import space_services, space_terms
from plumbline.topology.document import NETWORK
from plumbline.topology.graph import Component, Target, Topology
from plumbline.topology.names import expand

_AT_A_CHANGE = 100.0
"""Nights that a change of versions counts for.  Versions change a few times a year, and a loss is
as likely to begin at a change as on one of the hundred nights in between.  So these nights use the
budget once, and the change uses it once more."""


def alarm_thresholds(policy: Policy, measured: Sequence[Assignment]) -> dict[str, dict[str, Any]]:
    """Return the evidence that an alarm needs at a site, by measured layer and limit.

    ``alarm_odds`` are the odds against chance, the same in all layers.  Each run tests every
    component, its group as a whole, and each part that several devices share, or each tested pair
    of hosts; hosts also for retransmits, and parallel runs for their profile.  A confirmation tests
    its components again, as often as its bytes allow.

    ``end_odds`` are the odds for health that end an alarm.  Only the few components with an alarm
    are tested for it, so these odds follow from the tests of one component.

    ``change_starts`` is the number of nights that a change of versions counts for as the start of a
    loss, in tests of groups.  A new release slows everything that uses it.  So the budget for
    changes is spent on groups, and on components without one, not on each component; the layers
    have equal shares.
    """
    monthly = {layer: MONTH_S / policy.layer(layer).period_s() for layer in LAYERS}
    confirmations = {layer: monthly[layer] * _confirmations(policy, layer) for layer in LAYERS}
    wholes = Counter(_group_tests(measured))
    planned = sum(monthly[layer] for layer in _other_tests(measured))
    planned += sum(monthly[layer] * number for layer, number in wholes.items())
    tests = planned + sum(confirmations[assignment.layer] for assignment in measured)
    budget = policy.alarm_budget
    return {
        layer: {
            "alarm_odds": odds_within(budget, tests),
            "end_odds": odds_within(budget, monthly[layer] + confirmations[layer]),
            "change_starts": _AT_A_CHANGE * planned / len(wholes) / (monthly[layer] * number),
        }
        for layer, number in wholes.items()
    }


def _confirmations(policy: Policy, layer: str) -> float:
    """Return the number of confirmations per planned run of a layer."""
    rules = policy.layer(layer)
    return rules.confirm.bytes if isinstance(rules, OstLayer) and rules.confirm.runs else 0.0


def _group_tests(measured: Sequence[Assignment]) -> Iterator[str]:
    """Yield the layer of each group, and of each component without one."""
    for (layer, _), members in _groups(measured).items():
        # each file system measured as a whole is a separate group
        yield from [layer] * (members if LAYERS[layer].whole else 1)


def _other_tests(measured: Sequence[Assignment]) -> Iterator[str]:
    """Yield the layer of each other test of one run."""
    groups = _groups(measured)
    parts: dict[tuple[str, str, str], int] = {}
    hosts: dict[str, int] = {}
    for assignment in measured:
        if LAYERS[assignment.layer].more_than_rates:
            yield assignment.layer
        if LAYERS[assignment.layer].paired:
            hosts[assignment.layer] = hosts.get(assignment.layer, 0) + 1
        if LAYERS[assignment.layer].whole:
            continue
        if groups[_group(assignment)] > 1:
            yield assignment.layer
        if any(scenario is Scenario.TOGETHER for _, scenario in assignment.steps):
            for name in assignment.path[:-1]:
                place = assignment.layer, assignment.node, name
                parts[place] = parts.get(place, 0) + 1
    yield from (layer for (layer, *_), members in parts.items() if members > 1)
    for layer, number in hosts.items():
        yield from [layer] * (number // 2)


def _groups(measured: Sequence[Assignment]) -> dict[tuple[str, str], int]:
    """Return the number of members of each group."""
    return Counter(_group(assignment) for assignment in measured)


def _group(assignment: Assignment) -> tuple[str, str]:
    return assignment.layer, LAYERS[assignment.layer].peer_group(assignment.group)


_COMPONENTS_IN_A_RUN = 3
"""A component and two healthy peers."""

NodeGroups = Mapping[str, Sequence[Expectation]]


def with_confirm(
    nodes: NodeGroups, policy: Policy, measured: Sequence[Assignment]
) -> dict[str, tuple[Expectation, ...]]:
    """Add to each node's measurements the terms for confirming low ones."""
    places: dict[tuple[str, str], list[Assignment]] = {}
    for assignment in measured:
        places.setdefault((assignment.node, assignment.layer), []).append(assignment)
    rules = _rules(policy)
    terms = {
        place: _terms(rules[place[1]], members)
        for place, members in places.items()
        if place[1] in rules
    }
    return {
        node: tuple(
            entry._replace(confirm=terms.get((node, entry.layer), OFF)) for entry in entries
        )
        for node, entries in nodes.items()
    }


def confirm_schedule(policy: Policy) -> dict[str, dict[str, Any]]:
    """Return the schedule of confirmation by layer for the roles, without layers that have none."""
    return {
        name: {
            "calendar": layer.confirm.calendar,
            "randomized_delay_s": round(layer.confirm.randomized_delay),
            "limit_s": round(layer.confirm.limit),
        }
        for name, layer in _rules(policy).items()
        if layer.confirm.runs
    }


def _terms(layer: OstLayer, measured: Sequence[Assignment]) -> Confirm:
    """Return the terms of confirmation for a node's layer with at least one measurement.

    The saved-up bytes always suffice to confirm one component, even if a node measures little.
    """
    policy = layer.confirm
    run_bytes = [
        assignment.spec.bytes * assignment.spec.repeats * len(assignment.steps)
        for assignment in measured
    ]
    share = policy.bytes * sum(run_bytes)
    least = policy.runs * _COMPONENTS_IN_A_RUN * max(run_bytes)
    daily = share * DAY_S / layer.schedule.every
    # limit huge values from the policy to numbers that a document can hold
    return Confirm(policy.runs, policy.every, min(LARGEST, daily), min(LARGEST, least + share))


def _rules(policy: Policy) -> dict[str, OstLayer]:
    layers = {name: policy.layer(name) for name, layer in LAYERS.items() if layer.confirmable}
    return {name: rules for name, rules in layers.items() if isinstance(rules, OstLayer)}


def elsewhere(topology: Topology) -> dict[str, dict[str, str]]:
    """Return for each client the other targets of its file systems, with their nodes.

    Retired targets have an empty node name.
    """
    systems_by_target = {name: _systems(target) for name, target in topology.targets.items()}
    systems: dict[str, set[str]] = {}
    for target in topology.targets.values():
        if not target.retired:
            systems.setdefault(target.client, set()).update(systems_by_target[target.name])
    return {
        client: {
            target.name: "" if target.retired else target.client
            for target in topology.targets.values()
            if (target.retired or target.client != client)
            and not systems_of_client.isdisjoint(systems_by_target[target.name])
        }
        for client, systems_of_client in systems.items()
    }


def _systems(target: Target) -> set[str]:
    """Return the names of a target's file system in the topology and in Lustre."""
    return {target.file_system, *_lustre(target.reach)}


def _lustre(reach: Mapping[str, str]) -> set[str]:
    """Return Lustre's name of an OST's file system, empty for other targets."""
    ost = reach.get("ost", "") if reach.get("kind") == "lustre" else ""
    return {f"lustre {ost.rpartition('-')[0]}"} if ost else set()


_OPEN_WAVES = 64
"""Most open waves, for as many successive targets on one server."""

_ROUNDING = 1 + 1e-9
"""Tolerance for rounding of sums."""

Nodes = Mapping[str, Sequence[Expectation]]
Load = Mapping[tuple[str, str], float]
"""Bytes per second on each shared part with a rate, by step and part."""


class _Flow(NamedTuple):
    """A target's unshared parts, and its load on shared parts."""

    name: str
    own: frozenset[str]
    load: Load


class _Wave:
    """Targets that do not disturb each other, and their load on shared parts."""

    def __init__(self, capacities: Load) -> None:
        self.names: list[str] = []
        self._capacities = capacities
        self._own: set[str] = set()
        self._loads: dict[tuple[str, str], float] = {}

    def takes(self, flow: _Flow) -> bool:
        """Add a target unless it would disturb or be disturbed; return whether it was added."""
        if not self._own.isdisjoint(flow.own):
            return False
        sums = {key: self._loads.get(key, 0.0) + load for key, load in flow.load.items()}
        if self.names and any(sums[key] > self._capacities[key] * _ROUNDING for key in sums):
            return False
        self.names.append(flow.name)
        self._own |= flow.own
        self._loads.update(sums)
        return True


def with_waves(topology: Topology, nodes: Nodes) -> dict[str, tuple[Expectation, ...]]:
    """Add to each node's measurements the number of their wave."""
    return {node: tuple(_numbered(topology, node, entries)) for node, entries in nodes.items()}


def _numbered(
    topology: Topology, node: str, entries: Sequence[Expectation]
) -> Iterator[Expectation]:
    """Yield a node's measurements with numbers of waves, from 1 for waves of several targets."""
    targets = [entry for entry in entries if LAYERS[entry.layer].per_target]
    route_parts = {name for route in topology.routes[node] for name in route}
    flows = [flow for entry in targets if (flow := _flow(topology, route_parts, node, entry))]
    several = (
        wave for wave in _form_waves(flows, _capacities(topology, flows)) if len(wave.names) > 1
    )
    numbers = {name: number for number, wave in enumerate(several, 1) for name in wave.names}
    for entry in entries:
        own_wave = numbers.get(entry.component, ALONE) if LAYERS[entry.layer].per_target else ALONE
        yield entry._replace(wave=own_wave) if own_wave else entry


def _form_waves(flows: Sequence[_Flow], capacities: Load) -> list[_Wave]:
    """Put each target in the first open wave that it fits in; return the waves."""
    waves: list[_Wave] = []
    open_waves: list[_Wave] = []
    for flow in flows:
        wave = next((wave for wave in open_waves if wave.takes(flow)), None)
        if wave is None:
            wave = _Wave(capacities)
            wave.takes(flow)
            waves.append(wave)
            open_waves = [*open_waves, wave][-_OPEN_WAVES:]
        elif len(wave.names) == MAX_AT_ONCE:
            open_waves.remove(wave)
    return waves


def _flow(
    topology: Topology, route_parts: Collection[str], node: str, entry: Expectation
) -> Optional[_Flow]:
    """Return the flow of a target, None if it cannot be measured together with others."""
    parts = topology.components
    shared = [
        name
        for name in entry.path
        if name in route_parts or (name in parts and parts[name].kind in NETWORK)
    ]
    link = [name for name in shared if name in route_parts and parts[name].kind not in NETWORK]
    keys = (f"{operation.value}/{scenario.value}" for operation, scenario, _ in entry.runs())
    rates = {key: _rate(entry, key) for key in keys}
    load: dict[tuple[str, str], float] = {}
    for key, rate in rates.items():
        rated = [name for name in shared if _capacity(topology, key, name) is not None]
        if entry.host == node or rate is None or not set(rated) & set(link):
            return None
        load.update({(key, name): rate for name in rated})
    return _Flow(entry.component, frozenset(entry.path) - frozenset(shared), load)


def _rate(entry: Expectation, key: str) -> Optional[float]:
    """Return the highest rate of an operation in bytes per second, None if unknown."""
    ceiling = entry.references[key].ceiling
    if ceiling is None:
        return None
    return min(ceiling.rate, entry.spec.rate_cap_Bps or ceiling.rate)


def _capacities(topology: Topology, flows: Sequence[_Flow]) -> Load:
    rates = {key: _capacity(topology, *key) for flow in flows for key in flow.load}
    return {key: rate for key, rate in rates.items() if rate is not None}


def _capacity(topology: Topology, key: str, name: str) -> Optional[float]:
    """Return the rate of a part in the direction of a step such as ``write/single``."""
    part = topology.components[name]
    return part.write_Bps if key.startswith("write") else part.read_Bps


def _kernel_messages() -> Mapping[str, str]:
    """Return a pattern for each kind of kernel message, for the role events.

    Without the part that reads such messages there are none.
    """
    if not is_installed("facts"):
        return {}
    patterns: Mapping[str, str] = load("facts", "contract").EVENTS
    return patterns


SCHEMA = 1


class Plan(NamedTuple):
    """Plan of a site; ``expectations`` are by node, in measuring order."""

    site: str
    expectations: dict[str, tuple[Expectation, ...]]
    schedule: dict[str, dict[str, Any]]
    port: int
    services: tuple[Service, ...]
    hosts: tuple[dict[str, str], ...]
    parts: dict[str, SitePart]
    paths: tuple[PathService, ...]
    parents: dict[str, list[str]]
    neighbours: dict[str, tuple[Neighbour, ...]]
    served: dict[str, tuple[str, ...]]
    elsewhere: dict[str, dict[str, str]]
    parameters: tuple[str, ...]
    """Patterns of Lustre parameters whose changes all nodes track."""
    confirm: dict[str, dict[str, Any]]
    """Schedule of confirmation by layer, without layers that have none."""
    parallel: Optional[dict[str, Any]] = None
    """Clients and program that drive all targets at once; None if there are none."""
    job_users: bool = False
    symptoms: str = ""
    """Systemd calendar of the look for symptoms."""
    drop_caches: frozenset[str] = frozenset()
    """Nodes on which root may drop caches."""
    space: Mapping[str, tuple[SpaceTerms, ...]] = {}
    """Limits of the file systems whose space each node reads."""
    space_calendar: str = ""
    """Systemd calendar of the look at space; empty for none."""
    shared: Mapping[str, Sequence[SharedReads]] = {}
    """Shared parts that each node reads with others."""

    def node(self, name: str) -> Expectations:
        """Return the document of one node; raise KeyError for an unknown name."""
        entries = tuple(entry.to_json() for entry in self.expectations[name])
        near, served = self.neighbours.get(name, ()), self.served.get(name, ())
        elsewhere = self.elsewhere.get(name, {})
        document = Expectations(name, self.site, entries, near, served, elsewhere, self.parameters)
        return document._replace(
            drops_caches=name in self.drop_caches,
            space=self.space.get(name, ()),
            shared=tuple(self.shared.get(name, ())),
        )

    def takes_s(self, layer: str) -> dict[str, float]:
        """Return the duration of each node's run of a layer in seconds, if everything is healthy.

        Empty for layers whose duration depends on more than their components' rates.
        """
        if not LAYERS[layer].grouped:
            return {}
        runs = (
            (name, [entry for entry in entries if entry.layer == layer])
            for name, entries in self.expectations.items()
        )
        return {name: seconds_of(entries) for name, entries in runs if entries}

    def to_json(self) -> dict[str, Any]:
        """Return the document form, schema number first."""
        return {
            "schema": SCHEMA,
            "site": self.site,
            "nodes": {name: self.node(name).to_json() for name in self.expectations},
            "schedule": self.schedule,
            "takes_s": {
                layer: {name: round(seconds, 1) for name, seconds in seconds_by_node.items()}
                for layer in self.schedule
                if (seconds_by_node := self.takes_s(layer))
            },
            "confirm": self.confirm,
            "symptoms": {"calendar": self.symptoms},
            **({"space": {"calendar": self.space_calendar}} if self.space_calendar else {}),
            "netserver": {"port": self.port},
            "services": write(self.services),
            "hosts": list(self.hosts),
            "parts": write(self.parts),
            "paths": write(self.paths),
            "parents": self.parents,
            "kernel_messages": _kernel_messages(),
            **({"fs": self.parallel} if self.parallel else {}),
            **({"job_users": True} if self.job_users else {}),
        }


def compile_plan(topology: Topology, policy: Policy, accepted: Baselines) -> Plan:
    """Compile the plan of a site; a host without measurements has an empty list.

    Raises:
        DocumentError: the documents do not match; the message names part or component.
    """
    measured = _with_odds(assignments(topology, policy), policy)
    ceilings = find_ceilings(topology, measured)
    goals = find_goals(policy, measured, ceilings)
    nodes: dict[str, list[Expectation]] = {host.name: [] for host in topology.hosts()}
    pair_limits = PairLimits(topology)
    for assignment in measured:
        nodes[assignment.node].append(
            expectation(assignment, ceilings, accepted, goals, pair_limits)
        )
    hosts = tuple(
        {"name": host.name, "kind": host.kind, "address": host.address or host.name}
        for host in topology.hosts()
    )
    measurement_services = services(measured)
    of_symptoms = symptom_services(policy.symptoms, [host["name"] for host in hosts], measured)
    space = space_terms(policy, measured)
    return Plan(
        topology.site,
        with_confirm(with_waves(topology, nodes), policy, measured),
        _schedule(policy, measured),
        policy.layers.net.port,
        # last, so that the positions of the others do not change
        (*measurement_services, *of_symptoms, *space_services(space)),
        hosts,
        _parts(topology),
        path_services(topology, measured, measurement_services),
        parents(topology),
        {host.name: tuple(_neighbours(topology, host)) for host in topology.hosts()},
        _served(topology, measured),
        elsewhere(topology),
        tuple(policy.conditions.parameters),
        confirm_schedule(policy),
        _parallel(policy.layers.fs),
        policy.job_users,
        policy.symptoms.calendar,
        _drop_caches(policy, nodes),
        space,
        policy.space.calendar if policy.space else "",
        with_own_terms(policy, measured),
    )


def _drop_caches(policy: Policy, hosts: Collection[str]) -> frozenset[str]:
    """Return the hosts on which root may drop caches; raise DocumentError for an unknown one."""
    names = frozenset(name for text in policy.drop_caches for name in expand(text))
    for name in sorted(names.difference(hosts)):
        raise DocumentError(
            f"plumbline_policy: drop_caches {name} is no host of plumbline_topology; correct its "
            "name, or remove it"
        )
    return names


def _with_odds(measured: Sequence[Assignment], policy: Policy) -> tuple[Assignment, ...]:
    thresholds = alarm_thresholds(policy, measured)
    return tuple(
        assignment._replace(limits=assignment.limits._replace(**thresholds[assignment.layer]))
        for assignment in measured
    )


def _parallel(layer: FsLayer) -> Optional[dict[str, Any]]:
    """Return the roles' part of the layer that drives all targets at once."""
    if not layer.clients:
        return None
    return {
        "launcher": layer.clients[0],
        "clients": list(layer.clients),
        "program": layer.launcher,
        "work": layer.work,
        **({"memory_bytes": layer.memory} if layer.memory else {}),
    }


def _parts(topology: Topology) -> dict[str, SitePart]:
    """Return kind and rates of each component, and the targets, which have no rates."""
    parts = {
        name: SitePart(part.kind, part.read_Bps, part.write_Bps)
        for name, part in topology.components.items()
    }
    targets = (*topology.targets, *topology.metadata)
    parts.update({name: SitePart("target", None, None) for name in targets})
    return parts


def _neighbours(topology: Topology, host: Component) -> Iterator[Neighbour]:
    """Yield the parts that a host feeds, then those that feed it."""
    components = topology.components.values()
    parts = [topology.components[name] for name in host.feeds]
    parts += [part for part in components if host.name in part.feeds and not part.device]
    for part in parts:
        rates = [rate for rate in (part.read_Bps, part.write_Bps) if rate is not None]
        yield Neighbour(part.name, part.kind, min(rates, default=None))


def _served(topology: Topology, measured: Sequence[Assignment]) -> dict[str, tuple[str, ...]]:
    """Return the Lustre names of each host's targets."""
    osts: dict[str, list[str]] = {host.name: [] for host in topology.hosts()}
    for assignment in measured:
        if LAYERS[assignment.layer].per_target and assignment.target["kind"] == "lustre":
            osts[assignment.host].append(assignment.target["ost"])
    return {host: tuple(names) for host, names in osts.items()}


def _schedule(policy: Policy, measured: Sequence[Assignment]) -> dict[str, dict[str, Any]]:
    hosts = [
        len(assignment.target["hosts"])
        for assignment in measured
        if LAYERS[assignment.layer].paired
    ]
    slots = policy.layers.net.schedule
    net = {
        "calendar": slots.calendar(),
        "randomized_delay_s": 0,
        "limit_s": round(slots.window),
        "window_s": round(slots.window),
        "slots": max(map(cycle, hosts), default=0),
    }
    timers = ((name, policy.layer(name).schedule) for name in LAYERS if policy.measures(name))
    schedule = {name: _times(timer) if isinstance(timer, Timer) else net for name, timer in timers}
    if not policy.layers.fs.clients:
        del schedule[FS.name]
    return schedule


def _times(timer: Timer) -> dict[str, Any]:
    return {
        "calendar": timer.calendar,
        "randomized_delay_s": round(timer.randomized_delay),
        "limit_s": round(timer.limit),
    }
