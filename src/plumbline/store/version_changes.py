"""Changes of software and settings over a history, as its records carry them.

A year of a large site has 250,000 records, which would take seconds to parse.  So only the few
characters of each are looked at that say host and versions: records are written with their fields
in one order, and a quote inside a text is escaped, so that nothing else reads like these keys.
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
from plumbline.store.database import Store, figured, inflated, month_of

_QUERY = (
    "SELECT layer, component, run_id, started_at, body FROM records WHERE layer != ? AND "
    "started_at >= ? ORDER BY seq"
)
_AND = "\n"
"""JSON without blanks has none."""

_SILENT = ("", '"versions":{}', '"versions":null')
"""Versions of a record whose run could not find out any."""

_Component = tuple[str, str]


class _Change(NamedTuple):
    """A change that may reach many components; ``number`` counts it on each, from 1.

    So an upgrade that was taken back and made once more is two.
    """

    name: str
    then: str
    now: str
    number: int


class _Changes:
    """The changes met so far."""

    def __init__(self) -> None:
        self.began: dict[_Change, float] = {}
        self.reached: dict[_Change, set[_Component]] = {}
        self.components: dict[str, set[_Component]] = {}
        self._last: dict[tuple[_Component, str, str], str] = {}
        self._made: Counter[tuple[_Component, str, str, str, str]] = Counter()

    def add(self, component: _Component, host: str, versions: Mapping[str, str], at: float) -> None:
        for name, now in versions.items():
            self.components.setdefault(name, set()).add(component)
            then = self._last.get((component, host, name), now)
            self._last[component, host, name] = now
            if then != now:
                step = (component, host, name, then, now)
                self._made[step] += 1
                change = _Change(name, then, now, self._made[step])
                self.began[change] = min(at, self.began.get(change, at))
                self.reached.setdefault(change, set()).add(component)


def version_changes(store: Store, since: float) -> tuple[VersionChange, ...]:
    """Return the changes after the first records since a moment, by their dates.

    A component is followed on each host that measures it: two clients of different versions that
    take turns change nothing.

    Raises:
        StoreError: the history cannot be read.
        DocumentError: a record says something else than versions where they stand.
    """
    changes = _Changes()
    seen: dict[_Component, str] = {}
    for layer, component, at, software in chain(_thinned(store, since), _rows(store, since)):
        place = (layer, component)
        host, _, versions = software.partition(_AND)
        if versions and seen.get(place) != software:
            seen[place] = software
            changes.add(place, host, parse_versions(versions), at)
    return tuple(
        sorted(
            VersionChange(
                began,
                change.name,
                change.then,
                change.now,
                len(changes.reached[change]),
                len(changes.components[change.name]),
            )
            for change, began in changes.began.items()
        )
    )


def changed_at(rows: Iterable[tuple[Any, ...]]) -> Optional[float]:
    """Return since when the versions of a series are those of its last record; None without change.

    ``rows`` are start and body of each record, newest first.  Records of other hosts tell nothing.
    """
    since = 0.0
    latest: tuple[str, Mapping[str, str]] = ("", {})
    for at, body in rows:
        host, _, text = software_of(body).partition(_AND)
        versions = parse_versions(text) if text else {}
        if not since:
            latest = host, versions
        # what a run could not find out is no change
        elif host == latest[0] and any(
            latest[1].get(name, version) != version for name, version in versions.items()
        ):
            return since
        if host == latest[0]:
            since = at
    return None


def software_of(body: object) -> str:
    """Return host and versions of a record, as they stand there."""
    text = inflated(body)
    host = _cut(text, '"host":', ',"started_at":')
    return host + _AND + _cut(text, '"versions":', ',"flags":')


def _rows(store: Store, since: float) -> Iterator[tuple[str, str, float, str]]:
    """Yield layer, component, moment, and what the record says of host and versions.

    Of the records of a component in one run the first that says versions speaks for all: to inflate
    the others takes as long again.
    """
    rows = store.rows(_QUERY, (SERVER, since))
    runs: dict[_Component, str] = {}
    for layer, component, run_id, at, body in rows:
        place = (layer, component)
        if runs.get(place) != run_id:
            software = software_of(body)
            if software.partition(_AND)[2] not in _SILENT:
                runs[place] = run_id
            yield layer, component, at, software


def _thinned(store: Store, since: float) -> Iterator[tuple[str, str, float, str]]:
    """Yield the same of daily figures, of each component in the order of its days."""
    software = dict(store.table("SELECT id, text FROM software"))
    query = "SELECT layer, component, figures FROM days WHERE month >= ? ORDER BY layer, component"
    rows = store.rows(query, (month_of(since),))
    for place, of_component in groupby(rows, key=lambda row: row[:2]):
        days = [
            day
            for _, _, figures in of_component
            for day in zip(*figured(figures, "at", "software"))
        ]
        if len({number for _, number in days}) > 1:
            days.sort(key=itemgetter(0))
        last = 0.0
        for at, number in days:
            # what a day says like the one before is no change
            if at >= since and number != last and number in software:
                last = number
                yield (*place, at, software[number])


def _cut(text: str, begin: str, end: str) -> str:
    """Return what stands from one text up to another, empty where it is not there."""
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
