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
from functools import lru_cache
from typing import Iterator, NamedTuple, Optional, Sequence

from plumbline.model.errors import DocumentError

MAX_PARTNERS = 63
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
    return _circle(tuple(hosts)).turn(host, slot)


def pairing(hosts: Sequence[str], slot: int) -> dict[str, Turn]:
    """Return the turn of every host in ``slot``, without hosts that have a bye."""
    circle = _circle(tuple(hosts))
    turns = {host: circle.turn(host, slot) for host in circle.ordered}
    return {host: own_turn for host, own_turn in turns.items() if own_turn is not None}


def pairs_in(hosts: Sequence[str], slot: int) -> Iterator[tuple[str, str]]:
    """Yield the pairs of ``slot``, the initiator first."""
    for host, own_turn in pairing(hosts, slot).items():
        if own_turn.role is Role.INITIATOR:
            yield host, own_turn.partner


def partners(hosts: Sequence[str], host: str) -> tuple[str, ...]:
    """Return the partners of ``host``, in order from slot 0."""
    circle = _circle(tuple(hosts))
    place = circle.place(host)
    others = (circle.opposite(place, round_) for round_ in range(_rounds(_places(len(hosts)))))
    return tuple(circle.ordered[other] for other in others if other < len(hosts))


class _Circle:
    """Hosts at their places, sorted once for all turns."""

    def __init__(self, hosts: Sequence[str]) -> None:
        self.ordered = sorted(hosts)
        self._place = {host: place for place, host in enumerate(self.ordered)}

    def place(self, host: str) -> int:
        """Return the place of a host; raises as ``turn`` does."""
        ordered = self.ordered
        if len(ordered) < 2 or host not in self._place or len(self._place) < len(ordered):
            raise DocumentError(
                f"{host} cannot be paired among {', '.join(ordered) or 'no hosts'}; "
                "the network probe needs two or more different hosts, itself included"
            )
        return self._place[host]

    def opposite(self, place: int, round_: int) -> int:
        """Return the opposite place in a round; it is empty if there is no such host."""
        places = _places(len(self.ordered))
        return _opposite(place, places, round_ * (places - 1) // _rounds(places))

    def turn(self, host: str, slot: int) -> Optional[Turn]:
        """Return the turn of ``host`` in ``slot``, None for a bye; raises as ``turn`` does."""
        place = self.place(host)
        other = self.opposite(place, slot // 2 % _rounds(_places(len(self.ordered))))
        if other >= len(self.ordered):
            return None
        initiates = (place < other) is (slot % 2 == 0)
        return Turn(self.ordered[other], Role.INITIATOR if initiates else Role.RESPONDER)


@lru_cache(maxsize=1)
def _circle(hosts: tuple[str, ...]) -> _Circle:
    """Return the circle of some hosts: a plan asks for that of all hosts, host by host."""
    return _Circle(hosts)


def _places(hosts: int) -> int:
    """Return the number of places on the circle; with an odd number of hosts one is empty."""
    return hosts + hosts % 2


def _rounds(places: int) -> int:
    return min(places - 1, MAX_PARTNERS)


def _opposite(place: int, places: int, round_: int) -> int:
    """Return the opposite place in a round; the last place is fixed, the others rotate."""
    turning = places - 1
    if place == turning:
        # the place that would meet itself meets the fixed one
        return round_ * (turning + 1) // 2 % turning
    other = (round_ - place) % turning
    return turning if other == place else other
