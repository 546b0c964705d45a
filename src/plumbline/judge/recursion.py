"""Odds of a lasting loss against chance, for many components in one pass over arrays.

A run is compared with its reference: the logarithm of measured / reference is 0 in the median while
the component is healthy.  Two hypotheses predict each run from those before it.  *Healthy*: the
component has an offset smaller than the limit, mostly no larger than the usual error of references,
or one that this error explains.
*Slow*: it has lost the limit or more, any size with equal odds on a logarithmic scale.  Under both,
a run is normally near that offset, and sometimes disturbed: lower by a long tail, or, seldom,
faster.  A disturbance tends to go on into the next run, the more the sooner that follows.

While the component is healthy, the ratio of the two predictions has the mean 1.  So the recursion
of Shiryaev and Roberts, R = (R + 1) x ratio for each moment, passes a threshold T not more often
than once in T moments in the mean (Pollak, Ann. Stat. 13, 1985, 206; for ratios as these Shin,
Ramdas and Rinaldo, "E-detectors", 2022).  The threshold follows from the budget of false alarms
alone; only the model of the noise must be right.

A component may be slow in one operation, or in all of them: the mean over these claims, and over
the sizes of the loss, is a ratio of the same kind.  An alarm is raised when it reaches the odds of
the budget of false alarms, and stands until the same recursion for health, against the explanations
of the alarm, is as clear.  Both take two moments at least: a single low one is watched.

No state is kept but the runs: the same runs give the same answer everywhere.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import islice
from math import inf, nan, pi, sqrt
from typing import Any, Iterable, NamedTuple, Sequence

import numpy as np

from plumbline.judge.runs import (
    AT,
    FADES,
    IN_ONE_GO_S,
    MIN_MOMENTS,
    NIGHT_S,
    NUMBER,
    RATIO,
    SPREAD,
    Case,
    Source,
    Weight,
    merge,
    middle,
    moments_of,
    since,
)
from plumbline.model.units import HOUR_S

_Array = Any
"""A numpy array; a node's Python cannot name its types."""

_PER_PASS = 300
"""Cases per pass: their arrays stay within the processor's cache and some 30 MB."""
_MAX_RUNS = 40_000
"""Runs per pass, those of 300 components for a month; a single part may have those of 100 disks."""
_IN_MEMORY = 8 * _PER_PASS
_UNEQUAL = 2
"""Each case of a pass takes as long as the longest, which has at most so many times its runs."""

_SIZES = 12
"""Sizes of loss to try, from the limit on: each is some 1.3 times the one before."""
_GROSSEST = 2.3
"""The largest distinct loss, a logarithm: 90 %, or twice the limit if that is more.  Lower runs
count as equal to it."""
_HEALTHY = 8
"""Offsets of a healthy component to try, from -limit to limit."""
_ODD = 0.1
"""Share of healthy components whose offset has no bound but the limit."""
_MIN_OFF = 0.01
_SELDOM = 0.01
"""Share of the sources of a healthy part that are slow for a reason of their own."""
_FORGOTTEN = 0.2
"""A component's offset may change with any run: a filled disk, a new neighbour.  Each run forgets
this share of the evidence on the offset."""
_IN_ONE_GO = 0.9
"""The chance that measurements in one go are disturbed together; one may also be so alone."""
_LANES = 16
"""Fewest streams of one pass."""
_SPARED = 0.1
"""While a disturbance goes on, one run in so many is undisturbed."""
_TINY = 1e-12
"""Keeps densities and sums above 0, so that each has a logarithm."""
_MAX_LOG_ODDS = 12.0
"""The most that a moment adds to the logarithm of odds; more would change nothing."""
_SHARE = 0.3
"""Share of moments in which an intermittent fault is slow: three of ten nights."""
_CHANCES: _Array = np.repeat([0.9 / _SIZES, 0.1 / _SIZES], _SIZES)
"""Prior probability of each size, for steady and for intermittent losses."""
_MAX_TIMES = 3
"""An alarm that came back this often takes sixteen good moments to end, and no more."""
_ONE_OPERATION = 1.5
"""A night takes as much more from one operation of a component alone as from all of them."""
_LARGEST = 1e200
_ROOT = sqrt(2 * pi)


def weigh(cases: Iterable[Case]) -> list[Weight]:
    """Return the evidence of each case's runs at the last of them.

    Many in one call take a fraction of the time of single calls; those of some passes are in
    memory.
    """
    weights: list[Weight] = []
    coming = iter(cases)
    while batch := list(islice(coming, _IN_MEMORY)):
        weighed: dict[int, Weight] = {}
        for places in _passes(batch):
            weighed.update(zip(places, _weigh([batch[place] for place in places])))
        weights += [weighed[place] for place in range(len(batch))]
    return weights


def _passes(cases: Sequence[Case]) -> list[list[int]]:
    """Return the places of the cases of each pass, which have about as many runs."""
    runs = [
        sum(len(source.runs) for claim in case.claims for source in claim.sources) for case in cases
    ]
    passes: list[list[int]] = []
    for place in sorted(range(len(cases)), key=lambda place: runs[place]):
        last = passes[-1] if passes else []
        fits = len(last) < min(_PER_PASS, _MAX_RUNS // max(1, runs[place]))
        if last and fits and runs[place] <= _UNEQUAL * runs[last[0]]:
            last.append(place)
        else:
            passes.append([place])
    return passes


class _Stream(NamedTuple):
    """The runs of one source of a claim, and the places of its case and claim."""

    case: int
    claim: int
    source: Source
    limit: float
    shared: bool
    joint: bool


def _weigh(cases: Sequence[Case]) -> list[Weight]:
    moments = [
        # joint claims have all runs in the order of time
        moments_of(merge([claim.runs for claim in case.joint or case.single]))
        for case in cases
    ]
    streams = [
        _Stream(
            number,
            place,
            source,
            max(source.least, case.question.limit),
            len(claim.sources) > 1,
            place >= len(case.single),
        )
        for number, case in enumerate(cases)
        for place, claim in enumerate(case.claims)
        for source in claim.sources
        if len(source.runs)
    ]
    # streams that have ended come last in each step
    streams.sort(key=lambda stream: -len(stream.source.runs))
    recursion = _Recursion(cases, moments)
    if streams:
        recursion.run(*_by_moment(cases, moments, streams))
    return [
        recursion.weight(number, case, begins)
        for number, (case, begins) in enumerate(zip(cases, moments))
    ]


def _by_moment(
    cases: Sequence[Case], moments: Sequence[Sequence[float]], streams: Sequence[_Stream]
) -> tuple[_Array, _Array]:
    """Return the evidence that each moment adds, and whether it measured anything.

    Their shapes are moments x cases x claims x sizes, and the same without sizes; the sizes are
    there twice, for steady and for intermittent losses.
    """
    shape = (
        max(map(len, moments)),
        len(cases),
        max(len(case.claims) for case in cases),
    )
    measured: _Array = np.zeros(shape, bool)
    counts = [len(stream.source.runs) for stream in streams]
    begins = [np.array(case_moments) for case_moments in moments]
    places = np.concatenate(
        [
            begins[stream.case].searchsorted(stream.source.runs[:, AT], side="right") - 1
            for stream in streams
        ]
    )
    cells: tuple[_Array, ...] = (
        places,
        np.repeat([stream.case for stream in streams], counts),
        np.repeat([stream.claim for stream in streams], counts),
    )
    measured[cells] = True
    flat: _Array = np.ravel_multi_index(cells, shape)
    sizes = flat[:, None] * _SIZES + np.arange(_SIZES)
    ratios = _ratios(streams)
    added = np.bincount(sizes.ravel(), ratios.ravel(), measured.size * _SIZES)
    added = np.clip(added.reshape(*shape, _SIZES), -_MAX_LOG_ODDS, _MAX_LOG_ODDS)
    steady = _by_night(
        moments, added, _most(streams, added.shape[1:]), _single(ratios, sizes, added)
    )
    intermittent = np.log1p(_SHARE * np.expm1(steady))
    return np.concatenate([steady, intermittent], axis=-1), measured


def _single(ratios: _Array, cells: _Array, added: _Array) -> _Array:
    """Return the most that a single run adds in each moment, in the shape of ``added``."""
    single = np.full(added.size, -_MAX_LOG_ODDS)
    np.maximum.at(single, cells.ravel(), ratios.ravel())
    return np.minimum(added, single.reshape(added.shape))


def _most(streams: Sequence[_Stream], shape: tuple[int, ...]) -> _Array:
    """Return the logarithm of the odds against a night that takes as much as each size."""
    limit = np.array([stream.limit for stream in streams])
    night, seldom = np.array([stream.source.noise[-2:] for stream in streams]).T
    night = night * np.where([stream.joint for stream in streams], 1.0, _ONE_OPERATION)
    edges = limit * _step(limit) ** np.arange(_SIZES + 1)[:, None]
    shares = (1 + edges / night) ** -seldom
    most = np.full(shape, inf)
    places = [stream.case for stream in streams], [stream.claim for stream in streams]
    np.minimum.at(most, places, -np.log(shares[:-1] - shares[1:]).T)
    return most


def _by_night(
    moments: Sequence[Sequence[float]], added: _Array, most: _Array, single: _Array
) -> _Array:
    """Return the evidence that each moment adds if that of its night is limited.

    The runs of a night together show no more against chance than the first one alone, or than the
    odds against a night that takes as much from all of them.
    """
    total, before, first = np.zeros((3, *added.shape[1:]))
    limited = np.zeros_like(added)
    begins = np.diff(_nights(moments), axis=0, prepend=-1) > 0
    for moment, (sizes, new) in enumerate(zip(added, begins)):
        first[new] = single[moment][new]
        total[new] = before[new] = 0.0
        total += sizes
        now = np.minimum(total, np.maximum(first, most))
        limited[moment] = now - before
        before = now
    return limited


def _nights(moments: Sequence[Sequence[float]]) -> _Array:
    """Return the number of each moment's night, moments x cases."""
    at = np.full((max(map(len, moments)), len(moments)), nan)
    for case, own in enumerate(moments):
        at[: len(own), case] = own
    nights: _Array = np.zeros(at.shape, int)
    begins = at[:1].ravel()
    for moment in range(1, len(at)):
        new = at[moment] - begins > NIGHT_S
        begins = np.where(new, at[moment], begins)
        nights[moment] = nights[moment - 1] + new
    return nights


class _Offsets(NamedTuple):
    """Offsets that each stream may have, offsets x streams: first healthy ones, then losses.

    ``at`` is the logarithm of measured / reference in the middle, ``variance`` that of the interval
    around it, ``weight`` the probability that a healthy component has it.
    """

    at: _Array
    variance: _Array
    weight: _Array


def _step(limits: _Array) -> _Array:
    """Return the factor between two sizes of loss."""
    return (np.maximum(_GROSSEST, 2 * limits) / limits) ** (1 / _SIZES)


def _sizes(limits: _Array) -> _Array:
    """Return the losses to try, sizes x limits, the smallest first."""
    return limits * _step(limits) ** (np.arange(_SIZES)[:, None] + 0.5)


def _offsets(streams: Sequence[_Stream]) -> _Offsets:
    limit = np.array([stream.limit for stream in streams])
    off = np.maximum(_MIN_OFF, [stream.source.off for stream in streams])
    seldom = np.where([stream.shared for stream in streams], _SELDOM, 0.0)
    healthy = ((np.arange(_HEALTHY) + 0.5) / _HEALTHY * 2 - 1)[:, None] * limit
    sizes = _sizes(limit)
    widths = np.concatenate(
        [
            np.broadcast_to(2 * limit / _HEALTHY, healthy.shape),
            sizes * (_step(limit) - 1),
        ]
    )
    at = np.concatenate([healthy, -sizes])
    # by the error of its reference a healthy component may seem to have lost the limit
    weight = (1 - _ODD) * widths * np.exp(-((at / off) ** 2) / 2) / (off * _ROOT)
    weight[:_HEALTHY] += _ODD / _HEALTHY
    weight *= (1 - seldom) / weight.sum(axis=0)
    weight[_HEALTHY:] += seldom / _SIZES
    return _Offsets(at, widths**2 / 12, weight)


def _ratios(streams: Sequence[_Stream]) -> _Array:
    """Return the logarithm of slow / healthy for each run, runs x sizes, stream by stream."""
    counts = np.array([len(stream.source.runs) for stream in streams])
    # fewer lanes than a vector of the processor would be rounded differently
    lanes = max(_LANES, len(streams))
    table = np.zeros((int(counts[0]), lanes, 4))
    table[:, :, SPREAD] = 1.0
    number: _Array = np.repeat(np.arange(len(streams)), counts)
    steps = np.arange(len(number)) - (np.cumsum(counts) - counts)[number]
    table[steps, number] = np.concatenate([stream.source.runs for stream in streams])
    filters = _Filter([*streams, *[streams[0]] * (lanes - len(streams))], table)
    ratios = np.zeros((len(table), lanes, _SIZES))
    for step in range(len(table)):
        # streams that have ended come last
        count = max(_LANES, int(np.searchsorted(-counts, -step, side="left")))
        ratios[step, :count] = filters.take(step, count).T
    of_runs: _Array = ratios[steps, number]
    return of_runs


class _Filter:
    """A hidden Markov chain for each offset of each stream; most arrays are offsets x streams.

    It predicts the next run by the probability of each state: undisturbed, lower or faster.  The
    healthy hypothesis weighs its offsets by their predictions so far.
    """

    def __init__(self, streams: Sequence[_Stream], table: _Array) -> None:
        """Begin with the state of each stream before its first run.

        ``table`` has the runs, steps x streams, each as in :data:`Rows`.
        """
        self._first = _offsets(streams)
        # a slow offset stays between its neighbours
        middle, half = self._first.at[_HEALTHY:], np.sqrt(3 * self._first.variance[_HEALTHY:])
        self._bounds = middle - half, middle + half
        self._spread = table[:, :, SPREAD].copy()
        self._ratio = np.maximum(table[:, :, RATIO], self._first.at[-1])
        noise = np.array([stream.source.noise for stream in streams]).T
        self._stays, near = self._lasting(table, noise[3])
        lower, faster, tail_width, _, alike = noise[:5]
        self._near, self._other = alike * near, 1 - alike
        new = 1 - self._stays
        self._new = new * (1 - lower - faster), new * lower, new * faster
        self._inverse = 1 / np.hypot(tail_width, self._spread)
        # before the first run there is no state that could go on
        self._states: _Array = np.zeros((3, *self._first.at.shape))
        self._at, self._variance, self._weight = (array.copy() for array in self._first)

    def _lasting(self, table: _Array, again: _Array) -> tuple[_Array, _Array]:
        """Return the chance that a disturbance goes on, and the density if it takes as much.

        Both are steps x streams, 0 for the first run.
        """
        stays, near = np.zeros((2, *self._ratio.shape))
        apart_s = np.maximum(0.0, np.diff(table[:, :, AT], axis=0))
        in_one_go = (np.diff(table[:, :, NUMBER], axis=0) != 0) & (apart_s <= IN_ONE_GO_S)
        stays[1:] = np.where(in_one_go, _IN_ONE_GO, again * (1 + apart_s / HOUR_S) ** -FADES)
        both = np.hypot(self._spread[1:], self._spread[:-1])
        apart = np.diff(self._ratio, axis=0) / both
        near[1:] = np.exp(-(apart**2) / 2) / (both * _ROOT) + _TINY
        return stays, near

    def take(self, step: int, count: int) -> _Array:
        """Return the logarithm of slow / healthy for a run of the first streams, sizes x streams.

        ``count`` is their number; the others have ended.
        """
        active = np.s_[:, :count]
        likelihoods = self._predict(step, count)
        total = likelihoods[0] + likelihoods[1] + likelihoods[2]
        np.divide(likelihoods, total, out=self._states[:, :, :count])
        weight = self._weight[active]
        healthy = weight * total
        # row by row: the same to the bit for any number of streams
        chance = sum(healthy)
        weight[:] = (1 - _FORGOTTEN) * healthy / chance + _FORGOTTEN * self._first.weight[active]
        self._follow(step, count)
        ratios: _Array = np.log(total[_HEALTHY:] / chance)
        return ratios

    def _predict(self, step: int, count: int) -> _Array:
        """Return the likelihood of a run in each state and offset, given the run before it."""
        active = np.s_[:, :count]
        ratio, spread, stays, near, inverse = (
            array[step, :count]
            for array in (self._ratio, self._spread, self._stays, self._near, self._inverse)
        )
        new_normal, new_low, new_fast = (array[step, :count] for array in self._new)
        likelihoods: _Array = stays * self._states[:, :, :count]
        normal, low, fast = likelihoods
        variance = spread**2 + self._variance[active]
        apart = ratio - self._at[active]
        bell = np.exp(apart**2 / (-2 * variance)) / (np.sqrt(variance) * _ROOT) + _TINY
        tail = inverse / (1 + np.abs(apart) * inverse) ** 2
        below = apart < 0
        spared = _SPARED * bell
        # after a run that was as low for the same reason
        again = self._other[:count] * tail + near
        normal[:] = (normal + new_normal) * bell
        low[:] = np.where(below, low * again + new_low * tail, (low + new_low) * spared)
        fast[:] = (fast + new_fast) * np.where(below, spared, tail)
        return likelihoods

    def _follow(self, step: int, count: int) -> None:
        """Let each size of loss follow the undisturbed runs, so that few sizes cover all.

        This is Kalman's filter: the gain is the size's uncertainty relative to the run's.  Each
        size stays between its neighbours and tends back to its start, for a loss may begin anew.
        """
        slow = np.s_[_HEALTHY:, :count]
        at, variance = self._at[slow], self._variance[slow]
        first, width = self._first.at[slow], self._first.variance[slow]
        least, most = (bound[:, :count] for bound in self._bounds)
        gain = self._states[0][slow] * variance / (variance + self._spread[step, :count] ** 2)
        moved = at + gain * (self._ratio[step, :count] - at)
        moved = np.minimum(np.maximum(moved, least), most)
        at[:] = moved + _FORGOTTEN * (first - moved)
        narrower = variance * (1 - gain)
        variance[:] = narrower + _FORGOTTEN * (width - narrower)


class _Recursion:
    """The recursions of all claims of some cases, moment by moment.

    ``_slow`` is R of each case, claim and size; ``_path`` the logarithm of the same from the
    likeliest start alone, which is ``_start``.  In an alarm ``_likely`` is the probability of each
    claim and size; ``_well`` is R for health against them over ``_alarm_moments``, ``_good`` the
    logarithm of the same from the likeliest start alone, over ``_since_good`` moments.  ``_raised``
    is the moment that raised the last alarm, ``_times`` counts them.
    """

    def __init__(self, cases: Sequence[Case], moments: Sequence[Sequence[float]]) -> None:
        claims = max(len(case.claims) for case in cases)
        shape = len(cases), claims
        numbers = np.arange(claims)
        self._claims = np.array([len(case.claims) for case in cases])[:, None]
        self._moments = np.array([len(begins) for begins in moments])
        questions = [case.question for case in cases]
        self._needed = np.array([question.needed for question in questions])
        self._ends = np.array([question.ends for question in questions])
        self._starts = np.ones((max(map(len, moments)), len(cases), 1, 1))
        self._nights = _nights(moments)
        for number, (question, begins) in enumerate(zip(questions, moments)):
            change = question.change
            if change and begins and change.at <= begins[-1]:
                self._starts[bisect_left(begins, change.at), number] += change.starts
        self._slow = np.zeros((*shape, len(_CHANCES)))
        # an intermittent loss was not there before, or the component would never be well again
        own = (numbers < self._claims)[:, :, None] * (np.arange(len(_CHANCES)) < _SIZES)
        self._even = own / own.sum(axis=(1, 2), keepdims=True)
        self._likely = self._even.copy()
        # cases have unequal numbers of claims; one that a case lacks is never its likeliest
        self._unbegun = np.where(numbers < self._claims, 0.0, -inf)[:, :, None]
        self._path = np.broadcast_to(self._unbegun, (*shape, len(_CHANCES))).copy()
        self._start: _Array = np.zeros((*shape, len(_CHANCES)), int)
        self._well = np.zeros(len(cases))
        self._alarm_moments: _Array = np.zeros(len(cases), int)
        self._good = np.zeros(len(cases))
        self._since_good: _Array = np.zeros(len(cases), int)
        self._since: _Array = np.zeros(len(cases), int)
        self._times: _Array = np.zeros(len(cases), int)
        self._alarm: _Array = np.zeros(len(cases), bool)
        self._raised: _Array = np.zeros(len(cases), int)
        self._final, self._begun = np.zeros(len(cases)), self._since

    def run(self, added: _Array, measured: _Array) -> None:
        """Run through the moments; the shapes are those of :func:`_by_moment`."""
        for moment, (sizes, claims) in enumerate(zip(added, measured)):
            present = moment < self._moments
            ended = self._ended(sizes, claims, present)
            self._add(moment, sizes, present)
            self._raise(moment, present & ~self._alarm)
            self._slow[ended] = 0.0
            self._path[ended] = self._unbegun[ended]
            self._alarm[ended] = False
        self._final, self._begun = self._odds(), self._likeliest()

    def _add(self, moment: int, added: _Array, present: _Array) -> None:
        live = (present[:, None] & (np.arange(added.shape[1]) < self._claims))[:, :, None]
        slow = (self._slow + self._starts[moment]) * np.exp(added)
        self._slow = np.where(live, np.minimum(slow, _LARGEST), self._slow)
        begins = self._path <= 0
        self._start[live & begins] = moment
        path = np.where(begins, 0.0, self._path) + added
        self._path = np.where(live, path, self._path)

    def _odds(self) -> _Array:
        """Return the logarithm of the mean over claims and sizes."""
        mean = (self._slow * _CHANCES).sum(axis=(1, 2)) / self._claims[:, 0]
        return np.log(np.maximum(mean, _TINY))

    def _likeliest(self) -> _Array:
        """Return the start, as a moment's number, that explains the runs best."""
        best = self._path.reshape(len(self._path), -1).argmax(axis=1)
        return self._start.reshape(len(self._path), -1)[np.arange(len(best)), best]

    def _steady_start(self) -> _Array:
        """Return the same for a loss of every run alone."""
        path = self._path[:, :, :_SIZES].reshape(len(self._path), -1)
        start = self._start[:, :, :_SIZES].reshape(len(path), -1)
        return start[np.arange(len(path)), path.argmax(axis=1)]

    def _ended(self, added: _Array, measured: _Array, present: _Array) -> _Array:
        """Return the alarms that end: no claim explains the runs any more, by any size."""
        ended: _Array = np.zeros(len(added), bool)
        alarms = np.flatnonzero(self._alarm & present & measured.any(axis=1))
        if not alarms.size:
            return ended
        slow = self._likely[alarms] * np.exp(added[alarms])
        # claims that were not measured are no evidence
        total = slow.sum(axis=(1, 2))
        self._likely[alarms] = (1 - _FORGOTTEN) * slow / total[:, None, None]
        self._likely[alarms] += _FORGOTTEN * self._even[alarms]
        self._well[alarms] = np.minimum((self._well[alarms] + 1) / total, _LARGEST)
        begins = self._good[alarms] <= 0
        self._good[alarms] = np.where(begins, 0.0, self._good[alarms]) - np.log(total)
        self._since_good[alarms] = np.where(begins, 1, self._since_good[alarms] + 1)
        self._alarm_moments[alarms] += 1
        # the mean over the possible starts of health
        odds = np.log(self._well[alarms] / self._alarm_moments[alarms])
        # a loss that comes back takes twice as long each time
        fewest = MIN_MOMENTS * 2 ** np.minimum(_MAX_TIMES, self._times[alarms] - 1)
        ended[alarms] = (self._since_good[alarms] >= fewest) & (odds >= self._ends[alarms])
        return ended

    def _raise(self, moment: int, candidates: _Array) -> None:
        likely = candidates & (self._odds() >= self._needed)
        if not likely.any():
            return
        start = self._likeliest()
        raised = likely & (moment - start + 1 >= MIN_MOMENTS)
        # what came and went for a night is no alarm the next time, unless it stays
        stays = self._nights[self._steady_start(), np.arange(len(raised))] < self._nights[moment]
        raised &= (self._times == 0) | stays
        self._since[raised], self._raised[raised] = start[raised], moment
        slow = self._slow[raised] * _CHANCES + _TINY * self._even[raised]
        self._likely[raised] = slow / slow.sum(axis=(1, 2), keepdims=True)
        for state in (self._well, self._alarm_moments, self._good, self._since_good):
            state[raised] = 0
        self._alarm |= raised
        self._times += raised

    def weight(self, number: int, case: Case, begins: Sequence[float]) -> Weight:
        """Return the evidence on a case after its last moment."""
        if not begins:
            return Weight(0.0, 0.0, 0, 0, tuple(None for _ in case.single), alarm=False)
        odds = max(0.0, float(self._final[number]))
        last = len(begins) - 1
        alarm = bool(self._alarm[number])
        start = int(self._since[number] if alarm else self._begun[number] if odds else last)
        begin = begins[start]
        limit = case.question.limit
        runs = [since(claim.runs, begin).tolist() for claim in case.single]
        low = {bisect_right(begins, at) for own in runs for at, ratio, *_ in own if ratio <= -limit}
        count = last - start + 1
        least = limit if alarm and 2 * len(low) < count else inf
        middles = tuple(middle([ratio for _, ratio, *_ in own], least) for own in runs)
        at = begins[int(self._raised[number])] if alarm else None
        return Weight(odds, begin, count, len(low), middles, alarm, at)
