"""What was judged last, kept in the history that it rests on, with how long it holds.

The history counts the changes of each component's records itself, so what is kept holds as long as
the counts are those that it rests on.  Both lie in one file: a history that was restored has what
was kept of it then.
"""

from __future__ import annotations

from typing import Iterable, Iterator, NamedTuple

from plumbline.store.database import Component, Store
from plumbline.store.tables import RUNNING

_OLD_ENOUGH_S = 1.0
"""Before its end a kept answer is not taken any more: a sum of two times has a rounding error."""


class Kept(NamedTuple):
    """An answer by its name.

    ``rests_on`` says by what it was found.  It holds from ``since`` until ``until``, in epoch
    seconds, infinite where nothing but a measurement changes it.
    """

    name: str
    rests_on: str
    since: float
    until: float
    body: str

    def holds(self, rests_on: str, now: float) -> bool:
        """Return whether it would be found again at a moment."""
        return self.rests_on == rests_on and self.since <= now < self.until - _OLD_ENOUGH_S


class KeptAnswers(Store):
    """The answers in a history; use it in a ``with``."""

    def running(self) -> dict[Component, list[tuple[object, ...]]]:
        """Return what is noted of runs that have begun, as it stands in the history."""
        found: dict[Component, list[tuple[object, ...]]] = {}
        for layer, component, *noted in self._database.table(RUNNING):
            found.setdefault((layer, component), []).append(tuple(noted))
        return found

    def every(self, name: str = "") -> Iterator[Kept]:
        """Yield all answers, or the one of a name."""
        query = "SELECT name, rests_on, since, until, body FROM kept WHERE ? IN ('', name)"
        for row in self._database.rows(query, (name,)):
            yield Kept._make(row)

    def keep(self, answers: Iterable[Kept], names: Iterable[str]) -> None:
        """Put answers in the place of those of the same name; drop what is not among ``names``.

        Raises:
            StoreError: they cannot be written.
        """
        with self._database.together():
            for one in answers:
                self._database.change("INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?, ?)", one)
            known = {name for (name,) in self._database.table("SELECT name FROM kept")}
            for name in known.difference(names):
                self._database.change("DELETE FROM kept WHERE name = ?", (name,))
