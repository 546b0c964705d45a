"""Changes of software and settings over a history.

Each record has the number of its software, host and versions, in a column, because a year of a
large site has millions of records.  Those from before that column are read.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.errors import DocumentError
from plumbline.model.trend import SERVER, VersionChange
from plumbline.model.validation import read_json, texts
from plumbline.store.database import (
    OF_SERIES,
    SOFTWARE_SEPARATOR,
    Store,
    day_columns,
    month_of,
    software_of,
)

_BODY = "CASE WHEN software IS NULL THEN body END"
_QUERY = (
    f"SELECT run_id, started_at, software, {_BODY} FROM records "
    "WHERE (layer, component) = (?, ?) AND started_at >= ? ORDER BY seq"
)
# SQLite takes the other columns of a group from the row with its only min()
_FIRSTS = (
    "SELECT layer, component, min(seq), started_at, software, "
    "count(DISTINCT software) = 1 AND count(software) = count(*) FROM records "
    "WHERE layer != ? AND started_at >= ? GROUP BY layer, component ORDER BY layer, component"
)
"""First record of each component, and whether all have the same number of software."""
_NO_VERSIONS = ("", '"versions":{}', '"versions":null')
"""Versions in records of runs that could not determine any."""

_OF_SERIES = f"FROM records WHERE {OF_SERIES} ORDER BY seq DESC LIMIT ?"
_NEWEST = f"SELECT started_at, software, {_BODY} {_OF_SERIES}"
_IS_SAME = (
    "SELECT min(software) = max(software) AND count(software) = count(*) "
    f"FROM (SELECT software {_OF_SERIES})"
)
"""Whether all records have the same number of software."""

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
        host, _, versions = software.partition(SOFTWARE_SEPARATOR)
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


def changed_at(store: Store, series: Sequence[str], count: int) -> Optional[float]:
    """Return the time of the last change of versions among the latest records of a series.

    None if the last ``count`` records have the same versions.  Records of other hosts are ignored.
    """
    if store.table(_IS_SAME, (*series, count)) == [(1,)]:
        return None
    software = _software(store)
    since = 0.0
    latest: tuple[str, Mapping[str, str]] = ("", {})
    for at, number, body in store.table(_NEWEST, (*series, count)):
        text = software_of(body) if number is None else software[number]
        host, _, words = text.partition(SOFTWARE_SEPARATOR)
        versions = parse_versions(words) if words else {}
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


def _rows(store: Store, since: float) -> Iterator[tuple[str, str, float, str]]:
    """Yield layer, component, time, and the text of host and versions, component by component.

    Of a component's records in one run the first one with versions counts.
    """
    software = _software(store)
    for *place, _, first_at, common, same in store.table(_FIRSTS, (SERVER, since)):
        if same:
            yield (*place, first_at, software[common])
            continue
        last_run = ""
        for run_id, at, number, body in store.rows(_QUERY, (*place, since)):
            if run_id != last_run:
                text = software_of(body) if number is None else software[number]
                if text.partition(SOFTWARE_SEPARATOR)[2] not in _NO_VERSIONS:
                    last_run = run_id
                yield (*place, at, text)


def _software(store: Store) -> dict[int, str]:
    return dict(store.table("SELECT id, text FROM software"))


def _thinned(store: Store, since: float) -> Iterator[tuple[str, str, float, str]]:
    """Yield the same for daily figures, for each component in the order of days."""
    software = _software(store)
    query = "SELECT layer, component, figures FROM days WHERE month >= ? ORDER BY layer, component"
    rows = store.rows(query, (month_of(since),))
    for place, component_rows in groupby(rows, key=itemgetter(0, 1)):
        times, numbers = day_columns((row[2] for row in component_rows), "at", "software")
        days = (day for day in zip(times, numbers) if day[0] >= since)
        changed = len({*numbers}) > 1
        last = 0.0
        for at, number in sorted(days, key=itemgetter(0)) if changed else islice(days, 1):
            # skip days with the same software as the day before
            if number != last and number in software:
                last = number
                yield (*place, at, software[int(number)])


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
