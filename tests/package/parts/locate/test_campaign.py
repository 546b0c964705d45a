"""Random faults with noise on the machines of the papers; ``tests/bench`` runs many more."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest

from tests.bench.locating_campaign import Fault, Fleet, campaign, false_suspects

FLEETS = ("edison", "redstorm")
fleet = cache(Fleet)


@pytest.mark.study
@pytest.mark.parametrize("name", FLEETS)
def test_single_faults_are_among_the_suspects_and_alone_where_they_can_be(name: str) -> None:
    score = campaign(fleet(name), 40, 1, Random(f"7 {name}"), verbose=False)
    assert score.inside == score.runs == 40
    assert score.identifiable > 0
    assert score.alone == score.identifiable
    assert score.parts < 3


@pytest.mark.study
@pytest.mark.parametrize("name", FLEETS)
def test_double_faults_are_among_the_suspects(name: str) -> None:
    score = campaign(fleet(name), 20, 2, Random(f"7 {name}"), verbose=False)
    assert score.inside == score.runs == 20
    assert score.parts < 6


@pytest.mark.parametrize("name", FLEETS)
def test_a_healthy_fleet_has_no_suspect(name: str) -> None:
    assert false_suspects(fleet(name), 10, Random(f"7 {name}")) == 0


def test_indistinguishable_parts_are_known_in_advance() -> None:
    twins = fleet("redstorm").twins
    assert set(twins(Fault("ddn01a-lun1", 0.1))) == {"ddn01a-fc1", "oss001-fc1"}
    assert set(twins(Fault("ddn01a-data", 0.1))) == set()
