"""Health of LNet's own interfaces and of its peers: ``lnetctl net show``, ``peer show``.

LNet lowers the health of an interface, 1000 at most, with each message that it loses there and
raises it with each of its own pings that comes back; of several it uses the healthiest.  So one
below full health has lost messages a moment ago or loses them still.  No file has it, and the tool
needs CAP_NET_ADMIN.  It prints YAML, of which only the nid and the block ``health stats`` of each
interface are read.
"""

from __future__ import annotations

import heapq
import re
from typing import Iterator, Mapping, NamedTuple, Sequence

from plumbline.model.command import Completed
from plumbline.model.errors import PlumblineError, PrivilegeError, ToolError
from plumbline.model.validation import whole
from plumbline.model.verdict import State
from plumbline.observe.counters import (
    NI_ERRORS,
    NI_FATAL,
    NI_HEALTH,
    PEER_HEALTH,
    PEERS,
    PEERS_BELOW,
    Count,
    Labels,
)
from plumbline.observe.node import QUICK_S, Node
from plumbline.observe.query import complaint
from plumbline.observe.symptom import Look, Rule, Symptom

FULL = 1000
"""LNET_MAX_HEALTH_VALUE of Lustre's lnet/include/lnet/lib-types.h."""
MOST_PEERS = 32
"""Peers that have a metric of their own: the least healthy ones."""

MODULE = "/sys/module/lnet"
"""Without it there is no LNet to ask."""

INTERFACES = ("lnetctl", "net", "show", "-v", "2")
"""Health is printed from this detail on, in releases 2.12 to 2.17."""
PEER_INTERFACES = ("lnetctl", "peer", "show", "-v", "2")

_ITEM = re.compile(r"^ *- +nid: (\S+)$|^( *)health stats:\n((?:\2 +\S.*\n)*)", re.MULTILINE)
_NID = re.compile(r"[\w.:%-]{1,64}@[a-z0-9]{1,16}", re.ASCII)
_HEALTH = "health value"
_FATAL = "fatal_error"
_REFUSED = re.compile("operation not permitted|permission denied", re.IGNORECASE)
_DOWN = re.compile("network is down|lnet stack down", re.IGNORECASE)
_KINDS = ("interrupts", "dropped", "aborted", "no route", "timeouts", "error")
_OF_PEERS = ("dropped", "timeout", "error", "network timeout")


class Interface(NamedTuple):
    """An interface of this host or of a peer, its health, and what it counts, by LNet's words."""

    nid: str
    health: int
    counted: Mapping[str, int]

    @property
    def errors(self) -> int:
        """Return how many messages it has lost."""
        return sum(self.counted[kind] for kind in _KINDS if kind in self.counted)

    @property
    def has_failed(self) -> bool:
        """Return whether LNet has given up its device, as while a port is down."""
        return self.counted.get(_FATAL, 0) > 0


def why_nothing(output: str) -> str:
    """Return why lnetctl did not succeed: denied, absent (LNet has no interface yet) or failed."""
    if _REFUSED.search(output):
        return "denied"
    return "absent" if _DOWN.search(output) else "failed"


def local_interfaces(text: str, what: str) -> list[Interface]:
    """Return the interfaces of this host; raise ToolError where they are not understood."""
    interfaces = _interfaces(text, "net:", _KINDS, what)
    if not interfaces:
        raise ToolError(f"{what} is not understood: it names no interface")
    return interfaces


def interface_health(text: str, labels: Labels, what: str) -> Iterator[Count]:
    """Yield health and errors of each interface of this host; raise ToolError as above."""
    for interface in local_interfaces(text, what):
        own = (*labels, ("nid", interface.nid))
        yield Count(NI_HEALTH, own, interface.health)
        # release 2.12 has none
        if _FATAL in interface.counted:
            yield Count(NI_FATAL, own, interface.counted[_FATAL])
        for kind in _KINDS:
            yield Count(
                NI_ERRORS, (*own, ("kind", kind.replace(" ", "_"))), interface.counted[kind]
            )


def peer_health(text: str, labels: Labels, what: str) -> Iterator[Count]:
    """Yield how many peers there are and the least healthy ones; raise ToolError as above.

    A server has all clients for peers, and nobody looks at a thousand that are well.
    """
    peers = _interfaces(text, "peer:", _OF_PEERS, what) if text.strip() else []
    below = [peer for peer in peers if peer.health < FULL]
    yield Count(PEERS, labels, len(peers))
    yield Count(PEERS_BELOW, labels, len(below))
    for least in heapq.nsmallest(MOST_PEERS, below, key=lambda peer: (peer.health, peer.nid)):
        yield Count(PEER_HEALTH, (*labels, ("nid", least.nid)), least.health)


def _interfaces(text: str, head: str, needed: Sequence[str], what: str) -> list[Interface]:
    # without its last line's end it was cut, maybe within a number
    if not text.startswith(f"{head}\n") or not text.endswith("\n"):
        raise ToolError(f"{what} is not understood: {text[:60]!r} ... {text[-20:]!r}")
    blocks = _blocks(text)
    interfaces = [_interface(nid, block, needed, what) for nid, block in blocks]
    if len({interface.nid for interface in interfaces}) < len(interfaces):
        raise ToolError(f"{what} is not understood: it names an interface twice")
    return interfaces


def _blocks(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each nid that begins an item of a list, and what its health stats say."""
    nid, block = "", dict[str, str]()
    for match in _ITEM.finditer(text):
        if match[1] is None:
            pairs = (line.partition(":") for line in match[3].splitlines())
            block = {key.strip(): value for key, _, value in pairs}
            continue
        if nid:
            yield nid, block
        nid, block = match[1], {}
    if nid:
        yield nid, block


def _interface(nid: str, block: Mapping[str, str], needed: Sequence[str], what: str) -> Interface:
    if not _NID.fullmatch(nid) or not {_HEALTH, *needed} <= block.keys():
        raise ToolError(f"{what} is not understood: {nid[:64]!r} has no whole health stats")
    keys = [key for key in (*needed, _FATAL) if key in block]
    counted = {key: whole(block[key], f"{key} of {nid}") for key in keys}
    return Interface(nid, whole(block[_HEALTH], f"the health of {nid}", most=FULL), counted)


NAME = "lnet"

RULES = {
    "down": Rule("down", State.WARNING, "the device of LNet interface {nid} has failed"),
    "health": Rule(
        "health", State.WARNING, "LNet interface {nid} has health {health} of {full}{lost}"
    ),
}


def look(node: Node) -> Look:
    """Look at all interfaces of this host.

    Raises:
        ToolError: there is no LNet, or it gives no answer.
        PrivilegeError: it tells its health to others alone.
    """
    if not node.system.names(MODULE):
        raise ToolError(f"{MODULE} is not there: LNet is not loaded")
    shown = node.system.run(INTERFACES, QUICK_S)
    if not shown.ok:
        raise _trouble(shown)
    interfaces = local_interfaces(shown.stdout, " ".join(INTERFACES))
    symptoms = tuple(
        symptom for interface in interfaces for symptom in _of_interface(node, interface)
    )
    return Look(NAME, len(interfaces), symptoms)


def _trouble(shown: Completed) -> PlumblineError:
    """Return why lnetctl showed nothing."""
    lost = shown.timed_out or shown.hung
    why = "failed" if lost else why_nothing(shown.stderr + shown.stdout)
    if why == "denied":
        return PrivilegeError(
            f"{' '.join(shown.argv)} is refused to this user; set symptoms_lnet of the role "
            "symptoms, or ask as root where Lustre is older than 2.16"
        )
    return ToolError("LNet has no interface" if why == "absent" else complaint(shown))


def _of_interface(node: Node, seen: Interface) -> Iterator[Symptom]:
    grown = node.counters.growth(f"{NAME}/{seen.nid}/errors", seen.errors)
    component, _ = node.parts.of_kind("nic", "link")
    if seen.has_failed:
        yield RULES["down"].symptom(NAME, component, nid=seen.nid)
    if seen.health < FULL:
        lost = f", {grown.amount:.0f} messages lost" if grown else ""
        values = {"nid": seen.nid, "health": seen.health, "full": FULL, "lost": lost}
        yield RULES["health"].symptom(NAME, component, grown and grown.since, **values)
