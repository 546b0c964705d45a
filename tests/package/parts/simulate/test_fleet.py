"""A fleet consists of the measurements of the plan."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from tests.package.parts.simulate.fleets import fleet
from tests.package.sites import part, parts, site


def test_a_fleet_has_each_operation_of_each_component_and_partner() -> None:
    flows = [
        f"{flow.layer} {flow.component} {flow.operation.value} {flow.scenario.value} {flow.partner}"
        for member in fleet().members
        for flow in member.flows()
    ]
    assert len(flows) == len(set(flows)) == 4 * 2 + 4 * 2 + 2 * 2
    assert "ost scratch-OST0 write single " in flows
    assert "raw oss2-disk1 read together " in flows
    assert "net oss1 receive single oss2" in flows


def test_devices_and_targets_belong_to_the_busy_days_of_their_file_system() -> None:
    systems = {member.key: member.system for member in fleet().members}
    assert systems["ost", "scratch-OST0"] == "scratch"
    assert systems["raw", "oss1-disk1"] == "scratch"
    assert systems["net", "oss1"] == ""


def lustre(client: str) -> dict[str, Any]:
    document = site()
    document["file_systems"] = [
        {
            "name": "scratch",
            "kind": "lustre",
            "mount": "/scratch",
            "client": client,
            "targets": [{"name": "scratch-OST[0000-0001]", "part": "oss1-disk[1-2]"}],
        }
    ]
    return document


@pytest.mark.parametrize(("client", "covered"), [("client1", False), ("oss1", True)])
def test_a_lustre_target_has_a_coverage_if_its_server_measures_it(
    client: str, covered: bool
) -> None:
    flags = {member.covered for member in fleet(lustre(client)).members if member.key[0] == "ost"}
    assert flags == {covered}


def test_devices_have_a_coverage_and_targets_of_clients_and_hosts_have_none() -> None:
    flags = {member.key[0]: member.covered for member in fleet().members}
    assert flags == {"ost": False, "raw": True, "net": False}


def test_the_schedules_are_those_of_the_policy() -> None:
    policy = {
        "schema": 1,
        "layers": {
            "raw": {"schedule": {"calendar": "Sun *-*-* 03:00", "every": "7 d"}},
            "net": {"schedule": {"slot": "4 h"}},
        },
    }
    periods_s = fleet(policy=policy).periods_s
    assert {"ost": 86400, "raw": 7 * 86400, "net": 4 * 3600}.items() <= periods_s.items()


def test_a_site_without_measurements_is_refused() -> None:
    with pytest.raises(DocumentError, match="nothing of lab is measured"):
        fleet(parts({"name": "switch1", "kind": "switch"}))


def test_a_path_without_any_rate_is_refused_by_name() -> None:
    document = site()
    for name in ("oss[1-2]-nic", "oss[1-2]-disk[1-2]", "client1"):
        for key in ("rate", "link", "encoding"):
            part(document, name).pop(key, None)
    part(document, "oss[1-2]").pop("address")
    with pytest.raises(DocumentError, match="path of oss1-disk1 has a rate for read"):
        fleet(document)
