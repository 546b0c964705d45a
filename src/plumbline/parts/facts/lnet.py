"""Symptoms of LNet: interfaces of this host, the servers that it needs, and routes.

Only servers to which Lustre is connected count as peers here.  The peers of a server are all
clients as well, and a client that restarts is no fault.  A peer is compared with the other servers:
if most of them look bad, this host does.
"""

from __future__ import annotations

import re
from statistics import median
from typing import Callable, Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.command import Completed, printable
from plumbline.model.errors import PlumblineError, PrivilegeError, ToolError
from plumbline.model.names import several
from plumbline.model.symptom import Look, Symptom
from plumbline.observe.query import QUICK_S, complaint
from plumbline.parts.facts import lustre
from plumbline.parts.facts.lnet_output import (
    FULL,
    INTERFACES,
    MODULE,
    PEER_INTERFACES,
    ROUTES,
    Interface,
    Route,
    failure_kind,
    local_interfaces,
    peer_interfaces,
    routes,
)
from plumbline.parts.facts.node import Growth, Node
from plumbline.parts.facts.rules import rules

NAME = "lnet"

RULES = rules(
    NAME,
    """
    down | warning | the device of LNet interface {nid} has failed
    health | warning | LNet interface {nid} has health {health} of {full}{lost}
    lost | warning | LNet interface {nid} lost {number:.0f} messages, the others of its network \
        {usual:.0f} each
    peer_health | warning | LNet peer {nid} has health {health} of {full}{lost}; {healthy} of \
        {others} other peers have all
    peer_lost | ok | LNet lost {number:.0f} messages to peer {nid}, {usual:.0f} to each other one
    peer_silent | warning | LNet peer {nid} does not answer a ping ({words}){others}
    peers | warning | {below} of {number} LNet peers of this host have less than full health
    silence | warning | none of {number} LNet peers answers a ping ({words})
    route | warning | the LNet route to {network} by {gateway} is down, {up} of {number} are up
    no_route | critical | no LNet route to {network} is up, by {gateways}
    """,
)

_PING = ("lnetctl", "ping", "--timeout", "1000")
"""A healthy peer answers within milliseconds; the limit is in milliseconds."""
_PING_S = 3.0
_MAX_PINGED = 8
"""Most peers that are pinged in one look; the others have their turn in the next ones."""
_MAX_PINGING_S = 10.0
_TURN_S = 600.0

_DESCRIPTION = re.compile(r"failed to ping \S+: ([^'\"\n]{1,80})")
_MIN_LOST = 10
_FASTER = 10
"""Lost messages count if there are ten, and ten times as many as of the median of the peers."""


def look(node: Node) -> Look:
    """Look at the interfaces of this host, at the servers that it uses, and at its routes.

    Raises:
        ToolError: LNet is not loaded, or lnetctl gives no answer.
        PrivilegeError: this user may not read the health.
    """
    if not node.system.names(MODULE):
        raise ToolError(f"{MODULE} is not there: LNet is not loaded")
    interfaces = local_interfaces(_ask(node, INTERFACES), " ".join(INTERFACES))
    symptoms = list(_interface_symptoms(node, interfaces))
    notes = [
        note
        for further in (_peer_symptoms, _route_symptoms)
        for note in _gathered(symptoms, further, node)
    ]
    return Look(NAME, len(interfaces), tuple(symptoms), tuple(notes))


def _gathered(
    symptoms: list[Symptom], further: Callable[[Node], Iterator[Symptom]], node: Node
) -> tuple[str, ...]:
    """Add further symptoms; return a note if they cannot be read, for the others hold."""
    try:
        symptoms.extend(further(node))
    except (ToolError, PrivilegeError) as error:
        return (str(error),)
    return ()


def _ask(node: Node, argv: Sequence[str]) -> str:
    completed = node.system.run(argv, QUICK_S)
    if not completed.ok:
        raise _trouble(completed)
    return completed.stdout


def _trouble(completed: Completed) -> PlumblineError:
    reason = failure_kind(completed)
    if reason == "denied":
        return PrivilegeError(
            f"{' '.join(completed.argv)} is refused to this user; set symptoms_lnet of the role "
            "symptoms, or ask as root where Lustre is older than 2.16"
        )
    return ToolError("LNet has no interface" if reason == "absent" else complaint(completed))


def _interface_symptoms(node: Node, interfaces: Sequence[Interface]) -> Iterator[Symptom]:
    component, _ = node.parts.of_kind("nic", "link")
    growths = _growths(node, interfaces)
    for interface in interfaces:
        growth = growths[interface.nid]
        if interface.has_failed:
            yield RULES["down"].symptom(component, nid=interface.nid)
        if interface.health < FULL:
            yield RULES["health"].symptom(
                component,
                growth and growth.since,
                nid=interface.nid,
                health=interface.health,
                full=FULL,
                lost=_lost(growth),
            )
        elif excess := _excess(growths, interface.nid):
            values = {"number": excess.growth.amount, "usual": excess.usual}
            yield RULES["lost"].symptom(component, excess.growth.since, nid=interface.nid, **values)


def _lost(growth: Optional[Growth]) -> str:
    return f", {growth.amount:.0f} messages lost" if growth else ""


def _growths(
    node: Node, interfaces: Sequence[Interface], place: str = ""
) -> dict[str, Optional[Growth]]:
    """Return the growth of the lost messages of each interface; ``place`` sets peers apart."""
    return {
        nid: node.counters.growth(f"{NAME}/{place}{nid}/errors", errors)
        for nid, errors in ((interface.nid, interface.errors) for interface in interfaces)
    }


class _Excess(NamedTuple):
    """Growth that exceeds that of the peers, ``usual`` at their median."""

    growth: Growth
    usual: float


def _excess(growths: Mapping[str, Optional[Growth]], nid: str) -> Optional[_Excess]:
    """Return the growth of an interface if others of its network lost far less, else None."""
    growth, network = growths[nid], nid.rpartition("@")[2]
    others = [
        other.amount if other else 0.0
        for name, other in growths.items()
        if name != nid and name.rpartition("@")[2] == network
    ]
    if growth is None or not others:
        return None
    usual = median(others)
    return _Excess(growth, usual) if growth.amount >= max(_MIN_LOST, _FASTER * usual) else None


class _Pings(NamedTuple):
    """Number of peers that were pinged, and the reason of each one without an answer, by nid."""

    asked: int
    silent: Mapping[str, str]


def _peer_symptoms(node: Node) -> Iterator[Symptom]:
    """Look at the interfaces of the servers that Lustre uses, and ping some of them."""
    servers = lustre.servers(node)
    if not servers:
        return
    text = _ask(node, PEER_INTERFACES)
    peers = [
        peer
        for peer in peer_interfaces(text, " ".join(PEER_INTERFACES))
        if {peer.nid, peer.primary} & servers
    ]
    pings = _ping_some(node, peers)
    yield from _silence_symptoms(node, pings)
    yield from _health_symptoms(node, [peer for peer in peers if peer.nid not in pings.silent])


def _health_symptoms(node: Node, peers: Sequence[Interface]) -> Iterator[Symptom]:
    growths = _growths(node, peers, "peer/")
    below = [peer for peer in peers if peer.health < FULL]
    common = len(below) > 1 and 2 * len(below) > len(peers)
    if common:
        own = node.parts.of_kind("nic", "link")[0]
        yield RULES["peers"].symptom(own, below=len(below), number=len(peers))
    for peer in peers:
        component, growth = node.parts.of_address(peer.address), growths[peer.nid]
        excess = _excess(growths, peer.nid)
        since = growth and growth.since
        if peer.health < FULL and not common:
            values = {"health": peer.health, "full": FULL, "lost": _lost(growth)}
            counts = {"healthy": len(peers) - len(below), "others": len(peers) - 1}
            rule = RULES["peer_health"]
            yield rule.symptom(component, since, nid=peer.nid, **values, **counts)
        elif excess and peer.health == FULL:
            amounts = {"number": excess.growth.amount, "usual": excess.usual}
            yield RULES["peer_lost"].symptom(component, since, nid=peer.nid, **amounts)


def _ping_some(node: Node, peers: Sequence[Interface]) -> _Pings:
    """Ping the peers below full health and, in turn, some of the others."""
    below = [peer.nid for peer in peers if peer.health < FULL]
    healthy = [peer.nid for peer in peers if peer.health == FULL]
    start = int(node.now // _TURN_S) * _MAX_PINGED % max(len(healthy), 1)
    silent: dict[str, str] = {}
    asked, spent_s = 0, 0.0
    for nid in [*below, *healthy[start:], *healthy[:start]][:_MAX_PINGED]:
        if spent_s > _MAX_PINGING_S:
            break
        completed = node.system.run([*_PING, nid], _PING_S)
        asked, spent_s = asked + 1, spent_s + completed.seconds
        if completed.ok:
            continue
        if failure_kind(completed) in ("denied", "absent"):
            raise _trouble(completed)
        silent[nid] = _reason(completed)
        # each further one would leave a process that no signal ends
        if completed.hung:
            break
    return _Pings(asked, silent)


def _reason(completed: Completed) -> str:
    """Return why a ping failed, in the words of lnetctl."""
    if completed.timed_out or completed.hung:
        return f"nothing in {_PING_S:.0f} s"
    match = _DESCRIPTION.search(completed.stdout + completed.stderr)
    return printable(match[1]) if match else complaint(completed)


def _silence_symptoms(node: Node, pings: _Pings) -> Iterator[Symptom]:
    """Yield a symptom of each silent peer; one of this host if no peer answers."""
    words = list(pings.silent.values())
    if len(words) == pings.asked > 1:
        own = node.parts.of_kind("nic", "link")[0]
        yield RULES["silence"].symptom(own, number=pings.asked, words=words[0])
        return
    answered = pings.asked - len(words)
    others = f"; {answered} other peer{'s do' if answered > 1 else ' does'}" if answered else ""
    for nid, reason in pings.silent.items():
        component = node.parts.of_address(nid.rpartition("@")[0])
        yield RULES["peer_silent"].symptom(component, nid=nid, words=reason, others=others)


def _route_symptoms(node: Node) -> Iterator[Symptom]:
    by_network: dict[str, list[Route]] = {}
    for route in routes(_ask(node, ROUTES), " ".join(ROUTES)):
        by_network.setdefault(route.network, []).append(route)
    for network, group in by_network.items():
        up = sum(route.is_up for route in group)
        if not up:
            gateways = several([route.gateway for route in group])
            component = node.parts.of_kind("nic", "link")[0]
            if len(group) == 1:
                component = node.parts.of_address(group[0].address)
            yield RULES["no_route"].symptom(component, network=network, gateways=gateways)
            continue
        for route in (route for route in group if not route.is_up):
            component = node.parts.of_address(route.address)
            yield RULES["route"].symptom(
                component, network=network, gateway=route.gateway, up=up, number=len(group)
            )
