"""Changes of software and settings over a history, from its records.

A year of a large site has 250,000 records, which would take seconds to parse.  So only the part of
each record with host and versions is read: the order of fields is fixed, and quotes in texts are
escaped, so that these keys are unambiguous.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Optional

from plumbline.model.errors import DocumentError
from plumbline.model.trend import SERVER, VersionChange
from plumbline.model.validation import read_json, texts
from plumbline.store.database import Store, day_columns, inflate, month_of

_QUERY = (
    "SELECT layer, component, run_id, started_at, body FROM records WHERE layer != ? AND "
    "started_at >= ? ORDER BY seq"
)
_SEPARATOR = "\n"
"""Separator; JSON without whitespace does not contain it."""

_NO_VERSIONS = ("", '"versions":{}', '"versions":null')
"""Versions in records of runs that could not determine any."""

_Component = tuple[str, str]


class _Change(NamedTuple):
    """A change that may affect many components; ``number`` counts its repetitions, from 1.

    So an upgrade that was reverted and repeated is two changes.
    """

    name: str
    then: str
    now: str
    number: int


class _Changes:
    """The changes collected so far."""

    def __init__(self) -> None:
        self.began: dict[_Change, float] = {}
        self.affected: dict[_Change, set[_Component]] = {}
        self.components: dict[str, set[_Component]] = {}
        self._last: dict[tuple[_Component, str, str], str] = {}
        self._counts: Counter[tuple[_Component, str, str, str, str]] = Counter()

    def add(self, component: _Component, host: str, versions: Mapping[str, str], at: float) -> None:
        for name, now in versions.items():
            self.components.setdefault(name, set()).add(component)
            before = self._last.get((component, host, name), now)
            self._last[component, host, name] = now
            if before != now:
                step = (component, host, name, before, now)
                self._counts[step] += 1
                change = _Change(name, before, now, self._counts[step])
                self.began[change] = min(at, self.began.get(change, at))
                self.affected.setdefault(change, set()).add(component)


def version_changes(store: Store, since: float) -> tuple[VersionChange, ...]:
    """Return the changes since the first records after a time, by date.

    Changes are tracked per component and measuring host, because two clients of different versions
    may take turns.

    Raises:
        StoreError: the history cannot be read.
        DocumentError: the versions of a record are damaged.
    """
    changes = _Changes()
    seen: dict[_Component, str] = {}
    for layer, component, at, software in chain(_thinned(store, since), _rows(store, since)):
        key = (layer, component)
        host, _, versions = software.partition(_SEPARATOR)
        if versions and seen.get(key) != software:
            seen[key] = software
            changes.add(key, host, parse_versions(versions), at)
    return tuple(
        sorted(
            VersionChange(
                start,
                change.name,
                change.then,
                change.now,
                len(changes.affected[change]),
                len(changes.components[change.name]),
            )
            for change, start in changes.began.items()
        )
    )


def changed_at(rows: Iterable[tuple[Any, ...]]) -> Optional[float]:
    """Return the time of the last change of a series' versions; None without a change.

    ``rows`` are start and body of each record, newest first.  Records of other hosts are ignored.
    """
    since = 0.0
    latest: tuple[str, Mapping[str, str]] = ("", {})
    for at, body in rows:
        host, _, text = software_of(body).partition(_SEPARATOR)
        versions = parse_versions(text) if text else {}
        if not since:
            latest = host, versions
        # a version that a run could not determine is no change
        elif host == latest[0] and any(
            latest[1].get(name, version) != version for name, version in versions.items()
        ):
            return since
        if host == latest[0]:
            since = at
    return None


def software_of(body: object) -> str:
    """Return the text of host and versions in a record."""
    text = inflate(body)
    host = _cut(text, '"host":', ',"started_at":')
    return host + _SEPARATOR + _cut(text, '"versions":', ',"flags":')


def _rows(store: Store, since: float) -> Iterator[tuple[str, str, float, str]]:
    """Yield layer, component, time, and the text of host and versions of each record.

    Of a component's records in one run only the first one with versions is read, because
    decompressing the others would double the time.
    """
    rows = store.rows(_QUERY, (SERVER, since))
    runs: dict[_Component, str] = {}
    for layer, component, run_id, at, body in rows:
        key = (layer, component)
        if runs.get(key) != run_id:
            software = software_of(body)
            if software.partition(_SEPARATOR)[2] not in _NO_VERSIONS:
                runs[key] = run_id
            yield layer, component, at, software


def _thinned(store: Store, since: float) -> Iterator[tuple[str, str, float, str]]:
    """Yield the same for daily figures, for each component in the order of days."""
    software = dict(store.table("SELECT id, text FROM software"))
    query = "SELECT layer, component, figures FROM days WHERE month >= ? ORDER BY layer, component"
    rows = store.rows(query, (month_of(since),))
    for place, component_rows in groupby(rows, key=lambda row: row[:2]):
        days = [
            day
            for _, _, figures in component_rows
            for day in zip(*day_columns(figures, "at", "software"))
        ]
        if len({number for _, number in days}) > 1:
            days.sort(key=itemgetter(0))
        last = 0.0
        for at, number in days:
            # skip days with the same software as the day before
            if at >= since and number != last and number in software:
                last = number
                yield (*place, at, software[number])


def _cut(text: str, begin: str, end: str) -> str:
    """Return the text from ``begin`` up to ``end``, empty without ``begin``."""
    start = text.find(begin)
    return text[start : text.find(end, start)] if start >= 0 else ""


@lru_cache(maxsize=256)
def parse_versions(text: str) -> Mapping[str, str]:
    """Return versions from e.g. ``"versions":{"client":"2.15.5"}``; raise DocumentError."""
    try:
        versions = read_json(f"{{{text}}}")["versions"] or {}
        texts("versions", (part for pair in versions.items() for part in pair))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DocumentError(
            f"a record of the history has damaged versions ({text:.60}): {error}; measure again to "
            "have a sound one after it"
        ) from error
    return versions
