"""Judge a matrix of creations: times of creating a file from each MDT on each OST of Lustre.

A single cell is too uncertain to be judged.  A row is compared with the other rows on the same
OSTs, and a column with the other columns from the same MDTs: a slow column raises all rows alike,
so it cannot make a row slow, and the reverse.  All times are compared by their logarithms.

A pair that hangs or fails needs no statistics: it is the MDT's connection to the OST, unless all
pairs of a row or of a column fail.
"""

from __future__ import annotations

from itertools import chain
from math import exp, log, sqrt
from statistics import median, median_low
from typing import Iterator, NamedTuple, Optional, Sequence

from plumbline.model.names import several
from plumbline.model.statistics import MAD_FACTOR, MEDIAN_FACTOR, deviation, error_of_median
from plumbline.model.verdict import State

MIN_ROWS = 2
MIN_COLUMNS = 3

_SLOW_TIMES = 1.5
"""Least ratio to the others; a smaller one is of no use to anybody who looks for a fault."""
_SURE = 4.0
"""Least number of standard errors: a matrix of 8 MDTs and 100 OSTs makes over 100 comparisons."""


class Pair(NamedTuple):
    """Creations from one MDT on one OST: the seconds of each, and the reason of the last failure.

    ``hung`` is True if a creation did not end.  ``failed`` is the number of failures; a pair with
    neither times nor failures was not tried.
    """

    mdt: str
    ost: str
    seconds: tuple[float, ...] = ()
    failed: int = 0
    reason: str = ""
    hung: bool = False

    def with_failure(self, reason: str) -> Pair:
        """Return the pair after one more failure."""
        return self._replace(failed=self.failed + 1, reason=reason)

    @property
    def typical_s(self) -> Optional[float]:
        """Median time in seconds, the lower one; None if a creation failed or none was tried."""
        return None if self.failed or not self.seconds else median_low(self.seconds)


class Finding(NamedTuple):
    """A sentence on an MDT, an OST or a pair; ``times`` is how long it takes compared to others."""

    state: State
    mdt: str
    ost: str
    sentence: str
    times: Optional[float] = None


def findings(pairs: Sequence[Pair]) -> list[Finding]:
    """Return what is wrong: failures first, then slow MDTs and OSTs, the slowest first."""
    slow = [*_slow_rows(pairs), *_slow_columns(pairs)] if is_judged(pairs) else []
    slow.sort(key=lambda finding: -(finding.times or 0.0))
    return [*_failures(pairs), *slow]


def is_judged(pairs: Sequence[Pair]) -> bool:
    """Return whether there are enough MDTs and OSTs with times to compare them."""
    timed = [pair for pair in pairs if pair.typical_s is not None]
    rows, columns = {pair.mdt for pair in timed}, {pair.ost for pair in timed}
    return len(rows) >= MIN_ROWS and len(columns) >= MIN_COLUMNS


def _failures(pairs: Sequence[Pair]) -> Iterator[Finding]:
    """Yield each MDT and OST of which every pair fails, then each other failing pair."""
    tried = [pair for pair in pairs if pair.failed or pair.seconds]
    rows, columns = _by(tried, "mdt"), _by(tried, "ost")
    lost = {
        name
        for name, members in (*rows.items(), *columns.items())
        if len(members) > 1 and all(pair.failed and not pair.seconds for pair in members)
    }
    for name in filter(lost.__contains__, rows):
        yield Finding(State.CRITICAL, name, "", _lost_mdt(rows[name]))
    for name in filter(lost.__contains__, columns):
        yield Finding(State.CRITICAL, "", name, _lost_ost(columns[name]))
    for pair in tried:
        if pair.failed and not lost & {pair.mdt, pair.ost}:
            working = [p.mdt for p in columns[pair.ost] if not p.failed]
            yield Finding(State.CRITICAL, pair.mdt, pair.ost, _lost_pair(pair, working))


def _by(pairs: Sequence[Pair], name: str) -> dict[str, list[Pair]]:
    groups: dict[str, list[Pair]] = {}
    for pair in pairs:
        groups.setdefault(getattr(pair, name), []).append(pair)
    return groups


def _lost_mdt(row: Sequence[Pair]) -> str:
    return (
        f"{row[0].mdt} can create on none of {len(row)} OSTs: {row[0].reason}; look at its server, "
        "and whether it is full or read-only"
    )


def _lost_ost(column: Sequence[Pair]) -> str:
    ost = column[0].ost
    return (
        f"no MDT can create on {ost}: {column[0].reason}; look at its server, and on the servers "
        f"of the MDTs at lctl get_param osp.{ost}-osc-MDT*.prealloc_status"
    )


def _lost_pair(pair: Pair, working: Sequence[str]) -> str:
    device = f"osp.{pair.ost}-osc-{pair.mdt.rpartition('-')[2]}"
    tries = pair.failed + len(pair.seconds)
    often = f" in {pair.failed} of {tries} tries" if tries > pair.failed else ""
    connection = f"look at lctl get_param {device}.state {device}.active {device}.prealloc_status"
    others = (
        f"{several(working)} can, so its connection to the OST is broken or inactive, or has no "
        f"objects created in advance: {connection}"
        if working
        else connection
    )
    return (
        f"{pair.mdt} cannot create on {pair.ost}{often}: {pair.reason}; {others} on the server of "
        f"{pair.mdt}"
    )


class _Effect(NamedTuple):
    """Logarithm of a ratio to others, its standard error, and the number of its comparisons."""

    ratio: float
    error: float
    number: int

    @property
    def slow(self) -> bool:
        return self.ratio >= max(log(_SLOW_TIMES), _SURE * self.error)


def _slow_rows(pairs: Sequence[Pair]) -> Iterator[Finding]:
    for mdt, effect in _effects(pairs, "mdt", "ost"):
        if effect.number >= MIN_COLUMNS and effect.slow:
            sentence = (
                f"{mdt} is slow on all OSTs: a creation takes {exp(effect.ratio):.1f} times as "
                f"long as from the other MDTs on the same {effect.number} OSTs; look at the users, "
                "disks and links of its server"
            )
            yield Finding(State.WARNING, mdt, "", sentence, exp(effect.ratio))


def _slow_columns(pairs: Sequence[Pair]) -> Iterator[Finding]:
    for ost, effect in _effects(pairs, "ost", "mdt"):
        if effect.number >= MIN_ROWS and effect.slow:
            sentence = (
                f"{ost} is slow for all MDTs: a creation takes {exp(effect.ratio):.1f} times as "
                f"long as on the other OSTs from the same {effect.number} MDTs; look at its "
                f"server, and on those of the MDTs at lctl get_param osp.{ost}-osc-MDT*."
                "prealloc_status"
            )
            yield Finding(State.WARNING, "", ost, sentence, exp(effect.ratio))


def _effects(pairs: Sequence[Pair], side: str, other: str) -> Iterator[tuple[str, _Effect]]:
    """Yield the effect of each MDT or OST, compared with the others of the same ``other`` side."""
    cell_error = _cell_error(pairs)
    logs: dict[str, dict[str, float]] = {}
    names: dict[str, None] = {}
    for pair in pairs:
        if pair.typical_s:
            name = getattr(pair, side)
            names[name] = None
            logs.setdefault(getattr(pair, other), {})[name] = log(pair.typical_s)
    for name in names:
        shifts, fewest = [], len(names)
        for members in logs.values():
            others = [value for first, value in members.items() if first != name]
            if name in members and others:
                shifts.append(members[name] - median(others))
                fewest = min(fewest, len(others))
        if shifts:
            yield name, _effect(shifts, cell_error * sqrt(1 + MEDIAN_FACTOR**2 / fewest))


def _effect(shifts: Sequence[float], least_error: float) -> _Effect:
    """Return the median of shifts, whose error is at least that of the repeats."""
    middle = median(shifts)
    spread = max(deviation(shifts, middle), least_error)
    return _Effect(middle, error_of_median(spread, len(shifts)), len(shifts))


def _cell_error(pairs: Sequence[Pair]) -> float:
    """Return the standard error of a cell's logarithm by the differences of its repeats."""
    times = [pair.seconds for pair in pairs if pair.typical_s and len(pair.seconds) > 1]
    steps = [
        abs(log(later / earlier))
        for seconds in times
        for earlier, later in zip(seconds, seconds[1:])
        if earlier > 0 and later > 0
    ]
    if not steps:
        return 0.0
    repeats = median(len(seconds) for seconds in times)
    return MAD_FACTOR * median(steps) / sqrt(2) * MEDIAN_FACTOR / sqrt(repeats)


def mdts_and_osts(pairs: Sequence[Pair]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of rows and columns, in the order of the pairs."""
    return tuple(dict.fromkeys(p.mdt for p in pairs)), tuple(dict.fromkeys(p.ost for p in pairs))


def summary(pairs: Sequence[Pair], found: Sequence[Finding]) -> str:
    """Return a sentence on how the rows and columns were judged, if nothing else tells it."""
    rows, columns = mdts_and_osts([pair for pair in pairs if pair.typical_s is not None])
    if not is_judged(pairs):
        return (
            f"nothing is judged: times of {_count(rows, 'MDT')} and {_count(columns, 'OST')}, and "
            f"it takes {MIN_ROWS} and {MIN_COLUMNS}"
        )
    if any(finding.times for finding in found):
        return ""
    least = exp(max(chain([log(_SLOW_TIMES)], _least(pairs))))
    return (
        f"no MDT and no OST is slow as a whole: one that takes {least:.1f} times as long as the "
        "others would have been seen"
    )


def _count(names: Sequence[str], noun: str) -> str:
    return f"{len(names)} {noun}{'s' * (len(names) != 1)}"


def _least(pairs: Sequence[Pair]) -> Iterator[float]:
    """Yield the least effect of each row and column that would have been certain."""
    for sides in (("mdt", "ost"), ("ost", "mdt")):
        yield from (_SURE * effect.error for _, effect in _effects(pairs, *sides))
