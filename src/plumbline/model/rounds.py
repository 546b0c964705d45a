"""Rounds of disjoint pairs: no host is in two network tests at once, without coordination.

Time is divided into slots; the number of the slot tells every host its partner and its role.  The
rounds follow the circle method for tournaments: one host stays, the others rotate around it
(E. Lucas, Recreations mathematiques II, 1883).  Each round takes two slots, one for each direction,
so a host initiates in one of two slots unless it has a bye.  With many hosts only some rounds are
held, evenly spread over the circle: a host with a thousand partners would hardly meet any of them
twice, so its pairs would never get a baseline.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Optional, Sequence

from plumbline.model.errors import DocumentError

MOST_PARTNERS = 63
"""Most partners of a host: all of 64 hosts, which takes five days with slots of one hour."""


class Role(str, Enum):
    """Role of a host in a pair: the initiator runs the tool, the responder runs its server."""

    INITIATOR = "initiator"
    RESPONDER = "responder"


class Turn(NamedTuple):
    """Partner and role of one host in one slot."""

    partner: str
    role: Role


def slot_at(now_s: float, slot_s: float) -> int:
    """Return the number of the slot at ``now_s``, in seconds since the epoch."""
    return int(now_s // slot_s)


def cycle(hosts: int) -> int:
    """Return the number of slots after which the pairs of ``hosts`` hosts repeat."""
    return 2 * _rounds(_places(hosts))


def span(hosts: int) -> int:
    """Return the number of slots in which a host initiates with all its partners, or with five.

    Five partners distinguish a slow host from a slow partner; a bye takes two more slots.
    """
    return min(cycle(hosts), 11 + 2 * (hosts % 2))


def turn(hosts: Sequence[str], host: str, slot: int) -> Optional[Turn]:
    """Return the turn of ``host`` in ``slot``, None for a bye; ``hosts`` may be in any order.

    Raises:
        DocumentError: there is no other host, ``host`` is not among ``hosts``, or one is listed
            twice.
    """
    ordered = sorted(hosts)
    if len(ordered) < 2 or host not in ordered or len(set(ordered)) < len(ordered):
        raise DocumentError(
            f"{host} cannot be paired among {', '.join(ordered) or 'no hosts'}; "
            "the network probe needs two or more different hosts, itself included"
        )
    place = ordered.index(host)
    places = _places(len(ordered))
    round_ = slot // 2 % _rounds(places)
    other = _opposite(place, places, round_ * (places - 1) // _rounds(places))
    if other >= len(ordered):
        return None
    initiates = (place < other) is (slot % 2 == 0)
    return Turn(ordered[other], Role.INITIATOR if initiates else Role.RESPONDER)


def pairing(hosts: Sequence[str], slot: int) -> dict[str, Turn]:
    """Return the turn of every host in ``slot``, without hosts that have a bye."""
    turns = {host: turn(hosts, host, slot) for host in sorted(hosts)}
    return {host: own_turn for host, own_turn in turns.items() if own_turn is not None}


def partners(hosts: Sequence[str], host: str) -> tuple[str, ...]:
    """Return the partners of ``host``, in order from slot 0."""
    turns = [turn(hosts, host, slot) for slot in range(0, cycle(len(hosts)), 2)]
    return tuple(pair.partner for pair in turns if pair is not None)


def _places(hosts: int) -> int:
    """Return the number of places on the circle; with an odd number of hosts one is empty."""
    return hosts + hosts % 2


def _rounds(places: int) -> int:
    return min(places - 1, MOST_PARTNERS)


def _opposite(place: int, places: int, round_: int) -> int:
    """Return the opposite place in a round; the last place is fixed, the others rotate."""
    turning = places - 1
    if place == turning:
        # the place that would meet itself meets the fixed one
        return round_ * (turning + 1) // 2 % turning
    other = (round_ - place) % turning
    return turning if other == place else other
