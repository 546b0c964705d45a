"""Symptoms services: one for each host and kind of the policy, and one for the look."""

from __future__ import annotations

from typing import Any, Optional

from plumbline.doors.icinga import icinga_objects
from plumbline.doors.monitored import monitored, read_options
from plumbline.model.service import Service
from plumbline.plan.expectations import compile_plan
from plumbline.plan.policy import load
from plumbline.topology.graph import Topology, build
from tests.package.sites import paper, site


def planned(policy: dict[str, Any], topology: Optional[Topology] = None) -> dict[str, Service]:
    plan = compile_plan(topology or build(site()), load({"symptoms": policy}), {})
    return {entry.description: entry for entry in plan.services if entry.layer == "symptoms"}


def test_symptoms_have_no_services_by_default() -> None:
    assert planned({}) == {}


def test_each_host_and_kind_has_a_service_and_so_does_the_look() -> None:
    by_name = planned({"kinds": ["disks", "links"]})
    assert list(by_name) == [
        f"{name}"
        for host in ("oss1", "oss2", "client1")
        for name in (f"NODE {host} symptoms", f"SYMPTOMS {host} disks", f"SYMPTOMS {host} links")
    ]
    assert by_name["SYMPTOMS oss2 disks"] == Service(
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
    looks = by_name["NODE oss2 symptoms"]
    assert looks.arguments == ("--node", "oss2", "--stale-after", "3600", "-v")
    assert (looks.command, looks.component) == ("plumbline_symptoms_looks", "oss2")
    assert [service.description for service in by_name.values() if service.misses] == [
        f"NODE {host} symptoms" for host in ("oss1", "oss2", "client1")
    ]


def test_hosts_may_have_different_kinds() -> None:
    policy = {"kinds": ["disks"], "hosts": {"client1": ["kernel"], "oss[1-1]": []}}
    assert list(planned(policy)) == [
        "NODE oss2 symptoms",
        "SYMPTOMS oss2 disks",
        "NODE client1 symptoms",
        "SYMPTOMS client1 kernel",
    ]


def test_a_site_without_lustre_has_no_lustre_service() -> None:
    policy = {"kinds": ["lustre"]}
    assert planned(policy) == {}
    kinds = {
        entry.component.partition(" ")[2] for entry in planned(policy, paper("edison")).values()
    }
    assert kinds == {"", "lustre"}


def test_the_maximum_age_is_that_of_the_policy() -> None:
    (_, service) = planned({"hosts": {"oss1": ["disks"]}, "stale_after": "6 h"}).values()
    assert service.freshness_s == 21600
    assert "21600" in service.arguments


def test_services_of_symptoms_neither_bear_nor_hide_other_alarms() -> None:
    with_them = compile_plan(build(site()), load({"symptoms": {"kinds": ["disks"]}}), {})
    without = compile_plan(build(site()), load({}), {})
    count = len(without.services)
    assert with_them.services[:count] == without.services
    assert with_them.paths == without.paths
    assert not any(item.behind for item in with_them.services[count:])
    assert all(place < count for item in with_them.paths for place in item.members)


def test_icinga_notifies_of_an_unknown_look_only() -> None:
    plan = compile_plan(build(site()), load({"symptoms": {"hosts": {"oss1": ["disks"]}}}), {})
    options = read_options({})
    text = icinga_objects(monitored(plan.to_json(), options), options)["plumbline.conf"]
    for name, kind in (("NODE oss1 symptoms", "probes"), ("SYMPTOMS oss1 disks", "component")):
        block = text.partition(f'object Service "{name}"')[2].partition("\n}")[0]
        assert f'vars.plumbline_kind = "{kind}"' in block
        assert '"plumbline-symptoms"' in block


def test_the_plan_has_the_calendar_of_the_look() -> None:
    def looks(policy: dict[str, Any]) -> str:
        plan = compile_plan(build(site()), load({"symptoms": policy}), {})
        calendar: str = plan.to_json()["symptoms"]["calendar"]
        return calendar

    assert looks({}) == "*:0/10"
    assert looks({"every": "30 min"}) == "*:0/30"
