"""Ceilings: the arithmetic of shared components, and the figures that the papers give."""

from __future__ import annotations

from typing import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.ceiling import alone, together
from plumbline.model.reference import Ceiling
from plumbline.topology.graph import Topology
from tests.package.sites import paper

MB = 1e6
GB = 1e9


def test_one_flow_gets_the_minimum_and_every_part_that_sets_it() -> None:
    capacities = {"nic": 100.0, "switch": None, "peer": 100.0, "disk": 200.0}
    path = ("nic", "switch", "peer", "disk", "target")
    assert alone(capacities, path) == Ceiling(100.0, ("nic", "peer"))


def test_a_path_without_rates_has_no_ceiling() -> None:
    assert alone({"switch": None}, ("switch", "target")) is None


def test_what_one_flow_cannot_use_the_others_share() -> None:
    capacities = {"link": 100.0, "slow": 20.0, "fast": 90.0}
    paths = {"a": ("link", "slow"), "b": ("link", "fast"), "c": ("link", "fast")}
    assert together(capacities, paths) == {
        "a": Ceiling(20.0, ("slow",)),
        "b": Ceiling(40.0, ("link",)),
        "c": Ceiling(40.0, ("link",)),
    }


def test_a_flow_that_nothing_limits_does_not_disturb_the_others() -> None:
    found = together({"link": 10.0}, {"free": ("air",), "bound": ("link",)})
    assert found == {"free": None, "bound": Ceiling(10.0, ("link",))}


_NAMES = st.sampled_from("abcdefgh")


@given(
    st.dictionaries(_NAMES, st.floats(1, 1e9), min_size=1),
    st.lists(st.lists(_NAMES, min_size=1, unique=True), min_size=1, max_size=12),
)
def test_shares_are_feasible_and_max_min_fair(
    capacities: dict[str, float], routes: list[list[str]]
) -> None:
    paths = {str(index): route for index, route in enumerate(routes)}
    found = together(capacities, paths)
    used = dict.fromkeys(capacities, 0.0)
    for flow, ceiling in found.items():
        crossed = [name for name in paths[flow] if name in capacities]
        assert (ceiling is None) is (not crossed)
        for name in crossed:
            used[name] += ceiling.rate_Bps if ceiling else 0.0
    assert all(used[name] <= capacities[name] * (1 + 1e-6) for name in capacities)
    for flow, ceiling in found.items():
        if ceiling is None:
            continue
        assert ceiling.limited_by
        for name in ceiling.limited_by:
            # full, and nobody there has more: the definition of a bottleneck
            assert used[name] == pytest.approx(capacities[name], rel=1e-6)
            others = [found[other] for other, path in paths.items() if name in path]
            assert all(
                other.rate_Bps <= ceiling.rate_Bps * (1 + 1e-6) for other in others if other
            ), flow


def reads(topology: Topology) -> dict[str, float]:
    return {name: part.read_Bps or 0.0 for name, part in topology.components.items()}


def writes(topology: Topology) -> dict[str, float]:
    return {name: part.write_Bps or 0.0 for name, part in topology.components.items()}


def storage_side(topology: Topology, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the ways of targets to the network, as if clients abounded."""
    ways = {name: topology.routes[topology.targets[name].on] for name in names}
    return {name: tuple(reversed(way)) for name, (way,) in ways.items()}


def total(ceilings: dict[str, Ceiling | None]) -> float:
    return sum(ceiling.rate_Bps for ceiling in ceilings.values() if ceiling)


def test_red_storm_gives_200_MB_a_port_alone_and_with_all_four() -> None:
    topology = paper("redstorm")
    names = [f"scratch-OST000{index}" for index in range(4)]
    paths = storage_side(topology, names)
    single = alone(reads(topology), paths[names[0]])
    assert single == Ceiling(200 * MB, ("oss001-hba1", "ddn01-port1"))
    shared = together(reads(topology), paths)[names[0]]
    assert shared == Ceiling(200 * MB, ("oss001-hba1", "ddn01-port1", "ddn01-channels"))


def test_red_storm_shares_one_data_channel_at_25_MB_a_port() -> None:
    topology = paper("redstorm")
    capacities = {**reads(topology), "ddn01-channels": 100 * MB}
    paths = storage_side(topology, [f"scratch-OST000{index}" for index in range(4)])
    assert together(capacities, paths)["scratch-OST0002"] == Ceiling(25 * MB, ("ddn01-channels",))


def test_red_storm_gives_64_GB_from_320_ports() -> None:
    topology = paper("redstorm")
    capacities = {**reads(topology), "mesh": 0.0}
    found = together(capacities, storage_side(topology, list(topology.targets)))
    assert len(found) == 320
    assert total(found) == pytest.approx(64 * GB)


def test_edison_gives_4_GB_a_unit_and_48_GB_from_twelve() -> None:
    topology = paper("edison")
    names = list(topology.targets)
    assert total(together(writes(topology), storage_side(topology, names[:8]))) == 4 * GB
    assert total(together(writes(topology), storage_side(topology, names))) == pytest.approx(
        48 * GB
    )


def test_blue_gene_writes_33_6_GB_behind_28_arrays() -> None:
    topology = paper("bgl")
    paths = storage_side(topology, list(topology.targets))
    written = together(writes(topology), paths)
    assert total(written) == pytest.approx(33.6 * GB)
    assert written["ti1-OST0000"] == Ceiling(75 * MB, ("ddn01",))
    assert total(together(reads(topology), paths)) == pytest.approx(22.4 * GB)


def test_blue_gene_has_2_5_GB_a_line_card_7_5_GB_a_switch_and_45_GB_of_network() -> None:
    topology = paper("bgl")
    ways = {f"io{index:04d}": topology.routes[f"io{index:04d}"][0] for index in range(1, 1025)}
    capacities = writes(topology)
    card = together(capacities, {name: ways[name] for name in list(ways)[:24]})
    assert total(card) == pytest.approx(2.5 * GB)
    assert card["io0001"] == alone({"card01": 2.5 * GB / 24}, ("card01",))
    switch = together(capacities, {name: ways[name] for name in list(ways)[:192]})
    assert total(switch) == pytest.approx(7.5 * GB)
    assert sum(capacities[f"switch{index}"] for index in range(1, 7)) == 45 * GB
    # of the sixth switch's 64 ports 16 are left for its third card: 2 GB/s instead of 2.5
    assert total(together(capacities, ways)) == pytest.approx(44.5 * GB)
