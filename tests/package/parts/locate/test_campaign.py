"""Random faults with noise on the machines of the papers; ``tests/bench`` runs many more."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest

from tests.bench.locating_campaign import Fault, Fleet, false_suspects

FLEETS = ("edison", "redstorm")
fleet = cache(Fleet)


@pytest.mark.parametrize("name", FLEETS)
def test_a_healthy_fleet_has_no_suspect(name: str) -> None:
    assert false_suspects(fleet(name), 10, Random(f"7 {name}")) == 0


def test_indistinguishable_parts_are_known_in_advance() -> None:
    twins = fleet("redstorm").twins
    assert set(twins(Fault("ddn01a-lun1", 0.1))) == {"ddn01a-fc1", "oss001-fc1"}
    assert set(twins(Fault("ddn01a-data", 0.1))) == set()
