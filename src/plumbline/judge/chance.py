"""How much more likely runs are under a loss that lasts than by chance: odds that need no tuning.

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
from math import exp, hypot, log, pi, sqrt
from typing import NamedTuple, Sequence


class Noise(NamedTuple):
    """How runs are disturbed: shares of all runs, and logarithms.

    ``lower`` is the share that loses more than runs normally differ by, ``faster`` the share that
    is faster by as much, which hardly anything makes a run.  Half of the disturbed runs are off by
    more than ``tail``, a quarter by more than three times as much: gross losses happen to healthy
    components, too.  ``again`` is the chance that a disturbance goes on into a run that
    follows at once; it fades with (1 + hours) ** -FADES.
    """

    lower: float
    faster: float
    tail: float
    again: float


BESIDE_PEERS = Noise(0.1, 0.01, 0.25, 0.5)
"""What is left where a run is held against its peers.  2 % lose a fifth and more, and 8 % meet
others of which a client knows nothing (simulate/noise.py).
Of second benchmarks of one file system within 15 minutes of a low one, 48 % were low as well in a
year of them, and single targets have not been seen to be worse."""
ALONE = Noise(0.15, 0.01, 0.4, 0.9)
"""What a run without peers meets, a file system's busy days among it: 15 % of the days of that
year, of which 48 % were followed by another one."""
FADES = 0.3
"""After a low benchmark of that year 39 to 51 % of the next ones of its file system were low within
2 hours, 33 % after 4 to 16 hours, 30 % after a day or two, 27 % after four and 23 % after eight,
where 18 % are low anyway."""
_BESIDE = 0.1
"""While a disturbance goes on, one run in so many is as undisturbed as ever."""

IN_ONE_GO_S = 600.0
"""What is measured in one go, as the read of a target after its write, is disturbed together."""

HOUR_S = 3600.0

_ODD = 0.1
"""The share of healthy components of which nothing but the limit bounds what they are off by."""
_SELDOM = log(0.01)
_SELDOM_NOT = log(0.99)
"""The share of what crosses a healthy part that is slow for a reason of its own."""
_LEAST_OFF = 0.01
_GROSSEST = 3.2
"""The largest loss that is told apart, a logarithm: 96 %."""
_STEP = 1.17
"""The factor between two sizes of loss that are tried."""
_WIDTH = (_STEP - 1) / sqrt(12)
"""A size stands for all between it and the next, a standard deviation as a fraction of it."""
_HEALTHY_SIZES = 10
_LEAST = 1e-12

_ROOT = sqrt(2 * pi)


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


def factors(of: Source, limit: float) -> list[float]:
    """Return the logarithm of the Bayes factor of slow against healthy, for each start.

    Element j is of the runs from j on.  ``limit`` is the smallest loss that is looked for, a
    positive logarithm.
    """
    if not of.runs:
        return []
    chain = Chain(of)
    slow = _averaged(_slow(chain, limit, _largest([of])))
    healthy = _averaged(_healthy(chain, of.off, limit))
    return [one - other for one, other in zip(slow, healthy)]


def shared_factors(sources: Sequence[Source], starts: Sequence[float], limit: float) -> list[float]:
    """Return the same for a part that all sources cross, at each of some starts.

    A slow part slows all of them alike; without it each is healthy or, seldom, slow by itself.
    """
    largest = _largest(sources)
    found: list[list[float]] = []
    chance = [0.0] * len(starts)
    for source in sources:
        chain = Chain(source)
        slow, healthy = _slow(chain, limit, largest), _averaged(_healthy(chain, source.off, limit))
        by_itself = _averaged(slow)
        found = found or [[0.0] * len(starts) for _ in slow]
        for number, start in enumerate(starts):
            place = bisect_left(source.runs, (start,))
            if place == len(source.runs):
                continue
            chance[number] += log_of_sum([_SELDOM_NOT + healthy[place], _SELDOM + by_itself[place]])
            for sums, (_, logs) in zip(found, slow):
                sums[number] += logs[place]
    if not found:
        return chance
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


def _healthy(chain: Chain, off: float, limit: float) -> _Weighted:
    """Return what the runs say for each offset of a healthy component."""
    width = 2 * limit / _HEALTHY_SIZES
    offsets = [(place + 0.5) * width - limit for place in range(_HEALTHY_SIZES)]
    error = max(off, _LEAST_OFF)
    weights = [
        (1 - _ODD) * exp(-((one / error) ** 2) / 2) / (error * _ROOT) + _ODD / (2 * limit)
        for one in offsets
    ]
    total = log(sum(weights))
    return [(log(one) - total, chain.likelihoods(at)) for one, at in zip(weights, offsets)]


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
    while found[-1] * _STEP < _GROSSEST:
        found.append(found[-1] * _STEP)
    return found


class Chain:
    """The runs of a source as a hidden Markov chain: undisturbed, lower or faster."""

    def __init__(self, of: Source) -> None:
        """Find what does not depend on the offset that is tried."""
        self._noise = of.noise
        runs = of.runs
        self._runs = [
            (run.log_ratio, run.spread**2, stays)
            for run, stays in zip(runs, [*map(self._stays, runs, runs[1:]), 0.0])
        ]

    def likelihoods(self, offset: float) -> list[float]:
        """Return the log-likelihood of the runs from each start on, under one offset."""
        noise = self._noise
        seldom, often = noise.faster, noise.lower
        usually, inverse = 1 - seldom - often, 1 / noise.tail
        wide = (_WIDTH * offset) ** 2
        found = [0.0] * len(self._runs)
        normal = lower = faster = 1.0
        scale = 0.0
        for place in range(len(found) - 1, -1, -1):
            value, variance, stays = self._runs[place]
            variance += wide
            other = (1 - stays) * (usually * normal + often * lower + seldom * faster)
            apart = value - offset
            bell = exp(-apart * apart / (2 * variance)) / (sqrt(variance) * _ROOT) + _LEAST
            tail = inverse / (1 + abs(apart) * inverse) ** 2
            normal = (stays * normal + other) * bell
            lower = (stays * lower + other) * (tail if apart < 0 else _BESIDE * bell)
            faster = (stays * faster + other) * (tail if apart > 0 else _BESIDE * bell)
            total = usually * normal + often * lower + seldom * faster
            found[place] = scale + log(total)
            # what is left to multiply must not vanish
            normal, lower, faster = normal / total, lower / total, faster / total
            scale = found[place]
        return found

    def _stays(self, run: Run, after: Run) -> float:
        """Return the chance that a disturbance of a run goes on into the one after it."""
        apart_s = after.at - run.at
        if run.source != after.source and apart_s <= IN_ONE_GO_S:
            return 1.0
        faded: float = (1 + apart_s / HOUR_S) ** -FADES
        return self._noise.again * faded


def surprise(run: Run, noise: Noise, limit: float) -> float:
    """Return a bound of what a run adds to the logarithm of the factor; quick to find.

    The run is taken to have just the loss that is tried, and no disturbance to go on into it.
    """
    slow = _density(run, noise, min(-limit, run.log_ratio))
    return log(slow / max(_density(run, noise, 0.0), _ODD * _density(run, noise, -limit)))


def _density(run: Run, noise: Noise, offset: float) -> float:
    apart, spread = run.log_ratio - offset, hypot(run.spread, _WIDTH * offset)
    bell = exp(-((apart / spread) ** 2) / 2) / (spread * _ROOT) + _LEAST
    tail = 1 / (noise.tail * (1 + abs(apart) / noise.tail) ** 2)
    share = noise.lower if apart < 0 else noise.faster
    return (1 - noise.lower - noise.faster) * bell + share * tail


def _averaged(weighted: _Weighted) -> list[float]:
    starts = range(len(weighted[0][1]))
    return [log_of_sum([weight + logs[place] for weight, logs in weighted]) for place in starts]


def log_of_sum(logs: Sequence[float]) -> float:
    """Return the logarithm of the sum of values given by their logarithms, at least one."""
    largest = max(logs)
    return largest + log(sum([exp(one - largest) for one in logs]))
