"""A part that slows all of its devices alike is found, and none that has a healthy one."""

from __future__ import annotations

import pytest

from plumbline.locate.document import document, explanations
from plumbline.locate.observation import Observation, Vote
from plumbline.locate.parts import find_alike
from plumbline.locate.suspects import locate
from tests.package.locate.scenes import (
    Left,
    Scene,
    alternatives,
    both,
    lab,
    made,
    redstorm,
    silence,
)
from tests.package.sites import paper

LAB = Scene(lab())
REDSTORM = redstorm()
DISKS = ("oss2-disk1", "oss2-disk2")
TARGETS = ("scratch-OST0002", "scratch-OST0003")


def disks(*left_Bps: float) -> Left:
    """Return what the disks of one server have left."""
    return {name: both(left) for name, left in zip(DISKS, left_Bps)}


@pytest.mark.parametrize("left_Bps", [80e6, 8e6, 160e6])
def test_a_server_all_of_whose_disks_are_slow_alike_is_named_before_the_coincidence(
    left_Bps: float,
) -> None:
    found = LAB.locate(disks(left_Bps, left_Bps))
    assert alternatives(found) == [(("oss2",), DISKS)]
    assert found.sets[0].suspects[0].alike == DISKS
    assert found.unexplained == ()


@pytest.mark.parametrize(
    ("left", "expected"),
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
def test_what_else_explains_it_stays_as_it_is(
    left: Left, expected: list[tuple[tuple[str, ...], ...]]
) -> None:
    assert alternatives(LAB.locate(left)) == expected


@pytest.mark.parametrize(("second", "alike"), [(88e6, True), (110e6, False)])
def test_shares_are_alike_within_what_one_cause_differs_by(second: float, alike: bool) -> None:
    assert (alternatives(LAB.locate(disks(80e6, second)))[0][0] == ("oss2",)) is alike


def test_targets_behind_it_carry_a_note() -> None:
    located = LAB.locate(disks(80e6, 80e6))
    explained = explanations(located)
    assert set(explained) == {
        *(("ost", name) for name in TARGETS),
        *(("raw", name) for name in DISKS),
    }
    (one,) = document(located, LAB.plan.parts, [None])["sets"]
    assert [each["alike"] for each in one["suspects"]] == [list(DISKS), [], []]


def test_without_raw_reads_what_divides_is_a_raw_read() -> None:
    """The network is fine, so the server is cleared by its capacity and not by what is alike."""
    (one,) = LAB.locate(disks(80e6, 80e6), ("raw",)).sets
    assert one.alternatives[:2] == (("oss2",), DISKS)
    assert ("oss2-disk1", "scratch-OST0003") in one.alternatives


def test_a_device_that_was_not_measured_clears_nothing() -> None:
    seen = LAB.observe(disks(80e6, 80e6))
    assert set(find_alike(silence(seen, "ost scratch-OST0003"))) == {"oss2"}
    assert find_alike(silence(seen, "ost scratch-OST0003", "raw oss2-disk2")) == {}


def test_disks_that_differ_while_healthy_lose_the_same_share() -> None:
    seen = [
        made("net s", "s far", 500, 500),
        made("raw a", "s a", 80, 200),
        made("raw b", "s b", 40, 100),
        made("raw c", "s c", 60, 150),
    ]
    seen = [one._replace(of=one.of._replace(node="s")) for one in seen]
    assert alternatives(locate(seen)) == [(("s",),)]
    healthy = made("raw c", "s c", 149, 150)
    healthy = healthy._replace(of=healthy.of._replace(node="s"))
    assert alternatives(locate([*seen[:3], healthy])) == [(("a",),), (("b",),)]


def test_a_failure_is_not_a_share() -> None:
    seen: list[Observation] = []
    for one in LAB.observe({}):
        lanes = tuple(tuple(f"failures {lane}" for lane in crossed) for crossed in one.of.lanes)
        vote = Vote.BAD if one.of.component in DISKS else Vote.GOOD
        seen.append(one._replace(of=one.of._replace(lanes=lanes), vote=vote))
    assert find_alike(seen) == {}


def test_on_red_storm_the_adapter_or_its_server_comes_before_two_faults() -> None:
    (one,) = REDSTORM.locate({f"ddn01{name}-lun1": both(80e6) for name in "ab"}).sets
    assert one.alternatives[:2] == (("oss001",), ("oss001-hba",))
    assert ("ddn01a-lun1", "ddn01b-lun1") in one.alternatives


def test_on_edison_one_slow_server_needs_no_other_model() -> None:
    edison = Scene(paper("edison"))
    found = edison.locate({f"oss07-array{one}": both(0.2e9) for one in range(1, 5)})
    assert alternatives(found) == [(("oss07",),)]
