"""Changes of many nodes as a person reads them: the same change on many of them is one."""

from __future__ import annotations

import re
from typing import Any, Iterable, Mapping, NamedTuple, Sequence

from plumbline.conditions.condition import AREAS, NODE
from plumbline.conditions.ledger import Change
from plumbline.conditions.software import KERNEL, LUSTRE
from plumbline.topology.ranges import fold
from plumbline.units import DAY_S, format_size

_APART_S = 3 * DAY_S
"""Between two nodes of one change: an upgrade server by server takes its nights."""

_FIRST = (LUSTRE, KERNEL)
_SIZE = re.compile(r"(?:filesize|stripesize|_bytes)$")
_WITHOUT_END = 1 << 62
_LISTS = {"mount": ",", "boot options": " "}
"""Conditions that are lists, of which a change shows what differs."""

_NOUNS = {"lustre": "targets", "disk": "disks", "firmware": "devices", "link": "links"}
_TARGET = re.compile(r"[^.]*-(?:OST|MDT)[0-9a-f]{4}")
_ON_SERVERS = re.compile(r"(?:obdfilter|osd-\w+)\.\*")


class Grouped(NamedTuple):
    """One change on ``nodes``, found between ``at`` and ``last`` (seconds since the epoch).

    ``before`` is when the old value was last seen for certain; ``subjects`` has the disks, links or
    targets that it changed for, none for the nodes themselves; ``affected`` is their number.
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
        of = ""
        if len(self.subjects) > 1:
            of = f" ({self.affected} {_NOUNS[self.area]})"
        elif self.subjects:
            of = f" of {self.subjects[0]}"
        return f"{self.what} {self.then or 'none'} -> {self.now or 'none'}{of}"

    def to_json(self) -> dict[str, Any]:
        """Return the document form."""
        return self._asdict()

    def said(self, kinds: Mapping[str, str]) -> str:
        """Return e.g. ``Lustre 2.3.0 -> 2.4.0 on all 24 servers``; ``kinds`` has each node's."""
        return f"{self.text} on {where(self.nodes, kinds)}"


def grouped(changes: Iterable[tuple[str, Change]]) -> tuple[Grouped, ...]:
    """Return the changes of nodes by their dates, the most telling of a day first."""
    open_groups: dict[tuple[str, ...], list[list[tuple[str, Change]]]] = {}
    for node, change in sorted(changes, key=lambda pair: pair[1].at):
        then, now = _differing(change)
        groups = open_groups.setdefault((change.area, _what(change), then, now), [])
        if groups and change.at - groups[-1][-1][1].at <= _APART_S:
            groups[-1].append((node, change))
        else:
            groups.append([(node, change)])
    found = [_group(key, members) for key, every in open_groups.items() for members in every]
    return tuple(
        sorted(found, key=lambda change: (change.at // DAY_S, *telling(change), change.at))
    )


def telling(change: Grouped) -> tuple[int, int, int]:
    """Return what orders changes: versions of Lustre and kernel, then by area, then by nodes."""
    first = _FIRST.index(change.what) if change.what in _FIRST else len(_FIRST)
    return first, AREAS.index(change.area), -len(change.nodes)


def where(nodes: Sequence[str], kinds: Mapping[str, str]) -> str:
    """Return nodes as ``all 24 servers``, else as ranges."""
    rest, said = set(nodes), []
    for kind in dict.fromkeys(kinds.values()):
        every = {node for node, its in kinds.items() if its == kind}
        if len(every) > 1 and every <= rest:
            said.append(f"all {len(every)} {kind}s")
            rest -= every
    return ", ".join([*said, fold(rest)] if rest else said)


def shown(area: str, name: str, value: str) -> str:
    """Return a value as people read it: sizes in their units."""
    if area == "lustre" and _SIZE.search(name) and value.isascii() and value.isdigit():
        return (
            "unlimited" if len(value) > 18 or int(value) > _WITHOUT_END else format_size(int(value))
        )
    return value


def label(area: str, among: str, name: str) -> str:
    """Return what a condition is called without its subject, e.g. ``osc.max_dirty_mb``."""
    if among == NODE or area in ("firmware", "disk", "link") or _ON_SERVERS.fullmatch(among):
        return name
    if area == "lustre":
        return f"{among.replace('.*', '')}.{name}".lstrip(".")
    return f"{among} {name}"


def _what(change: Change) -> str:
    return label(change.area, change.among, change.name)


def _differing(change: Change) -> tuple[str, str]:
    """Return both values, of a list what is in one of them alone."""
    mark = _LISTS.get(change.area) or _LISTS.get(change.name)
    if not mark:
        area, name = change.area, change.name
        return shown(area, name, change.then), shown(area, name, change.now)
    then, now = change.then.split(mark), change.now.split(mark)
    gone = [one for one in then if one not in now]
    come = [one for one in now if one not in then]
    return (mark.join(gone), mark.join(come)) if gone or come else (change.then, change.now)


def _group(key: tuple[str, ...], members: Sequence[tuple[str, Change]]) -> Grouped:
    area, what, then, now = key
    changes = [change for _, change in members]
    own = {(node, subject) for node, change in members if (subject := _subject(change))}
    return Grouped(
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
    """Return the disk, link or target; empty where the change is the node's or said already."""
    if change.area not in _NOUNS or change.subject == change.among:
        return ""
    target = _TARGET.search(change.subject)
    return target[0] if target else change.subject
