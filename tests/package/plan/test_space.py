"""Space in the plan: one service for each file system that is read, and the limits of its node."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.service import Service
from plumbline.model.space import SpaceTerms
from plumbline.model.units import DAY_S
from plumbline.plan.expectations import Plan, compile_plan
from plumbline.plan.policy import load
from plumbline.topology.graph import Topology, build
from tests.package.sites import site


def planned(policy: dict[str, Any]) -> Plan:
    """Return the plan of a site with one file system."""
    return compile_plan(build(site()), load(policy), {})


def of_space(plan: Plan) -> list[Service]:
    return [service for service in plan.services if service.layer == "space"]


def test_nothing_is_read_by_default() -> None:
    plan = planned({})
    assert of_space(plan) == []
    document = plan.to_json()
    assert "space" not in document
    assert "space" not in document["nodes"]["client1"]


def test_the_client_that_measures_a_file_system_reads_its_space() -> None:
    plan = planned({"space": {}})
    assert of_space(plan) == [
        Service(
            host="client1",
            node="client1",
            description="SPACE scratch",
            command="plumbline_space_scratch",
            check="check_space",
            arguments=(
                *("--file-system", "scratch", "--node", "client1", "--stale-after", "10800"),
            ),
            layer="space",
            component="scratch",
            group="",
            freshness_s=10_800,
            anchor="space-scratch",
        )
    ]
    assert plan.node("client1").space == (SpaceTerms("scratch"),)
    assert plan.node("oss1").space == ()
    assert plan.to_json()["space"] == {"calendar": "0/1:12"}


def test_limits_are_those_of_the_policy() -> None:
    rules = {"warning": "3 w", "critical": "5 d", "inode_limit": "80 %", "stale_after": "6 h"}
    ost = {"groups": {"scratch": {"limits": {"fill_limit": "95 %"}}}}
    plan = planned({"space": {**rules, "every": "2 h"}, "layers": {"ost": ost}})
    expected = SpaceTerms("scratch", 0.95, 0.80, 21 * DAY_S, 5 * DAY_S, 6 * 3600.0)
    assert plan.node("client1").space == (expected,)
    assert plan.to_json()["space"] == {"calendar": "0/2:12"}


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ({"critical": "20 d"}, "critical is longer than warning"),
        ({"every": "7 min"}, "minutes that divide an hour, or hours that divide a day"),
        ({"every": "5 h", "stale_after": "1 d"}, "hours that divide a day"),
        ({"every": "2 h"}, "stale_after is shorter than two times every"),
        ({"quota": {}}, "quota"),
        ({"quotas": {"scratch": ["user jane"]}}, "shown to this user and root alone"),
        ({"quotas": {"scratch": ["project -v"]}}, "write project and its number or name"),
    ],
)
def test_rules_that_cannot_work_are_refused(rules: dict[str, Any], text: str) -> None:
    with pytest.raises(DocumentError, match=text):
        load({"space": rules})


def test_looks_may_come_each_ten_minutes() -> None:
    plan = planned({"space": {"every": "10 min"}})
    assert plan.to_json()["space"] == {"calendar": "*:0/10"}


def lustre() -> Topology:
    """Return a site whose file system is Lustre."""
    document = site()
    (scratch,) = document["file_systems"]
    scratch["kind"] = "lustre"
    (targets,) = scratch["targets"]
    del targets["subvolume"]
    targets["name"] = "scratch-OST[0000-0003]"
    return build(document)


def test_quotas_are_named_by_file_system() -> None:
    quotas = ["project 1001", "group climate", "project 1001"]
    policy = load({"space": {"quotas": {"scratch": quotas}}})
    (terms,) = compile_plan(lustre(), policy, {}).node("client1").space
    assert terms.quotas == ("project 1001", "group climate")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("home", "names home, which no client measures; the file systems are scratch"),
        ("scratch", r"names scratch, which is no Lustre \(glusterfs\)"),
    ],
)
def test_quotas_of_other_file_systems_are_refused(name: str, text: str) -> None:
    with pytest.raises(DocumentError, match=text):
        planned({"space": {"quotas": {name: ["project 1"]}}})
