"""The noise of one fleet as the days pass: everything that is drawn, from one source.

What disturbs a single run tends to go on into the next one of the same day, as chance has it by
which the judge weighs runs; further runs draw from a source of their own, so that a fleet meets the
same planned days whether or not it confirms.
"""

from __future__ import annotations

from contextlib import contextmanager
from math import exp, log
from random import Random
from typing import Iterator, NamedTuple, Optional

from plumbline.judge.noise import BESIDE_PEERS, FADES, HOUR_S
from plumbline.simulate.fleet import Flow
from plumbline.simulate.noise import COVERAGE_ALONE, COVERAGE_MOST, SPELL_LEAST, TAIL_LEAST, Noise

_KEY = 8
"""So many words of a source's state tell it apart."""


class Sky(NamedTuple):
    """What all of a file system share on one day: their loss, a logarithm, and if it is busy."""

    loss: float
    busy: bool


class Draw(NamedTuple):
    """One run of one component: its loss, a logarithm, and its coverage, a fraction."""

    loss: float
    coverage: float


class _Disturbance(NamedTuple):
    """What a run met alone: its loss in the long tail, a logarithm, and its coverage."""

    at: float
    tail: float
    coverage: float


_CLEAR = Sky(0.0, False)


class Weather:
    """What the parts of one fleet meet; systems, hosts and components are known by their names."""

    def __init__(self, noise: Noise, chance: Random) -> None:
        """Take what is drawn from ``chance``; nobody else may draw from it."""
        self._noise = noise
        self._chance = self._planned = chance
        self._further = Random(repr(chance.getstate()[1][:_KEY]))
        self._disturbances: dict[Flow, _Disturbance] = {}
        self._skies: dict[str, Sky] = {}
        self._hosts: dict[str, float] = {}
        self._components: dict[tuple[str, str], float] = {}

    def next_day(self) -> None:
        """Let every known file system have another day."""
        self._hosts.clear()
        self._disturbances.clear()
        for system, sky in self._skies.items():
            self._skies[system] = self._sky(sky)

    @contextmanager
    def further(self) -> Iterator[None]:
        """Draw what runs meet that nobody has planned from a source of their own."""
        self._chance = self._further
        try:
            yield
        finally:
            self._chance = self._planned

    def run(self, flow: Flow, host: str, system: str, at: float) -> Draw:
        """Return what one run of a flow meets today, at a moment in epoch seconds."""
        noise, gauss = self._noise, self._chance.gauss
        sky = self._skies.get(system)
        if sky is None:
            sky = self._skies[system] = self._sky(_CLEAR)
        shared = self._hosts.get(host)
        if shared is None:
            shared = self._hosts[host] = gauss(0, noise.host)
        component = flow.layer, flow.component
        own = self._components.get(component)
        if own is None:
            own = self._components[component] = gauss(0, noise.component)
        loss = own + shared + sky.loss + gauss(0, noise.spell_run if sky.busy else noise.run)
        met = self._disturbances[flow] = self._disturbed(self._disturbances.get(flow), at, sky)
        loss += met.tail
        if met.coverage < COVERAGE_MOST:
            loss -= noise.contention_cost * log(met.coverage)
        return Draw(loss, met.coverage)

    def _disturbed(self, before: Optional[_Disturbance], at: float, sky: Sky) -> _Disturbance:
        """Return what disturbs a run: often what disturbed the one before it, often as much."""
        if before is None or self._chance.random() >= _lasts(at - before.at):
            return _Disturbance(at, self._tail(), self._coverage(sky.busy))
        tail, coverage = before.tail, before.coverage
        if tail and self._chance.random() >= BESIDE_PEERS.alike:
            tail = self._size_of_tail()
        if coverage < COVERAGE_MOST and self._chance.random() >= BESIDE_PEERS.alike:
            coverage = self._size_of_coverage()
        return _Disturbance(at, tail, coverage)

    def test(self) -> float:
        """Return the loss of one test of a host pair."""
        return self._chance.gauss(0, self._noise.network)

    def repeats(self, rate_Bps: float, count: int, most_Bps: float) -> tuple[float, ...]:
        """Return the rates of the repeats of a run, none of them above ``most_Bps``."""
        sigma, gauss = self._noise.repeat, self._chance.gauss
        return tuple([min(most_Bps, rate_Bps * exp(gauss(0, sigma))) for _ in range(count)])

    def _sky(self, before: Sky) -> Sky:
        noise, chance = self._noise, self._chance
        shared = chance.gauss(0, noise.day)
        busy = chance.random() < (noise.spell_goes_on if before.busy else noise.spell_begins)
        if busy:
            shared += SPELL_LEAST + self._exponential(noise.spell_loss)
        return Sky(shared, busy)

    def _tail(self) -> float:
        if self._chance.random() >= self._noise.tail_share:
            return 0.0
        return self._size_of_tail()

    def _size_of_tail(self) -> float:
        return TAIL_LEAST + self._exponential(self._noise.tail_loss)

    def _coverage(self, busy: bool) -> float:
        noise = self._noise
        share = noise.contended_in_spell if busy else noise.contended
        if self._chance.random() >= share:
            return COVERAGE_ALONE
        return self._size_of_coverage()

    def _size_of_coverage(self) -> float:
        return COVERAGE_MOST * exp(-self._exponential(self._noise.coverage_lost))

    def _exponential(self, mean: Optional[float]) -> float:
        return self._chance.expovariate(1 / mean) if mean else 0.0


def _lasts(apart_s: float) -> float:
    """Return the chance that a run meets what the one before it met, so many seconds ago."""
    faded: float = (1 + max(0.0, apart_s) / HOUR_S) ** -FADES
    return BESIDE_PEERS.again * faded
