"""Symptoms have a service for each host and kind that the policy asks for, and one for the look."""

from __future__ import annotations

from typing import Any, Optional

from plumbline.doors.icinga import icinga_objects
from plumbline.doors.monitored import monitored, read_options
from plumbline.model.service import Service
from plumbline.plan.expectations import compile_plan
from plumbline.plan.policy import load
from plumbline.topology.graph import Topology, build
from tests.package.sites import paper, site


def told(policy: dict[str, Any], topology: Optional[Topology] = None) -> dict[str, Service]:
    plan = compile_plan(topology or build(site()), load({"symptoms": policy}), {})
    return {one.description: one for one in plan.services if one.layer == "symptoms"}


def test_nobody_who_did_not_ask_has_any() -> None:
    assert told({}) == {}


def test_each_host_and_kind_has_a_service_and_the_look_one() -> None:
    found = told({"kinds": ["disks", "links"]})
    assert list(found) == [
        f"{name}"
        for host in ("oss1", "oss2", "client1")
        for name in (f"NODE {host} symptoms", f"SYMPTOMS {host} disks", f"SYMPTOMS {host} links")
    ]
    assert found["SYMPTOMS oss2 disks"] == Service(
        host="oss2",
        node="oss2",
        description="SYMPTOMS oss2 disks",
        command="plumbline_symptoms_disks",
        check="check_symptoms",
        arguments=("--kind", "disks", "--node", "oss2", "--stale-after", "3600", "-v"),
        layer="symptoms",
        component="oss2 disks",
        group="",
        freshness_s=3600,
        anchor="symptoms-oss2_disks-e4e137e3",
    )
    looks = found["NODE oss2 symptoms"]
    assert looks.arguments == ("--node", "oss2", "--stale-after", "3600", "-v")
    assert (looks.command, looks.component) == ("plumbline_symptoms_looks", "oss2")
    assert [one.description for one in found.values() if one.misses] == [
        f"NODE {host} symptoms" for host in ("oss1", "oss2", "client1")
    ]


def test_hosts_differ() -> None:
    policy = {"kinds": ["disks"], "hosts": {"client1": ["kernel"], "oss[1-1]": []}}
    assert list(told(policy)) == [
        "NODE oss2 symptoms",
        "SYMPTOMS oss2 disks",
        "NODE client1 symptoms",
        "SYMPTOMS client1 kernel",
    ]


def test_a_site_without_lustre_has_no_service_of_it() -> None:
    asked = {"kinds": ["lustre"]}
    assert told(asked) == {}
    kinds = {one.component.partition(" ")[2] for one in told(asked, paper("edison")).values()}
    assert kinds == {"", "lustre"}


def test_the_age_that_is_too_old_is_the_policys() -> None:
    (_, one) = told({"hosts": {"oss1": ["disks"]}, "stale_after": "6 h"}).values()
    assert one.freshness_s == 21600
    assert "21600" in one.arguments


def test_no_service_of_symptoms_bears_or_hides_another_alarm() -> None:
    with_them = compile_plan(build(site()), load({"symptoms": {"kinds": ["disks"]}}), {})
    without = compile_plan(build(site()), load({}), {})
    count = len(without.services)
    assert with_them.services[:count] == without.services
    assert with_them.paths == without.paths
    assert not any(one.behind for one in with_them.services[count:])
    assert all(place < count for one in with_them.paths for place in one.members)


def test_icinga_notifies_of_an_unknown_look_and_of_no_unknown_kind() -> None:
    plan = compile_plan(build(site()), load({"symptoms": {"hosts": {"oss1": ["disks"]}}}), {})
    options = read_options({})
    text = icinga_objects(monitored(plan.to_json(), options), options)["plumbline.conf"]
    for name, kind in (("NODE oss1 symptoms", "probes"), ("SYMPTOMS oss1 disks", "component")):
        block = text.partition(f'object Service "{name}"')[2].partition("\n}")[0]
        assert f'vars.plumbline_kind = "{kind}"' in block
        assert '"plumbline-symptoms"' in block


def test_the_plan_says_when_nodes_look() -> None:
    def looks(policy: dict[str, Any]) -> str:
        plan = compile_plan(build(site()), load({"symptoms": policy}), {})
        found: str = plan.to_json()["symptoms"]["calendar"]
        return found

    assert looks({}) == "*:0/10"
    assert looks({"every": "30 min"}) == "*:0/30"
