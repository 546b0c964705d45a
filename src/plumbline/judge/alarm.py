"""Alarms: when runs are enough to raise one, and when they are enough to end it.

An answer never rests on it: it only says which questions have the answer no, as they had before.
The runs are the same, but what references are off by is known a little better each day; by how much
that can move the odds is known as well.

The measurements of one component (write and read of a target) are weighed together: each alone and
all as one, by the mean of these factors, which is a Bayes factor whatever they have in common.  An
alarm is raised when the odds reach what the budget of false alarms asks, and stands until the odds
that the component is healthy again reach what the same budget asks of one component: only what has
an alarm is asked.  Both take two moments at least.

Nothing is remembered but the runs: the same runs give the same answer, whoever asks.

It is what weighing them says, and takes a fraction of the time.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import zip_longest
from math import inf, log
from statistics import median
from typing import Hashable, NamedTuple, Optional, Protocol, Sequence

from plumbline.judge.chance import (
    IN_ONE_GO_S,
    Run,
    Source,
    factors,
    healthy_offsets,
    is_unsurprising,
    log_of_sum,
    shared_factors,
    surprise,
)
from plumbline.model.evidence import WORTH_A_WORD

_Runs = tuple[Run, ...]


class Terms(NamedTuple):
    """What odds depend on beside the runs.

    ``begin`` is the first start, in epoch seconds; ``offs`` what the references of each claim are
    off by; ``change`` is when something has changed, and how much that counts for.
    """

    begin: float
    offs: tuple[tuple[float, ...], ...]
    limit: float
    change: Optional[tuple[float, float]]


class Found(NamedTuple):
    """The logarithm of odds at a moment."""

    terms: Terms
    odds: float


class Moments:
    """What was found of one component or group: ``slow``, and ``healthy`` while an alarm stood."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._runs: Sequence[_Runs] = ()
        self.slow: dict[float, Found] = {}
        self.healthy: dict[float, Found] = {}

    def take(self, claims: Sequence[_Runs]) -> None:
        """Forget what rests on runs that are others than they were.

        Moments before the first run that is another, or new, stay as they were.  Runs from before
        the first moment that is left may go: no start is among them.
        """
        begin = min((runs[0].at for runs in claims if runs), default=inf)
        pairs = zip_longest(self._runs, claims, fillvalue=())
        other = min((_first_other(*pair, begin) for pair in pairs), default=inf)
        for found in (self.slow, self.healthy):
            for moment in [one for one in found if one + IN_ONE_GO_S >= other]:
                del found[moment]
        self._runs = claims


class Past:
    """What was found of each component and group."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._of: dict[Hashable, Moments] = {}

    def of(self, subject: Hashable) -> Moments:
        """Return what was found of a subject."""
        return self._of.setdefault(subject, Moments())


def _first_other(before: _Runs, now: _Runs, begin: float) -> float:
    """Return when the first run from a moment on was made that is another, infinite where none."""
    pairs = zip_longest(before[bisect_left(before, (begin,)) :], now)
    return next((min(run.at for run in pair if run) for pair in pairs if pair[0] != pair[1]), inf)


def slow_at_most(found: Optional[Found], terms: Terms) -> float:
    """Return what the odds are at most under other terms, infinite where nobody knows.

    Fewer starts make less of a sum.
    """
    if found is None or found.terms.begin > terms.begin or found.terms[2:] != terms[2:]:
        return float("inf")
    return found.odds + _moved(found.terms.offs, terms.offs, terms.limit)


def healthy_at_most(found: Optional[Found], terms: Terms) -> float:
    """Return the same of the odds that an alarm ends by, a mean over starts."""
    if found is None or found.terms.begin != terms.begin or found.terms[2:] != terms[2:]:
        return float("inf")
    return found.odds + _moved(terms.offs, found.terms.offs, terms.limit)


def _moved(
    before: tuple[tuple[float, ...], ...], now: tuple[tuple[float, ...], ...], limit: float
) -> float:
    """Return by how much a factor can be larger where references are off by something else."""
    if before == now:
        return 0.0
    return max(
        sum(_thinned(one, other, limit) for one, other in zip(*pair)) for pair in zip(before, now)
    )


def _thinned(before: float, now: float, limit: float) -> float:
    """Return the most that the probability of any offset of a healthy component has lost."""
    pairs = zip(healthy_offsets(before, limit), healthy_offsets(now, limit))
    return max(one[0] - other[0] for one, other in pairs)


FEWEST = 2
"""Moments that raise an alarm and that end it: a single low one is watched."""


class Claim(Protocol):
    """A way in which something may be slow, and the runs that speak for or against it."""

    @property
    def runs(self) -> tuple[Run, ...]:
        """Return the runs in the order of time."""
        ...

    @property
    def offs(self) -> tuple[float, ...]:
        """Return what the reference of each source is off by."""
        ...

    def factors(self, starts: Sequence[float], end: float, limit: float) -> list[float]:
        """Return the log factor of slow against healthy of the runs from each start to an end."""
        ...

    def surprise(self, run: Run, limit: float) -> float:
        """Return a bound of what one of its runs adds to the log factor."""
        ...


class Alone(NamedTuple):
    """One source is slow, or several as one."""

    source: Source

    @property
    def runs(self) -> tuple[Run, ...]:
        """Return the runs in the order of time."""
        return self.source.runs

    @property
    def offs(self) -> tuple[float, ...]:
        """Return what the reference of each source is off by."""
        return (self.source.off,)

    def factors(self, starts: Sequence[float], end: float, limit: float) -> list[float]:
        """Return the log factor of slow against healthy of the runs from each start to an end."""
        chosen = _cut(self.source, starts[0], end)
        found = [*factors(chosen, limit), 0.0]
        return [found[bisect_left(chosen.runs, (start,))] for start in starts]

    def surprise(self, run: Run, limit: float) -> float:
        """Return a bound of what one of its runs adds to the log factor."""
        return surprise(run, self.source.noise, limit)


class Shared(NamedTuple):
    """What all sources have in common is slow: a host among its partners, a part of devices."""

    sources: tuple[Source, ...]

    @property
    def runs(self) -> tuple[Run, ...]:
        """Return the runs in the order of time."""
        return tuple(sorted(run for source in self.sources for run in source.runs))

    @property
    def offs(self) -> tuple[float, ...]:
        """Return what the reference of each source is off by."""
        return tuple(source.off for source in self.sources)

    def factors(self, starts: Sequence[float], end: float, limit: float) -> list[float]:
        """Return the log factor of slow against healthy of the runs from each start to an end."""
        chosen = [_cut(source, starts[0], end) for source in self.sources]
        return shared_factors([source for source in chosen if source.runs], starts, limit)

    def surprise(self, run: Run, limit: float) -> float:
        """Return a bound of what one of its runs adds to the log factor."""
        return max(surprise(run, source.noise, limit) for source in self.sources)


class Change(NamedTuple):
    """When software or settings were seen to have changed, in epoch seconds.

    A loss is as likely to begin there as at any of ``starts`` other moments.
    """

    at: float
    starts: float


class Question(NamedTuple):
    """What is asked: the smallest loss that is looked for, and the odds that an answer takes.

    ``limit`` is a positive logarithm; ``needed`` and ``ends`` are the natural logarithms of the
    odds that raise an alarm and that end it.  ``change`` is None where none was seen that may have
    slowed what is asked about.  Odds that cannot reach ``min_odds``, a logarithm as well, are not
    found where there is no alarm.
    """

    limit: float
    needed: float
    ends: float
    change: Optional[Change] = None
    min_odds: float = WORTH_A_WORD


class Weight(NamedTuple):
    """What the runs say at the last of them.

    ``odds`` is the natural logarithm of the odds that the component is slow against chance, 0 where
    nothing speaks for it; ``since`` the start from which on it most likely is, in epoch seconds;
    ``moments`` how many moments were measured from then on.  ``middles`` are the middle of each
    claim's runs since, logarithms of measured / reference, None where there are none.  ``alarm``
    says whether an alarm was raised and stands.
    """

    odds: float
    since: float
    moments: int
    middles: tuple[Optional[float], ...]
    alarm: bool


def weigh(
    alone: Sequence[Claim],
    together: Sequence[Claim],
    question: Question,
    past: Optional[Moments] = None,
) -> Weight:
    """Return what the runs say of claims; an alarm ends when each of ``alone`` is refuted.

    ``past`` is what was found when these claims were weighed before, which saves time.
    """
    return _Weighing(alone, together, question, past).run()


class _Weighing:
    """Goes through the moments of some claims in the order of time."""

    def __init__(
        self,
        alone: Sequence[Claim],
        together: Sequence[Claim],
        question: Question,
        past: Optional[Moments],
    ) -> None:
        self._limit, self._needed, self._ends, self._change, self._min_odds = question
        self._past = past or Moments()
        self._alone = alone
        self._claims = [claim for claim in (*alone, *together) if claim.runs]
        self._runs = [claim.runs for claim in self._claims]
        self._moments = moments_of(sorted({run for runs in self._runs for run in runs}))
        self._offs = tuple(claim.offs for claim in self._claims)
        if past:
            past.take(self._runs)

    def run(self) -> Weight:
        """Return what is known at the last moment."""
        if not self._moments:
            return Weight(0.0, 0.0, 0, tuple(None for _ in self._alone), alarm=False)
        begin = since = 0
        alarm = False
        more = self._change.starts if self._change else 0.0
        bounds = self._bounds()
        for end, bound in enumerate(bounds):
            if alarm:
                if end - begin + 1 >= FEWEST and self._healthy(begin, end):
                    alarm, begin = False, end
            elif bound + log(end + 1 + more) >= self._needed and self._may_be_slow(begin, end):
                odds, start = self._slow(begin, end)
                if odds >= self._needed and end - start + 1 >= FEWEST:
                    alarm, since, begin = True, start, end + 1
        last = len(self._moments) - 1
        odds, start = (0.0, last)
        if alarm or bounds[-1] >= self._min_odds:
            odds, start = self._slow(since if alarm else begin, last)
        start = since if alarm else start
        begun = self._moments[start]
        middles = tuple(middle_since(claim.runs, begun) for claim in self._alone)
        return Weight(max(0.0, odds), begun, last - start + 1, middles, alarm)

    def _bounds(self) -> list[float]:
        """Return for each moment a bound of the odds from any start, but for how many there are."""
        found = [0.0] * len(self._moments)
        ends = [(self._end(place),) for place in range(len(found))]
        for claim, runs in zip(self._claims, self._runs):
            total, known = 0.0, [0.0]
            for run in runs:
                # what lowers nothing need not be known: of healthy components nearly all
                if total or not is_unsurprising(run, self._limit):
                    total = max(0.0, total + claim.surprise(run, self._limit))
                known.append(total)
            for place, end in enumerate(ends if any(known) else ()):
                bound = known[bisect_left(runs, end)]
                found[place] = max(found[place], bound)
        return found

    def _terms(self, begin: int) -> Terms:
        return Terms(self._moments[begin], self._offs, self._limit, self._change)

    def _may_be_slow(self, begin: int, end: int) -> bool:
        """Return whether it is not known from the past that the odds are too low."""
        found = self._past.slow.get(self._moments[end])
        return slow_at_most(found, self._terms(begin)) >= self._needed

    def _slow(self, begin: int, end: int) -> tuple[float, int]:
        """Return the odds that it is slow at a moment, and the place of the likeliest start."""
        starts = self._moments[begin : end + 1]
        tables = [claim.factors(starts, self._end(end), self._limit) for claim in self._claims]
        sums = [log_of_sum(found) - log(len(tables)) for found in zip(*tables)]
        if self._change and self._change.at <= starts[-1]:
            sums[bisect_left(starts, self._change.at)] += log(self._change.starts)
        best = max(range(len(sums)), key=sums.__getitem__)
        odds = log_of_sum(sums)
        self._past.slow[self._moments[end]] = Found(self._terms(begin), odds)
        return odds, begin + best

    def _healthy(self, begin: int, end: int) -> bool:
        """Return whether each claim was refuted by two moments or more since a moment."""
        moment, terms = self._moments[end], self._terms(begin)
        if healthy_at_most(self._past.healthy.get(moment), terms) < self._ends:
            return False
        starts = self._moments[begin : end + 1]
        for claim in self._alone:
            healthy = [-factor for factor in claim.factors(starts, self._end(end), self._limit)]
            odds = log_of_sum(healthy) - log(len(healthy))
            if odds < self._ends:
                self._past.healthy[moment] = Found(terms, odds)
                return False
            if len(healthy) - healthy.index(max(healthy)) < FEWEST:
                return False
        return True

    def _end(self, index: int) -> float:
        """Return when the moment after one begins."""
        return self._moments[index + 1] if index + 1 < len(self._moments) else float("inf")


def middle_since(runs: Sequence[Run], since: float) -> Optional[float]:
    """Return the middle of the runs since a moment, a logarithm; None where there are none."""
    chosen = [run.log_ratio for run in runs[bisect_left(runs, (since,)) :]]
    return median(chosen) if chosen else None


def moments_of(runs: Sequence[Run]) -> list[float]:
    """Return when each moment began; what is measured in one go, each source once, is one."""
    found: list[float] = []
    seen: set[int] = set()
    for run in runs:
        if not found or run.source in seen or run.at - found[-1] > IN_ONE_GO_S:
            found.append(run.at)
            seen = set()
        seen.add(run.source)
    return found


def _cut(source: Source, start: float, end: float) -> Source:
    runs = source.runs
    return source._replace(runs=runs[bisect_left(runs, (start,)) : bisect_left(runs, (end,))])


def quiet(alone: Sequence[Claim], question: Question) -> Optional[Weight]:
    """Return the weight of claims that cannot have an alarm nor odds, None where they may.

    The runs of the claims need not be told apart.
    """
    runs = [run for claim in alone for run in claim.runs]
    more = question.change.starts if question.change else 0.0
    # odds of nothing but how many starts there are are no alarm
    if not runs or question.min_odds <= 0 or log(len(runs) + more) >= question.needed:
        return None
    if not all(is_unsurprising(run, question.limit) for run in runs):
        return None
    since = _last_moment(alone)
    middles = tuple(middle_since(claim.runs, since) for claim in alone)
    return Weight(0.0, since, 1, middles, alarm=False)


def _last_moment(alone: Sequence[Claim]) -> float:
    """Return when the last moment began; a pause ends whatever was before it."""
    begin = _last_go(sorted([run.at for claim in alone for run in claim.runs], reverse=True))
    last = {
        Run(run.at, run.log_ratio, run.spread, number)
        for number, claim in enumerate(alone)
        for run in claim.runs
        if run.at >= begin
    }
    return moments_of(sorted(last))[-1]


def _last_go(moments: Sequence[float]) -> float:
    """Return the first of some moments, newest first, before which is a pause."""
    for at, before in zip(moments, moments[1:]):
        if at - before > IN_ONE_GO_S:
            return at
    return moments[-1]
