"""A host that is slow in network and devices at once is one fault."""

from __future__ import annotations

import pytest

from plumbline.parts.locate.observation import Observation
from plumbline.parts.locate.suspects import Located, locate
from tests.package.parts.locate.scenes import LAB, alternatives, observation

DISK_BPS = 200e6


def observations(host: str, network: float, alone: float, together: float) -> list[Observation]:
    """Return observations of a host with shares of its network, single and joint device rates."""
    result = []
    for of in LAB.measurables:
        rate = of.expected
        if host in of.path and of.layer == "net":
            rate *= network
        elif host in of.path:
            share = together if of.operation.endswith("together") else alone
            rate = min(rate, share * DISK_BPS)
        result.append(observation(of, rate))
    return result


def test_slow_network_and_devices_are_one_server() -> None:
    located = locate(observations("oss1", 0.6, 1.0, 0.6))
    assert alternatives(located) == [(("oss1",),)]
    assert located.unexplained == ()
    (suspect,) = located.sets[0].suspects
    remaining = {loss.lane: round(loss.left_Bps / loss.needed_Bps, 2) for loss in suspect.losses}
    assert remaining == {"network read": 0.6, "network write": 0.6, "read": 0.6}


def test_a_server_with_slow_network_and_equally_slow_devices_is_one_fault() -> None:
    located = locate(observations("oss1", 0.8, 0.4, 0.4))
    assert alternatives(located) == [(("oss1",),)]
    assert located.sets[0].suspects[0].alike == ("oss1-disk1", "oss1-disk2")


@pytest.mark.parametrize(
    ("remaining", "named"),
    [
        pytest.param({"oss3-nic": {"read": 25e6, "write": 25e6}}, "oss3-nic", id="link"),
        pytest.param({"oss3": {"read": 25e6, "write": 25e6}}, "oss3", id="one capacity for all"),
    ],
)
def test_faults_explained_by_capacities_remain_unchanged(
    remaining: dict[str, dict[str, float]], named: str
) -> None:
    located: Located = LAB.locate(remaining)
    assert alternatives(located) == [((named,),)]
    assert all(not loss.lane.startswith("network") for loss in located.sets[0].suspects[0].losses)


def test_the_rates_through_a_suspect_follow_from_its_remaining_rates() -> None:
    located = locate(observations("oss1", 0.8, 0.4, 0.4))
    (suspect,) = located.sets[0].suspects
    by_name = {of.name: suspect.leaves(of) / of.expected for of in LAB.measurables}
    assert by_name["net oss1 send with oss2"] == pytest.approx(0.8, abs=0.01)
    assert by_name["raw oss1-disk1 read together"] == pytest.approx(0.4, abs=0.01)
    assert by_name["raw oss2-disk1 read"] > 1
