"""The ledger of a node: its last bill, and the dated changes from bill to bill.

A condition that is missing from a bill is not known, which is no change: automounts come and go, a
server is booted without Lustre for an hour.  Its last value is remembered, and a change is one
from that to another value.  The ledger is bounded in size and age.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Iterable, Iterator, Mapping, NamedTuple

from plumbline.conditions.bill import MOST, Bill
from plumbline.conditions.condition import AREAS, Condition
from plumbline.errors import DocumentError
from plumbline.model.validation import names, same_schema, times
from plumbline.units import DAY_S

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
_LONGEST = 400

Key = tuple[str, str, str]


class Change(NamedTuple):
    """A condition that was found with another value.

    ``at`` is when it was found, ``before`` when the old value was last seen, both in seconds since
    the epoch; the rest is as in Condition.
    """

    at: float
    before: float
    area: str
    subject: str
    name: str
    then: str
    now: str
    among: str

    @property
    def key(self) -> Key:
        """Return the condition that changed."""
        return self.area, self.subject, self.name


class Ledger(NamedTuple):
    """What is known of a node; ``missing`` are conditions of earlier bills with when last seen.

    ``since`` is when the first bill was taken; ``changes`` are by their dates.
    """

    bill: Bill
    since: float
    changes: tuple[Change, ...] = ()
    missing: tuple[tuple[Condition, float], ...] = ()

    def after(self, bill: Bill) -> Ledger:
        """Return the ledger with another bill of the same node as its last."""
        known = {one.key: (one, self.bill.taken_at) for one in self.bill.conditions}
        known.update({one.key: (one, seen) for one, seen in self.missing})
        found = {one.key for one in bill.conditions}
        fresh = [
            Change(bill.taken_at, seen, *one.key, then.value, one.value, one.among)
            for one in bill.conditions
            if one.key in known
            for then, seen in [known[one.key]]
            if then.value != one.value
        ]
        oldest = bill.taken_at - _MISSING_KEPT_S
        missing = [pair for key, pair in known.items() if key not in found and pair[1] > oldest]
        noted, restless = self._worth_keeping(fresh, bill.taken_at)
        return Ledger(
            bill._replace(notes=bill.notes + restless),
            self.since,
            kept((*self.changes, *noted), bill.taken_at),
            tuple(missing[:MOST]),
        )

    def _worth_keeping(
        self, fresh: Iterable[Change], now: float
    ) -> tuple[list[Change], tuple[str, ...]]:
        """Return the changes of settings, and a note on what changes too often to be one."""
        often = [
            (Counter(one.key for one in self.changes if one.at > now - period_s), most)
            for period_s, most in _OFTEN
        ]
        noted, restless = [], []
        for one in fresh:
            if any(counted[one.key] >= most for counted, most in often):
                restless.append(" ".join(filter(None, one.key)))
            else:
                noted.append(one)
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
        before = older.after(self._first()) if self.since > older.bill.taken_at else older
        merged = tuple(sorted({*before.changes, *self.changes}))
        return self._replace(since=older.since, changes=kept(merged, self.bill.taken_at))

    def _first(self) -> Bill:
        """Return the first bill, as far as the last one and the changes tell it."""
        values = {one.key: one.then for one in reversed(self.changes)}
        first = (one._replace(value=values.get(one.key, one.value)) for one in self.bill.conditions)
        return Bill(self.bill.node, self.since, tuple(first))

    def to_json(self) -> dict[str, Any]:
        """Return the document form, schema number first."""
        return {
            "schema": SCHEMA,
            "node": self.bill.node,
            "taken_at": self.bill.taken_at,
            "since": self.since,
            "notes": list(self.bill.notes),
            "changes": [list(one) for one in self.changes],
            "conditions": [list(one) for one in self.bill.conditions],
            "missing": [[*one, seen] for one, seen in self.missing],
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Ledger:
        """Build from the document form; raise DocumentError when it is not one of this schema."""
        try:
            same_schema(raw, SCHEMA, "the ledger of conditions", _REMEDY)
            names("ledger", (raw["node"], *raw["notes"]))
            times(taken_at=raw["taken_at"], since=raw["since"])
            bill = Bill(
                raw["node"],
                raw["taken_at"],
                tuple(map(_condition, _at_most(raw["conditions"], MOST))),
                tuple(_at_most(raw["notes"], MOST)),
            )
            changes = tuple(map(_change, _at_most(raw["changes"], _CHANGES_KEPT)))
            missing = tuple(map(_missing, _at_most(raw["missing"], MOST)))
            return cls(bill, raw["since"], tuple(sorted(changes)), missing)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise DocumentError(
                f"the ledger of conditions is damaged ({error!r:.200}); {_REMEDY}"
            ) from error


def begun(bill: Bill) -> Ledger:
    """Return the ledger of a node whose first bill this is."""
    return Ledger(bill, bill.taken_at)


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
    young = [one for one in changes if one.at > now - _CHANGES_KEPT_S]
    return tuple(young[-_CHANGES_KEPT:])


def _at_most(raw: Any, most: int) -> list[Any]:
    if not isinstance(raw, list) or len(raw) > most:
        raise TypeError(f"{raw!r:.60} is no list of at most {most}")
    return raw


def _condition(raw: Any) -> Condition:
    found = Condition(*raw)
    _texts(found)
    return found


def _missing(raw: Any) -> tuple[Condition, float]:
    times(seen=raw[-1])
    return _condition(raw[:-1]), raw[-1]


def _change(raw: Any) -> Change:
    found = Change(*raw)
    times(at=found.at, before=found.before)
    _texts(found[2:])
    return found


def _texts(values: Iterable[str]) -> None:
    """Refuse what no bill has: other areas, long or unprintable texts, which a terminal obeys."""
    found = tuple(values)
    names("condition", found)
    if found[0] not in AREAS:
        raise TypeError(f"{found[0]!r:.60} is no area of conditions")
    for text in found:
        if len(text) > _LONGEST or not text.isprintable():
            raise TypeError(f"{text!r:.60} is no text of a condition")


def latest(ledgers: Iterable[Ledger], since: float) -> Iterator[tuple[str, Change]]:
    """Yield node and change of all changes since a moment."""
    for ledger in ledgers:
        for change in ledger.changes:
            if change.at >= since:
                yield ledger.bill.node, change
