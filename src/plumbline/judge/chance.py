"""Odds of a lasting loss against chance, and how healthy runs vary.

A run is held against its reference: the logarithm of measured / reference is 0 in the middle while
the component is healthy.  Two hypotheses are compared over the runs from some start on.  *Healthy*:
the component is off by something smaller than the limit, mostly by no more than references usually
are.  *Slow*: it has lost the limit or more, any size alike on a logarithmic scale.  Under both, a
run is normally near that offset, and sometimes disturbed: lower by a long tail, or, seldom, faster.
A disturbance tends to go on into the next run, the more the sooner that follows.

The ratio of the two likelihoods, averaged over the sizes of each, is a Bayes factor whose mean is 1
while the component is healthy.  The sum over all starts is the statistic of Shiryaev and Roberts:
while nothing is slow its mean grows by 1 with each start, so it passes a threshold T not more often
than once in T starts in the mean (Pollak, Ann. Stat. 13, 1985, 206; for factors as these Shin,
Ramdas and Rinaldo, "E-detectors", 2022).  So the threshold follows from how many false alarms are
wanted, and from nothing else; what must be right is the model of the noise.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from math import exp, hypot, log, pi, sqrt
from typing import NamedTuple, Sequence


class Noise(NamedTuple):
    """How runs are disturbed: shares of all runs, and logarithms.

    ``lower`` is the share that loses more than runs normally differ by, ``faster`` the share that
    is faster by as much, which hardly anything makes a run.  Half of the disturbed runs are off by
    more than ``tail``, a quarter by more than three times as much: gross losses happen to healthy
    components, too.  ``again`` is the chance that a disturbance goes on into a run that
    follows at once; it fades with (1 + hours) ** -FADES.  ``alike`` is the share of disturbances
    that, going on, take as much from the next run as from the one before.
    """

    lower: float
    faster: float
    tail: float
    again: float
    alike: float

    def width(self, spread: float) -> float:
        """Return what half of the disturbed runs are off by where runs differ by ``spread``."""
        return hypot(self.tail, spread)


BESIDE_PEERS = Noise(0.1, 0.01, 0.25, 0.5, 0.1)
"""What is left where a run is held against its peers.  2 % lose a fifth and more, and 8 % meet
others of which a client knows nothing (simulate/noise.py).
Of second benchmarks of one file system within 15 minutes of a low one, 48 % were low as well in a
year of them, and single targets have not been seen to be worse.  ``alike`` is taken: what lasts is
mostly shared, and so is gone here."""
ALONE = Noise(0.15, 0.01, 0.4, 0.9, 0.4)
"""What a run without peers meets, a file system's busy days among it: 15 % of the days of that
year, of which 48 % were followed by another one.  Of the runs of that year that were low on two
days in a row 43 % had lost the same within a tenth, where any two low runs have in 24 % of cases:
so ``alike``."""
FADES = 0.3
"""After a low benchmark of that year 39 to 51 % of the next ones of its file system were low within
2 hours, 33 % after 4 to 16 hours, 30 % after a day or two, 27 % after four and 23 % after eight,
where 18 % are low anyway."""

IN_ONE_GO_S = 600.0
"""What is measured in one go, as the read of a target after its write, is disturbed together."""

HOUR_S = 3600.0


class Run(NamedTuple):
    """One run beside its reference.

    ``at`` is its start in epoch seconds; ``log_ratio`` the logarithm of measured / reference,
    below 0 for what is slower; ``spread`` the standard deviation of such logarithms; ``source``
    tells apart the measurements that are weighed together.
    """

    at: float
    log_ratio: float
    spread: float
    source: int = 0


class Source(NamedTuple):
    """One measurement, or several weighed as one: its runs in the order of time.

    ``off`` is the standard deviation of what the reference of all of them is off by, a logarithm.
    """

    runs: tuple[Run, ...]
    off: float
    noise: Noise = BESIDE_PEERS


_BESIDE = 0.1
"""While a disturbance goes on, one run in so many is as undisturbed as ever."""

_ODD = 0.1
"""The share of healthy components of which nothing but the limit bounds what they are off by."""
_SELDOM = log(0.01)
_SELDOM_NOT = log(0.99)
"""The share of what crosses a healthy part that is slow for a reason of its own."""
_LEAST_OFF = 0.01
_GROSSEST = 3.2
"""The largest loss that is told apart, a logarithm: 96 %.  What is lower says as much."""
_STEP = 1.17
"""The factor between two sizes of loss that are tried."""
_WIDTH = (_STEP - 1) / sqrt(12)
"""A size stands for all between it and the next, a standard deviation as a fraction of it."""
_HEALTHY_SIZES = 10
_LEAST = 1e-12
_SMALL, _LARGE = 1e-100, 1e100

_ROOT = sqrt(2 * pi)


@lru_cache(maxsize=4096)
def factors(source: Source, limit: float) -> tuple[float, ...]:
    """Return the logarithm of the Bayes factor of slow against healthy, for each start.

    Element j is of the runs from j on.  ``limit`` is the smallest loss that is looked for, a
    positive logarithm.  The same runs are asked about more than once: for an alarm and for the
    odds at the end, and by each who judges a day.
    """
    if not source.runs:
        return ()
    chain = Chain(source)
    slow = _averaged(_slow(chain, limit, _largest([source])))
    healthy = _averaged(_healthy(chain, source.off, limit))
    return tuple([one - other for one, other in zip(slow, healthy)])


def shared_factors(sources: Sequence[Source], starts: Sequence[float], limit: float) -> list[float]:
    """Return the same for a part that all sources cross, at each of some starts.

    A slow part slows all of them alike; without it each is healthy or, seldom, slow alone.
    """
    found: list[list[float]] = []
    chance = [0.0] * len(starts)
    if not sources:
        return chance
    largest = _largest(sources)
    for source in sources:
        slow, healthy, by_itself = _weighed(source, limit, largest)
        found = found or [[0.0] * len(starts) for _ in slow]
        for number, start in enumerate(starts):
            place = bisect_left(source.runs, (start,))
            if place == len(source.runs):
                continue
            chance[number] += log_of_sum([_SELDOM_NOT + healthy[place], _SELDOM + by_itself[place]])
            for sums, (_, logs) in zip(found, slow):
                sums[number] += logs[place]
    weight = log(len(sizes(limit)))
    return [
        log_of_sum([sums[number] for sums in found]) - weight - chance[number]
        if chance[number]
        else 0.0
        for number in range(len(starts))
    ]


def _largest(sources: Sequence[Source]) -> float:
    """Return the largest loss of any run, a logarithm, with what it may be off by."""
    return max(2 * run.spread - run.log_ratio for source in sources for run in source.runs)


_Weighted = list[tuple[float, list[float]]]
"""Log-likelihoods from each start on under some offsets, each with the logarithm of its weight."""


@lru_cache(maxsize=64)
def _weighed(
    source: Source, limit: float, largest: float
) -> tuple[_Weighted, list[float], list[float]]:
    """Return what runs say of a loss, of health and of any loss; all parts of a path ask for it."""
    chain = Chain(source)
    slow = _slow(chain, limit, largest)
    return slow, _averaged(_healthy(chain, source.off, limit)), _averaged(slow)


def _healthy(chain: Chain, off: float, limit: float) -> _Weighted:
    """Return what the runs say for each offset of a healthy component."""
    return [(weight, chain.likelihoods(at)) for weight, at in healthy_offsets(off, limit)]


@lru_cache(maxsize=4096)
def healthy_offsets(off: float, limit: float) -> list[tuple[float, float]]:
    """Return what a healthy component may be off by, each after the logarithm of its weight."""
    width = 2 * limit / _HEALTHY_SIZES
    offsets = [(place + 0.5) * width - limit for place in range(_HEALTHY_SIZES)]
    error = max(off, _LEAST_OFF)
    weights = [
        (1 - _ODD) * exp(-((one / error) ** 2) / 2) / (error * _ROOT) + _ODD / (2 * limit)
        for one in offsets
    ]
    total = log(sum(weights))
    return [(log(one) - total, at) for one, at in zip(weights, offsets)]


def _slow(chain: Chain, limit: float, largest: float) -> _Weighted:
    """Return what the runs say for each size of loss, all as likely beforehand.

    A loss well above the ``largest`` of any run is left out: all runs would have been disturbed.
    """
    every = sizes(limit)
    weight = -log(len(every))
    tried = [one for one in every if one <= largest * _STEP] or every[:1]
    return [(weight, chain.likelihoods(-loss)) for loss in tried]


def sizes(limit: float) -> list[float]:
    """Return the losses that are tried, from the limit on: logarithms, the smallest first."""
    found = [limit * sqrt(_STEP)]
    while found[-1] * sqrt(_STEP) < _GROSSEST:
        found.append(found[-1] * _STEP)
    return found


class Chain:
    """The runs of a source as a hidden Markov chain: undisturbed, lower or faster."""

    def __init__(self, source: Source) -> None:
        """Find what does not depend on the offset that is tried."""
        self._noise = source.noise
        runs = source.runs
        stays = [*map(self._stays, runs, runs[1:]), 0.0]
        alike = [0.0, *map(_alike, runs, runs[1:])]
        self._runs = [
            (
                _told_apart(run),
                run.spread**2,
                goes_on,
                1 - goes_on,
                source.noise.alike * near,
                1 / source.noise.width(run.spread),
            )
            for run, goes_on, near in zip(runs, stays, alike)
        ]
        self._runs.reverse()

    def likelihoods(self, offset: float) -> list[float]:
        """Return the log-likelihood of the runs from each start on, under one offset."""
        noise = self._noise
        seldom, often = noise.faster, noise.lower
        usually = 1 - seldom - often
        wide, new = (_WIDTH * offset) ** 2, 1 - noise.alike
        found = []
        normal = lower = faster = again = mean = 1.0
        scale = 0.0
        for value, variance, stays, ends, near, inverse in self._runs:
            spread = variance + wide
            other = ends * mean
            apart = value - offset
            bell = exp(apart * apart / (-2 * spread)) / (sqrt(spread) * _ROOT) + _LEAST
            normal = (stays * normal + other) * bell
            if apart < 0:
                tail = inverse / (1 - apart * inverse) ** 2
                rest = stays * again + other
                lower = rest * tail
                # after a run that was as low, for the same reason
                again = rest * (new * tail + near)
                faster = (stays * faster + other) * _BESIDE * bell
            else:
                lower = again = (stays * again + other) * _BESIDE * bell
                tail = inverse / (1 + apart * inverse) ** 2 if apart else _BESIDE * bell
                faster = (stays * faster + other) * tail
            mean = usually * normal + often * lower + seldom * faster
            found.append(scale + log(mean))
            if not _SMALL < mean < _LARGE:
                # what is left to multiply must not vanish
                scale = found[-1]
                normal, lower, faster = normal / mean, lower / mean, faster / mean
                again, mean = again / mean, 1.0
        found.reverse()
        return found

    def _stays(self, run: Run, after: Run) -> float:
        """Return the chance that a disturbance of a run goes on into the one after it."""
        apart_s = after.at - run.at
        if _in_one_go(run, after):
            return 1.0
        faded: float = (1 + apart_s / HOUR_S) ** -FADES
        return self._noise.again * faded


def _told_apart(run: Run) -> float:
    return max(-_GROSSEST, run.log_ratio)


def _in_one_go(run: Run, after: Run) -> bool:
    return run.source != after.source and after.at - run.at <= IN_ONE_GO_S


def _alike(run: Run, after: Run) -> float:
    """Return the density of a run that is disturbed by as much as the one before it."""
    spread = hypot(run.spread, after.spread)
    apart = (after.log_ratio - run.log_ratio) / spread
    return exp(-apart * apart / 2) / (spread * _ROOT) + _LEAST


@lru_cache(maxsize=200_000)
def surprise(run: Run, noise: Noise, limit: float) -> float:
    """Return a bound of what a run adds to the logarithm of the factor; quick to find.

    The run is taken to have just the loss that is tried, and no disturbance to go on into it.
    """
    ratio, width = _told_apart(run), noise.width(run.spread)
    offsets = (min(-limit, ratio), 0.0, -limit)
    slow, healthy, odd = [
        _density(ratio - offset, hypot(run.spread, _WIDTH * offset), width, noise)
        for offset in offsets
    ]
    return log(slow / max(healthy, _ODD * odd))


def is_unsurprising(run: Run, limit: float) -> bool:
    """Return whether :func:`surprise` of a run is below 0 whatever the noise; quicker to find.

    It is where the run is nearer to health than to the limit, each measured by what runs differ by:
    both the bell and the tail of the healthy density are higher then, as lower runs are no rarer
    than faster ones.
    """
    ratio, spread = run.log_ratio, run.spread
    return ratio > -limit and abs(ratio) * hypot(spread, _WIDTH * limit) < spread * (ratio + limit)


def _density(apart: float, spread: float, width: float, noise: Noise) -> float:
    """Return the density of a run that is ``apart`` from an offset, both logarithms."""
    bell = exp(-((apart / spread) ** 2) / 2) / (spread * _ROOT) + _LEAST
    tail = 1 / (width * (1 + abs(apart) / width) ** 2)
    share = noise.lower if apart < 0 else noise.faster
    return (1 - noise.lower - noise.faster) * bell + share * tail


def _averaged(weighted: _Weighted) -> list[float]:
    starts = range(len(weighted[0][1]))
    return [log_of_sum([weight + logs[place] for weight, logs in weighted]) for place in starts]


def log_of_sum(logs: Sequence[float]) -> float:
    """Return the logarithm of the sum of values given by their logarithms, at least one."""
    largest = max(logs)
    return largest + log(sum([exp(one - largest) for one in logs]))
