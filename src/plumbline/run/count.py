"""Look once at everything that Lustre counts on this host."""

from __future__ import annotations

from collections import Counter
from typing import Iterator, NamedTuple

from plumbline.counters.metric import LOOKED, TIMEOUTS, UNREADABLE, Count
from plumbline.counters.places import Place, folders, places
from plumbline.errors import ToolError
from plumbline.run.bounded_reads import BoundedReads
from plumbline.run.clock import Clock

_REASONS = {
    "denied": "may not be read by this user; give the unit CAP_DAC_READ_SEARCH",
    "failed": "cannot be read",
    "lost": "was not read, because its reader was ended from outside; see journalctl -k for memory",
    "timeout": "gave no answer in time and is left out until it does",
    "hung": "is left out, because a file beside it has given no answer yet",
    "not_understood": "",
}


class Looked(NamedTuple):
    """What a look has counted, and a sentence on each file that could not be used."""

    counts: tuple[Count, ...]
    troubles: tuple[str, ...]


class Counters:
    """Lustre's counters of this host; ``root`` is / but for a copy of another host's files."""

    def __init__(self, reads: BoundedReads, clock: Clock, root: str = "") -> None:
        self._reads = reads
        self._clock = clock
        self._root = root
        self._timeouts: Counter[str] = Counter()

    def look(self) -> Looked:
        """Read every file; one that hangs, is refused or is not understood leaves the others."""
        found: list[Count] = []
        troubles: dict[str, str] = {}
        wanted = {self._root + place.path: place for place in self._places(troubles)}
        for answer in self._reads.texts(list(wanted)):
            trouble = answer.trouble
            if not trouble:
                try:
                    found += _parsed(wanted[answer.path], answer.text)
                except ToolError as error:
                    troubles[answer.path] = str(error)
            else:
                self._note(answer.path, trouble, troubles)
        found += self._of_itself(troubles)
        return Looked(tuple(found), tuple(_sentences(troubles)))

    def _places(self, troubles: dict[str, str]) -> Iterator[Place]:
        found = {}
        for answer in self._reads.names([self._root + folder for folder in folders()]):
            if answer.trouble:
                self._note(answer.path, answer.trouble, troubles)
            else:
                found[answer.path[len(self._root) :]] = answer.text
        return places(found)

    def _note(self, path: str, trouble: str, troubles: dict[str, str]) -> None:
        if trouble == "absent":
            return
        if trouble == "timeout":
            self._timeouts[path[len(self._root) :]] += 1
        troubles[path] = trouble

    def _of_itself(self, troubles: dict[str, str]) -> Iterator[Count]:
        yield Count(LOOKED, (), self._clock.wall())
        for path, times in self._timeouts.items():
            yield Count(TIMEOUTS, (("file", path),), times)
        # always there, so that an alarm on it has something to look at
        reasons = Counter(dict.fromkeys(_REASONS, 0))
        reasons.update(why if why in _REASONS else "not_understood" for why in troubles.values())
        for reason, number in reasons.items():
            yield Count(UNREADABLE, (("reason", reason),), number)


def _parsed(file: Place, text: str) -> list[Count]:
    """Return all counts of a file, or none: half of one would look like a counter that vanished."""
    return list(file.parse(text, file.labels, file.path))


def _sentences(troubles: dict[str, str]) -> Iterator[str]:
    """Yield one sentence for each reason, with the first file and how many more there are."""
    by_words: dict[str, list[str]] = {}
    for path, why in sorted(troubles.items()):
        if why in _REASONS:
            by_words.setdefault(_REASONS[why], []).append(path)
        else:
            yield why
    for words, paths in by_words.items():
        more = f" ({len(paths) - 1} more files as well)" if paths[1:] else ""
        yield f"{paths[0]} {words}{more}"
