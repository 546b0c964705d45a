"""Symptoms of the links of an InfiniBand fabric, from ``iblinkinfo`` and ``ibqueryerrors``.

One host asks all switches, once a day.  Management packets read states and counters, so no data
moves.  A link is compared with the topology, if that has its rate, else with the other links
between switches, or between switches and hosts, and is slow only if both ends could do more.
"""

from __future__ import annotations

import re
from collections import Counter
from statistics import median_low
from typing import Iterable, Iterator, NamedTuple, Optional, Sequence

from plumbline.model.command import Completed, lines
from plumbline.model.errors import PlumblineError, PrivilegeError, ToolError
from plumbline.model.expectation import FabricLink
from plumbline.model.names import several
from plumbline.model.symptom import Look, Symptom
from plumbline.model.validation import whole
from plumbline.observe.query import complaint
from plumbline.parts.facts.fabric_output import (
    ERRORS,
    LINKS,
    End,
    Errors,
    Link,
    Links,
    parse_errors,
    parse_links,
)
from plumbline.parts.facts.links import INFINIBAND
from plumbline.parts.facts.node import Node
from plumbline.parts.facts.rules import rules

NAME = "fabric"

_LIMIT_S = 120.0
"""For each of the two; a port takes about a millisecond."""
_ADAPTERS = "/sys/class/infiniband"
_REFUSED = re.compile("can't open UMAD port|failed to open", re.IGNORECASE)

RULES = rules(
    NAME,
    """
    slow_link | warning | the link from {link} runs at {speed}, {than}
    missing_link | warning | the link from {link} is gone
    missing_switch | warning | switch {switch} is gone, with {number} links to others
    symbol_error | warning | {number:.0f} symbol errors on the link from {link}
    port_rcv_errors | warning | {number:.0f} damaged packets on the link from {link}
    link_error_recovery | warning | {number:.0f} recoveries of the link from {link}
    link_downed | warning | {number:.0f} losses of the link from {link}
    """,
)

_MEMORY = re.compile(
    rf"{NAME}/link/([0-9a-f]{{1,16}})\.(\d+) ([0-9a-f]{{1,16}})\.(\d+)/(.*) -- (.*)"
)
_FOREIGN = re.compile(rf"{NAME}/foreign/([0-9a-f]{{1,16}})")
"""A switch that is another site's."""
_OWN = re.compile(rf"{NAME}/own/([0-9a-f]{{1,16}}) ([0-9a-f]{{1,16}})/(.+)")
"""A switch with a host of the topology: both numbers, and the name of the host there."""
_WORDS = re.compile(r"[^\w.@+-]+")

_SLOWEST = "SDR"
_RATED = 0.98
"""Tolerance for rates that were rounded in the topology."""

_COUNTERS = {
    "symbol_error": ("SymbolErrorCounter", 0xFFFF),
    "port_rcv_errors": ("PortRcvErrors", 0xFFFF),
    "link_error_recovery": ("LinkErrorRecoveryCounter", 0xFF),
    "link_downed": ("LinkDownedCounter", 0xFF),
}
"""Name and last value of each counter (PortCounters of the InfiniBand specification)."""
_OF_HOSTS = ("symbol_error", "port_rcv_errors")
"""Counters of links to hosts: the others grow when a host restarts."""


def look(node: Node) -> Look:
    """Look at all links of the fabric.

    Raises:
        ToolError: the host has no InfiniBand, or the tools give no answer.
        PrivilegeError: this user may not send management packets.
    """
    if not node.system.names(_ADAPTERS):
        raise ToolError(f"{_ADAPTERS} is not there: no InfiniBand adapter, or no driver for it")
    asked = node.system.run(LINKS, _LIMIT_S)
    if not asked.ok:
        raise _trouble(asked)
    seen, partial = parse_links(asked.stdout), lines(asked.stderr)
    links = seen.links
    notes = [f"not all hosts and switches answered: {partial[0][:200]}"] if partial else []
    if seen.unclear:
        notes.append(f"ports to look at: {several([*map(str, seen.unclear)])}")
    fabric = _Fabric(node, seen)
    # what was seen before is remembered in any case
    missing = tuple(fabric.missing(partial=bool(partial)))
    findings = [*fabric.slow()]
    try:
        errors = _errors(node)
        findings += fabric.errors(errors)
        notes += _stopped(links, errors)
        if errors.silent:
            names = several(sorted(errors.silent), 1)
            notes.append(f"no error counters from {names}: errors of links there are not known")
    except (ToolError, PrivilegeError) as error:
        notes.append(f"errors of links are not counted: {error}")
    symptoms = [*fabric.own(findings), *missing]
    notes += [*fabric.elsewhere(findings), *fabric.not_found()]
    return Look(NAME, len(links), tuple(symptoms), tuple(notes))


def _errors(node: Node) -> Errors:
    asked = node.system.run(ERRORS, _LIMIT_S)
    # exit code 1: there are errors
    if asked.timed_out or asked.hung or asked.exit_code not in (0, 1):
        raise _trouble(asked)
    return parse_errors(asked.stdout, asked.stderr)


def _trouble(completed: Completed) -> PlumblineError:
    if _REFUSED.search(completed.stderr):
        return PrivilegeError(
            f"{completed.argv[0]} cannot open /dev/infiniband/umad*: ib_umad is not loaded, or "
            "this user may not; as root: plumbline fabric"
        )
    return ToolError(complaint(completed))


def _stopped(links: Sequence[Link], errors: Errors) -> Iterator[str]:
    """Yield a note if counters stand at their last value, where they stay."""
    last = dict(_COUNTERS.values())
    full = [
        end
        for link in links
        for end in link.ends
        if any(last.get(name) == value for name, value in errors.of(end).items())
    ]
    if full:
        yield (
            f"counters of {several([*map(str, full)], 1)} stand at their last value and count no "
            "further; clear them with: ibqueryerrors -k"
        )


class _Finding(NamedTuple):
    """A symptom of a link."""

    link: Link
    symptom: Symptom


class _Fabric:
    """The links of one look, and those of the topology."""

    def __init__(self, node: Node, seen: Links) -> None:
        self._node = node
        links = self._links = seen.links
        self._unclear = {port.end[:2] for port in seen.unclear}
        self._down = seen.down
        self._counters = node.counters
        self._parts = {frozenset(part.ends): part for part in node.parts.fabric}
        self._ways: dict[str, list[FabricLink]] = {}
        for part in (part for part in node.parts.fabric if part.of_host):
            self._ways.setdefault(part.ends[0], []).append(part)
        self._known_names = frozenset(name for part in node.parts.fabric for name in part.ends)
        self._part_of = {link.place: self._find(link) for link in links}
        self._together = Counter(self._part_of.values())
        self._foreign = self._find_foreign()

    def _find_foreign(self) -> frozenset[int]:
        """Return the switches with hosts of which the topology has none; remember them.

        Another site on the same fabric has such; each site's switches stay its own while their
        hosts are off.  A switch that never had hosts may serve both sites.  If no host is known,
        the topology has other names than the fabric, and nothing new can be told.
        """
        own = {end.guid for link in self._links for end in link.ends if any(self._names(end.name))}
        to_hosts = [link.ends for link in self._links if not link.between_switches]
        own.update(self._with_own_hosts(to_hosts))
        before = {int(match[1], 16) for match in self._earlier(_FOREIGN)}
        is_named = any(any(self._names(host.name)) for _, host in to_hosts)
        now = {switch.guid for switch, _ in to_hosts} if is_named else set()
        foreign = frozenset((before | now) - own)
        for guid in foreign:
            self._counters.growth(f"{NAME}/foreign/{guid:x}", 1.0)
        return foreign

    def _with_own_hosts(self, to_hosts: Sequence[tuple[End, End]]) -> Iterator[int]:
        """Yield the switches with a host of the topology; remember it for when it is off."""
        present = {host.guid for _, host in to_hosts}
        own: dict[int, tuple[int, str]] = {}
        for switch, host in to_hosts:
            name = next(self._names(host.name), "")
            if name:
                own.setdefault(switch.guid, (host.guid, name))
        for match in self._earlier(_OWN):
            guid = int(match[2], 16)
            # elsewhere by now, or removed from the topology
            if guid not in present and match[3] in self._known_names:
                own.setdefault(int(match[1], 16), (guid, match[3]))
        for switch_guid, (guid, name) in own.items():
            self._counters.growth(f"{NAME}/own/{switch_guid:x} {guid:x}/{name}", 1.0)
            yield switch_guid

    def _earlier(self, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Yield what the last look has remembered in names of this form."""
        return filter(None, map(pattern.fullmatch, self._counters.recorded(f"{NAME}/")))

    def _is_foreign(self, link: Link) -> bool:
        """Return whether a link that the topology lacks leads to a switch of another site."""
        return self._part_of[link.place] is None and self._leads_away(link.ends)

    def _leads_away(self, ends: Iterable[End]) -> bool:
        return any(end.guid in self._foreign for end in ends)

    def own(self, findings: Sequence[_Finding]) -> Iterator[Symptom]:
        """Yield the symptoms of links that are not another site's."""
        for link, symptom in findings:
            if not self._is_foreign(link):
                yield symptom

    def elsewhere(self, findings: Sequence[_Finding]) -> Iterator[str]:
        """Yield a note on findings at switches that only hosts of another site are behind."""
        foreign = [symptom for link, symptom in findings if self._is_foreign(link)]
        if foreign:
            number = f"{len(foreign)} finding{'s' * (len(foreign) > 1)}"
            yield (
                f"{number} at switches with no host of the topology, as of another site, first: "
                f"{foreign[0].sentence}; name these switches or hosts in the topology if they are "
                "of this site"
            )

    def slow(self) -> Iterator[_Finding]:
        """Yield the links that are slower than the topology has them, or than their peers."""
        for between in (True, False):
            peers = [link for link in self._links if link.between_switches is between]
            for link in peers:
                than = self._slower_than_rated(link)
                if than is None:
                    than = _slower_than_peers(link, peers)
                if than:
                    symptom = RULES["slow_link"].symptom(
                        self._component(link), link=link, speed=link.speed, than=than
                    )
                    yield _Finding(link, symptom)

    def _slower_than_rated(self, link: Link) -> Optional[str]:
        """Compare a link with the topology; empty if it is as fast, None if that has no rate."""
        part = self._part_of[link.place]
        if part is None or part.rate_Bps is None:
            return None
        together = self._together[part]
        if link.rate_Bps >= _RATED * part.rate_Bps / together:
            return ""
        among = f" in {together} links" if together > 1 else ""
        return f"{_gbit(link.rate_Bps)}, the topology has {_gbit(part.rate_Bps)}{among}"

    def missing(self, *, partial: bool) -> Iterator[Symptom]:
        """Yield the links between switches that an earlier look has seen, until they are back.

        A port that is up has its link, even if that cannot be judged.  In a ``partial`` look, in
        which not all have answered, both ports of a link that is gone are seen to be down.
        """
        used = {(end.guid, end.port) for link in self._links for end in link.ends}
        switches = {end.guid for link in self._links if link.between_switches for end in link.ends}
        gone: dict[str, list[str]] = {}
        for link in self._links:
            if link.between_switches and not self._is_foreign(link):
                self._counters.growth(_memory(link), 1.0)
        for name in self._counters.recorded(f"{NAME}/link/"):
            ends = _remembered(name)
            if any(end[:2] in used for end in ends) or self._leads_away(ends):
                continue
            self._counters.growth(name, 1.0)
            if any(end[:2] in self._unclear for end in ends):
                continue
            if partial and not all(end[:2] in self._down for end in ends):
                continue
            lost = [end.name for end in ends if end.guid not in switches]
            gone.setdefault(lost[0] if len(lost) == 1 else "", []).append(
                " to ".join(map(str, ends))
            )
        for switch, names in gone.items():
            if switch and len(names) > 1:
                component = self._known(switch)
                yield RULES["missing_switch"].symptom(component, switch=switch, number=len(names))
                continue
            for name in names:
                yield RULES["missing_link"].symptom(self._known(name), link=name)

    def errors(self, errors: Errors) -> Iterator[_Finding]:
        for file, _, least in INFINIBAND.counters:
            kind = file.rpartition("/")[2]
            for link in self._links:
                if not link.between_switches and kind not in _OF_HOSTS:
                    continue
                name = _COUNTERS[kind][0]
                number = errors.sum_of(name, link)
                growth = self._counters.growth(f"{NAME}/{kind}/{link.place}", number)
                if growth and growth.amount >= least:
                    symptom = RULES[kind].symptom(
                        self._component(link), growth.since, number=growth.amount, link=link
                    )
                    yield _Finding(link, symptom)

    def not_found(self) -> Iterator[str]:
        """Yield a note on ways between switches of the topology that no link has by its names.

        A host may be off, or in another network.
        """
        parts = (part for part in self._parts.values() if not part.of_host)
        absent = [part for part in parts if not self._together[part]]
        if absent:
            links = several([" to ".join(part.ends) for part in absent], 1)
            yield (
                f"the topology's link from {links} is not found by name; compare the names "
                f"in {' '.join(LINKS)}, which a node name map may change"
            )

    def _find(self, link: Link) -> Optional[FabricLink]:
        """Return the way of the topology that a link belongs to, by the names of both ends.

        A topology may have one switch for many, so the only way of a host is known by its name.
        """
        names = frozenset(name for end in link.ends for name in self._names(end.name))
        if names in self._parts or link.between_switches:
            return self._parts.get(names)
        ways = [part for name in names for part in self._ways.get(name, ())]
        return ways[0] if len(ways) == 1 else None

    def _component(self, link: Link) -> str:
        part = self._part_of[link.place]
        return part.name if part else self._known(str(link))

    def _known(self, text: str) -> str:
        """Return the first name of the topology in a text, else the node."""
        return next(self._names(text), self._node.parts.node)

    def _names(self, text: str) -> Iterator[str]:
        """Yield the names of the topology among the words of a description."""
        for word in _WORDS.split(text):
            yield from (
                name for name in (word, word.partition(".")[0]) if name in self._known_names
            )


def _gbit(rate_Bps: float) -> str:
    return f"{rate_Bps * 8e-9:.4g} Gbit/s"


def _slower_than_peers(link: Link, peers: Sequence[Link]) -> str:
    """Return how a link differs from its peers, or from its ends; empty if it does not."""
    if not link.better:
        return ""
    usual = median_low(peer.rate_Bps for peer in peers)
    if link.rate_Bps < usual:
        speed = next(peer.speed for peer in peers if peer.rate_Bps == usual)
        number = sum(peer.rate_Bps >= usual for peer in peers)
        kind = "between switches" if link.between_switches else "to hosts"
        return f"{number} of {len(peers)} links {kind} at {speed} or faster"
    reduced = link.width == 1 or link.lane == _SLOWEST
    return f"though both ends could do {link.better}" if reduced else ""


def _memory(link: Link) -> str:
    """Return the name of a counter that remembers a link between switches."""
    return f"{NAME}/link/{link.place}/" + " -- ".join(end.name for end in link.ends)


def _remembered(name: str) -> tuple[End, End]:
    match = _MEMORY.fullmatch(name)
    if not match:
        raise ToolError(f"the last look at the fabric has {name[:80]!r}, which is no link")
    return (
        End(int(match[1], 16), whole(match[2], "a port"), match[5]),
        End(int(match[3], 16), whole(match[4], "a port"), match[6]),
    )
