"""Metadata targets: who measures them, by which path, and in which services."""

from __future__ import annotations

import re
from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.plan.assignments import assignments
from plumbline.plan.expectations import Plan, compile_plan
from plumbline.plan.places import Assignment
from plumbline.plan.policy import load
from plumbline.topology.graph import build
from tests.package.sites import parts

HOSTS = [
    {"name": "switch", "kind": "switch"},
    {"name": "client[1-2]", "kind": "client", "feeds": "switch"},
    {"name": "mds[1-2]", "kind": "server", "feeds": "switch"},
    {"name": "oss1", "kind": "server", "feeds": "switch"},
]


def site(**changes: Any) -> dict[str, Any]:
    """Return a site with two MDTs and an OST; ``changes`` are to its file system."""
    system = {
        "name": "scratch",
        "kind": "lustre",
        "mount": "/scratch",
        "client": "client[1-2]",
        "targets": [{"name": "scratch-OST[0000-0003]", "part": "oss1"}],
        "metadata": [{"name": "scratch-MDT[0000-0001]", "part": "mds[1-2]"}],
        **changes,
    }
    return parts(*HOSTS, file_systems=[system])


def compiled(document: dict[str, Any], **layers: Any) -> Plan:
    return compile_plan(build(document), load({"layers": layers}), {})


def of_mdt(document: dict[str, Any], **layers: Any) -> list[Assignment]:
    policy = load({"layers": {"mdt": {}, **layers}})
    return [item for item in assignments(build(document), policy) if item.layer == "mdt"]


def test_the_first_client_measures_all_metadata_targets_of_lustre() -> None:
    first, second = of_mdt(site())
    assert first.target == {
        "kind": "lustre-mdt",
        "mount": "/scratch",
        "mdt": "scratch-MDT0000",
        "file_system": "scratch",
    }
    assert (first.component, first.node, first.host) == ("scratch-MDT0000", "client1", "mds1")
    assert second.path == ("client1", "switch", "mds2", "scratch-MDT0001")
    assert second.node == "client1"
    steps = [f"{operation} {scenario.value}" for operation, scenario in first.steps]
    assert steps == ["create single", "mknod single", "unlink single", "mkdir single"]
    assert (first.spec.tool, first.spec.seconds, first.spec.repeats) == ("calls", 10.0, 3)
    assert first.limits.min_efficiency == 0


def test_other_file_systems_have_a_directory_for_their_metadata() -> None:
    targets = [{"name": "a", "part": "oss1", "directory": "/mnt/a"}]
    metadata = [{"name": "a-metadata", "part": "mds1", "directory": "/mnt/a", "source": "nas:/a"}]
    (only,) = of_mdt(
        parts(
            *HOSTS,
            file_systems=[
                {
                    "name": "home",
                    "kind": "directory",
                    "client": "client1",
                    "targets": targets,
                    "metadata": metadata,
                }
            ],
        )
    )
    assert only.target == {
        "kind": "directory-metadata",
        "directory": "/mnt/a",
        "source": "nas:/a",
        "file_system": "home",
    }


@pytest.mark.parametrize(("last", "groups"), [("0003", 4), ("0004", 1)])
def test_five_metadata_targets_are_peers_and_fewer_are_compared_with_themselves(
    last: str, groups: int
) -> None:
    document = site(metadata=[{"name": f"scratch-MDT[0000-{last}]", "part": "mds1"}])
    measured = of_mdt(document)
    assert len({item.group for item in measured}) == groups
    plan = compiled(document, mdt={"groups": {"scratch": {"limits": {"warning": "60:"}}}})
    entries = [entry for entry in plan.expectations["client1"] if entry.layer == "mdt"]
    assert {entry.file_system for entry in entries} == {"scratch"}
    assert {str(entry.limits.warning) for entry in entries} == {"60:"}
    descriptions = [service.description for service in plan.services]
    assert ("MDT group scratch" in descriptions) is (groups == 1)
    assert [path.name for path in plan.paths if path.file_system] == ["file system scratch"]


def test_metadata_is_planned_only_if_the_policy_names_it() -> None:
    plan = compiled(site())
    assert {entry.layer for node in plan.expectations.values() for entry in node} == {"ost"}
    assert not [service for service in plan.services if "MDT" in service.description]
    assert "mdt" not in plan.schedule


def test_metadata_has_services_and_an_hour_of_its_own_and_no_confirmation() -> None:
    plan = compiled(site(), mdt={"judge": ["p99", "stat"]})
    services = {
        service.description: (service.host, service.node, service.check)
        for service in plan.services
        if service.layer == "mdt"
    }
    assert services == {
        "MDT scratch-MDT0000 create mknod unlink mkdir": ("mds1", "client1", "check_mdt"),
        "MDT scratch-MDT0001 create mknod unlink mkdir": ("mds2", "client1", "check_mdt"),
    }
    assert plan.schedule["mdt"]["calendar"] == "*-*-* 01:06"
    assert plan.schedule["ost"]["calendar"] == "*-*-* 02:06"
    assert "mdt" not in plan.confirm
    entry = next(entry for entry in plan.expectations["client1"] if entry.layer == "mdt")
    assert [key for key in entry.references if " " in key] == [
        "create p99/single",
        "create stat/single",
        "mknod p99/single",
        "unlink p99/single",
        "mkdir p99/single",
    ]
    assert all(reference.ceiling is None for reference in entry.references.values())
    # those who measure targets do not take MDTs for missing OSTs
    assert plan.parts["scratch-MDT0001"].kind == "target"
    assert "scratch-MDT0000" not in plan.elsewhere["client2"]


REFUSED = {
    "an OST": ({"metadata": [{"name": "scratch-OST0009", "part": "mds1"}]}, "name of an MDT"),
    "a decimal index": (
        {"metadata": [{"name": "scratch-MDT12", "part": "mds1"}]},
        "its index is hexadecimal",
    ),
    "a directory": (
        {"metadata": [{"name": "scratch-MDT0000", "part": "mds1", "directory": "/x"}]},
        "directory",
    ),
    "no part": ({"metadata": [{"name": "scratch-MDT0000", "part": "x"}]}, "which is no part"),
    "more parts than targets": (
        {"metadata": [{"name": "scratch-MDT0000", "part": "mds[1-2]"}]},
        "a target lies on one part",
    ),
}


@pytest.mark.parametrize(("changes", "words"), REFUSED.values(), ids=REFUSED)
def test_metadata_that_cannot_be_measured_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(DocumentError, match=re.escape(words)):
        build(site(**changes))


def test_a_name_is_given_once() -> None:
    twice = [{"name": "scratch-MDT0000", "part": "mds[1-1]"}] * 2
    with pytest.raises(DocumentError, match="'scratch-MDT0000' is given twice"):
        build(site(metadata=twice))


@pytest.mark.parametrize(
    ("layers", "words"),
    [
        ({"mdt": {"confirm": {"runs": 3}}}, "confirm"),
        ({"mdt": {"judge": ["p98"]}}, "no quantity 'p98'"),
        ({"mdt": {"probe": {"bytes": "1 GiB"}}}, "remove bytes"),
        ({"mdt": {"probe": {"seconds": "1 min"}}}, "at most 10 s"),
        ({"mdt": {"components": {"scratch-MDT0007": {}}}}, "no component 'scratch-MDT0007'"),
    ],
)
def test_terms_that_single_calls_do_not_have_are_refused(
    layers: dict[str, Any], words: str
) -> None:
    with pytest.raises(DocumentError, match=words):
        compiled(site(), **layers)


def test_a_policy_that_names_metadata_needs_some() -> None:
    with pytest.raises(DocumentError, match="names layer mdt, but no file system"):
        compiled(site(metadata=[]), mdt={})
