"""The noise of one fleet as the days pass: everything that is drawn, from one source."""

from __future__ import annotations

from math import exp, log
from random import Random
from typing import NamedTuple, Optional

from plumbline.simulate.noise import COVERAGE_ALONE, COVERAGE_MOST, SPELL_LEAST, TAIL_LEAST, Noise


class Sky(NamedTuple):
    """What all of a file system share on one day: their loss, a logarithm, and if it is busy."""

    loss: float
    busy: bool


class Draw(NamedTuple):
    """One run of one component: its loss, a logarithm, and its coverage, a fraction."""

    loss: float
    coverage: float


_CLEAR = Sky(0.0, False)


class Weather:
    """What the parts of one fleet meet; systems, hosts and components are known by their names."""

    def __init__(self, noise: Noise, chance: Random) -> None:
        """Take what is drawn from ``chance``; nobody else may draw from it."""
        self._noise = noise
        self._chance = chance
        self._skies: dict[str, Sky] = {}
        self._hosts: dict[str, float] = {}
        self._components: dict[tuple[str, str], float] = {}

    def next_day(self) -> None:
        """Let every known file system have another day."""
        self._hosts.clear()
        for system, sky in self._skies.items():
            self._skies[system] = self._sky(sky)

    def run(self, component: tuple[str, str], host: str, system: str) -> Draw:
        """Return what one run of a component meets today."""
        noise, gauss = self._noise, self._chance.gauss
        sky = self._skies.get(system)
        if sky is None:
            sky = self._skies[system] = self._sky(_CLEAR)
        shared = self._hosts.get(host)
        if shared is None:
            shared = self._hosts[host] = gauss(0, noise.host)
        own = self._components.get(component)
        if own is None:
            own = self._components[component] = gauss(0, noise.component)
        loss = own + shared + sky.loss + gauss(0, noise.spell_run if sky.busy else noise.run)
        loss += self._tail()
        coverage = self._coverage(sky.busy)
        if coverage < COVERAGE_MOST:
            loss -= noise.contention_cost * log(coverage)
        return Draw(loss, coverage)

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
        return TAIL_LEAST + self._exponential(self._noise.tail_loss)

    def _coverage(self, busy: bool) -> float:
        noise = self._noise
        share = noise.contended_in_spell if busy else noise.contended
        if self._chance.random() >= share:
            return COVERAGE_ALONE
        return COVERAGE_MOST * exp(-self._exponential(noise.coverage_lost))

    def _exponential(self, mean: Optional[float]) -> float:
        return self._chance.expovariate(1 / mean) if mean else 0.0
