"""The plan of a site: one document with everything that the roles need.

Each node gets the names of targets that other nodes measure, so that a client can distinguish an
OST missing from the topology from a retired one.

The format of the plan is described in docs/architecture.md, "The plan".
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Collection, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.codec import write
from plumbline.model.errors import DocumentError
from plumbline.model.evidence import MONTH_S, odds_within
from plumbline.model.expectation import (
    OFF,
    Confirm,
    Expectation,
    Expectations,
    FabricLink,
    Neighbour,
    Switches,
)
from plumbline.model.layers import LAYERS
from plumbline.model.layers.fs import FS
from plumbline.model.parts import is_installed, load
from plumbline.model.record import Scenario
from plumbline.model.rounds import cycle
from plumbline.model.service import PathService, Service, SitePart
from plumbline.model.shared import SharedReads
from plumbline.model.space import SpaceTerms
from plumbline.model.units import DAY_S, LARGEST
from plumbline.plan.assignments import assignments
from plumbline.plan.baseline import Baselines
from plumbline.plan.duration import seconds_of
from plumbline.plan.fabric import fabric_links, switches
from plumbline.plan.file_systems import launching
from plumbline.plan.places import Assignment
from plumbline.plan.policy import Policy, TargetLayer
from plumbline.plan.references import PairLimits, expectation, find_ceilings, find_goals
from plumbline.plan.schedule import Slots, Timer
from plumbline.plan.server_places import left_out
from plumbline.plan.services import parents, path_services, services, symptom_services
from plumbline.plan.shared import with_own_terms
from plumbline.plan.space import space_services, space_terms
from plumbline.plan.waves import one_by_one, with_waves
from plumbline.topology.graph import Component, Target, Topology
from plumbline.topology.names import expand
from plumbline.topology.paths import next_to_hosts

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
    return rules.confirm.bytes if isinstance(rules, TargetLayer) and rules.confirm.runs else 0.0


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


def _terms(layer: TargetLayer, measured: Sequence[Assignment]) -> Confirm:
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


def _rules(policy: Policy) -> dict[str, TargetLayer]:
    layers = {
        name: policy.layer(name)
        for name, layer in LAYERS.items()
        if layer.confirmable and policy.measures(name)
    }
    return {name: rules for name, rules in layers.items() if isinstance(rules, TargetLayer)}


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
    left_out: tuple[str, ...] = ()
    """Sentences on targets that a named layer leaves out."""
    one_by_one: tuple[str, ...] = ()
    """Sentences on clients that measure in turn because their links have no rate."""
    fabric: Mapping[str, tuple[FabricLink, ...]] = {}
    """Links of the topology for each node that looks at the InfiniBand fabric."""
    switches: Mapping[str, Switches] = {}
    """Switches that the links of each node lead to, and all others."""
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
            fabric=self.fabric.get(name),
            switches=self.switches.get(name),
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


def compile_plan(
    topology: Topology,
    policy: Policy,
    accepted: Baselines,
    known: Optional[Sequence[Assignment]] = None,
) -> Plan:
    """Compile the plan of a site; a host without measurements has an empty list.

    ``known`` are its assignments if they are known already.

    Raises:
        DocumentError: the documents do not match; the message names part or component.
    """
    every = assignments(topology, policy) if known is None else known
    measured = _with_odds(every, policy)
    ceilings = find_ceilings(topology, measured)
    goals = find_goals(policy, measured, ceilings)
    nodes: dict[str, list[Expectation]] = {host.name: [] for host in topology.hosts()}
    pair_limits = PairLimits(topology, measured)
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
        {name: tuple(map(_neighbour, parts)) for name, parts in next_to_hosts(topology).items()},
        _served(topology, measured),
        elsewhere(topology),
        tuple(policy.conditions.parameters),
        confirm_schedule(policy),
        launching(policy.layers.fs),
        policy.job_users,
        policy.symptoms.calendar,
        _drop_caches(policy, nodes),
        space,
        policy.space.calendar if policy.space else "",
        left_out=tuple(_left_out(topology, policy)),
        one_by_one=tuple(one_by_one(topology, nodes)),
        fabric=fabric_links(topology, policy.symptoms),
        switches=switches(topology),
        shared=with_own_terms(policy, measured),
    )


def _left_out(topology: Topology, policy: Policy) -> Iterator[str]:
    """Yield a sentence on the targets that servers cannot measure beside what they serve."""
    for name, layer in LAYERS.items():
        if layer.on_servers and policy.measures(name):
            yield from left_out(topology, layer)


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


def _parts(topology: Topology) -> dict[str, SitePart]:
    """Return kind and rates of each component, and the targets, which have no rates."""
    parts = {
        name: SitePart(part.kind, part.read_Bps, part.write_Bps)
        for name, part in topology.components.items()
    }
    targets = (*topology.targets, *topology.metadata)
    parts.update({name: SitePart("target", None, None) for name in targets})
    return parts


def _neighbour(part: Component) -> Neighbour:
    rates = [rate for rate in (part.read_Bps, part.write_Bps) if rate is not None]
    return Neighbour(part.name, part.kind, min(rates, default=None))


_LUSTRE_NAME = {"lustre": "ost", "lustre-mdt": "mdt"}
"""Key of a target's name in Lustre, by its kind."""


def _served(topology: Topology, measured: Sequence[Assignment]) -> dict[str, tuple[str, ...]]:
    """Return the Lustre names of each host's targets, of data and metadata."""
    served: dict[str, list[str]] = {host.name: [] for host in topology.hosts()}
    for assignment in measured:
        key = _LUSTRE_NAME.get(assignment.target["kind"])
        if key and LAYERS[assignment.layer].one_target:
            served[assignment.host].append(assignment.target[key])
    return {host: tuple(names) for host, names in served.items()}


def _schedule(policy: Policy, measured: Sequence[Assignment]) -> dict[str, dict[str, Any]]:
    timers = ((name, policy.layer(name).schedule) for name in LAYERS if policy.measures(name))
    schedule = {
        name: _times(timer)
        if isinstance(timer, Timer)
        else _windows(timer, [item for item in measured if item.layer == name])
        for name, timer in timers
    }
    if not policy.layers.fs.clients:
        del schedule[FS.name]
    return schedule


def _windows(slots: Slots, measured: Sequence[Assignment]) -> dict[str, Any]:
    return {
        "calendar": slots.calendar(),
        "randomized_delay_s": 0,
        "limit_s": round(slots.window),
        "window_s": round(slots.window),
        "slots": max((cycle(len(item.target["hosts"])) for item in measured), default=0),
    }


def _times(timer: Timer) -> dict[str, Any]:
    return {
        "calendar": timer.calendar,
        "randomized_delay_s": round(timer.randomized_delay),
        "limit_s": round(timer.limit),
    }
