"""Rounds of disjoint pairs: no host is in two network tests at once, and nobody coordinates.

Time is cut into slots; from the slot's number every host knows its partner and who begins.
The rounds are those of the circle method for tournaments: one host stays, the others turn around
it (E. Lucas, Recreations mathematiques II, 1883).  Each round takes two slots, one for each
direction, so a host begins in one of any two slots unless it has a bye.  Of many hosts some rounds
alone are held, evenly spread over the circle: a host that met a thousand others would hardly meet
any of them again, and so would never know what is usual between them.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Optional, Sequence

from plumbline.model.errors import DocumentError

MOST_PARTNERS = 63
"""Others that a host meets at most: all of 64 hosts, in five days with a slot of an hour."""


class Role(str, Enum):
    """Part of a host in a pair: the initiator runs the tool, the responder has its server open."""

    INITIATOR = "initiator"
    RESPONDER = "responder"


class Turn(NamedTuple):
    """Task of one host in one slot."""

    partner: str
    role: Role


def slot_at(now_s: float, slot_s: float) -> int:
    """Return the number of the slot that ``now_s``, seconds since the epoch, lies in."""
    return int(now_s // slot_s)


def cycle(hosts: int) -> int:
    """Return after how many slots the pairs of ``hosts`` hosts repeat."""
    return 2 * _rounds(_places(hosts))


def span(hosts: int) -> int:
    """Return the slots in which a host begins with all that it meets, or with five of many.

    That many partners tell a slow host from a slow partner; a bye takes two slots more.
    """
    return min(cycle(hosts), 11 + 2 * (hosts % 2))


def turn(hosts: Sequence[str], host: str, slot: int) -> Optional[Turn]:
    """Return what ``host`` does in ``slot``, None for a bye; the order of ``hosts`` is free.

    Raises:
        DocumentError: there is nobody to pair with, ``host`` is not among ``hosts``, or one is
            there twice.
    """
    ordered = sorted(hosts)
    if len(ordered) < 2 or host not in ordered or len(set(ordered)) < len(ordered):
        raise DocumentError(
            f"{host} cannot be paired among {', '.join(ordered) or 'no hosts'}; "
            "the network probe needs two or more different hosts, itself included"
        )
    own = ordered.index(host)
    places = _places(len(ordered))
    round_ = slot // 2 % _rounds(places)
    other = _opposite(own, places, round_ * (places - 1) // _rounds(places))
    if other >= len(ordered):
        return None
    begins = (own < other) is (slot % 2 == 0)
    return Turn(ordered[other], Role.INITIATOR if begins else Role.RESPONDER)


def pairing(hosts: Sequence[str], slot: int) -> dict[str, Turn]:
    """Return what every host does in ``slot``; a host with a bye is not in it."""
    turns = {host: turn(hosts, host, slot) for host in sorted(hosts)}
    return {host: own_turn for host, own_turn in turns.items() if own_turn is not None}


def partners(hosts: Sequence[str], host: str) -> tuple[str, ...]:
    """Return the hosts that ``host`` meets, in this order from slot 0 on."""
    turns = [turn(hosts, host, slot) for slot in range(0, cycle(len(hosts)), 2)]
    return tuple(met.partner for met in turns if met is not None)


def _places(hosts: int) -> int:
    """Return the seats around the circle; with an odd number of hosts one is empty."""
    return hosts + hosts % 2


def _rounds(places: int) -> int:
    return min(places - 1, MOST_PARTNERS)


def _opposite(own: int, places: int, round_: int) -> int:
    """Return who sits opposite in a round; the last place stays, the others turn."""
    turning = places - 1
    if own == turning:
        # the one that meets itself meets the one that stays
        return round_ * (turning + 1) // 2 % turning
    other = (round_ - own) % turning
    return turning if other == own else other
