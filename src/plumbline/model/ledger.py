"""Ledger of the conditions of a node: software, firmware, parameters, links, and their changes.

A condition that is missing from a look is unknown, not changed: automounts come and go, a server
runs without Lustre for an hour.  Its last value is remembered, and only another value is a change.
The ledger is bounded in size and age.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Annotated, Any, Iterable, Mapping, NamedTuple

from plumbline.model.codec import AtMost, form, positional
from plumbline.model.units import DAY_S
from plumbline.model.validation import times, unicode_text

AREAS = ("lustre", "software", "firmware", "module", "mount", "disk", "sysctl", "link", "cpu")
"""The most likely reason for a change of rates comes first."""

NODE = "node"
"""The class of conditions that a node has once."""

MAX_CONDITIONS = 10_000
"""Most conditions of a node, about those of a client with 2000 targets."""

_MAX_LETTERS = 400
_SECRET = re.compile(
    r"passw|passphrase|\bpass\b|secret|token|credential|key(?!board)|private|auth", re.IGNORECASE
)


def _listed(area: str) -> None:
    if area not in AREAS:
        raise TypeError(f"{area!r:.60} is no area of conditions")


def _bounded(**values: str) -> None:
    """Refuse long and unprintable texts, lone surrogates among them."""
    for text in values.values():
        if len(text) > _MAX_LETTERS or not text.isprintable():
            raise TypeError(f"{text!r:.60} is no text of a condition")


Area = Annotated[str, _listed]
Text = Annotated[str, _bounded]
Key = tuple[str, str, str]


@positional
class Condition(NamedTuple):
    """One condition of a node.

    ``area`` is one of AREAS; ``subject`` the device or target, by a name that survives reboots,
    empty for the node itself; ``among`` the class for comparing nodes, such as a disk's model.
    """

    area: Area
    subject: Text
    name: Text
    value: Text
    among: Text = NODE

    @property
    def key(self) -> Key:
        """Return the identity of the condition."""
        return self.area, self.subject, self.name


def is_secret(name: str) -> bool:
    """Return whether a name suggests a secret value."""
    return _SECRET.search(name) is not None


PARAMETER_PATTERN = re.compile(r"[A-Za-z0-9_*][A-Za-z0-9_.*?:@\[\]-]*")
"""Parameter patterns of ``lctl get_param``; none can be taken for an option."""

DEFAULT_PARAMETERS = (
    *("timeout", "ldlm_timeout", "at_min", "at_max", "jobid_var", "debug", "subsystem_debug"),
    *("osc.*.max_rpcs_in_flight", "osc.*.max_pages_per_rpc", "osc.*.max_dirty_mb"),
    *("osc.*.checksums", "osc.*.checksum_type", "osc.*.short_io_bytes"),
    *("mdc.*.max_rpcs_in_flight", "mdc.*.max_mod_rpcs_in_flight"),
    *("llite.*.max_cached_mb", "llite.*.max_read_ahead_mb", "llite.*.max_read_ahead_per_file_mb"),
    *("llite.*.max_read_ahead_whole_mb", "llite.*.max_read_ahead_async_active"),
    *("llite.*.checksums", "llite.*.fast_read", "llite.*.statahead_max"),
    *("obdfilter.*.brw_size", "obdfilter.*.readcache_max_filesize", "obdfilter.*.sync_journal"),
    *("obdfilter.*.read_cache_enable", "obdfilter.*.writethrough_cache_enable"),
    *("obdfilter.*.sync_on_lock_cancel", "obdfilter.*.checksum_t10pi_enforce"),
    *("osd-*.*.readcache_max_filesize", "osd-*.*.readcache_max_io_mb", "osd-*.*.nonrotational"),
    *("osd-*.*.read_cache_enable", "osd-*.*.writethrough_cache_enable", "osd-*.*.auto_scrub"),
    *("osp.*.max_rpcs_in_flight", "osp.*.max_rpcs_in_progress"),
    *("ost.OSS.*.threads_min", "ost.OSS.*.threads_max", "mds.MDS.*.threads_max"),
    *("lod.*.stripecount", "lod.*.stripesize", "lod.*.stripeoffset", "lod.*.qos_prio_free"),
    *("lod.*.qos_threshold_rr", "lov.*.stripecount", "lov.*.stripesize", "lov.*.stripeoffset"),
)
"""Settings that affect rates, on clients and servers since 2.3; no statistics."""

FILE = "conditions.json"
MAX_BYTES = 8 << 20
"""Size of the longest ledger."""

_CHANGES_KEPT = 2000
_CHANGES_KEPT_S = 400 * DAY_S
"""Equals the age limit of records in a history."""
_MISSING_KEPT_S = 90 * DAY_S
_OFTEN = ((DAY_S, 4), (30 * DAY_S, 12))
"""Period, and most changes of a setting in it; what changes more often is no setting."""


@positional
class Change(NamedTuple):
    """A changed condition.

    ``at`` is the time of the first look with the new value ``now``, ``before`` that of the last
    look with the old value ``then``, in seconds since the epoch; the rest is as in Condition.
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
        """Return the key of the changed condition."""
        return self.area, self.subject, self.name


@positional
class Missing(NamedTuple):
    """A condition of earlier looks, last seen at ``seen``, in seconds since the epoch."""

    area: Area
    subject: Text
    name: Text
    value: Text
    among: Text
    seen: Annotated[float, times]


@form(1, "ledger of conditions", "take it again with: plumbline symptoms --save")
class Ledger(NamedTuple):
    """The conditions of a node at ``taken_at``, all changes, and the conditions missing then.

    Times are in seconds since the epoch, ``since`` that of the first look.  ``notes`` are the
    errors of collectors; ``changes`` are sorted by date.
    """

    node: Annotated[str, unicode_text]
    taken_at: Annotated[float, times]
    since: Annotated[float, times]
    notes: Annotated[tuple[Annotated[str, unicode_text], ...], AtMost(MAX_CONDITIONS)] = ()
    changes: Annotated[tuple[Change, ...], AtMost(_CHANGES_KEPT)] = ()
    conditions: Annotated[tuple[Condition, ...], AtMost(MAX_CONDITIONS)] = ()
    missing: Annotated[tuple[Missing, ...], AtMost(MAX_CONDITIONS)] = ()

    def after(self, older: Ledger) -> Ledger:
        """Return this ledger of a single look, completed from the one of all looks before."""
        earlier = {item.key: Missing(*item, older.taken_at) for item in older.conditions}
        earlier.update({missing[:3]: missing for missing in older.missing})
        keys = {item.key for item in self.conditions}
        fresh = [
            Change(self.taken_at, before.seen, *item.key, before.value, item.value, item.among)
            for item in self.conditions
            if (before := earlier.get(item.key)) and before.value != item.value
        ]
        oldest = self.taken_at - _MISSING_KEPT_S
        missing = [item for key, item in earlier.items() if key not in keys and item.seen > oldest]
        settings, restless_note = older._changed_settings(fresh, self.taken_at)
        return self._replace(
            since=older.since,
            notes=self.notes + restless_note,
            changes=recent_changes((*older.changes, *settings), self.taken_at),
            missing=tuple(missing[:MAX_CONDITIONS]),
        )

    def _changed_settings(
        self, fresh: Iterable[Change], now: float
    ) -> tuple[list[Change], tuple[str, ...]]:
        """Return the changes of settings, and a note on conditions that change too often."""
        counts = [
            (Counter(earlier.key for earlier in self.changes if earlier.at > now - period_s), most)
            for period_s, most in _OFTEN
        ]
        settings, restless = [], []
        for change in fresh:
            if any(number[change.key] >= most for number, most in counts):
                restless.append(" ".join(filter(None, change.key)))
            else:
                settings.append(change)
        if not restless:
            return settings, ()
        return settings, (
            f"{restless[0]} changes too often for a setting: its changes are not listed"
            + (f", like {len(restless) - 1} more" if len(restless) > 1 else ""),
        )

    def succeeding(self, older: Ledger) -> Ledger:
        """Return this ledger, completed from an older copy of it.

        A node that was reinstalled, or has no disk, starts a new ledger: differences from the copy
        are changes.
        """
        before = self._first().after(older) if self.since > older.taken_at else older
        merged = {*before.changes, *self.changes}
        return self._replace(since=older.since, changes=recent_changes(merged, self.taken_at))

    def _first(self) -> Ledger:
        """Reconstruct the first look from the last one and the changes."""
        values = {change.key: change.then for change in reversed(self.changes)}
        first = (
            condition._replace(value=values.get(condition.key, condition.value))
            for condition in self.conditions
        )
        return Ledger(self.node, self.since, self.since, conditions=tuple(first))


def is_newer(raw: Mapping[str, Any], known_at: float) -> bool:
    """Return whether a ledger in document form is newer than a copy of a look at ``known_at``.

    True for a damaged ledger, so that the damage is reported.
    """
    try:
        last = max((change[0] for change in raw["changes"]), default=raw["since"])
        return bool(last > known_at or not 0 <= raw["taken_at"] - known_at < DAY_S)
    except (LookupError, TypeError):
        return True


def recent_changes(changes: Iterable[Change], now: float) -> tuple[Change, ...]:
    """Return the changes to keep, sorted: the latest ones within the age limit."""
    within_limit = sorted(change for change in changes if change.at > now - _CHANGES_KEPT_S)
    return tuple(within_limit[-_CHANGES_KEPT:])
