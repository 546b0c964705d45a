"""Suspects are all smallest sets of parts that explain the losses and no healthy rate."""

from __future__ import annotations

from itertools import combinations, product
from math import exp, inf, log
from random import Random
from typing import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.model.errors import DocumentError
from plumbline.parts.locate.observation import Measurable, Observation, Vote
from plumbline.parts.locate.observe import resending
from plumbline.parts.locate.parts import OVERHEAD, find_parts, odds, reach
from plumbline.parts.locate.parts import expected as expected_rates
from plumbline.parts.locate.suspects import Located, locate
from tests.package.parts.locate.scenes import (
    ERROR,
    LAB,
    REDSTORM,
    LaneRates,
    alternatives,
    both,
    made,
    observation,
    silence,
    suspects,
)

SLOW_DISK = {"oss2-disk1": both(80e6)}
SLOW_LINK = {"oss3-nic": both(25e6)}


@pytest.mark.parametrize(
    ("rates", "silent", "expected"),
    [
        pytest.param(SLOW_DISK, (), [{"oss2-disk1"}], id="slow disk"),
        pytest.param(SLOW_LINK, (), [{"oss3-nic"}], id="slow link"),
        pytest.param(SLOW_LINK, ("net",), [{"oss3-nic"}], id="slow link, network not measured"),
        pytest.param({"oss3": both(25e6)}, (), [{"oss3"}], id="slow server"),
        pytest.param(
            {"client1-nic": both(25e6)}, (), [{"client1", "client1-nic"}], id="client's side"
        ),
        pytest.param(
            {"client1-nic": {"read": 25e6}}, (), [{"client1", "client1-nic"}], id="one direction"
        ),
        pytest.param({"switch1": both(50e6)}, (), [{"switch1"}], id="switch"),
        pytest.param(
            {**SLOW_DISK, **SLOW_LINK}, (), [{"oss2-disk1"}, {"oss3-nic"}], id="two faults"
        ),
        pytest.param(
            {"oss1-disk1": both(80e6), "oss1-disk2": both(50e6)},
            (),
            [{"oss1-disk1"}, {"oss1-disk2"}],
            id="two disks of one server, not alike",
        ),
        pytest.param(
            SLOW_DISK, ("raw",), [{"oss2-disk1", "scratch-OST0002"}], id="disk or file system"
        ),
        pytest.param(
            {"scratch-OST0002": both(60e6)}, (), [{"scratch-OST0002"}], id="file system on a disk"
        ),
        pytest.param({}, (), [], id="healthy"),
    ],
)
def test_lab_faults(rates: LaneRates, silent: tuple[str, ...], expected: list[set[str]]) -> None:
    located = LAB.locate(rates, silent)
    assert sorted(map(sorted, suspects(located))) == sorted(map(sorted, expected))
    assert located.complete
    assert located.unexplained == ()


@pytest.mark.parametrize(
    ("rates", "silent", "expected"),
    [
        pytest.param(
            {"ddn01a-lun1": both(80e6)},
            (),
            [{"ddn01a-fc1", "ddn01a-lun1", "oss001-fc1"}],
            id="one path of one target",
        ),
        pytest.param({"ddn01a-data": both(150e6)}, (), [{"ddn01a-data"}], id="controller"),
        pytest.param({"ddn01a-data": both(400e6)}, (), [], id="channels with slack are not seen"),
        pytest.param({"oss001-hba": both(100e6)}, (), [{"oss001", "oss001-hba"}], id="adapter"),
        pytest.param({"oss001-link": both(100e6)}, (), [{"oss001-link"}], id="server's link"),
        pytest.param(
            {"oss001-link": both(100e6)},
            ("raw",),
            [{"oss001", "oss001-hba", "oss001-link"}],
            id="server's link without raw reads",
        ),
        pytest.param({"login1": both(100e6)}, (), [{"login1", "mesh"}], id="client and mesh"),
        pytest.param(
            {"ddn01a-data": both(150e6), "oss100-link": both(60e6)},
            (),
            [{"ddn01a-data"}, {"oss100-link"}],
            id="controller and a link elsewhere",
        ),
    ],
)
def test_red_storm_faults(
    rates: LaneRates, silent: tuple[str, ...], expected: list[set[str]]
) -> None:
    located = suspects(REDSTORM.locate(rates, silent))
    assert sorted(map(sorted, located)) == sorted(map(sorted, expected))


def test_a_part_that_drops_segments_explains_rates_of_any_size() -> None:
    """A bad cable in the lab slowed each connection by another share, and one not at all."""
    lanes = (("read",),) * 3
    pairs = [
        Measurable(f"net {n}", "net", n, "read", (n, "cable", "far"), 120e6, lanes) for n in "abcd"
    ]
    rates = [observation(of, rate) for of, rate in zip(pairs, (118e6, 73e6, 95e6, 60e6))]
    fine = [made(f"net {n} far", f"{n} spare far", 120, 120) for n in "abcd"]
    dropped = [observation(resending(of), 50.0) for of in pairs[:3]]
    assert len(locate([*rates, *fine]).unexplained) == 3
    located = locate([*rates, *fine, *dropped])
    assert suspects(located) == [{"cable"}]
    assert located.unexplained == ()


def test_without_observations_there_are_no_suspects() -> None:
    assert locate([]) == Located((), (), ())


def test_observations_without_a_vote_change_nothing() -> None:
    observations = LAB.observe(SLOW_DISK)
    quiet = silence(observations, "raw", "net oss1")
    voting = [item for item in quiet if item.vote is not Vote.NONE]
    assert alternatives(locate(quiet)) == alternatives(locate(voting))
    assert locate(silence(observations, "")).sets == ()


def test_a_slow_pair_between_good_hosts_accuses_nobody() -> None:
    observations = [made("net ab", "a sw b", 80), made("net ac", "a sw c", 200)]
    located = locate([*observations, made("net bc", "b sw c", 200)])
    assert located.sets == ()
    assert located.unexplained == (0,)


def test_one_shared_part_is_preferred_to_coincidences() -> None:
    observations = [made(f"ost {name}", f"client hba {name}", 80) for name in "abc"]
    assert alternatives(locate([*observations, made("ost z", "client z", 200)])) == [(("hba",),)]


def test_indistinguishable_faults_are_given_as_sets() -> None:
    """Two of three parts, any two of which explain three measurements."""
    observations = [made("ost 1", "a b", 80), made("ost 2", "b c", 80), made("ost 3", "a c", 80)]
    assert alternatives(locate(observations)) == [(("a", "b"), ("a", "c"), ("b", "c"))]


def test_a_shared_loss_explains_observations_just_above_the_limit() -> None:
    """One of four is below the level, the others just above: a shared loss."""
    votes = [made(f"ost {n}", f"hba d{n}", rate) for n, rate in enumerate((178, 181, 182, 181))]
    assert [item.vote for item in votes] == [Vote.BAD, *[Vote.GOOD] * 3]
    assert alternatives(locate(votes)) == [(("hba",),)]


def test_each_suspect_has_its_remaining_rates_and_the_measurements_it_passes() -> None:
    (ambiguity,) = LAB.locate(SLOW_DISK).sets
    (suspect,) = ambiguity.suspects
    assert {loss.lane: round(loss.left_Bps / 1e6) for loss in suspect.losses} == {
        "read": 80,
        "write": 80,
    }
    assert suspect.explains == ambiguity.explains
    assert suspect.passes == ()


def test_impossible_observations_are_refused() -> None:
    of = Measurable("ost a", "ost", "a", "read", ("a",), 200e6)
    for rate, error in ((float("nan"), 0.01), (-1.0, 0.01), (80e6, 0.0), (float("inf"), 0.01)):
        with pytest.raises(DocumentError, match="ost a cannot vote"):
            Observation(of, Vote.BAD, rate, error)
    with pytest.raises(DocumentError, match="no rates"):
        Observation(of._replace(expected=0.0), Vote.GOOD, 80e6, 0.01)
    assert Observation(of, Vote.NONE, float("nan"), 0.0).vote is Vote.NONE


def scene(chance: Random) -> list[Observation]:
    """Return observations of a random network of up to eight parts, each slow by chance."""
    names = "abcdefgh"[: chance.randint(2, 8)]
    rates = {name: chance.choice([40, 70, 75, 120, 150]) for name in names if chance.random() < 0.3}
    observations = []
    for number in range(chance.randint(1, 8)):
        path = chance.sample(names, chance.randint(1, min(4, len(names))))
        needs = chance.choice([90, 180, 200])
        rate = min([needs, *(rates[name] for name in path if name in rates)])
        lane = chance.choice(["read", "write"])
        layer = chance.choice(["ost", "raw"])
        of = Measurable(f"{layer} {number}", layer, str(number), lane, tuple(path), needs * 1e6)
        item = observation(of, rate * 1e6 * exp(chance.gauss(0, ERROR)))
        observations.append(item._replace(vote=Vote.NONE) if chance.random() < 0.1 else item)
    return observations


def by_trying(observations: list[Observation]) -> set[frozenset[str]]:
    """Return all smallest sets of parts by trying every set with every remaining capacity."""
    voters = [item for item in observations if item.vote is not Vote.NONE]
    likely = {
        name
        for name, part in find_parts(observations).items()
        if odds([expected_rates(part)], observations) > 0
    }
    names = {name for voter in voters for name in voter.of.path if name in likely}
    families = {name: explained(name, voters) for name in sorted(names)}
    reachable = set().union(*(group for family in families.values() for group in family), set())
    for size in range(1, len(families) + 1):
        sets = {
            frozenset(names)
            for names in combinations(families, size)
            for choice in product(*(families[name] for name in names))
            if set().union(*choice) >= reachable
        }
        if sets and reachable:
            return sets
    return set()


def explained(name: str, voters: list[Observation]) -> list[set[str]]:
    """Return what a part may explain, for each pair of remaining capacities of its two lanes."""
    by_lane = []
    for lane in ("read", "write"):
        crossing = [
            voter for voter in voters if name in voter.of.path and voter.of.operation == lane
        ]
        width = reach(len(crossing)) * ERROR
        most = {
            layer: max(item.of.expected for item in crossing if item.of.layer == layer)
            for layer in {item.of.layer for item in crossing}
        }
        rates = {log(item.measured) - width: None for item in crossing}
        options: list[set[str]] = [set()]
        options += [
            {item.of.name for item in crossing if slowed(item, remaining, most, width)}
            for remaining in rates
            if all(log(item.measured) - width <= remaining + 1e-12 for item in crossing)
        ]
        by_lane.append(options)
    return [item | other for item, other in product(*by_lane)]


def slowed(item: Observation, remaining: float, most: Mapping[str, float], width: float) -> bool:
    """Return whether a part with ``remaining`` log B/s explains a bad observation.

    ``most`` is the healthy rate of each layer.
    """
    room = log(min(max(most.values()) / most[item.of.layer], OVERHEAD))
    return item.vote is Vote.BAD and log(item.measured) + room + width >= remaining - 1e-12


def every_set(located: Located) -> set[frozenset[str]]:
    """Return all sets of parts allowed by a result."""
    if not located.sets:
        return set()
    return {
        frozenset(name for names in choice for name in names)
        for choice in product(*(ambiguity.alternatives for ambiguity in located.sets))
    }


@settings(max_examples=400)
@given(st.integers(0, 10**9))
def test_the_sets_equal_those_of_an_exhaustive_search(seed: int) -> None:
    observations = scene(Random(seed))
    located = locate(observations, equal=inf)
    assert every_set(located) == by_trying(observations)
    assert located.complete


@settings(max_examples=200)
@given(st.integers(0, 10**9))
def test_likelihood_only_chooses_among_the_smallest_sets(seed: int) -> None:
    observations = scene(Random(seed))
    assert every_set(locate(observations)) <= every_set(locate(observations, equal=inf))
    assert bool(locate(observations).sets) is bool(locate(observations, equal=inf).sets)


@settings(max_examples=200)
@given(st.integers(0, 10**9), st.randoms(use_true_random=False))
def test_the_order_of_observations_does_not_matter(seed: int, chance: Random) -> None:
    observations = scene(Random(seed))
    mixed = list(observations)
    chance.shuffle(mixed)
    assert sorted(alternatives(locate(mixed))) == sorted(alternatives(locate(observations)))
