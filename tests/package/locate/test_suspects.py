"""The suspects are all the smallest sets that explain what is slow, and nothing healthy."""

from __future__ import annotations

from itertools import combinations, product
from math import exp, inf, log
from random import Random
from typing import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.locate.observation import Measurable, Observation, Vote
from plumbline.locate.observe import resending
from plumbline.locate.parts import OVERHEAD, find_parts, odds, reach
from plumbline.locate.parts import expected as expected_rates
from plumbline.locate.suspects import Located, locate
from plumbline.model.errors import DocumentError
from tests.package.locate.scenes import (
    ERROR,
    Left,
    Scene,
    alternatives,
    both,
    lab,
    made,
    observation,
    redstorm,
    silence,
    suspects,
)

LAB = Scene(lab())
REDSTORM = redstorm()

SLOW_DISK = {"oss2-disk1": both(80e6)}
SLOW_LINK = {"oss3-nic": both(25e6)}


@pytest.mark.parametrize(
    ("left", "silent", "expected"),
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
def test_in_the_lab(left: Left, silent: tuple[str, ...], expected: list[set[str]]) -> None:
    found = LAB.locate(left, silent)
    assert sorted(map(sorted, suspects(found))) == sorted(map(sorted, expected))
    assert found.complete
    assert found.unexplained == ()


@pytest.mark.parametrize(
    ("left", "silent", "expected"),
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
        pytest.param({"login1": both(100e6)}, (), [{"login1", "mesh"}], id="all that is measured"),
        pytest.param(
            {"ddn01a-data": both(150e6), "oss100-link": both(60e6)},
            (),
            [{"ddn01a-data"}, {"oss100-link"}],
            id="controller and a link elsewhere",
        ),
    ],
)
def test_on_red_storm(left: Left, silent: tuple[str, ...], expected: list[set[str]]) -> None:
    found = suspects(REDSTORM.locate(left, silent))
    assert sorted(map(sorted, found)) == sorted(map(sorted, expected))


def test_a_part_that_drops_segments_explains_rates_of_any_size() -> None:
    """As a bad cable in the lab: each connection lost another part of its rate, one none."""
    lanes = (("read",),) * 3
    pairs = [
        Measurable(f"net {n}", "net", n, "read", (n, "cable", "far"), 120e6, lanes) for n in "abcd"
    ]
    rates = [observation(of, rate) for of, rate in zip(pairs, (118e6, 73e6, 95e6, 60e6))]
    fine = [made(f"net {n} far", f"{n} spare far", 120, 120) for n in "abcd"]
    dropped = [observation(resending(of), 50.0) for of in pairs[:3]]
    assert len(locate([*rates, *fine]).unexplained) == 3
    found = locate([*rates, *fine, *dropped])
    assert suspects(found) == [{"cable"}]
    assert found.unexplained == ()


def test_without_an_observation_there_is_nothing() -> None:
    assert locate([]) == Located((), (), ())


def test_what_does_not_vote_changes_nothing() -> None:
    seen = LAB.observe(SLOW_DISK)
    quiet = silence(seen, "raw", "net oss1")
    left_out = [one for one in quiet if one.vote is not Vote.NONE]
    assert alternatives(locate(quiet)) == alternatives(locate(left_out))
    assert locate(silence(seen, "")).sets == ()


def test_a_pair_that_is_slow_with_good_hosts_at_both_ends_is_not_put_on_anybody() -> None:
    seen = [made("net ab", "a sw b", 80), made("net ac", "a sw c", 200)]
    found = locate([*seen, made("net bc", "b sw c", 200)])
    assert found.sets == ()
    assert found.unexplained == (0,)


def test_one_shared_part_is_preferred_to_coincidences() -> None:
    seen = [made(f"ost {name}", f"client hba {name}", 80) for name in "abc"]
    assert alternatives(locate([*seen, made("ost z", "client z", 200)])) == [(("hba",),)]


def test_faults_that_cannot_be_told_apart_are_told_as_sets() -> None:
    """Two of three parts, any two of which explain three measurements."""
    seen = [made("ost 1", "a b", 80), made("ost 2", "b c", 80), made("ost 3", "a c", 80)]
    assert alternatives(locate(seen)) == [(("a", "b"), ("a", "c"), ("b", "c"))]


def test_a_shared_loss_fits_good_ones_that_are_nearly_bad() -> None:
    """One of four is below the level; the others are as slow, so it is not its own fault."""
    seen = [made(f"ost {n}", f"hba d{n}", rate) for n, rate in enumerate((178, 181, 182, 181))]
    assert [one.vote for one in seen] == [Vote.BAD, *[Vote.GOOD] * 3]
    assert alternatives(locate(seen)) == [(("hba",),)]


def test_each_suspect_says_what_is_left_and_what_it_passes() -> None:
    (found,) = LAB.locate(SLOW_DISK).sets
    (suspect,) = found.suspects
    assert {loss.lane: round(loss.left_Bps / 1e6) for loss in suspect.losses} == {
        "read": 80,
        "write": 80,
    }
    assert suspect.explains == found.explains
    assert suspect.passes == ()


def test_what_cannot_vote_cannot_be_built() -> None:
    of = Measurable("ost a", "ost", "a", "read", ("a",), 200e6)
    for rate, error in ((float("nan"), 0.01), (-1.0, 0.01), (80e6, 0.0), (float("inf"), 0.01)):
        with pytest.raises(DocumentError, match="ost a cannot vote"):
            Observation(of, Vote.BAD, rate, error)
    with pytest.raises(DocumentError, match="no rates"):
        Observation(of._replace(expected=0.0), Vote.GOOD, 80e6, 0.01)
    assert Observation(of, Vote.NONE, float("nan"), 0.0).vote is Vote.NONE


def scene(chance: Random) -> list[Observation]:
    """Return what a small random network of up to eight parts shows with up to three faults."""
    names = "abcdefgh"[: chance.randint(2, 8)]
    left = {name: chance.choice([40, 70, 75, 120, 150]) for name in names if chance.random() < 0.3}
    seen = []
    for number in range(chance.randint(1, 8)):
        path = chance.sample(names, chance.randint(1, min(4, len(names))))
        needs = chance.choice([90, 180, 200])
        rate = min([needs, *(left[name] for name in path if name in left)])
        lane = chance.choice(["read", "write"])
        layer = chance.choice(["ost", "raw"])
        of = Measurable(f"{layer} {number}", layer, str(number), lane, tuple(path), needs * 1e6)
        one = observation(of, rate * 1e6 * exp(chance.gauss(0, ERROR)))
        seen.append(one._replace(vote=Vote.NONE) if chance.random() < 0.1 else one)
    return seen


def by_trying(seen: list[Observation]) -> set[frozenset[str]]:
    """Return all smallest sets of parts by trying every set with every remaining capacity."""
    voters = [one for one in seen if one.vote is not Vote.NONE]
    likely = {
        name for name, part in find_parts(seen).items() if odds([expected_rates(part)], seen) > 0
    }
    names = {name for voter in voters for name in voter.of.path if name in likely}
    families = {name: explained(name, voters) for name in sorted(names)}
    reachable = set().union(*(found for family in families.values() for found in family), set())
    for size in range(1, len(families) + 1):
        found = {
            frozenset(names)
            for names in combinations(families, size)
            for choice in product(*(families[name] for name in names))
            if set().union(*choice) >= reachable
        }
        if found and reachable:
            return found
    return set()


def explained(name: str, voters: list[Observation]) -> list[set[str]]:
    """Return what a part may explain, for each pair of capacities left in its two lanes."""
    by_lane = []
    for lane in ("read", "write"):
        crossing = [
            voter for voter in voters if name in voter.of.path and voter.of.operation == lane
        ]
        width = reach(len(crossing)) * ERROR
        most = {
            layer: max(one.of.expected for one in crossing if one.of.layer == layer)
            for layer in {one.of.layer for one in crossing}
        }
        rates = {log(one.measured) - width: None for one in crossing}
        options: list[set[str]] = [set()]
        options += [
            {one.of.name for one in crossing if slowed(one, left, most, width)}
            for left in rates
            if all(log(one.measured) - width <= left + 1e-12 for one in crossing)
        ]
        by_lane.append(options)
    return [one | other for one, other in product(*by_lane)]


def slowed(one: Observation, left: float, most: Mapping[str, float], width: float) -> bool:
    """Return whether a part with ``left`` (log B/s) explains a bad observation.

    ``most`` is what each layer gives while healthy.
    """
    room = log(min(max(most.values()) / most[one.of.layer], OVERHEAD))
    return one.vote is Vote.BAD and log(one.measured) + room + width >= left - 1e-12


def every_set(found: Located) -> set[frozenset[str]]:
    """Return all sets of parts that an answer allows."""
    if not found.sets:
        return set()
    return {
        frozenset(name for names in choice for name in names)
        for choice in product(*(one.alternatives for one in found.sets))
    }


@settings(max_examples=400)
@given(st.integers(0, 10**9))
def test_the_sets_are_those_of_trying_every_set(seed: int) -> None:
    seen = scene(Random(seed))
    found = locate(seen, equal=inf)
    assert every_set(found) == by_trying(seen)
    assert found.complete


@settings(max_examples=200)
@given(st.integers(0, 10**9))
def test_likelihood_only_chooses_among_the_smallest_sets(seed: int) -> None:
    seen = scene(Random(seed))
    assert every_set(locate(seen)) <= every_set(locate(seen, equal=inf))
    assert bool(locate(seen).sets) is bool(locate(seen, equal=inf).sets)


@settings(max_examples=200)
@given(st.integers(0, 10**9), st.randoms(use_true_random=False))
def test_the_order_of_observations_does_not_matter(seed: int, chance: Random) -> None:
    seen = scene(Random(seed))
    mixed = list(seen)
    chance.shuffle(mixed)
    assert sorted(alternatives(locate(mixed))) == sorted(alternatives(locate(seen)))
