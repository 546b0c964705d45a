"""The plan: all that the roles need to know of a site, in one document.

Its form is described in docs/architecture.md, "The plan".
"""

from __future__ import annotations

from typing import Any, Collection, Iterator, NamedTuple, Optional, Sequence

from plumbline.baseline.document import Baselines
from plumbline.errors import DocumentError
from plumbline.expect.confirm import confirm_schedule, with_confirm
from plumbline.expect.elsewhere import elsewhere
from plumbline.expect.goals import find_goals
from plumbline.expect.paths import parents, path_services
from plumbline.expect.references import expectation, find_ceilings
from plumbline.expect.services import services
from plumbline.expect.symptoms import symptom_services
from plumbline.expect.waves import with_waves
from plumbline.layers import GROUPED, LAYERS, PAIRED, SINGLE_TARGETS
from plumbline.layers.fs import FS
from plumbline.model.expectation import Expectation, Expectations, Neighbour
from plumbline.model.part import SitePart
from plumbline.model.path_service import PathService
from plumbline.model.service import Service
from plumbline.plan.assignment import Assignment
from plumbline.plan.assignments import assignments
from plumbline.plan.budget import needed
from plumbline.plan.duration import seconds_of
from plumbline.plan.policy import FsLayer, Policy
from plumbline.plan.rounds import cycle
from plumbline.plan.schedule import Timer
from plumbline.symptoms.patterns import PATTERNS
from plumbline.topology.component import Component
from plumbline.topology.graph import Topology
from plumbline.topology.ranges import expand

SCHEMA = 1


class Plan(NamedTuple):
    """Which node measures what, when; ``expectations`` by node, in measuring order."""

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
    """When what was low is measured again, by layer; without those where it is off."""
    parallel: Optional[dict[str, Any]] = None
    """Who drives all targets at once and with which program; None where nobody does."""
    job_users: bool = False
    symptoms: str = ""
    """When nodes look for symptoms, as systemd's calendar."""
    drop_caches: frozenset[str] = frozenset()
    """Nodes on which root may drop caches."""

    def node(self, name: str) -> Expectations:
        """Return the document of one node; KeyError for a name that is none."""
        entries = tuple(entry.to_json() for entry in self.expectations[name])
        near, served = self.neighbours.get(name, ()), self.served.get(name, ())
        elsewhere = self.elsewhere.get(name, {})
        found = Expectations(name, self.site, entries, near, served, elsewhere, self.parameters)
        return found._replace(drops_caches=name in self.drop_caches)

    def takes_s(self, layer: str) -> dict[str, float]:
        """Return for each node the seconds of its run of a layer while everything is healthy.

        Of layers whose run follows from the rates of their components alone.
        """
        if layer not in GROUPED:
            return {}
        runs = (
            (name, [one for one in entries if one.layer == layer])
            for name, entries in self.expectations.items()
        )
        return {name: seconds_of(found) for name, found in runs if found}

    def to_json(self) -> dict[str, Any]:
        """Return the document form, schema number first."""
        return {
            "schema": SCHEMA,
            "site": self.site,
            "nodes": {name: self.node(name).to_json() for name in self.expectations},
            "schedule": self.schedule,
            "takes_s": {
                layer: {name: round(seconds, 1) for name, seconds in found.items()}
                for layer in self.schedule
                if (found := self.takes_s(layer))
            },
            "confirm": self.confirm,
            "symptoms": {"calendar": self.symptoms},
            "netserver": {"port": self.port},
            "services": [service.to_json() for service in self.services],
            "hosts": list(self.hosts),
            "parts": {name: part._asdict() for name, part in self.parts.items()},
            "paths": [path.to_json() for path in self.paths],
            "parents": self.parents,
            "kernel_messages": {kind: found.pattern for kind, found in PATTERNS.items()},
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
    for one in measured:
        nodes[one.node].append(expectation(topology, one, ceilings, accepted, goals))
    hosts = tuple(
        {"name": host.name, "kind": host.kind, "address": host.address or host.name}
        for host in topology.hosts()
    )
    found = services(measured)
    of_symptoms = symptom_services(policy.symptoms, [host["name"] for host in hosts], measured)
    return Plan(
        topology.site,
        with_confirm(with_waves(topology, nodes), policy, measured),
        _schedule(policy, measured),
        policy.layers.net.port,
        # last, so that the places of the others stand
        (*found, *of_symptoms),
        hosts,
        _parts(topology),
        path_services(topology, measured, found),
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
    odds, starts = needed(policy, measured)
    return tuple(
        one._replace(limits=one.limits._replace(alarm_odds=odds, change_starts=starts[one.layer]))
        for one in measured
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
    found = {
        name: SitePart(part.kind, part.read_Bps, part.write_Bps)
        for name, part in topology.components.items()
    }
    found.update({name: SitePart("target", None, None) for name in topology.targets})
    return found


def _neighbours(topology: Topology, host: Component) -> Iterator[Neighbour]:
    """Yield what a host feeds, then what feeds it."""
    others = topology.components.values()
    near = [topology.components[name] for name in host.feeds]
    near += [part for part in others if host.name in part.feeds and not part.device]
    for part in near:
        rates = [rate for rate in (part.read_Bps, part.write_Bps) if rate is not None]
        yield Neighbour(part.name, part.kind, min(rates, default=None))


def _served(measured: Sequence[Assignment], server: str) -> Iterator[str]:
    """Yield the names that Lustre has for the targets of a server."""
    for one in measured:
        if one.layer in SINGLE_TARGETS and one.host == server and one.target["kind"] == "lustre":
            yield one.target["ost"]


def _schedule(policy: Policy, measured: Sequence[Assignment]) -> dict[str, dict[str, Any]]:
    hosts = [len(one.target["hosts"]) for one in measured if one.layer in PAIRED]
    slots = policy.layers.net.schedule
    net = {
        "calendar": slots.calendar(),
        "randomized_delay_s": 0,
        "limit_s": round(slots.window),
        "window_s": round(slots.window),
        "slots": max(map(cycle, hosts), default=0),
    }
    timers = ((name, policy.layer(name).schedule) for name in LAYERS)
    found = {name: _timed(one) if isinstance(one, Timer) else net for name, one in timers}
    if not policy.layers.fs.clients:
        del found[FS.name]
    return found


def _timed(timer: Timer) -> dict[str, Any]:
    return {
        "calendar": timer.calendar,
        "randomized_delay_s": round(timer.randomized_delay),
        "limit_s": round(timer.limit),
    }
