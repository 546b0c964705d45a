"""How healthy LNet finds its own interfaces and its peers: ``lnetctl net show``, ``peer show``.

LNet lowers the health of an interface, 1000 at most, with each message that it loses there and
raises it with each ping that comes back; of several it uses the healthiest.  No file has it.  The
tool prints YAML, of which only the nid and the block ``health stats`` of each interface are read.
"""

from __future__ import annotations

import heapq
import re
from typing import Iterator, Mapping, NamedTuple, Sequence

from plumbline.model.errors import ToolError
from plumbline.model.validation import whole
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


def why_nothing(said: str) -> str:
    """Return why lnetctl did not succeed: denied, absent (LNet has no interface yet) or failed."""
    if _REFUSED.search(said):
        return "denied"
    return "absent" if _DOWN.search(said) else "failed"


def local_interfaces(text: str, what: str) -> list[Interface]:
    """Return the interfaces of this host; raise ToolError where they are not understood."""
    found = _interfaces(text, "net:", _KINDS, what)
    if not found:
        raise ToolError(f"{what} is not understood: it names no interface")
    return found


def interface_health(text: str, labels: Labels, what: str) -> Iterator[Count]:
    """Yield health and errors of each interface of this host; raise ToolError as above."""
    for one in local_interfaces(text, what):
        own = (*labels, ("nid", one.nid))
        yield Count(NI_HEALTH, own, one.health)
        # release 2.12 has none
        if _FATAL in one.counted:
            yield Count(NI_FATAL, own, one.counted[_FATAL])
        for kind in _KINDS:
            yield Count(NI_ERRORS, (*own, ("kind", kind.replace(" ", "_"))), one.counted[kind])


def peer_health(text: str, labels: Labels, what: str) -> Iterator[Count]:
    """Yield how many peers there are and the least healthy ones; raise ToolError as above.

    A server has all clients for peers, and nobody looks at a thousand that are well.
    """
    peers = _interfaces(text, "peer:", _OF_PEERS, what) if text.strip() else []
    below = [one for one in peers if one.health < FULL]
    yield Count(PEERS, labels, len(peers))
    yield Count(PEERS_BELOW, labels, len(below))
    for one in heapq.nsmallest(MOST_PEERS, below, key=lambda peer: (peer.health, peer.nid)):
        yield Count(PEER_HEALTH, (*labels, ("nid", one.nid)), one.health)


def _interfaces(text: str, head: str, needed: Sequence[str], what: str) -> list[Interface]:
    # without its last line's end it was cut, maybe within a number
    if not text.startswith(f"{head}\n") or not text.endswith("\n"):
        raise ToolError(f"{what} is not understood: {text[:60]!r} ... {text[-20:]!r}")
    blocks = _blocks(text)
    found = [_interface(nid, block, needed, what) for nid, block in blocks]
    if len({one.nid for one in found}) < len(found):
        raise ToolError(f"{what} is not understood: it names an interface twice")
    return found


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
    known = [key for key in (*needed, _FATAL) if key in block]
    counted = {key: whole(block[key], f"{key} of {nid}") for key in known}
    return Interface(nid, whole(block[_HEALTH], f"the health of {nid}", most=FULL), counted)
