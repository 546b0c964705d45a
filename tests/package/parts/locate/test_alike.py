"""A part whose devices are all equally slow is the suspect, unless one of them is healthy."""

from __future__ import annotations

import pytest

from plumbline.parts.locate.document import document, explanations
from plumbline.parts.locate.observation import Observation, Vote
from plumbline.parts.locate.parts import find_alike
from plumbline.parts.locate.suspects import locate
from tests.package.parts.locate.scenes import (
    LAB,
    REDSTORM,
    LaneRates,
    Scene,
    alternatives,
    both,
    made,
    silence,
)
from tests.package.sites import paper

DISKS = ("oss2-disk1", "oss2-disk2")
TARGETS = ("scratch-OST0002", "scratch-OST0003")


def disks(*remaining_Bps: float) -> LaneRates:
    """Return the remaining rates of the disks of one server."""
    return {name: both(remaining) for name, remaining in zip(DISKS, remaining_Bps)}


@pytest.mark.parametrize("remaining_Bps", [80e6, 8e6, 160e6])
def test_a_server_with_equally_slow_disks_is_named_before_a_coincidence(
    remaining_Bps: float,
) -> None:
    located = LAB.locate(disks(remaining_Bps, remaining_Bps))
    assert alternatives(located) == [(("oss2",), DISKS)]
    assert located.sets[0].suspects[0].alike == DISKS
    assert located.unexplained == ()


@pytest.mark.parametrize(
    ("remaining", "expected"),
    [
        pytest.param(disks(80e6, 50e6), [(DISKS[:1],), (DISKS[1:],)], id="not alike"),
        pytest.param(disks(80e6), [(DISKS[:1],)], id="one is healthy"),
        pytest.param(
            {DISKS[0]: both(80e6), "oss3-disk1": both(80e6)},
            [(DISKS[:1],), (("oss3-disk1",),)],
            id="two servers",
        ),
        pytest.param({"oss2": both(60e6)}, [(("oss2",),)], id="capacity"),
        pytest.param(
            {**disks(80e6, 80e6), "oss3-disk1": both(50e6)},
            [(("oss2",), DISKS), (("oss3-disk1",),)],
            id="and a disk elsewhere",
        ),
    ],
)
def test_other_explanations_remain_unchanged(
    remaining: LaneRates, expected: list[tuple[tuple[str, ...], ...]]
) -> None:
    assert alternatives(LAB.locate(remaining)) == expected


@pytest.mark.parametrize(("second", "alike"), [(88e6, True), (110e6, False)])
def test_shares_are_equal_within_the_scatter_of_one_cause(second: float, alike: bool) -> None:
    assert (alternatives(LAB.locate(disks(80e6, second)))[0][0] == ("oss2",)) is alike


def test_targets_behind_the_part_are_explained_by_it() -> None:
    located = LAB.locate(disks(80e6, 80e6))
    explained = explanations(located)
    assert set(explained) == {
        *(("ost", name) for name in TARGETS),
        *(("raw", name) for name in DISKS),
    }
    (ambiguity,) = document(located, LAB.plan.parts, [None])["sets"]
    assert [suspect["alike"] for suspect in ambiguity["suspects"]] == [list(DISKS), [], []]


def test_without_raw_reads_the_server_comes_first() -> None:
    """The healthy network clears the capacity of the server, but not its equal devices."""
    (ambiguity,) = LAB.locate(disks(80e6, 80e6), ("raw",)).sets
    assert ambiguity.alternatives[:2] == (("oss2",), DISKS)
    assert ("oss2-disk1", "scratch-OST0003") in ambiguity.alternatives


def test_a_device_that_was_not_measured_clears_nothing() -> None:
    observations = LAB.observe(disks(80e6, 80e6))
    assert set(find_alike(silence(observations, "ost scratch-OST0003"))) == {"oss2"}
    assert find_alike(silence(observations, "ost scratch-OST0003", "raw oss2-disk2")) == {}


def test_unequal_disks_that_lose_the_same_share_are_alike() -> None:
    observations = [
        made("net s", "s far", 500, 500),
        made("raw a", "s a", 80, 200),
        made("raw b", "s b", 40, 100),
        made("raw c", "s c", 60, 150),
    ]
    observations = [item._replace(of=item.of._replace(node="s")) for item in observations]
    assert alternatives(locate(observations)) == [(("s",),)]
    healthy = made("raw c", "s c", 149, 150)
    healthy = healthy._replace(of=healthy.of._replace(node="s"))
    assert alternatives(locate([*observations[:3], healthy])) == [(("a",),), (("b",),)]


def test_failures_have_no_share() -> None:
    observations: list[Observation] = []
    for item in LAB.observe({}):
        lanes = tuple(tuple(f"failures {lane}" for lane in crossed) for crossed in item.of.lanes)
        vote = Vote.BAD if item.of.component in DISKS else Vote.GOOD
        observations.append(item._replace(of=item.of._replace(lanes=lanes), vote=vote))
    assert find_alike(observations) == {}


def test_on_red_storm_the_adapter_or_its_server_comes_before_two_faults() -> None:
    (ambiguity,) = REDSTORM.locate({f"ddn01{name}-lun1": both(80e6) for name in "ab"}).sets
    assert ambiguity.alternatives[:2] == (("oss001",), ("oss001-hba",))
    assert ("ddn01a-lun1", "ddn01b-lun1") in ambiguity.alternatives


def test_on_edison_one_slow_server_needs_no_other_model() -> None:
    edison = Scene(paper("edison"))
    located = edison.locate({f"oss07-array{number}": both(0.2e9) for number in range(1, 5)})
    assert alternatives(located) == [(("oss07",),)]
