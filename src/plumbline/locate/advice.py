"""What a person looks at next when no measurement is left to be asked for: suspect -> advice."""

from __future__ import annotations

from typing import Mapping

from plumbline.locate.sentences import headline
from plumbline.locate.suspects import AmbiguitySet
from plumbline.model.part import SitePart

_WIRE = "read its link speed and error counters at both ends, then change transceiver and cable"
_HOST = "look at its load, memory and CPU frequency, its kernel's messages and what changed there"
_OF_KIND = {
    "disk": "read its SMART values, the state of its array and its server's kernel messages, "
    "and replace it when they agree",
    "array": "look whether it is rebuilt or scrubbed, and which of its members is slow",
    "enclosure": "read what sg_ses says of its fans, power supplies and links",
    "controller": "look at its cache and battery, at its log and whether its partner has failed",
    "port": _WIRE,
    "channel": _WIRE,
    "link": _WIRE,
    "hba": _WIRE,
    "nic": _WIRE,
    "switch": "read the load and the error counters of its ports",
    "router": "look at its load and the error counters of its interfaces",
    "server": _HOST,
    "client": f"measure from another client; {_HOST}",
    "target": "look how full and fragmented it is, and at what its server allows it",
}
_DROPS = "change its cable and transceiver, one at a time; ethtool -S counts what is lost"
_FAILS = (
    "read its server's kernel messages and SMART values, and save its data before it is touched"
)


def advice(ambiguity: AmbiguitySet, parts: Mapping[str, SitePart], fails: bool = False) -> str:
    """Return e.g. `` Next: read its SMART values, ...``, empty for a part of unknown kind.

    The sentence on what slows its devices alike has said so itself.
    """
    if headline(ambiguity) != ambiguity.alternatives or ambiguity.suspects[0].alike:
        return ""
    if len(ambiguity.alternatives) > 1:
        return " Next: look at each of them, in this order."
    kinds = {parts[one.name].kind if one.name in parts else "" for one in ambiguity.suspects}
    if len(kinds) > 1:
        return " Next: look at each of them."
    kind = kinds.pop()
    text = _OF_KIND.get(kind, "")
    if fails and kind in ("disk", "array", "target"):
        text = _FAILS
    elif any(one.drops for one in ambiguity.suspects):
        text = _DROPS
    return f" Next: {text}." if text else ""
