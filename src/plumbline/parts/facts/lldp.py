"""Symptoms of Ethernet cabling: the switch that each storage link hears, from ``lldpctl``.

A switch announces its name on each port every half minute (LLDP, IEEE 802.1AB), and lldpd on the
host keeps what it heard.  Only lldpd's socket is read, so nothing is sent on the network.

A drawn switch may stand for many, and a name may be no system name.  So a name that the topology
does not have is a symptom only if this host has heard a drawn switch before, else a note.
"""

from __future__ import annotations

from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Sequence

from plumbline.model.command import printable
from plumbline.model.errors import ForbiddenTool, PrivilegeError, ToolError
from plumbline.model.expectation import Switches
from plumbline.model.symptom import Look, Symptom
from plumbline.model.validation import storable
from plumbline.observe.query import QUICK_S, complaint, reason_of
from plumbline.parts.facts.links import INFINIBAND_TYPE, NET
from plumbline.parts.facts.node import Node, parse_json
from plumbline.parts.facts.rules import rules
from plumbline.topology.names import expand

NAME = "lldp"

COMMAND = ("lldpctl", "-f", "json0")
"""Unlike that of json, the form of json0 is the same for one and many links (lldpcli(8))."""
_MAX_TEXT = 4 << 20
"""Limit of the answer in characters: lldpd keeps 32 neighbours of a link, 2,000 characters each."""
_MAX_NAME = 80
"""Limit of a quoted name in characters; LLDP allows 255."""
_GROUPS = (
    "symptoms_groups of the role symptoms needs the groups of lldpd, on Debian adm and _lldpd; as "
    "root: plumbline symptoms"
)

RULES = rules(
    NAME,
    """
    wrong_switch | warning | link {link} hears switch {heard}, the topology has {drawn} there; \
        move the cable, or correct the topology
    left_switch | warning | no storage link of this host hears switch {switch} any more, all hear \
        {heard}; move a cable back, or correct the topology
    """,
)


class Announcement(NamedTuple):
    """System name and port of a switch or host; the name is empty if it announces none."""

    name: str
    port: str

    def __str__(self) -> str:
        return f"{self.name} port {self.port}" if self.port else self.name


def look(node: Node) -> Look:
    """Compare the switch that each storage link hears with the topology.

    Raises:
        ToolError: no link can be compared: no switch is drawn or heard, or lldpd does not answer.
        PrivilegeError: this user may not ask lldpd.
    """
    switches = node.parts.switches
    if switches is None:
        raise ToolError("the topology has no switch next to this host")
    ports = _ports(node)
    heard = parse(_answer(node))
    cables = _Cables(node, switches, {port: heard.get(port, ()) for port in ports})
    symptoms, notes = tuple(cables.symptoms()), tuple(cables.notes())
    if not cables.compared:
        raise ToolError("; ".join(notes))
    return Look(NAME, len(cables.compared), symptoms, notes)


def _ports(node: Node) -> tuple[str, ...]:
    """Return the Ethernet links with the storage address, those below a bond or VLAN."""
    folders = {name: f"{NET}/{name}" for name in node.parts.storage_interfaces()}
    if not folders:
        raise ToolError(
            "no network adapter has the address that the topology gives this host, so no link is "
            "known to be the storage link"
        )
    lowest = [
        name
        for name, folder in folders.items()
        if not any(file.startswith("lower_") for file in node.system.names(folder))
    ]
    ports = tuple(
        name for name in lowest if node.system.read(f"{folders[name]}/type") != INFINIBAND_TYPE
    )
    if not ports:
        raise ToolError(f"{lowest[0]} carries IP over InfiniBand, which has no LLDP")
    return ports


def _answer(node: Node) -> str:
    """Return what lldpctl prints; raise the reason if it cannot be started or has no answer."""
    try:
        completed = node.system.run(COMMAND, QUICK_S)
    except ForbiddenTool as error:
        # on Debian not all users may start it
        raise PrivilegeError(f"this user may not start {COMMAND[0]}: {_GROUPS}") from error
    if completed.ok:
        return completed.stdout
    reason = reason_of(completed)
    if reason == "Permission denied":
        raise PrivilegeError(f"this user may not ask lldpd: {_GROUPS}")
    if "unable to connect to socket" in completed.stderr:
        raise ToolError(f"lldpd does not run ({reason}); systemctl start lldpd")
    raise ToolError(complaint(completed))


def parse(text: str) -> Mapping[str, tuple[Announcement, ...]]:
    """Return the announcements that each link hears, from the output of lldpctl in json0.

    Raises:
        ToolError: the output is too long, damaged, or has another form.
    """
    if len(text) > _MAX_TEXT:
        raise ToolError(f"{COMMAND[0]} printed more than {_MAX_TEXT >> 20} MiB")
    raw = parse_json(COMMAND[0], text)
    heard: dict[str, tuple[Announcement, ...]] = {}
    try:
        for link in (link for part in raw["lldp"] for link in part.get("interface", ())):
            name = _text(link["name"])
            heard[name] = (*heard.get(name, ()), _announcement(link))
    except (LookupError, TypeError, AttributeError) as error:
        raise ToolError(
            f"{' '.join(COMMAND)} is not understood ({error!r:.80}): {text[:60]!r}"
        ) from error
    return heard


def _announcement(link: Mapping[str, Any]) -> Announcement:
    chassis = link["chassis"][0]
    port: Mapping[str, Any] = next(iter(link.get("port", ())), {})
    number = port.get("id", ())
    # the address of a port says less than its description
    by_address = any(part.get("type") == "mac" for part in number)
    order = ("descr", "id") if by_address else ("id", "descr")
    words = (_value(port.get(key, ())) for key in order)
    return Announcement(_value(chassis.get("name", ())), next(filter(None, words), ""))


def _value(parts: Sequence[Mapping[str, Any]]) -> str:
    """Return the first value of a list, empty without one."""
    return _text(parts[0]["value"]) if parts else ""


def _text(value: Any) -> str:
    """Return a foreign text safe for a terminal, cut; raise TypeError for another value."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return printable(storable(value.strip()))[:_MAX_NAME]


def is_same(one: str, other: str) -> bool:
    """Return whether two names of switches are one: in any case, with or without a domain."""
    one, other = one.casefold(), other.casefold()
    return one == other or one.partition(".")[0] == other or one == other.partition(".")[0]


def _any_same(names: Iterable[str], others: Iterable[str]) -> bool:
    known = tuple(others)
    return any(is_same(name, other) for name in names for other in known)


class _Cables:
    """The storage links of one look, and the switches of the topology."""

    def __init__(
        self, node: Node, switches: Switches, heard: Mapping[str, Sequence[Announcement]]
    ) -> None:
        self._component = node.parts.of_kind("nic", "link")[0]
        self._near = switches.near
        self._heard = heard
        self._names = {port: [own.name for own in heard[port] if own.name] for port in heard}
        self._right = {port for port, names in self._names.items() if _any_same(names, self._near)}
        # a drawn name that was heard once is a system name
        self._ever = [
            name
            for name in self._near
            if node.counters.highest(f"{NAME}/{name}", float(self._is_heard(name)))
        ]
        others = [name for text in switches.others for name in expand(text)]
        self._wrong = {
            port
            for port, names in self._names.items()
            if port not in self._right and names and (self._ever or _any_same(names, others))
        }

    def _is_heard(self, switch: str) -> bool:
        return any(_any_same(names, [switch]) for names in self._names.values())

    @property
    def compared(self) -> set[str]:
        """Return the links that hear the switch of the topology, or another known one."""
        return self._right | self._wrong

    def symptoms(self) -> Iterator[Symptom]:
        """Yield the links that hear another switch than the topology has, and abandoned switches.

        A switch is abandoned if it was heard before, and each link hears another drawn one now.
        """
        for port in sorted(self._wrong):
            yield RULES["wrong_switch"].symptom(
                self._component, link=port, heard=self._words(port), drawn=self._drawn
            )

        if len(self._right) == len(self._heard):
            for name in (name for name in self._ever if not self._is_heard(name)):
                heard = [other for other in self._near if self._is_heard(other)]
                yield RULES["left_switch"].symptom(
                    self._component,
                    switch=name,
                    heard=" and ".join(heard),
                )

    def notes(self) -> Iterator[str]:
        """Yield why a link cannot be compared."""
        for port, heard in self._heard.items():
            if not heard:
                yield f"link {port} hears no switch: LLDP is off there, or the link is down"
            elif not self._names[port]:
                yield f"link {port} hears a switch that announces no name"
            elif port not in self.compared:
                yield (
                    f"link {port} hears {self._words(port)}, which the topology does not have; if "
                    f"it is {self._drawn}, give that part this name"
                )

    def _words(self, port: str) -> str:
        return " and ".join(dict.fromkeys(str(own) for own in self._heard[port] if own.name))

    @property
    def _drawn(self) -> str:
        return " or ".join(self._near)
