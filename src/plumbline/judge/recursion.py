"""Odds of a lasting loss against chance, of many components in one pass over arrays.

A run is compared with its reference: the logarithm of measured / reference is 0 in the middle while
the component is healthy.  Two hypotheses predict each run from those before it.  *Healthy*: the
component is off by something smaller than the limit, mostly by no more than references usually
are.  *Slow*: it has lost the limit or more, any size alike on a logarithmic scale.  Under both, a
run is normally near that offset, and sometimes disturbed: lower by a long tail, or, seldom, faster.
A disturbance tends to go on into the next run, the more the sooner that follows.

While the component is healthy, the ratio of the two predictions has the mean 1.  So the recursion
of Shiryaev and Roberts, R = (R + 1) x ratio for each moment, passes a threshold T not more often
than once in T moments in the mean (Pollak, Ann. Stat. 13, 1985, 206; for ratios as these Shin,
Ramdas and Rinaldo, "E-detectors", 2022).  The threshold follows from how many false alarms are
wanted, and from nothing else; what must be right is the model of the noise.

A component may be slow in one operation, or in all of them: the mean over these claims, and over
the sizes of the loss, is a ratio of the same kind.  An alarm is raised when it reaches what the
budget of false alarms asks, and stands until the same recursion for health, beside whatever
explained the alarm, is as clear.  Both take two moments at least: a single low one is watched.

Nothing is kept but the runs: the same runs give the same answer, whoever asks.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from math import inf, pi, sqrt
from typing import Any, NamedTuple, Optional, Sequence

import numpy as np

from plumbline.judge.runs import (
    AT,
    FADES,
    FEWEST,
    IN_ONE_GO_S,
    NUMBER,
    RATIO,
    SPREAD,
    Source,
    Subject,
    Weight,
    in_order,
    middle_since,
    moments_of,
    since,
)
from plumbline.model.units import HOUR_S

_Array = Any
"""An array of numpy, whose types a node's Python cannot name."""

_TOGETHER = 500
"""Subjects of one pass: their arrays stay within the processor's cache and some 50 MB."""

_SIZES = 12
"""Sizes of loss that are tried, from the limit on: each is some 1.3 times the one before."""
_GROSSEST = 2.3
"""The largest loss that is told apart, a logarithm: 90 %, or twice the limit where that is more.
What is lower says as much."""
_HEALTHY = 8
"""Offsets of a healthy component that are tried, from -limit to limit."""
_ODD = 0.1
"""The share of healthy components of which nothing but the limit bounds what they are off by."""
_LEAST_OFF = 0.01
_SELDOM = 0.01
"""The share of what crosses a healthy part that is slow for a reason of its own."""
_FORGOTTEN = 0.2
"""A component may be off by something else from a run on: a filled disk, a new neighbour.  So much
of what is known of its offset is forgotten with each run."""
_IN_ONE_GO = 0.9
"""The chance that what is measured in one go is disturbed together: a write may as well be slow,
or fast, by itself."""
_LANES = 16
"""Streams of one pass at least."""
_BESIDE = 0.1
"""While a disturbance goes on, one run in so many is as undisturbed as ever."""
_LEAST = 1e-12
"""Keeps densities and sums above nothing, so that each has a logarithm."""
_MOST = 12.0
"""The most that a moment adds to the logarithm of odds; more tells nothing that is not told."""
_SHARE = 0.3
"""The share of moments in which something that comes and goes is slow: three of ten nights."""
_CHANCES: _Array = np.repeat([0.9 / _SIZES, 0.1 / _SIZES], _SIZES)
"""How likely each size is beforehand, of what stays and of what comes and goes."""
_MOST_TIMES = 3
"""An alarm that came back so often takes sixteen good moments to end, and no more."""
_LARGEST = 1e200
_ROOT = sqrt(2 * pi)


def weigh(subjects: Sequence[Subject]) -> list[Weight]:
    """Return what the runs of each subject say at the last of them.

    Many in one call take a fraction of the time of one after another.
    """
    weights: list[Weight] = []
    for begin in range(0, len(subjects), _TOGETHER):
        weights += _weigh(subjects[begin : begin + _TOGETHER])
    return weights


class _Stream(NamedTuple):
    """The runs of one source of a claim, and the places of its subject and claim."""

    subject: int
    claim: int
    source: Source
    limit: float
    shared: bool


def _weigh(subjects: Sequence[Subject]) -> list[Weight]:
    moments = [
        moments_of(in_order([claim.runs for claim in subject.alone])) for subject in subjects
    ]
    streams = [
        _Stream(
            number,
            place,
            source,
            max(source.least, subject.question.limit),
            len(claim.sources) > 1,
        )
        for number, subject in enumerate(subjects)
        for place, claim in enumerate(subject.claims)
        for source in claim.sources
        if len(source.runs)
    ]
    # those that are over come last in each step
    streams.sort(key=lambda stream: -len(stream.source.runs))
    recursion = _Recursion(subjects, moments)
    if streams:
        recursion.run(*_by_moment(subjects, moments, streams))
    return [
        recursion.weight(number, subject, begins)
        for number, (subject, begins) in enumerate(zip(subjects, moments))
    ]


def _by_moment(
    subjects: Sequence[Subject], moments: Sequence[Sequence[float]], streams: Sequence[_Stream]
) -> tuple[_Array, _Array]:
    """Return what each moment adds, and whether it measured something.

    Their shapes are moments x subjects x claims x sizes, and the same without sizes; the sizes are
    there twice, for what is slow at all times and for what comes and goes.
    """
    shape = (
        max(map(len, moments)),
        len(subjects),
        max(len(subject.claims) for subject in subjects),
    )
    added: _Array = np.zeros((*shape, _SIZES))
    measured: _Array = np.zeros(shape, bool)
    counts = [len(stream.source.runs) for stream in streams]
    places = np.concatenate(
        [
            np.searchsorted(moments[stream.subject], stream.source.runs[:, AT], side="right") - 1
            for stream in streams
        ]
    )
    steps = np.concatenate([np.arange(count) for count in counts])
    number: _Array = np.repeat(np.arange(len(streams)), counts)
    of: tuple[_Array, ...] = (
        places,
        np.repeat([stream.subject for stream in streams], counts),
        np.repeat([stream.claim for stream in streams], counts),
    )
    np.add.at(added, of, _ratios(streams)[steps, :, number])
    measured[of] = True
    steady = np.clip(added, -_MOST, _MOST)
    now_and_then = np.log1p(_SHARE * np.expm1(steady))
    return np.concatenate([steady, now_and_then], axis=-1), measured


class _Offsets(NamedTuple):
    """Offsets that each stream may have, offsets x streams: first healthy ones, then losses.

    ``at`` is the logarithm of measured / reference in the middle, ``variance`` what it stands for
    on both sides, ``weight`` how likely a healthy component is off by it.
    """

    at: _Array
    variance: _Array
    weight: _Array


def _step(limits: _Array) -> _Array:
    """Return the factor between two sizes that are tried."""
    return (np.maximum(_GROSSEST, 2 * limits) / limits) ** (1 / _SIZES)


def _sizes(limits: _Array) -> _Array:
    """Return the losses that are tried, sizes x limits, the smallest first."""
    return limits * _step(limits) ** (np.arange(_SIZES)[:, None] + 0.5)


def _offsets(streams: Sequence[_Stream]) -> _Offsets:
    limit = np.array([stream.limit for stream in streams])
    off = np.maximum(_LEAST_OFF, [stream.source.off for stream in streams])
    seldom = np.where([stream.shared for stream in streams], _SELDOM, 0.0)
    healthy = ((np.arange(_HEALTHY) + 0.5) / _HEALTHY * 2 - 1)[:, None] * limit
    sizes = _sizes(limit)
    usual = np.exp(-((healthy / off) ** 2) / 2) / (off * _ROOT)
    weight = (1 - _ODD) * usual + _ODD / (2 * limit)
    weight *= (1 - seldom) / weight.sum(axis=0)
    widths = np.concatenate(
        [
            np.broadcast_to(2 * limit / _HEALTHY, healthy.shape),
            sizes * (_step(limit) - 1),
        ]
    )
    return _Offsets(
        np.concatenate([healthy, -sizes]),
        widths**2 / 12,
        np.concatenate([weight, np.broadcast_to(seldom / _SIZES, sizes.shape)]),
    )


def _ratios(streams: Sequence[_Stream]) -> _Array:
    """Return the logarithm of slow / healthy of each run, steps x sizes x streams."""
    counts = np.array([len(stream.source.runs) for stream in streams])
    filters = _Filter(streams)
    table = np.zeros((int(counts[0]), filters.lanes, 4))
    table[:, :, SPREAD] = 1.0
    for number, stream in enumerate(streams):
        table[: counts[number], number] = stream.source.runs
    ratios = np.zeros((len(table), _SIZES, filters.lanes))
    for step, runs in enumerate(table):
        # those that are over come last
        count = max(_LANES, int(np.searchsorted(-counts, -step, side="left")))
        before = table[step - 1, :count] if step else None
        ratios[step, :, :count] = filters.take(runs[:count], before)
    return ratios


class _Filter:
    """A hidden Markov chain for each offset of each stream; all arrays are offsets x streams.

    It predicts the next run by how likely each state is: undisturbed, lower or faster.  What is
    healthy weighs its offsets by how well they predicted so far.
    """

    def __init__(self, streams: Sequence[_Stream]) -> None:
        """Begin with each stream as it is before its first run."""
        # fewer than a vector of the processor has would be rounded otherwise
        self.lanes = max(_LANES, len(streams))
        padded = [*streams, *[streams[0]] * (self.lanes - len(streams))]
        self._first = _offsets(padded)
        self._noise = np.array([stream.source.noise for stream in padded]).T
        # before the first run there is no state that could go on
        self._states = [np.zeros(self._first.at.shape) for _ in range(3)]
        self._at, self._variance, self._weight = (array.copy() for array in self._first)

    def take(self, runs: _Array, before: Optional[_Array]) -> _Array:
        """Return the logarithm of slow / healthy of a run of each stream, sizes x streams.

        ``runs`` are as in :data:`Rows`, a row for each stream, as are those ``before`` them.
        """
        now = np.s_[:, : len(runs)]
        spread = runs[:, SPREAD]
        ratio = np.maximum(runs[:, RATIO], self._first.at[-1, : len(runs)])
        likely = self._predict(ratio, spread, self._lasting(runs, before))
        total = likely[0] + likely[1] + likely[2]
        for state, share in zip(self._states, likely):
            state[now] = share / total
        weight = self._weight[now]
        healthy = weight * total
        # row by row: the same to the bit however many streams there are
        chance = sum(healthy)
        weight[:] = (1 - _FORGOTTEN) * healthy / chance + _FORGOTTEN * self._first.weight[now]
        self._follow(ratio, spread)
        ratios: _Array = np.log(total[_HEALTHY:] / chance)
        return ratios

    def _lasting(self, runs: _Array, before: Optional[_Array]) -> tuple[_Array, _Array]:
        """Return the chance that a disturbance goes on, and the density if it takes as much."""
        if before is None:
            return np.zeros(len(runs)), np.zeros(len(runs))
        again, lowest = self._noise[3, : len(runs)], self._first.at[-1, : len(runs)]
        apart_s = np.maximum(0.0, runs[:, AT] - before[:, AT])
        in_one_go = (runs[:, NUMBER] != before[:, NUMBER]) & (apart_s <= IN_ONE_GO_S)
        stays = np.where(in_one_go, _IN_ONE_GO, again * (1 + apart_s / HOUR_S) ** -FADES)
        both = np.hypot(runs[:, SPREAD], before[:, SPREAD])
        apart = (np.maximum(runs[:, RATIO], lowest) - np.maximum(before[:, RATIO], lowest)) / both
        return stays, np.exp(-(apart**2) / 2) / (both * _ROOT) + _LEAST

    def _predict(
        self, ratio: _Array, spread: _Array, lasting: tuple[_Array, _Array]
    ) -> list[_Array]:
        """Return the likelihood of a run in each state under each offset, with that before it."""
        now = np.s_[:, : len(ratio)]
        lower, faster, tail_width, _, alike = self._noise[now]
        stays, near = lasting
        new = 1 - stays
        normal, low, fast = [stays * state[now] for state in self._states]
        variance = spread**2 + self._variance[now]
        apart = ratio - self._at[now]
        bell = np.exp(apart**2 / (-2 * variance)) / (np.sqrt(variance) * _ROOT) + _LEAST
        inverse = 1 / np.hypot(tail_width, spread)
        tail = inverse / (1 + np.abs(apart) * inverse) ** 2
        below = apart < 0
        beside = _BESIDE * bell
        # after a run that was as low, for the same reason
        again = (1 - alike) * tail + alike * near
        return [
            (normal + new * (1 - lower - faster)) * bell,
            np.where(below, low * again + new * lower * tail, (low + new * lower) * beside),
            (fast + new * faster) * np.where(below, beside, tail),
        ]

    def _follow(self, ratio: _Array, spread: _Array) -> None:
        """Let each size of loss follow the undisturbed runs, so that few sizes stand for all.

        As Kalman's filter does: by how uncertain the size was beside the run.  Each stays between
        its neighbours and tends back to where it began, for a loss may begin anew.
        """
        slow = np.s_[_HEALTHY:, : len(ratio)]
        at, variance = self._at[slow], self._variance[slow]
        first, width = self._first.at[slow], self._first.variance[slow]
        gain = self._states[0][slow] * variance / (variance + spread**2)
        half = np.sqrt(3 * width)
        moved = np.clip(at + gain * (ratio - at), first - half, first + half)
        at[:] = moved + _FORGOTTEN * (first - moved)
        narrower = variance * (1 - gain)
        variance[:] = narrower + _FORGOTTEN * (width - narrower)


class _Recursion:
    """The recursions of all claims of some subjects, moment by moment.

    ``_slow`` is R of each subject, claim and size; ``_path`` the logarithm of the same from the
    likeliest start alone, which is ``_start``.  In an alarm ``_likely`` says how well each claim
    and size explain it; ``_well`` is R for health beside them over ``_asked`` moments, ``_good``
    the logarithm of the same from the likeliest start alone, over ``_since_good`` moments.
    ``_times`` is how often an alarm was raised.
    """

    def __init__(self, subjects: Sequence[Subject], moments: Sequence[Sequence[float]]) -> None:
        claims = max(len(subject.claims) for subject in subjects)
        shape = len(subjects), claims
        each = np.arange(claims)
        self._claims = np.array([len(subject.claims) for subject in subjects])[:, None]
        self._moments = np.array([len(begins) for begins in moments])
        questions = [subject.question for subject in subjects]
        self._needed = np.array([question.needed for question in questions])
        self._ends = np.array([question.ends for question in questions])
        self._starts = np.ones((max(map(len, moments)), len(subjects), 1, 1))
        for number, (question, begins) in enumerate(zip(questions, moments)):
            change = question.change
            if change and begins and change.at <= begins[-1]:
                self._starts[bisect_left(begins, change.at), number] += change.starts
        self._slow = np.zeros((*shape, len(_CHANCES)))
        # what comes and goes was not there before, or it would never be well again
        own = (each < self._claims)[:, :, None] * (np.arange(len(_CHANCES)) < _SIZES)
        self._even = own / own.sum(axis=(1, 2), keepdims=True)
        self._likely = self._even.copy()
        self._path = np.zeros((*shape, len(_CHANCES)))
        self._start: _Array = np.zeros((*shape, len(_CHANCES)), int)
        self._well = np.zeros(len(subjects))
        self._asked: _Array = np.zeros(len(subjects), int)
        self._good = np.zeros(len(subjects))
        self._since_good: _Array = np.zeros(len(subjects), int)
        self._since: _Array = np.zeros(len(subjects), int)
        self._times: _Array = np.zeros(len(subjects), int)
        self._alarm: _Array = np.zeros(len(subjects), bool)
        self._final, self._begun = np.zeros(len(subjects)), self._since

    def run(self, added: _Array, measured: _Array) -> None:
        """Go through the moments; the shapes are those of :func:`_by_moment`."""
        for moment, (each, claims) in enumerate(zip(added, measured)):
            here = moment < self._moments
            ended = self._ended(each, claims, here)
            self._add(moment, each, here)
            self._raise(moment, here & ~self._alarm)
            self._slow[ended] = self._path[ended] = 0.0
            self._alarm[ended] = False
        self._final, self._begun = self._odds(), self._likeliest()

    def _add(self, moment: int, added: _Array, here: _Array) -> None:
        live = (here[:, None] & (np.arange(added.shape[1]) < self._claims))[:, :, None]
        slow = (self._slow + self._starts[moment]) * np.exp(added)
        self._slow = np.where(live, np.minimum(slow, _LARGEST), self._slow)
        begins = self._path <= 0
        self._start[live & begins] = moment
        path = np.where(begins, 0.0, self._path) + added
        self._path = np.where(live, path, self._path)

    def _odds(self) -> _Array:
        """Return the logarithm of the mean over claims and sizes."""
        mean = (self._slow * _CHANCES).sum(axis=(1, 2)) / self._claims[:, 0]
        return np.log(np.maximum(mean, _LEAST))

    def _likeliest(self) -> _Array:
        """Return the start, as a moment's number, that explains the runs best."""
        best = self._path.reshape(len(self._path), -1).argmax(axis=1)
        return self._start.reshape(len(self._path), -1)[np.arange(len(best)), best]

    def _ended(self, added: _Array, measured: _Array, here: _Array) -> _Array:
        """Return which alarms end: those that no claim explains any more, by any size."""
        ended: _Array = np.zeros(len(added), bool)
        of = np.flatnonzero(self._alarm & here & measured.any(axis=1))
        slow = self._likely[of] * np.exp(added[of])
        # what was not measured says nothing
        total = slow.sum(axis=(1, 2))
        self._likely[of] = (1 - _FORGOTTEN) * slow / total[:, None, None]
        self._likely[of] += _FORGOTTEN * self._even[of]
        self._well[of] = np.minimum((self._well[of] + 1) / total, _LARGEST)
        begins = self._good[of] <= 0
        self._good[of] = np.where(begins, 0.0, self._good[of]) - np.log(total)
        self._since_good[of] = np.where(begins, 1, self._since_good[of] + 1)
        self._asked[of] += 1
        # the mean over the moments from which on it may be well again
        odds = np.log(self._well[of] / self._asked[of])
        # what comes back takes twice as long to be believed each time
        fewest = FEWEST * 2 ** np.minimum(_MOST_TIMES, self._times[of] - 1)
        ended[of] = (self._since_good[of] >= fewest) & (odds >= self._ends[of])
        return ended

    def _raise(self, moment: int, may: _Array) -> None:
        start = self._likeliest()
        raised = may & (self._odds() >= self._needed) & (moment - start + 1 >= FEWEST)
        self._since[raised] = start[raised]
        slow = self._slow[raised] * _CHANCES + _LEAST * self._even[raised]
        self._likely[raised] = slow / slow.sum(axis=(1, 2), keepdims=True)
        for kept in (self._well, self._asked, self._good, self._since_good):
            kept[raised] = 0
        self._alarm |= raised
        self._times += raised

    def weight(self, number: int, subject: Subject, begins: Sequence[float]) -> Weight:
        """Return what is known of a subject after its last moment."""
        if not begins:
            return Weight(0.0, 0.0, 0, 0, tuple(None for _ in subject.alone), alarm=False)
        odds = max(0.0, float(self._final[number]))
        last = len(begins) - 1
        alarm = bool(self._alarm[number])
        start = int(self._since[number] if alarm else self._begun[number] if odds else last)
        begin = begins[start]
        limit = subject.question.limit
        low = {
            bisect_right(begins, at)
            for claim in subject.alone
            for at, ratio, *_ in since(claim.runs, begin).tolist()
            if ratio <= -limit
        }
        count = last - start + 1
        least = limit if alarm and 2 * len(low) < count else inf
        middles = tuple(middle_since(claim.runs, begin, least) for claim in subject.alone)
        return Weight(odds, begin, count, len(low), middles, alarm)
