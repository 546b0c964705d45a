"""Measurables of a site, and the lanes in which they cross each part."""

from __future__ import annotations

import pytest

from plumbline.judge.pair import of_pair
from plumbline.model.limits import Ceiling, Reference
from plumbline.model.record import Operation
from plumbline.parts.locate.next_probe import Candidates
from plumbline.parts.locate.observation import BOTH, Measurable, Site
from plumbline.parts.locate.suspects import locate
from plumbline.plan.expectations import compile_plan
from plumbline.plan.policy import load
from tests.package.judgements import BASELINE, host_expectation
from tests.package.parts.locate.scenes import LAB, both, lab, observation, rate, suspects

BY_NAME = {of.name: of for of in LAB.measurables}


def lanes(of: Measurable) -> dict[str, tuple[str, ...]]:
    return {name: crossed for name, crossed, _ in of.crossings()}


def test_every_measurement_has_its_own_name() -> None:
    # 6 targets in two ways, 6 disks alone and together, 4 hosts with 3 partners in two ways
    assert len(BY_NAME) == len(LAB.measurables) == 12 + 12 + 24


def test_the_expected_rate_is_the_ceiling_until_there_is_a_baseline() -> None:
    assert BY_NAME["raw oss1-disk1 read"].expected == 200e6
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
    crossed = lanes(BY_NAME[name])
    assert {part: crossed[part] for part in expected} == expected


def test_a_pair_crosses_what_both_hosts_share_in_both_directions() -> None:
    assert lanes(BY_NAME["net oss1 send with oss2"])["switch1"] == BOTH


def test_flows_that_run_together_are_counted() -> None:
    of = BY_NAME["raw oss1-disk1 read together"]
    assert {name: flows for name, _, flows in of.crossings()} == {"oss1": 2, "oss1-disk1": 1}
    assert {flows for _, _, flows in BY_NAME["raw oss1-disk1 read"].crossings()} == {1}


def test_servers_are_those_that_have_targets_or_disks() -> None:
    assert Site(LAB.plan.expectations).servers == {"oss1", "oss2", "oss3"}


def parallel(*clients: str) -> dict[str, Measurable]:
    policy = {"layers": {"fs": {"clients": list(clients), "work": "/mnt/scratch"}}}
    plan = compile_plan(lab(), load(policy), {})
    measurables = Site(plan.expectations).measurables()
    return {measured.of.name: measured.of for measured in measurables if measured.of.layer == "fs"}


def test_targets_driven_at_once_are_measurables_and_their_sum_is_not() -> None:
    reference = parallel("client1")
    assert len(reference) == 6 * 3
    of = reference["fs scratch-OST0000 reread together"]
    assert lanes(of)["oss1-nic"] == ("read",)
    flows = {name: flows for name, _, flows in of.crossings()}
    assert (flows["client1-nic"], flows["oss1"], flows["oss1-disk1"]) == (6, 2, 1)
    raw = BY_NAME["raw oss1-disk1 read together"]
    assert {flows for _, _, flows in raw.crossings()} == {1, 2}


def test_with_several_clients_the_paths_are_unknown() -> None:
    assert parallel("client1", "oss1") == {}


def test_a_run_of_all_targets_is_no_candidate() -> None:
    policy = {"layers": {"fs": {"clients": ["client1"]}}}
    plan = compile_plan(lab(), load(policy), {})
    possible = Candidates(plan.expectations).crossing(["oss1-disk1"], ["scratch-OST0000"])
    assert "fs" not in {candidate.of.layer for candidate in possible}


def test_one_parallel_run_is_enough_to_suspect_a_slow_disk() -> None:
    remaining = {"oss2-disk1": both(80e6)}
    observations = [observation(of, rate(of, remaining)) for of in parallel("client1").values()]
    (names,) = suspects(locate(observations))
    assert "oss2-disk1" in names
    assert not names & {"client1", "client1-nic", "switch1", "oss2", "oss2-nic"}


@pytest.mark.parametrize(
    ("ceilings", "baseline", "expected"),
    [
        pytest.param((10.0, 10.0), 9.5, (9.5, 9.5), id="equal pairs"),
        pytest.param((10.0, 12.5), 9.5, (9.5, 11.875), id="a baseline of the slower pairs"),
        pytest.param((10.0, 12.5), 12.0, (9.6, 12.0), id="a baseline of the faster pairs"),
        pytest.param((1.0, 10.0), 1.02, (1.02, 10.2), id="a little above its ceiling"),
        pytest.param((1.0, 10.0), 12.0, (1.2, 12.0), id="above all of them"),
    ],
)
def test_the_baseline_of_a_host_belongs_to_the_pairs_whose_ceiling_allows_it(
    ceilings: tuple[float, ...], baseline: float, expected: tuple[float, ...]
) -> None:
    host = host_expectation("a", "b")
    partners = tuple(
        item._replace(ceiling=Ceiling(rate * 1e9, (), ()))
        for item, rate in zip(host.partners, ceilings)
    )
    host = host._replace(partners=partners)
    own = Reference(None, BASELINE._replace(median=baseline * 1e9))
    for partner, rate_GB in zip(partners, expected):
        reference = of_pair(host, partner, Operation.SEND, own)
        assert reference.ceiling == partner.ceiling
        assert reference.baseline is not None
        assert reference.baseline.median == pytest.approx(rate_GB * 1e9)


def test_a_pair_without_a_baseline_has_its_ceiling() -> None:
    host = host_expectation("a", "b")
    partner = host.partners[0]
    assert of_pair(host, partner, Operation.SEND, Reference(None, None)) == Reference(
        partner.ceiling, None
    )
