"""Health of LNet's interfaces, peers and routes, as ``lnetctl`` prints them.

LNet lowers the health of an interface, 1000 at most, with each lost message and raises it with each
answered ping; it uses the healthiest interface.  So an interface below full health loses messages,
or did so recently.  No file shows the health, and lnetctl needs CAP_NET_ADMIN.  It prints YAML, of
which only the nid and the block ``health stats`` of each interface are read, and of each route its
network, gateway and state (lustre_lnet_show_route of Lustre's liblnetconfig.c).
"""

from __future__ import annotations

import heapq
import re
from typing import Iterator, Mapping, NamedTuple, Sequence

from plumbline.model.command import Completed
from plumbline.model.errors import ToolError
from plumbline.model.metric import (
    NI_ERRORS,
    NI_FATAL,
    NI_HEALTH,
    PEER_HEALTH,
    PEERS,
    PEERS_BELOW,
    ROUTE_UP,
)
from plumbline.model.validation import whole
from plumbline.parts.facts.counters import Count, Labels

FULL = 1000
"""LNET_MAX_HEALTH_VALUE of Lustre's lnet/include/lnet/lib-types.h."""
MAX_PEERS = 32
"""Number of least healthy peers with their own metric."""
MAX_ROUTES = 256
"""Most routes with their own metric."""

MODULE = "/sys/module/lnet"
"""Exists only if LNet is loaded."""

INTERFACES = ("lnetctl", "net", "show", "-v", "2")
"""Level 2 is the lowest that prints health, in releases 2.12 to 2.17."""
PEER_INTERFACES = ("lnetctl", "peer", "show", "-v", "2")
ROUTES = ("lnetctl", "route", "show", "-v")

_ITEM = re.compile(
    r"^ *- +(primary )?nid: (\S+)$|^( *)health stats:\n((?:\3 +\S.*\n)*)", re.MULTILINE
)
_ROUTE = re.compile(r"^( *)- +net: (\S+)\n((?:\1 +[a-z].*\n)*)", re.MULTILINE)
_NETWORK = re.compile(r"[a-z0-9]{1,16}", re.ASCII)
_UP = {"up": True, "down": False}
_NID = re.compile(r"[\w.:%-]{1,64}@[a-z0-9]{1,16}", re.ASCII)
_HEALTH = "health value"
_FATAL = "fatal_error"
_REFUSED = re.compile("operation not permitted|permission denied", re.IGNORECASE)
_DOWN = re.compile("network is down|lnet stack down", re.IGNORECASE)
_KINDS = ("interrupts", "dropped", "aborted", "no route", "timeouts", "error")
_OF_PEERS = ("dropped", "timeout", "error", "network timeout")


class Interface(NamedTuple):
    """An interface of this host or of a peer; ``counted`` are its counters by LNet's names.

    ``primary`` is the nid by which others name the peer, empty for an interface of this host.
    """

    nid: str
    health: int
    counted: Mapping[str, int]
    primary: str = ""

    @property
    def errors(self) -> int:
        """Return the number of lost messages."""
        return sum(number for kind, number in self.counted.items() if kind != _FATAL)

    @property
    def address(self) -> str:
        """Return the address of the interface, without the network of LNet."""
        return self.nid.rpartition("@")[0]

    @property
    def has_failed(self) -> bool:
        """Return whether LNet has disabled its device, e.g. because a port is down."""
        return self.counted.get(_FATAL, 0) > 0


class Route(NamedTuple):
    """A route to a network of LNet by the nid of a router."""

    network: str
    gateway: str
    is_up: bool

    @property
    def address(self) -> str:
        """Return the address of the router."""
        return self.gateway.rpartition("@")[0]


def failure_kind(completed: Completed) -> str:
    """Return why lnetctl failed: timeout, denied, absent (LNet has no interface yet) or failed."""
    if completed.timed_out or completed.hung:
        return "timeout"
    output = completed.stderr + completed.stdout
    if _REFUSED.search(output):
        return "denied"
    return "absent" if _DOWN.search(output) else "failed"


_LOOPBACK = "0@lo"
"""Begins with health 0 and gains with each message (lnet_startup_lndni of Lustre's api-ni.c)."""


def local_interfaces(text: str, source: str) -> list[Interface]:
    """Parse the interfaces of this host without the loopback; raise ToolError for other text."""
    interfaces = _interfaces(text, "net:", _KINDS, source)
    if not interfaces:
        raise ToolError(f"{source} is not understood: it names no interface")
    return [interface for interface in interfaces if interface.nid != _LOOPBACK]


def interface_health(text: str, labels: Labels, source: str) -> Iterator[Count]:
    """Yield health and errors of each interface of this host; raise ToolError for other text."""
    for interface in local_interfaces(text, source):
        nid_labels = (*labels, ("nid", interface.nid))
        yield Count(NI_HEALTH, nid_labels, interface.health)
        # release 2.12 has none
        if _FATAL in interface.counted:
            yield Count(NI_FATAL, nid_labels, interface.counted[_FATAL])
        for kind in _KINDS:
            yield Count(
                NI_ERRORS, (*nid_labels, ("kind", kind.replace(" ", "_"))), interface.counted[kind]
            )


def peer_health(text: str, labels: Labels, source: str) -> Iterator[Count]:
    """Yield the number of peers and the least healthy ones; raise ToolError for other text.

    All clients are peers of a server, so thousands of healthy peers are left out.
    """
    peers = peer_interfaces(text, source)
    below = [peer for peer in peers if peer.health < FULL]
    yield Count(PEERS, labels, len(peers))
    yield Count(PEERS_BELOW, labels, len(below))
    for peer in heapq.nsmallest(MAX_PEERS, below, key=lambda peer: (peer.health, peer.nid)):
        yield Count(PEER_HEALTH, (*labels, ("nid", peer.nid)), peer.health)


def peer_interfaces(text: str, source: str) -> list[Interface]:
    """Parse the interfaces of other hosts; raise ToolError for other text."""
    return _interfaces(text, "peer:", _OF_PEERS, source) if text.strip() else []


def routes(text: str, source: str) -> list[Route]:
    """Parse the routes, none from an empty text; raise ToolError for other text."""
    if not text.strip():
        return []
    matches = list(_ROUTE.finditer(text))
    # anything between or behind the items is no route, or a truncated one
    if text != "route:\n" + "".join(match[0] for match in matches):
        raise ToolError(f"{source} is not understood: {text[:60]!r} ... {text[-20:]!r}")
    return [_route(match[2], match[3], source) for match in matches]


def _route(network: str, block: str, source: str) -> Route:
    pairs = (line.partition(":") for line in block.splitlines())
    fields = {key.strip(): value.strip() for key, _, value in pairs}
    gateway, state = fields.get("gateway", ""), fields.get("state", "")
    if not _NETWORK.fullmatch(network) or not _NID.fullmatch(gateway) or state not in _UP:
        raise ToolError(
            f"{source} is not understood: the route to {network[:64]!r} has no gateway with a state"
        )
    return Route(network, gateway, _UP[state])


def route_states(text: str, labels: Labels, source: str) -> Iterator[Count]:
    """Yield the state of each route; raise ToolError for other text."""
    states: dict[tuple[str, str], bool] = {}
    for route in routes(text, source)[:MAX_ROUTES]:
        # a route by hand may repeat one of the configuration with other hops
        place = route.network, route.gateway
        states[place] = route.is_up or states.get(place, False)
    for (network, gateway), is_up in states.items():
        yield Count(ROUTE_UP, (*labels, ("network", network), ("gateway", gateway)), int(is_up))


def _interfaces(text: str, head: str, needed: Sequence[str], source: str) -> list[Interface]:
    # without a final newline the output is truncated, maybe within a number
    if not text.startswith(f"{head}\n") or not text.endswith("\n"):
        raise ToolError(f"{source} is not understood: {text[:60]!r} ... {text[-20:]!r}")
    interfaces = [
        _interface(nid, primary, block, needed, source) for nid, primary, block in _blocks(text)
    ]
    if len({interface.nid for interface in interfaces}) < len(interfaces):
        raise ToolError(f"{source} is not understood: it names an interface twice")
    return interfaces


def _blocks(text: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield the nid of each list item, the primary nid of its peer, and its health stats."""
    nid, primary, block = "", "", dict[str, str]()
    for match in _ITEM.finditer(text):
        if match[2] is None:
            pairs = (line.partition(":") for line in match[4].splitlines())
            block = {key.strip(): value for key, _, value in pairs}
            continue
        if nid:
            yield nid, primary, block
        nid, primary = ("", match[2]) if match[1] else (match[2], primary)
        block = {}
    if nid:
        yield nid, primary, block


def _interface(
    nid: str, primary: str, block: Mapping[str, str], needed: Sequence[str], source: str
) -> Interface:
    if not _NID.fullmatch(nid) or not {_HEALTH, *needed} <= block.keys():
        raise ToolError(f"{source} is not understood: {nid[:64]!r} has no whole health stats")
    keys = [key for key in (*needed, _FATAL) if key in block]
    counters = {key: whole(block[key], f"{key} of {nid}") for key in keys}
    health = whole(block[_HEALTH], f"the health of {nid}", most=FULL)
    return Interface(nid, health, counters, primary)
