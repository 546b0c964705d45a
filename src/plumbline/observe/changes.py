"""Changes of conditions: dated by node, grouped over a site, and nodes that differ from peers.

A condition that is missing from a bill is not known, which is no change: automounts come and go, a
server is booted without Lustre for an hour.  Its last value is remembered, and a change is one
from that to another value.  The ledger is bounded in size and age.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Annotated, Any, Iterable, Iterator, Mapping, NamedTuple, Sequence

from plumbline.model.codec import AtMost, positional, read_document, write_fields
from plumbline.model.units import DAY_S, format_size
from plumbline.model.validation import times, unicode_text
from plumbline.observe.conditions import (
    AREAS,
    KERNEL,
    LUSTRE,
    MOST,
    NODE,
    Area,
    Bill,
    Condition,
    Key,
    Text,
)
from plumbline.topology.names import fold

SCHEMA = 1
FILE = "conditions.json"
MOST_BYTES = 8 << 20
"""Of a ledger that is as long as it may be."""

_REMEDY = "take it again with plumbline symptoms --save"
_CHANGES_KEPT = 2000
_CHANGES_KEPT_S = 400 * DAY_S
"""As long as a history keeps its records."""
_MISSING_KEPT_S = 90 * DAY_S
_OFTEN = ((DAY_S, 4), (30 * DAY_S, 12))
"""So many changes in so long a time are those of no setting: the next ones are dropped."""


@positional
class Change(NamedTuple):
    """A condition that was found with another value.

    ``at`` is when it was found, ``before`` when the old value was last seen, both in seconds since
    the epoch; the rest is as in Condition.
    """

    at: Annotated[float, times]
    before: Annotated[float, times]
    area: Area
    subject: Text
    name: Text
    then: Text
    now: Text
    among: Text

    @property
    def key(self) -> Key:
        """Return the condition that changed."""
        return self.area, self.subject, self.name


@positional
class Missing(NamedTuple):
    """A condition of earlier bills, last seen at ``seen`` seconds since the epoch."""

    area: Area
    subject: Text
    name: Text
    value: Text
    among: Text
    seen: Annotated[float, times]


class Ledger(NamedTuple):
    """The last bill of a node, its changes, and conditions that are missing from it.

    ``since`` is when the first bill was taken; ``changes`` are by their dates.
    """

    node: Annotated[str, unicode_text]
    taken_at: Annotated[float, times]
    since: Annotated[float, times]
    notes: Annotated[tuple[Annotated[str, unicode_text], ...], AtMost(MOST)] = ()
    changes: Annotated[tuple[Change, ...], AtMost(_CHANGES_KEPT)] = ()
    conditions: Annotated[tuple[Condition, ...], AtMost(MOST)] = ()
    missing: Annotated[tuple[Missing, ...], AtMost(MOST)] = ()

    def after(self, bill: Bill) -> Ledger:
        """Return the ledger with another bill of the same node as its last."""
        earlier = {
            condition.key: Missing(*condition, self.taken_at) for condition in self.conditions
        }
        earlier.update({missing[:3]: missing for missing in self.missing})
        keys = {condition.key for condition in bill.conditions}
        fresh = [
            Change(
                bill.taken_at,
                before.seen,
                *condition.key,
                before.value,
                condition.value,
                condition.among,
            )
            for condition in bill.conditions
            if (before := earlier.get(condition.key)) and before.value != condition.value
        ]
        oldest = bill.taken_at - _MISSING_KEPT_S
        missing = [each for key, each in earlier.items() if key not in keys and each.seen > oldest]
        noted, restless = self._worth_keeping(fresh, bill.taken_at)
        return begun(bill)._replace(
            since=self.since,
            notes=bill.notes + restless,
            changes=kept((*self.changes, *noted), bill.taken_at),
            missing=tuple(missing[:MOST]),
        )

    def _worth_keeping(
        self, fresh: Iterable[Change], now: float
    ) -> tuple[list[Change], tuple[str, ...]]:
        """Return the changes of settings, and a note on what changes too often to be one."""
        often = [
            (Counter(earlier.key for earlier in self.changes if earlier.at > now - period_s), most)
            for period_s, most in _OFTEN
        ]
        noted, restless = [], []
        for change in fresh:
            if any(counted[change.key] >= most for counted, most in often):
                restless.append(" ".join(filter(None, change.key)))
            else:
                noted.append(change)
        if not restless:
            return noted, ()
        return noted, (
            f"{restless[0]} changes too often for a setting: its changes are not listed"
            + (f", like {len(restless) - 1} more" if len(restless) > 1 else ""),
        )

    def succeeding(self, older: Ledger) -> Ledger:
        """Return this ledger of a node with what an older copy of it knows and it does not.

        A node that was installed again, or has no disk, begins a new ledger: what is different then
        has changed since the copy.
        """
        before = older.after(self._first()) if self.since > older.taken_at else older
        merged = tuple(sorted({*before.changes, *self.changes}))
        return self._replace(since=older.since, changes=kept(merged, self.taken_at))

    def _first(self) -> Bill:
        """Return the first bill, as far as the last one and the changes tell it."""
        values = {change.key: change.then for change in reversed(self.changes)}
        first = (
            condition._replace(value=values.get(condition.key, condition.value))
            for condition in self.conditions
        )
        return Bill(self.node, self.since, tuple(first))

    def to_json(self) -> dict[str, Any]:
        """Return the document form, schema number first."""
        return {"schema": SCHEMA, **write_fields(self)}

    @classmethod
    def from_json(cls, raw: Any) -> Ledger:
        """Build from the document form; raise DocumentError when it is not one of this schema."""
        ledger = read_document(cls, raw, SCHEMA, "the ledger of conditions", _REMEDY)
        return ledger._replace(changes=tuple(sorted(ledger.changes)))


def begun(bill: Bill) -> Ledger:
    """Return the ledger of a node whose first bill this is."""
    return Ledger(bill.node, bill.taken_at, bill.taken_at, bill.notes, (), bill.conditions)


def has_news(raw: Mapping[str, Any], known_at: float) -> bool:
    """Return whether a ledger in document form has more than a copy whose bill is of ``known_at``.

    One that is damaged has: whoever asked is to know.
    """
    try:
        last = max((change[0] for change in raw["changes"]), default=raw["since"])
        return bool(last > known_at or not 0 <= raw["taken_at"] - known_at < DAY_S)
    except (LookupError, TypeError):
        return True


def kept(changes: tuple[Change, ...], now: float) -> tuple[Change, ...]:
    """Return the latest changes, none that is too old to matter."""
    young = [change for change in changes if change.at > now - _CHANGES_KEPT_S]
    return tuple(young[-_CHANGES_KEPT:])


def latest(ledgers: Iterable[Ledger], since: float) -> Iterator[tuple[str, Change]]:
    """Yield node and change of all changes since a moment."""
    for ledger in ledgers:
        for change in ledger.changes:
            if change.at >= since:
                yield ledger.node, change


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


class ChangeGroup(NamedTuple):
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

    def sentence(self, kinds: Mapping[str, str]) -> str:
        """Return e.g. ``Lustre 2.3.0 -> 2.4.0 on all 24 servers``; ``kinds`` has each node's."""
        return f"{self.text} on {where(self.nodes, kinds)}"


def grouped(changes: Iterable[tuple[str, Change]]) -> tuple[ChangeGroup, ...]:
    """Return the changes of nodes by their dates, the most telling of a day first."""
    open_groups: dict[tuple[str, ...], list[list[tuple[str, Change]]]] = {}
    for node, change in sorted(changes, key=lambda pair: pair[1].at):
        then, now = _differing(change)
        groups = open_groups.setdefault((change.area, _what(change), then, now), [])
        if groups and change.at - groups[-1][-1][1].at <= _APART_S:
            groups[-1].append((node, change))
        else:
            groups.append([(node, change)])
    groups_of_all = [
        _group(key, members) for key, every in open_groups.items() for members in every
    ]
    return tuple(
        sorted(groups_of_all, key=lambda group: (group.at // DAY_S, *telling(group), group.at))
    )


def telling(change: ChangeGroup) -> tuple[int, int, int]:
    """Return what orders changes: versions of Lustre and kernel, then by area, then by nodes."""
    first = _FIRST.index(change.what) if change.what in _FIRST else len(_FIRST)
    return first, AREAS.index(change.area), -len(change.nodes)


def where(nodes: Sequence[str], kinds: Mapping[str, str]) -> str:
    """Return nodes as ``all 24 servers``, else as ranges."""
    rest, parts = set(nodes), []
    for kind in dict.fromkeys(kinds.values()):
        every = {node for node, its in kinds.items() if its == kind}
        if len(every) > 1 and every <= rest:
            parts.append(f"all {len(every)} {kind}s")
            rest -= every
    return ", ".join([*parts, fold(rest)] if rest else parts)


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
    gone = [option for option in then if option not in now]
    come = [option for option in now if option not in then]
    return (mark.join(gone), mark.join(come)) if gone or come else (change.then, change.now)


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
    """Return the disk, link or target; empty where the change is the node's or said already."""
    if change.area not in _NOUNS or change.subject == change.among:
        return ""
    target = _TARGET.search(change.subject)
    return target[0] if target else change.subject


_LEAST = 3
"""Peers that agree; of two nobody knows which one is wrong."""

_MAJORITY = 0.75
"""Of the nodes that have the condition; less is no rule of the site."""


class Difference(NamedTuple):
    """A condition of ``nodes`` of one kind that ``peers`` others have with another value."""

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
        of = "" if is_named else f" of {self.among}"
        odd, usual = self.value or "none", self.usual or "none"
        return f"{self.what}{of} {odd}, {self.peers} peers {usual}"


def differences(ledgers: Iterable[Ledger], kinds: Mapping[str, str]) -> tuple[Difference, ...]:
    """Return what few nodes of a kind have otherwise than their peers, the most telling first."""
    by_kind: dict[str, list[Ledger]] = {}
    for ledger in ledgers:
        by_kind.setdefault(kinds.get(ledger.node, ""), []).append(ledger)
    differences_of_all = [
        each for kind, members in by_kind.items() for each in _of_kind(kind, members)
    ]
    return tuple(
        sorted(differences_of_all, key=lambda odd: (AREAS.index(odd.area), odd.what, odd.nodes))
    )


def _of_kind(kind: str, ledgers: Iterable[Ledger]) -> Iterator[Difference]:
    conditions: dict[tuple[str, str, str], dict[str, set[str]]] = {}
    for ledger in ledgers:
        for condition in ledger.conditions:
            having = conditions.setdefault((condition.area, condition.among, condition.name), {})
            having.setdefault(ledger.node, set()).add(
                shown(condition.area, condition.name, condition.value)
            )
    for (area, among, name), having in conditions.items():
        values = {node: ", ".join(sorted(every)) for node, every in having.items()}
        (usual, peers), *rest = Counter(values.values()).most_common()
        if rest and peers >= max(_LEAST, _MAJORITY * len(values)):
            for value, _ in rest:
                nodes = tuple(sorted(node for node, its in values.items() if its == value))
                what = label(area, among, name)
                yield Difference(kind, area, what, among, nodes, value, peers, usual)
