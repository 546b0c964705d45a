"""What a site measures, and in which direction each part is crossed."""

from __future__ import annotations

import pytest

from plumbline.locate.measurables import Site
from plumbline.locate.observation import BOTH, Measurable
from tests.package.locate.scenes import Scene, lab

LAB = Scene(lab())
BY_NAME = {of.name: of for of in LAB.measurables}


def lanes(of: Measurable) -> dict[str, tuple[str, ...]]:
    return {name: found for name, found, _ in of.crossings()}


def test_every_measurement_has_a_name_of_its_own() -> None:
    # 6 targets in two ways, 6 disks alone and together, 4 hosts with 3 partners in two ways
    assert len(BY_NAME) == len(LAB.measurables) == 12 + 12 + 24


def test_the_expected_rate_is_the_ceiling_until_there_is_a_baseline() -> None:
    assert BY_NAME["raw oss1-disk1 read"].expected_Bps == 200e6
    entry = LAB.plan.expectations["oss1"][0]
    assert entry.references["read/single"].baseline is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("net client1 send with oss1", {"client1-nic": ("write",), "oss1-nic": ("write",)}),
        ("net client1 receive with oss1", {"client1-nic": ("read",), "oss1-nic": ("read",)}),
        ("net oss1 send with client1", {"oss1-nic": ("read",), "client1-nic": ("read",)}),
        ("net oss1 send with oss2", {"oss1-nic": ("read",), "oss2-nic": ("write",)}),
        ("ost scratch-OST0000 write", {"client1-nic": ("write",), "oss1-nic": ("write",)}),
        ("raw oss1-disk1 read together", {"oss1": ("read",), "oss1-disk1": ("read",)}),
    ],
)
def test_parts_are_crossed_towards_storage_or_away(
    name: str, expected: dict[str, tuple[str, ...]]
) -> None:
    found = lanes(BY_NAME[name])
    assert {part: found[part] for part in expected} == expected


def test_a_pair_crosses_what_both_hosts_share_in_both_directions() -> None:
    assert lanes(BY_NAME["net oss1 send with oss2"])["switch1"] == BOTH


def test_flows_that_run_together_are_counted() -> None:
    of = BY_NAME["raw oss1-disk1 read together"]
    assert {name: flows for name, _, flows in of.crossings()} == {"oss1": 2, "oss1-disk1": 1}
    assert {flows for _, _, flows in BY_NAME["raw oss1-disk1 read"].crossings()} == {1}


def test_servers_are_those_that_have_targets_or_disks() -> None:
    assert Site(LAB.plan.expectations).servers == {"oss1", "oss2", "oss3"}
