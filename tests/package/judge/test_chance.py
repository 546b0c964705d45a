"""The odds of a lasting loss are those of a stated model of noise, and hold their error rate."""

from __future__ import annotations

from itertools import product
from math import exp, hypot, isfinite, log, pi, sqrt
from random import Random

import pytest

from plumbline.judge.chance import (
    ALONE,
    BESIDE_PEERS,
    FADES,
    Chain,
    Noise,
    Run,
    Source,
    factors,
    is_unsurprising,
    log_of_sum,
    shared_factors,
    sizes,
    surprise,
)

HOUR_S = 3600.0
DAY_S = 86400.0
LIMIT = -log(0.9)


def nights(*log_ratios: float, spread: float = 0.05, source: int = 0) -> tuple[Run, ...]:
    return tuple(
        Run(number * DAY_S + source, value, spread, source)
        for number, value in enumerate(log_ratios)
    )


def drawn(chance: Random, count: int, offset: float = 0.0, noise: Noise = BESIDE_PEERS) -> Source:
    """Draw runs from the model itself: a chain of undisturbed, lower and faster nights."""
    runs, state = [], ""
    for number in range(count):
        stays = noise.again * 25**-FADES if number else 0.0
        if chance.random() >= stays:
            shot = chance.random()
            state = "lower" if shot < noise.lower else ""
            state = "faster" if shot > 1 - noise.faster else state
        value = chance.gauss(0, 0.05)
        if state and chance.random() > 0.1 / 1.1:
            # as many are beyond x as 1 / (1 + x / tail) says
            value = noise.tail * (1 / (1 - chance.random()) - 1)
            value = -value if state == "lower" else value
        runs.append(Run(number * DAY_S, offset + value, 0.05))
    return Source(tuple(runs), 0.02)


def likelihood(source: Source, offset: float) -> float:
    """Return what the chain should give, by going through all ways in which it may have gone."""
    noise = source.noise
    shares = (1 - noise.lower - noise.faster, noise.lower, noise.faster)
    total = 0.0
    for states in product(range(3), repeat=len(source.runs)):
        weight = shares[states[0]] * density(source.runs[0], states[0], offset, noise)
        for before, run, was, state in zip(source.runs, source.runs[1:], states, states[1:]):
            stays = noise.again * (1 + (run.at - before.at) / HOUR_S) ** -FADES
            if run.source != before.source and run.at - before.at <= 600:
                stays = 1.0
            fresh = density(run, state, offset, noise)
            lower = state == 1 and run.log_ratio < offset
            same = lasting(before, run, fresh, noise) if lower else fresh
            weight *= stays * (state == was) * same + (1 - stays) * shares[state] * fresh
        total += weight
    return log(total)


def density(run: Run, state: int, offset: float, noise: Noise) -> float:
    """Return the density of a run that is undisturbed, lower or faster."""
    apart = run.log_ratio - offset
    # a size of loss stands for all up to the next, 17 % more
    spread = hypot(run.spread, 0.17 / sqrt(12) * offset)
    bell = exp(-((apart / spread) ** 2) / 2) / (spread * sqrt(2 * pi))
    width = hypot(noise.tail, run.spread)
    tail = 1 / (width * (1 + abs(apart) / width) ** 2)
    below = tail if apart < 0 else 0.1 * bell
    above = tail if apart > 0 else 0.1 * bell
    return (bell, below, above)[state]


def lasting(before: Run, run: Run, fresh: float, noise: Noise) -> float:
    """Return the density of a run that is disturbed for the same reason as the one before."""
    spread = hypot(run.spread, before.spread)
    apart = (run.log_ratio - before.log_ratio) / spread
    alike = exp(-(apart**2) / 2) / (spread * sqrt(2 * pi))
    return (1 - noise.alike) * fresh + noise.alike * alike


@pytest.mark.parametrize("noise", [BESIDE_PEERS, ALONE])
@pytest.mark.parametrize("offset", [0.0, -0.02, -0.3])
def test_the_likelihood_of_runs_is_that_of_the_chain(noise: Noise, offset: float) -> None:
    runs = (
        Run(0.0, -0.02, 0.05, 0),
        Run(60.0, -0.40, 0.03, 1),
        Run(HOUR_S, 0.01, 0.05, 0),
        Run(DAY_S, -0.31, 0.10, 0),
        Run(DAY_S + 400, 0.30, 0.05, 1),
        # ten minutes are in one go still
        Run(DAY_S + 1000, 0.25, 0.05, 0),
    )
    found = Chain(Source(runs, 0.02, noise)).likelihoods(offset)
    for start in range(len(runs)):
        wanted = likelihood(Source(runs[start:], 0.02, noise), offset)
        assert found[start] == pytest.approx(wanted, abs=1e-6)


def test_while_healthy_the_factor_is_one_in_the_mean() -> None:
    # so it exceeds T in one of T cases at most; a mean of heavy tails needs many
    chance = Random(7)
    offsets = [chance.gauss(0, 0.02) for _ in range(4000)]
    found = [exp(factors(drawn(chance, 5, offset), LIMIT)[0]) for offset in offsets]
    assert sum(found) / len(found) < 1.5
    for odds in (5, 20, 100):
        assert sum(one > odds for one in found) <= len(found) / odds


@pytest.mark.parametrize("loss", [0.15, 0.3, 0.6, 0.9])
def test_each_night_of_a_lasting_loss_raises_the_odds(loss: float) -> None:
    # of a loss near the limit the first night tells nothing
    values = [factors(Source(nights(*[log(1 - loss)] * n), 0.02), LIMIT)[0] for n in range(1, 9)]
    assert values[1:] == sorted(values[1:])
    assert values[-1] > log(1000)


@pytest.mark.parametrize("number", range(12))
def test_no_size_of_a_loss_falls_between_those_that_are_tried(number: int) -> None:
    values = nights(*[-0.3 * 1.05**number] * 3, spread=0.015)
    assert factors(Source(values, 0.02), LIMIT)[0] > log(300)


@pytest.mark.parametrize("noise", [BESIDE_PEERS, ALONE])
@pytest.mark.parametrize("spread", [0.015, 0.05, 0.3, 1.3])
def test_what_is_quick_to_find_is_a_bound_of_the_factor(noise: Noise, spread: float) -> None:
    chance = Random(f"{spread}")
    for _ in range(60):
        middle = chance.choice([0.0, -0.2, -0.5, -1.0])
        runs = nights(*[chance.gauss(middle, spread) for _ in range(12)], spread=spread)
        bound = 0.0
        for run in runs:
            bound = max(0.0, bound + surprise(run, noise, LIMIT))
        assert bound >= max(factors(Source(runs, 0.03, noise), LIMIT))


@pytest.mark.parametrize("loss", [0.2, 0.6, 0.95, 0.999])
def test_no_single_run_is_proof(loss: float) -> None:
    assert factors(Source(nights(log(1 - loss)), 0.02), LIMIT)[0] < log(3000)


def test_a_run_as_fast_as_ever_speaks_against_a_lasting_loss() -> None:
    low = [log(0.6)] * 4
    before = factors(Source(nights(*low), 0.02), LIMIT)[0]
    after = factors(Source(nights(*low, 0.0), 0.02), LIMIT)[0]
    assert after < before - log(20)


def test_what_is_low_at_once_says_less_than_what_is_low_on_another_day() -> None:
    soon = (Run(0.0, log(0.6), 0.05), Run(120.0, log(0.6), 0.05))
    later = (Run(0.0, log(0.6), 0.05), Run(6 * HOUR_S, log(0.6), 0.05))
    days = (Run(0.0, log(0.6), 0.05), Run(4 * DAY_S, log(0.6), 0.05))
    found = [factors(Source(runs, 0.02), LIMIT)[0] for runs in (soon, later, days)]
    assert found == sorted(found)
    assert found[0] < found[1] < found[2]


def test_a_component_that_is_mildly_slower_for_good_is_not_slow() -> None:
    # six per cent, below the limit of ten, on each of thirty nights
    chance = Random(3)
    runs = nights(*(log(0.94) + chance.gauss(0, 0.05) for _ in range(30)))
    assert max(factors(Source(runs, 0.02), LIMIT)) < log(20)


@pytest.mark.parametrize("seed", range(20))
def test_the_bound_is_one(seed: int) -> None:
    chance = Random(seed)
    source = drawn(chance, 12, offset=chance.choice([0.0, -0.1, -0.2, -0.5]))
    found = factors(source, LIMIT)
    for start in range(len(source.runs)):
        bound = sum(max(0.0, surprise(run, source.noise, LIMIT)) for run in source.runs[start:])
        assert found[start] <= bound + 1e-9


def test_a_part_is_told_by_what_all_devices_behind_it_lose() -> None:
    starts = [number * DAY_S for number in range(3)]
    mild = [Source(nights(*[log(0.85)] * 3, source=number), 0.02) for number in range(6)]
    alone = factors(mild[0], LIMIT)[0]
    shared = shared_factors(mild, starts, LIMIT)[0]
    assert shared > alone + log(100)


def test_one_slow_device_is_not_its_part() -> None:
    starts = [0.0]
    fine = [Source(nights(*[0.0] * 5, source=number), 0.02) for number in range(3)]
    slow = Source(nights(*[log(0.4)] * 5, source=9), 0.02)
    assert factors(slow, LIMIT)[0] > log(10_000)
    assert shared_factors([slow, *fine], starts, LIMIT)[0] < 0


def test_a_source_without_runs_after_a_start_says_nothing() -> None:
    low = Source(nights(log(0.5), log(0.5)), 0.02)
    empty = Source((), 0.02)
    assert factors(empty, LIMIT) == ()
    assert shared_factors([low], [5 * DAY_S], LIMIT) == [pytest.approx(0.0)]


def test_losses_are_tried_from_the_limit_to_nearly_everything() -> None:
    tried = sizes(LIMIT)
    assert tried == sorted(tried)
    assert LIMIT < tried[0] < 1.1 * LIMIT
    assert 0.9 < 1 - exp(-tried[-1]) < 0.97


def test_the_sum_of_logarithms_does_not_overflow() -> None:
    assert log_of_sum([1000.0, 1000.0]) == pytest.approx(1000 + log(2))
    assert log_of_sum([-1000.0]) == -1000.0


@pytest.mark.parametrize("values", [(0.0,), (log(0.6),), (log(0.5), log(0.5)), (0.1, log(0.4))])
def test_of_a_hundred_devices_one_is_slow_for_a_reason_of_its_own(values: tuple[float]) -> None:
    """So a single device behind a part says at most a hundred to one against the part."""
    one = Source(nights(*values), 0.02)
    alone = exp(factors(one, LIMIT)[0])
    shared = shared_factors([one], [0.0], LIMIT)[0]
    assert exp(shared) == pytest.approx(alone / (0.99 + 0.01 * alone))
    assert exp(shared) < 100


def test_a_reference_is_never_known_better_than_to_one_percent() -> None:
    runs = nights(log(0.85), log(0.85))
    exact, known, vague = (factors(Source(runs, off), LIMIT) for off in (0.0, 0.01, 0.05))
    assert exact == known
    assert known[0] > vague[0]


@pytest.mark.parametrize(("value", "spread"), [(log(0.5), 0.001), (log(0.5), 0.05), (-9.0, 3.0)])
def test_many_runs_are_weighed_as_well_as_a_few(value: float, spread: float) -> None:
    chain = Chain(Source(nights(*[value] * 900, spread=spread), 0.02))
    found = chain.likelihoods(value)
    assert all(map(isfinite, found))
    # each run adds as much as the one before it, far from the offset as well
    far = chain.likelihoods(0.0)
    assert all(map(isfinite, far))
    for logs in (found, far):
        added = [one - other for one, other in zip(logs[:800], logs[1:800])]
        assert added == pytest.approx([added[0]] * len(added), rel=1e-6)


@pytest.mark.parametrize("noise", [BESIDE_PEERS, ALONE])
@pytest.mark.parametrize("value", [0.3, 0.1, 0.02, 0.0, -0.05, -0.2, -0.5, -1.5])
def test_the_bound_is_about_the_odds_of_the_run_at_its_likeliest_loss(
    noise: Noise, value: float
) -> None:
    run = Run(0.0, value, 0.05)

    def mixed(offset: float) -> float:
        shares = (1 - noise.lower - noise.faster, noise.lower, noise.faster)
        return sum(share * density(run, state, offset, noise) for state, share in enumerate(shares))

    slow = mixed(min(-LIMIT, value))
    # a tenth of healthy components may be off by anything up to the limit
    wanted = log(slow / max(mixed(0.0), 0.1 * mixed(-LIMIT)))
    assert surprise(run, noise, LIMIT) == pytest.approx(wanted, abs=0.15)


@pytest.mark.parametrize("noise", [BESIDE_PEERS, ALONE])
@pytest.mark.parametrize("limit", [0.01, LIMIT, 0.7, 4.6])
def test_a_run_that_is_called_unsurprising_never_speaks_for_a_loss(
    noise: Noise, limit: float
) -> None:
    chance = Random(3)
    drawn = [Run(0.0, chance.gauss(0, limit), chance.uniform(0.01, 0.5)) for _ in range(3000)]
    found = [surprise(run, noise, limit) for run in drawn if is_unsurprising(run, limit)]
    assert len(found) > 1000
    assert max(found) < 0
