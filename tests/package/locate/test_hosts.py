"""A host that has lost network and devices at once is one fault, whatever it has left of each."""

from __future__ import annotations

import pytest

from plumbline.locate.observation import Observation
from plumbline.locate.suspects import Located, locate
from tests.package.locate.scenes import Scene, alternatives, lab, observation

LAB = Scene(lab())


DISK_BPS = 200e6


def seen(host: str, network: float, alone: float, together: float) -> list[Observation]:
    """Return what is seen when a host leaves these shares of network, of devices and of both."""
    found = []
    for of in LAB.measurables:
        rate = of.expected
        if host in of.path and of.layer == "net":
            rate *= network
        elif host in of.path:
            share = together if of.operation.endswith("together") else alone
            rate = min(rate, share * DISK_BPS)
        found.append(observation(of, rate))
    return found


def test_network_and_devices_together_are_one_server() -> None:
    found = locate(seen("oss1", 0.6, 1.0, 0.6))
    assert alternatives(found) == [(("oss1",),)]
    assert found.unexplained == ()
    (suspect,) = found.sets[0].suspects
    left = {loss.lane: round(loss.left_Bps / loss.needed_Bps, 2) for loss in suspect.losses}
    assert left == {"network read": 0.6, "network write": 0.6, "read": 0.6}


def test_a_server_that_slows_its_network_and_all_of_its_devices_alike_is_one() -> None:
    found = locate(seen("oss1", 0.8, 0.4, 0.4))
    assert alternatives(found) == [(("oss1",),)]
    assert found.sets[0].suspects[0].alike == ("oss1-disk1", "oss1-disk2")


@pytest.mark.parametrize(
    ("left", "named"),
    [
        pytest.param({"oss3-nic": {"read": 25e6, "write": 25e6}}, "oss3-nic", id="link"),
        pytest.param({"oss3": {"read": 25e6, "write": 25e6}}, "oss3", id="one capacity for all"),
    ],
)
def test_what_capacities_explain_stays_as_it_is(
    left: dict[str, dict[str, float]], named: str
) -> None:
    found: Located = LAB.locate(left)
    assert alternatives(found) == [((named,),)]
    assert all(not loss.lane.startswith("network") for loss in found.sets[0].suspects[0].losses)


def test_what_it_leaves_of_each_measurement_follows_from_what_it_has_left() -> None:
    found = locate(seen("oss1", 0.8, 0.4, 0.4))
    (suspect,) = found.sets[0].suspects
    by_name = {of.name: suspect.leaves(of) / of.expected for of in LAB.measurables}
    assert by_name["net oss1 send with oss2"] == pytest.approx(0.8, abs=0.01)
    assert by_name["raw oss1-disk1 read together"] == pytest.approx(0.4, abs=0.01)
    assert by_name["raw oss2-disk1 read"] > 1
