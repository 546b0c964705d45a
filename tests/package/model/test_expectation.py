"""Expectations survive writing and reading; damage is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plumbline.model.codec import read, read_document
from plumbline.model.errors import DocumentError
from plumbline.model.expectation import Expectation, Expectations, Partner
from plumbline.model.limits import DEMONSTRATED, Baseline, Ceiling, Limits, Range, Reference
from plumbline.model.record import Operation, Scenario
from plumbline.model.spec import ProbeSpec

CEILING = Ceiling(250e6, ("oss2-disk1",))
BASELINE = Baseline(202.1e6, 0.01, 12, "2026-11-01", "2026-11-20", "abc", {}, "ada", "new disks")
EXPECTATION = Expectation(
    layer="ost",
    component="scratch-OST0003",
    host="oss2",
    group="scratch",
    target={"kind": "lustre", "mount": "/scratch"},
    path=("client1", "oss2", "scratch-OST0003"),
    spec=ProbeSpec("fio", 1 << 30, 60.0),
    references={"read/single": Reference(CEILING, BASELINE)},
    limits=Limits(warning=Range(85, float("inf"))),
    partners=(Partner("oss1", "10.0.0.1", ("oss2", "oss1"), CEILING),),
)


def document(**changes: Any) -> dict[str, Any]:
    raw = Expectations("client1", "lab", (EXPECTATION.to_json(),)).to_json()
    return {**json.loads(json.dumps(raw)), **changes}


def test_expectations_survive_writing_and_reading() -> None:
    entries = read_document(Expectations, document()).find("ost", "scratch-OST0003")
    assert entries == (EXPECTATION,)


BASELINE_MBPS = 202.1
"""With a spread of 1 %, so that 198.1 to 206.2 MB/s are usual."""


@pytest.mark.parametrize(
    ("rate_MBps", "usual"),
    [(202.1, True), (198.2, True), (198.0, False), (206.1, True), (206.3, False), (20, False)],
)
def test_a_rate_within_twice_the_spread_of_the_baseline_is_usual(
    rate_MBps: float, usual: bool
) -> None:
    assert EXPECTATION.usual(Operation.READ, Scenario.SINGLE, rate_MBps * 1e6) is usual


def expected(limits: Limits = Limits(), **changes: Any) -> Expectation:
    reference = Reference(CEILING, BASELINE._replace(**changes))
    return EXPECTATION._replace(references={"read/single": reference}, limits=limits)


@pytest.mark.parametrize(("percent", "usual"), [(80.1, True), (79.9, False)])
def test_a_rate_below_a_level_is_not_usual_at_any_spread(percent: float, usual: bool) -> None:
    rate = percent / 100 * BASELINE.median
    assert expected(spread=0.5).usual(Operation.READ, Scenario.SINGLE, rate) is usual


def test_without_a_firm_baseline_no_rate_is_usual() -> None:
    run = Operation.READ, Scenario.SINGLE, BASELINE.median
    assert expected(runs=5).usual(*run)
    assert not expected(runs=4).usual(*run)
    assert not expected(spec_hash=DEMONSTRATED).usual(*run)
    assert expected(runs=4, limits=Limits(min_runs=4)).usual(*run)
    assert not EXPECTATION.usual(Operation.WRITE, Scenario.SINGLE, BASELINE.median)


def with_profile(profile: Any) -> dict[str, Any]:
    raw = document()
    raw["entries"][0]["references"]["read/single"]["baseline"]["profile"] = profile
    return raw


def test_the_profile_of_a_baseline_survives_writing_and_reading() -> None:
    (entry,) = read_document(Expectations, with_profile([1.5, 0.5])).find("ost")
    assert entry.references["read/single"] == Reference(
        CEILING, BASELINE._replace(profile=(1.5, 0.5))
    )


@pytest.mark.parametrize("profile", [7, ["fast"], [0, 0], [-1, 3], [float("nan"), 1]])
def test_an_invalid_profile_is_refused(profile: Any) -> None:
    with pytest.raises(DocumentError, match="an entry of layer ost is damaged"):
        read_document(Expectations, with_profile(profile)).find("ost")


def test_an_operation_without_references_has_an_empty_one() -> None:
    assert EXPECTATION.reference(Operation.WRITE, Scenario.SINGLE) == Reference(None, None)


def test_a_component_that_is_not_expected_is_named_with_the_remedy() -> None:
    with pytest.raises(DocumentError, match="client1 have no scratch-OST0009 in layer ost; add it"):
        read_document(Expectations, document()).find("ost", "scratch-OST0009")


@pytest.mark.parametrize(
    "damage", [{"schema": 9}, {"entries": None}, {"entries": [{"layer": "ost"}]}]
)
def test_damaged_expectations_name_the_role_that_writes_them(damage: dict[str, Any]) -> None:
    with pytest.raises(DocumentError, match="role agent"):
        read_document(Expectations, document(**damage)).find("ost")


def test_the_members_of_a_group_are_found_by_its_name() -> None:
    expectations = read_document(Expectations, document())
    assert expectations.members("ost", "scratch") == (EXPECTATION,)
    with pytest.raises(DocumentError, match="client1 have no group home in layer ost; add it"):
        expectations.members("ost", "home")


def test_a_specification_hash_changes_with_the_terms_only() -> None:
    spec = EXPECTATION.spec
    assert spec._replace(repeats=9, seconds=1.0).hash() == spec.hash()
    assert spec._replace(transfer_bytes=4 << 20).hash() != spec.hash()
    assert spec._replace(direct=False).hash() != spec.hash()


def test_the_specification_hash_of_accepted_baselines_does_not_change() -> None:
    assert ProbeSpec("fio", bytes=1 << 30, seconds=60.0).hash() == "c1fba5fc0343"


def test_a_specification_with_an_unknown_key_names_it() -> None:
    with pytest.raises(TypeError, match="'blocksize' is no key of ProbeSpec"):
        read(ProbeSpec, {"tool": "fio", "blocksize": 1})


def test_goals_floors_and_their_acceptance_survive_writing_and_reading() -> None:
    low = BASELINE._replace(below_floor="10 % of it")
    reference = Reference(CEILING, low, goal=200e6, goal_part=100e6)
    entry = EXPECTATION._replace(
        references={"read/single": reference}, limits=Limits(min_efficiency=0.4)
    )
    raw = json.loads(json.dumps(entry.to_json()))
    assert Expectation.from_json(raw) == entry


@pytest.mark.parametrize("goal", ["fast", 0, -1.0, True])
def test_an_invalid_goal_is_refused(goal: Any) -> None:
    raw = document()
    raw["entries"][0]["references"]["read/single"]["goal"] = goal
    with pytest.raises(DocumentError, match="goal is"):
        read_document(Expectations, raw).find("ost", "scratch-OST0003")
