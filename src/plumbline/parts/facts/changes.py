"""Changes of conditions by node and over a site, and nodes that differ from their peers."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from typing import Iterable, Iterator, Mapping, NamedTuple, Sequence

from plumbline.model.ledger import AREAS, NODE, Change, Ledger
from plumbline.model.units import DAY_S, format_size
from plumbline.parts.facts.conditions import KERNEL, LUSTRE
from plumbline.topology.names import fold


def latest(ledgers: Iterable[Ledger], since: float) -> Iterator[tuple[str, Change]]:
    """Yield node and change for all changes since a time."""
    for ledger in ledgers:
        for change in ledger.changes:
            if change.at >= since:
                yield ledger.node, change


_APART_S = 3 * DAY_S
"""Longest gap between two nodes of one change: an upgrade may take several nights."""

_FIRST = (LUSTRE, KERNEL)
_SIZE = re.compile(r"(?:filesize|stripesize|_bytes)$")
_WITHOUT_END = 1 << 62
_LISTS = {"mount": ",", "boot options": " "}
"""List conditions and their separators; a change shows the differing entries."""

_NOUNS = {"lustre": "targets", "disk": "disks", "firmware": "devices", "link": "links"}
_TARGET = re.compile(r"[^.]*-(?:OST|MDT)[0-9a-f]{4}")
_ON_SERVERS = re.compile(r"(?:obdfilter|osd-\w+)\.\*")


class ChangeGroup(NamedTuple):
    """One change on ``nodes``, first seen between ``at`` and ``last`` (seconds since the epoch).

    ``before`` is the time at which all nodes still had the old value; ``subjects`` are the affected
    disks, links or targets, empty for the nodes themselves; ``affected`` is their number.
    """

    at: float
    last: float
    before: float
    area: str
    what: str
    then: str
    now: str
    nodes: tuple[str, ...]
    subjects: tuple[str, ...]
    affected: int

    @property
    def text(self) -> str:
        """Return e.g. ``readcache_max_filesize 1 MiB -> 32 MiB (12 targets)``."""
        suffix = ""
        if len(self.subjects) > 1:
            suffix = f" ({self.affected} {_NOUNS[self.area]})"
        elif self.subjects:
            suffix = f" of {self.subjects[0]}"
        return f"{self.what} {self.then or 'none'} -> {self.now or 'none'}{suffix}"

    def sentence(self, kinds: Mapping[str, str]) -> str:
        """Return e.g. ``Lustre 2.3.0 -> 2.4.0 on all 24 servers``; ``kinds`` are kinds by node."""
        return f"{self.text} on {where(self.nodes, kinds)}"


def grouped(changes: Iterable[tuple[str, Change]]) -> tuple[ChangeGroup, ...]:
    """Group the changes of nodes by date, the most important of a day first."""
    open_groups: dict[tuple[str, ...], list[list[tuple[str, Change]]]] = {}
    for node, change in sorted(changes, key=lambda pair: pair[1].at):
        then, now = _differing(change)
        groups = open_groups.setdefault((change.area, _what(change), then, now), [])
        if groups and change.at - groups[-1][-1][1].at <= _APART_S:
            groups[-1].append((node, change))
        else:
            groups.append([(node, change)])
    all_groups = [_group(key, members) for key, groups in open_groups.items() for members in groups]
    return tuple(
        sorted(all_groups, key=lambda group: (group.at // DAY_S, *priority(group), group.at))
    )


def priority(change: ChangeGroup) -> tuple[int, int, int]:
    """Return the sort key by importance: versions of Lustre and kernel, area, number of nodes."""
    first = _FIRST.index(change.what) if change.what in _FIRST else len(_FIRST)
    return first, AREAS.index(change.area), -len(change.nodes)


def where(nodes: Sequence[str], kinds: Mapping[str, str]) -> str:
    """Return nodes as text: ``all 24 servers``, or as ranges."""
    remaining, parts = set(nodes), []
    for kind in dict.fromkeys(kinds.values()):
        members = {node for node, node_kind in kinds.items() if node_kind == kind}
        if len(members) > 1 and members <= remaining:
            parts.append(f"all {len(members)} {kind}s")
            remaining -= members
    return ", ".join([*parts, fold(remaining)] if remaining else parts)


def shown(area: str, name: str, value: str) -> str:
    """Return a value for display: sizes with their units."""
    if area == "lustre" and _SIZE.search(name) and value.isascii() and value.isdigit():
        return (
            "unlimited" if len(value) > 18 or int(value) > _WITHOUT_END else format_size(int(value))
        )
    return value


def label(area: str, among: str, name: str) -> str:
    """Return the name of a condition without its subject, e.g. ``osc.max_dirty_mb``."""
    if among == NODE or area in ("firmware", "disk", "link") or _ON_SERVERS.fullmatch(among):
        return name
    if area == "lustre":
        return f"{among.replace('.*', '')}.{name}".lstrip(".")
    return f"{among} {name}"


def _what(change: Change) -> str:
    return label(change.area, change.among, change.name)


def _differing(change: Change) -> tuple[str, str]:
    """Return both values; for lists only the entries that differ."""
    sep = _LISTS.get(change.area) or _LISTS.get(change.name)
    if not sep:
        area, name = change.area, change.name
        return shown(area, name, change.then), shown(area, name, change.now)
    then, now = change.then.split(sep), change.now.split(sep)
    gone = [option for option in then if option not in now]
    new = [option for option in now if option not in then]
    return (sep.join(gone), sep.join(new)) if gone or new else (change.then, change.now)


def _group(key: tuple[str, ...], members: Sequence[tuple[str, Change]]) -> ChangeGroup:
    area, what, then, now = key
    changes = [change for _, change in members]
    own = {(node, subject) for node, change in members if (subject := _subject(change))}
    return ChangeGroup(
        changes[0].at,
        changes[-1].at,
        min(change.before for change in changes),
        area,
        what,
        then,
        now,
        tuple(sorted({node for node, _ in members})),
        tuple(sorted({subject for _, subject in own})),
        len(own),
    )


def _subject(change: Change) -> str:
    """Return the disk, link or target; empty if it is the node, or equals ``among``."""
    if change.area not in _NOUNS or change.subject == change.among:
        return ""
    target = _TARGET.search(change.subject)
    return target[0] if target else change.subject


_MIN_PEERS = 3
"""Least number of agreeing peers; of two nodes either may be wrong."""

_MAJORITY = 0.75
"""Least share of nodes with the usual value; below it the site has no rule."""


class Difference(NamedTuple):
    """A condition in which ``nodes`` of a kind differ from ``peers`` others."""

    kind: str
    area: str
    what: str
    among: str
    nodes: tuple[str, ...]
    value: str
    peers: int
    usual: str

    @property
    def text(self) -> str:
        """Return e.g. ``oss07: scheduler bfq, 23 peers mq-deadline``."""
        return f"{fold(self.nodes)}: {self.sentence}"

    @property
    def sentence(self) -> str:
        """Return the same without the nodes."""
        is_named = self.area == "lustre" or self.among == NODE or self.among in self.what
        suffix = "" if is_named else f" of {self.among}"
        odd, usual = self.value or "none", self.usual or "none"
        return f"{self.what}{suffix} {odd}, {self.peers} peers {usual}"


def differences(ledgers: Iterable[Ledger], kinds: Mapping[str, str]) -> tuple[Difference, ...]:
    """Return the conditions in which few nodes differ from peers of their kind, by importance."""
    by_kind: dict[str, list[Ledger]] = {}
    for ledger in ledgers:
        by_kind.setdefault(kinds.get(ledger.node, ""), []).append(ledger)
    results = chain.from_iterable(
        _kind_differences(kind, members) for kind, members in by_kind.items()
    )
    return tuple(sorted(results, key=lambda item: (AREAS.index(item.area), item.what, item.nodes)))


def _kind_differences(kind: str, ledgers: Iterable[Ledger]) -> Iterator[Difference]:
    conditions: dict[tuple[str, str, str], dict[str, set[str]]] = {}
    for ledger in ledgers:
        for condition in ledger.conditions:
            by_node = conditions.setdefault((condition.area, condition.among, condition.name), {})
            by_node.setdefault(ledger.node, set()).add(
                shown(condition.area, condition.name, condition.value)
            )
    for (area, among, name), by_node in conditions.items():
        texts = {node: ", ".join(sorted(values)) for node, values in by_node.items()}
        (usual, peers), *rest = Counter(texts.values()).most_common()
        if rest and peers >= max(_MIN_PEERS, _MAJORITY * len(texts)):
            for value, _ in rest:
                nodes = tuple(sorted(node for node, own in texts.items() if own == value))
                what = label(area, among, name)
                yield Difference(kind, area, what, among, nodes, value, peers, usual)
