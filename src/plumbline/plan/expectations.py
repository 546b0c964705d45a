"""The plan of a site: all that the roles need to know, in one document.

Each node gets the names of targets that others measure, so a client can tell an OST that is in no
topology from a retired one.

The targets of a wave are measured at the same time.  They share nothing but the client's own link
and the network, whose rates carry the sum of their ceilings.  A client whose link has no rate
measures its targets one after the other.

The form of the plan is described in docs/architecture.md, "The plan".
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
from plumbline.model.record import Scenario
from plumbline.model.rounds import cycle
from plumbline.model.service import PathService, Service, SitePart
from plumbline.model.units import DAY_S, LARGEST
from plumbline.observe.kernel_messages import EVENTS
from plumbline.plan.assignments import Assignment, assignments
from plumbline.plan.baseline import Baselines
from plumbline.plan.duration import seconds_of
from plumbline.plan.policy import FsLayer, OstLayer, Policy
from plumbline.plan.references import expectation, find_ceilings, find_goals
from plumbline.plan.schedule import Timer
from plumbline.plan.services import parents, path_services, services, symptom_services
from plumbline.topology.document import NETWORK
from plumbline.topology.graph import Component, Target, Topology
from plumbline.topology.names import expand

_AT_A_CHANGE = 100.0
"""Nights that a change of versions stands for: one comes a few times a year, and a loss that begins
at any night is as likely to begin there as at one of the hundred others.  So the nights between two
changes spend the budget once, and the change once more."""


class Needed(NamedTuple):
    """Evidence that an alarm takes: the odds against chance that it is one.

    ``ends`` are, by layer, the odds for health that end it: only the few components with an alarm
    are asked, so these odds follow from the questions of one component.  ``change_starts`` says, by
    layer, for how many nights a change of versions counts as the start of a loss, where it is asked
    what all share.
    """

    odds: float
    ends: Mapping[str, float]
    change_starts: Mapping[str, float]


def needed(policy: Policy, measured: Sequence[Assignment]) -> Needed:
    """Return what an alarm takes at a site.

    Each run asks whether a component is slow, whether its group is as one, and whether a part is
    that several devices share or a pair of hosts that meet; of a host whether it retransmits, and
    of what is measured in parallel whether its profile is another.  A confirmation asks of its
    components once more, and there are as many as their bytes allow.

    A release slows what all share.  So what a change may spend of the budget is spent on groups,
    and on what is in none, not on each component; the layers have equal shares of it.
    """
    monthly = {layer: MONTH_S / policy.layer(layer).period_s() for layer in LAYERS}
    wholes = Counter(_wholes(measured))
    questions = sum(monthly[layer] for layer in _others(measured))
    questions += sum(monthly[layer] * number for layer, number in wholes.items())
    share = _AT_A_CHANGE * questions / len(wholes) if wholes else 0.0
    starts = {layer: share / (monthly[layer] * number) for layer, number in wholes.items()}
    confirmed = {layer: monthly[layer] * _confirmed(policy, layer) for layer in LAYERS}
    questions += sum(confirmed[assignment.layer] for assignment in measured)
    ends = {
        layer: odds_within(policy.alarm_budget, monthly[layer] + confirmed[layer])
        for layer in LAYERS
    }
    return Needed(odds_within(policy.alarm_budget, questions), ends, starts)


def _confirmed(policy: Policy, layer: str) -> float:
    """Return how many confirmations there are for each planned run of a layer."""
    rules = policy.layer(layer)
    return rules.confirm.bytes if isinstance(rules, OstLayer) and rules.confirm.runs else 0.0


def _wholes(measured: Sequence[Assignment]) -> Iterator[str]:
    """Yield the layer of each group, and of each component that is in none."""
    for (layer, _), members in _groups(measured).items():
        # what is measured as a whole has a group of its own
        yield from [layer] * (members if LAYERS[layer].whole else 1)


def _others(measured: Sequence[Assignment]) -> Iterator[str]:
    """Yield the layer of each other question of one time."""
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
    """Return how many members each group has."""
    return Counter(_group(assignment) for assignment in measured)


def _group(assignment: Assignment) -> tuple[str, str]:
    return assignment.layer, LAYERS[assignment.layer].peer_group(assignment.group)


_IN_A_RUN = 3
"""A component and two healthy peers."""

NodeGroups = Mapping[str, Sequence[Expectation]]


def with_confirm(
    nodes: NodeGroups, policy: Policy, measured: Sequence[Assignment]
) -> dict[str, tuple[Expectation, ...]]:
    """Return what each node measures, with how it is confirmed where it was low."""
    here: dict[tuple[str, str], list[Assignment]] = {}
    for assignment in measured:
        here.setdefault((assignment.node, assignment.layer), []).append(assignment)
    rules = _rules(policy)
    terms = {
        place: _terms(rules[place[1]], near) for place, near in here.items() if place[1] in rules
    }
    return {
        node: tuple(
            entry._replace(confirm=terms.get((node, entry.layer), OFF)) for entry in entries
        )
        for node, entries in nodes.items()
    }


def confirm_schedule(policy: Policy) -> dict[str, dict[str, Any]]:
    """Return when each layer is confirmed, as the roles must know it; nothing where it is off."""
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
    """Return the terms of a node's layer, of which something is measured.

    What one component takes to be confirmed can always be saved up, however little a node measures.
    """
    policy = layer.confirm
    each = [
        assignment.spec.bytes * assignment.spec.repeats * len(assignment.steps)
        for assignment in measured
    ]
    share = policy.bytes * sum(each)
    whole = policy.runs * _IN_A_RUN * max(each)
    daily = share * DAY_S / layer.schedule.every
    # whatever a person types, it is a number that a document holds
    return Confirm(policy.runs, policy.every, min(LARGEST, daily), min(LARGEST, whole + share))


def _rules(policy: Policy) -> dict[str, OstLayer]:
    layers = {name: policy.layer(name) for name, layer in LAYERS.items() if layer.confirmable}
    return {name: rules for name, rules in layers.items() if isinstance(rules, OstLayer)}


def elsewhere(topology: Topology) -> dict[str, dict[str, str]]:
    """Return for each client the other targets of its file systems, each with its node.

    Nobody, an empty name, measures the retired ones.
    """
    of_targets = {name: _systems(target) for name, target in topology.targets.items()}
    systems: dict[str, set[str]] = {}
    for target in topology.targets.values():
        if not target.retired:
            systems.setdefault(target.client, set()).update(of_targets[target.name])
    return {
        client: {
            target.name: "" if target.retired else target.client
            for target in topology.targets.values()
            if (target.retired or target.client != client)
            and not own.isdisjoint(of_targets[target.name])
        }
        for client, own in systems.items()
    }


def _systems(target: Target) -> set[str]:
    """Return the names of a target's file system: that of the topology, and Lustre's own."""
    return {target.file_system, *_lustre(target.reach)}


def _lustre(reach: Mapping[str, str]) -> set[str]:
    """Return the name that Lustre has for the file system of an OST, none for other targets."""
    ost = reach.get("ost", "") if reach.get("kind") == "lustre" else ""
    return {f"lustre {ost.rpartition('-')[0]}"} if ost else set()


_NO_STORAGE = (*NETWORK, "client", "target")


class Meeting(NamedTuple):
    """Nodes whose measurements of targets meet on some parts of the storage."""

    nodes: tuple[str, ...]
    parts: tuple[str, ...]


def meetings(
    nodes: Mapping[str, Sequence[Expectation]], parts: Mapping[str, SitePart]
) -> Iterator[Meeting]:
    """Yield who meets on which parts, in the order of their paths."""
    crossed: dict[str, dict[str, None]] = {}
    for node, entries in nodes.items():
        for entry in entries:
            for name in entry.path if LAYERS[entry.layer].per_target else ():
                if parts[name].kind not in _NO_STORAGE:
                    crossed.setdefault(name, {})[node] = None
    met: dict[tuple[str, ...], list[str]] = {}
    for name, crossing in crossed.items():
        if len(crossing) > 1:
            met.setdefault(tuple(crossing), []).append(name)
    for found_nodes, names in met.items():
        yield Meeting(found_nodes, tuple(names))


MOST_AT_ONCE = 16
"""Targets of a wave: fio holds some 30 MiB for each, and the unit may hold 1 GiB by default."""

_OPEN = 64
"""Waves that may still take a target: as many targets in a row may lie on one server."""

_TIE = 1 + 1e-9
"""Rounding alone makes no sum too large."""

Nodes = Mapping[str, Sequence[Expectation]]
Load = Mapping[tuple[str, str], float]
"""Bytes per second on each shared part with a rate, by step and part."""


class _Flow(NamedTuple):
    """Rate that a target needs for itself, and its load on parts that others use as well."""

    name: str
    own: frozenset[str]
    load: Load


class _Wave:
    """Targets that do not disturb one another, and what they leave of the parts they share."""

    def __init__(self, capacities: Load) -> None:
        self.names: list[str] = []
        self._capacities = capacities
        self._own: set[str] = set()
        self._loads: dict[tuple[str, str], float] = {}

    def takes(self, flow: _Flow) -> bool:
        """Add a target and return True, or False where it would disturb or be disturbed."""
        if not self._own.isdisjoint(flow.own):
            return False
        sums = {key: self._loads.get(key, 0.0) + load for key, load in flow.load.items()}
        if self.names and any(sums[key] > self._capacities[key] * _TIE for key in sums):
            return False
        self.names.append(flow.name)
        self._own |= flow.own
        self._loads.update(sums)
        return True


def with_waves(topology: Topology, nodes: Nodes) -> dict[str, tuple[Expectation, ...]]:
    """Return what each node measures, with the wave in which it does."""
    return {node: tuple(_numbered(topology, node, entries)) for node, entries in nodes.items()}


def _numbered(
    topology: Topology, node: str, entries: Sequence[Expectation]
) -> Iterator[Expectation]:
    """Yield what a node measures with numbers of waves, from 1 on where there are several in it."""
    chosen = [entry for entry in entries if LAYERS[entry.layer].per_target]
    way = {name for route in topology.routes[node] for name in route}
    flows = [flow for entry in chosen if (flow := _flow(topology, way, node, entry))]
    several = (wave for wave in _fill(flows, _capacities(topology, flows)) if len(wave.names) > 1)
    numbers = {name: number for number, wave in enumerate(several, 1) for name in wave.names}
    for entry in entries:
        own_wave = numbers.get(entry.component, ALONE) if LAYERS[entry.layer].per_target else ALONE
        yield entry._replace(wave=own_wave) if own_wave else entry


def _fill(flows: Sequence[_Flow], capacities: Load) -> list[_Wave]:
    """Return waves, each target in the first one that takes it."""
    waves: list[_Wave] = []
    still_open: list[_Wave] = []
    for flow in flows:
        chosen = next((wave for wave in still_open if wave.takes(flow)), None)
        if chosen is None:
            chosen = _Wave(capacities)
            chosen.takes(flow)
            waves.append(chosen)
            still_open = [*still_open, chosen][-_OPEN:]
        elif len(chosen.names) == MOST_AT_ONCE:
            still_open.remove(chosen)
    return waves


def _flow(
    topology: Topology, way: Collection[str], node: str, entry: Expectation
) -> Optional[_Flow]:
    """Return what a target needs, None where it cannot be measured beside another one."""
    parts = topology.components
    shared = [
        name
        for name in entry.path
        if name in way or (name in parts and parts[name].kind in NETWORK)
    ]
    link = [name for name in shared if name in way and parts[name].kind not in NETWORK]
    rates = {key: _rate(entry, key) for key in entry.references}
    load: dict[tuple[str, str], float] = {}
    for key, rate in rates.items():
        rated = [name for name in shared if _capacity(topology, key, name) is not None]
        if entry.host == node or rate is None or not set(rated) & set(link):
            return None
        load.update({(key, name): rate for name in rated})
    return _Flow(entry.component, frozenset(entry.path) - frozenset(shared), load)


def _rate(entry: Expectation, key: str) -> Optional[float]:
    """Return the most that an operation moves in a second, None where that is not known."""
    ceiling = entry.references[key].ceiling
    if ceiling is None:
        return None
    return min(ceiling.rate, entry.spec.rate_cap_Bps or ceiling.rate)


def _capacities(topology: Topology, flows: Sequence[_Flow]) -> Load:
    rates = {key: _capacity(topology, *key) for flow in flows for key in flow.load}
    return {key: rate for key, rate in rates.items() if rate is not None}


def _capacity(topology: Topology, key: str, name: str) -> Optional[float]:
    """Return what a part carries in the direction of a step, ``write/single`` for instance."""
    part = topology.components[name]
    return part.write_Bps if key.startswith("write") else part.read_Bps


SCHEMA = 1


class Plan(NamedTuple):
    """Plan of a site: nodes, measurements, times; ``expectations`` by node, in measuring order."""

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
    """Patterns of Lustre's parameters whose changes every node follows."""
    confirm: dict[str, dict[str, Any]]
    """Schedule of confirmation by layer; without layers where it is off."""
    parallel: Optional[dict[str, Any]] = None
    """Clients and program that drive all targets at once; None if nobody does."""
    job_users: bool = False
    symptoms: str = ""
    """Schedule of the look for symptoms, as systemd's calendar."""
    drop_caches: frozenset[str] = frozenset()
    """Nodes on which root may drop caches."""

    def node(self, name: str) -> Expectations:
        """Return the document of one node; KeyError for a name that is none."""
        entries = tuple(entry.to_json() for entry in self.expectations[name])
        near, served = self.neighbours.get(name, ()), self.served.get(name, ())
        elsewhere = self.elsewhere.get(name, {})
        document = Expectations(name, self.site, entries, near, served, elsewhere, self.parameters)
        return document._replace(drops_caches=name in self.drop_caches)

    def takes_s(self, layer: str) -> dict[str, float]:
        """Return for each node the seconds of its run of a layer while everything is healthy.

        Of layers whose run follows from the rates of their components alone.
        """
        if not LAYERS[layer].grouped:
            return {}
        runs = (
            (name, [entry for entry in entries if entry.layer == layer])
            for name, entries in self.expectations.items()
        )
        return {name: seconds_of(mine) for name, mine in runs if mine}

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
            "netserver": {"port": self.port},
            "services": write(self.services),
            "hosts": list(self.hosts),
            "parts": write(self.parts),
            "paths": write(self.paths),
            "parents": self.parents,
            "kernel_messages": EVENTS,
            **({"fs": self.parallel} if self.parallel else {}),
            **({"job_users": True} if self.job_users else {}),
        }


def compile_plan(topology: Topology, policy: Policy, accepted: Baselines) -> Plan:
    """Return the plan of a site; a host that measures nothing has an empty list.

    Raises:
        DocumentError: the documents do not fit together; the message names part or component.
    """
    measured = _with_odds(assignments(topology, policy), policy)
    ceilings = find_ceilings(topology, measured)
    goals = find_goals(policy, measured, ceilings)
    nodes: dict[str, list[Expectation]] = {host.name: [] for host in topology.hosts()}
    for assignment in measured:
        nodes[assignment.node].append(expectation(topology, assignment, ceilings, accepted, goals))
    hosts = tuple(
        {"name": host.name, "kind": host.kind, "address": host.address or host.name}
        for host in topology.hosts()
    )
    shown = services(measured)
    of_symptoms = symptom_services(policy.symptoms, [host["name"] for host in hosts], measured)
    return Plan(
        topology.site,
        with_confirm(with_waves(topology, nodes), policy, measured),
        _schedule(policy, measured),
        policy.layers.net.port,
        # last, so that the places of the others stand
        (*shown, *of_symptoms),
        hosts,
        _parts(topology),
        path_services(topology, measured, shown),
        parents(topology),
        {host.name: tuple(_neighbours(topology, host)) for host in topology.hosts()},
        {host.name: tuple(_served(measured, host.name)) for host in topology.hosts()},
        elsewhere(topology),
        tuple(policy.conditions.parameters),
        confirm_schedule(policy),
        _parallel(policy.layers.fs),
        policy.job_users,
        policy.symptoms.calendar,
        _drop_caches(policy, nodes),
    )


def _drop_caches(policy: Policy, hosts: Collection[str]) -> frozenset[str]:
    """Return the hosts that the policy names; raise DocumentError for one that is none."""
    names = frozenset(name for text in policy.drop_caches for name in expand(text))
    for name in sorted(names.difference(hosts)):
        raise DocumentError(
            f"plumbline_policy: drop_caches {name} is no host of plumbline_topology; correct its "
            "name, or remove it"
        )
    return names


def _with_odds(measured: Sequence[Assignment], policy: Policy) -> tuple[Assignment, ...]:
    odds, ends, starts = needed(policy, measured)
    return tuple(
        assignment._replace(
            limits=assignment.limits._replace(
                alarm_odds=odds,
                end_odds=ends[assignment.layer],
                change_starts=starts[assignment.layer],
            )
        )
        for assignment in measured
    )


def _parallel(layer: FsLayer) -> Optional[dict[str, Any]]:
    """Return what the roles must know of the layer that drives all targets at once."""
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
    """Return what each component is and carries, and the targets, which never limit."""
    parts = {
        name: SitePart(part.kind, part.read_Bps, part.write_Bps)
        for name, part in topology.components.items()
    }
    parts.update({name: SitePart("target", None, None) for name in topology.targets})
    return parts


def _neighbours(topology: Topology, host: Component) -> Iterator[Neighbour]:
    """Yield what a host feeds, then what feeds it."""
    components = topology.components.values()
    near = [topology.components[name] for name in host.feeds]
    near += [part for part in components if host.name in part.feeds and not part.device]
    for part in near:
        rates = [rate for rate in (part.read_Bps, part.write_Bps) if rate is not None]
        yield Neighbour(part.name, part.kind, min(rates, default=None))


def _served(measured: Sequence[Assignment], server: str) -> Iterator[str]:
    """Yield the names that Lustre has for the targets of a server."""
    for assignment in measured:
        if (
            LAYERS[assignment.layer].per_target
            and assignment.host == server
            and assignment.target["kind"] == "lustre"
        ):
            yield assignment.target["ost"]


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
    schedule = {name: _timed(timer) if isinstance(timer, Timer) else net for name, timer in timers}
    if not policy.layers.fs.clients:
        del schedule[FS.name]
    return schedule


def _timed(timer: Timer) -> dict[str, Any]:
    return {
        "calendar": timer.calendar,
        "randomized_delay_s": round(timer.randomized_delay),
        "limit_s": round(timer.limit),
    }
