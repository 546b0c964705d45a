"""Health of LNet's interfaces and peers, from ``lnetctl net show`` and ``peer show``.

LNet lowers the health of an interface, 1000 at most, with each lost message and raises it with each
answered ping; it uses the healthiest interface.  So an interface below full health loses messages,
or did so recently.  No file shows the health, and lnetctl needs CAP_NET_ADMIN.  It prints YAML, of
which only the nid and the block ``health stats`` of each interface are read.
"""

from __future__ import annotations

import heapq
import re
from typing import Iterator, Mapping, NamedTuple, Sequence

from plumbline.model.command import Completed
from plumbline.model.errors import PlumblineError, PrivilegeError, ToolError
from plumbline.model.metric import NI_ERRORS, NI_FATAL, NI_HEALTH, PEER_HEALTH, PEERS, PEERS_BELOW
from plumbline.model.symptom import Look, Symptom
from plumbline.model.validation import whole
from plumbline.observe.query import QUICK_S, complaint
from plumbline.parts.facts.counters import Count, Labels
from plumbline.parts.facts.node import Node
from plumbline.parts.facts.rules import rules

FULL = 1000
"""LNET_MAX_HEALTH_VALUE of Lustre's lnet/include/lnet/lib-types.h."""
MAX_PEERS = 32
"""Number of least healthy peers with their own metric."""

MODULE = "/sys/module/lnet"
"""Exists only if LNet is loaded."""

INTERFACES = ("lnetctl", "net", "show", "-v", "2")
"""Level 2 is the lowest that prints health, in releases 2.12 to 2.17."""
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
    """An interface of this host or of a peer; ``counted`` are its counters by LNet's names."""

    nid: str
    health: int
    counted: Mapping[str, int]

    @property
    def errors(self) -> int:
        """Return the number of lost messages."""
        return sum(self.counted[kind] for kind in _KINDS if kind in self.counted)

    @property
    def has_failed(self) -> bool:
        """Return whether LNet has disabled its device, e.g. because a port is down."""
        return self.counted.get(_FATAL, 0) > 0


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
    peers = _interfaces(text, "peer:", _OF_PEERS, source) if text.strip() else []
    below = [peer for peer in peers if peer.health < FULL]
    yield Count(PEERS, labels, len(peers))
    yield Count(PEERS_BELOW, labels, len(below))
    for peer in heapq.nsmallest(MAX_PEERS, below, key=lambda peer: (peer.health, peer.nid)):
        yield Count(PEER_HEALTH, (*labels, ("nid", peer.nid)), peer.health)


def _interfaces(text: str, head: str, needed: Sequence[str], source: str) -> list[Interface]:
    # without a final newline the output is truncated, maybe within a number
    if not text.startswith(f"{head}\n") or not text.endswith("\n"):
        raise ToolError(f"{source} is not understood: {text[:60]!r} ... {text[-20:]!r}")
    blocks = _blocks(text)
    interfaces = [_interface(nid, block, needed, source) for nid, block in blocks]
    if len({interface.nid for interface in interfaces}) < len(interfaces):
        raise ToolError(f"{source} is not understood: it names an interface twice")
    return interfaces


def _blocks(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the nid of each list item, and its health stats."""
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


def _interface(nid: str, block: Mapping[str, str], needed: Sequence[str], source: str) -> Interface:
    if not _NID.fullmatch(nid) or not {_HEALTH, *needed} <= block.keys():
        raise ToolError(f"{source} is not understood: {nid[:64]!r} has no whole health stats")
    keys = [key for key in (*needed, _FATAL) if key in block]
    counters = {key: whole(block[key], f"{key} of {nid}") for key in keys}
    return Interface(nid, whole(block[_HEALTH], f"the health of {nid}", most=FULL), counters)


NAME = "lnet"

RULES = rules(
    NAME,
    """
    down | warning | the device of LNet interface {nid} has failed
    health | warning | LNet interface {nid} has health {health} of {full}{lost}
    """,
)


def look(node: Node) -> Look:
    """Look at all interfaces of this host.

    Raises:
        ToolError: LNet is not loaded, or lnetctl gives no answer.
        PrivilegeError: this user may not read the health.
    """
    if not node.system.names(MODULE):
        raise ToolError(f"{MODULE} is not there: LNet is not loaded")
    completed = node.system.run(INTERFACES, QUICK_S)
    if not completed.ok:
        raise _trouble(completed)
    interfaces = local_interfaces(completed.stdout, " ".join(INTERFACES))
    symptoms = tuple(
        symptom for interface in interfaces for symptom in _interface_symptoms(node, interface)
    )
    return Look(NAME, len(interfaces), symptoms)


def _trouble(completed: Completed) -> PlumblineError:
    """Return the error of a failed lnetctl."""
    reason = failure_kind(completed)
    if reason == "denied":
        return PrivilegeError(
            f"{' '.join(completed.argv)} is refused to this user; set symptoms_lnet of the role "
            "symptoms, or ask as root where Lustre is older than 2.16"
        )
    return ToolError("LNet has no interface" if reason == "absent" else complaint(completed))


def _interface_symptoms(node: Node, interface: Interface) -> Iterator[Symptom]:
    growth = node.counters.growth(f"{NAME}/{interface.nid}/errors", interface.errors)
    component, _ = node.parts.of_kind("nic", "link")
    if interface.has_failed:
        yield RULES["down"].symptom(component, nid=interface.nid)
    if interface.health < FULL:
        lost = f", {growth.amount:.0f} messages lost" if growth else ""
        values = {"nid": interface.nid, "health": interface.health, "full": FULL, "lost": lost}
        yield RULES["health"].symptom(component, growth and growth.since, **values)
