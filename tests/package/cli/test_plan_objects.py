"""``plumbline plan --format``: one plan, the objects of two monitoring systems."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plumbline.doors.monitored import AGENT_SERVICE, COLLECTION_SERVICE, ObjectOptions
from plumbline.model.errors import DocumentError, PlumblineError
from tests.package.cli.driver import Run, call
from tests.project.repository import ROOT, document

INVENTORY = str(ROOT / "inventories" / "lab")
KINDS = ("templates", "commands", "groups", "hosts", "services", "dependencies")


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    with path.open("w") as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", file)
        assert call("plan", "-i", INVENTORY, "--json") == 0
    return path


@pytest.mark.parametrize(
    ("name", "files"),
    [("nagios", [f"{kind}.cfg" for kind in KINDS]), ("icinga2", ["plumbline.conf"])],
)
def test_a_printed_plan_gives_the_objects_of_its_inventory(
    plan: Path, name: str, files: list[str], run: Run
) -> None:
    compiled = run("plan", "-i", INVENTORY, "--format", name, "--json").document
    assert list(compiled) == files
    assert run("plan", "--plan", str(plan), "--format", name, "--json").document == compiled
    assert run("plan", "--plan", str(plan), "--format", name).out == "\n".join(compiled.values())


@pytest.mark.parametrize(
    ("arguments", "trouble", "said"),
    [
        (["--options", "{"], DocumentError, "--options is no JSON"),
        (["--options", '{"contact_grups": []}'], DocumentError, "did you mean 'contact_groups'"),
        (["--options", '{"check_interval_min": 0}'], DocumentError, "check_interval_min"),
    ],
)
def test_wrong_options_are_refused(
    plan: Path, arguments: list[str], trouble: type[PlumblineError], said: str
) -> None:
    with pytest.raises(trouble, match=said):
        call("plan", "--plan", str(plan), "--format", "nagios", *arguments)


@pytest.mark.parametrize(
    ("key", "value"), [("services", None), ("hosts", [{}]), ("paths", [{}]), ("schema", 9)]
)
def test_a_damaged_plan_is_refused(plan: Path, tmp_path: Path, key: str, value: object) -> None:
    damaged = tmp_path / "plan.json"
    damaged.write_text(json.dumps({**json.loads(plan.read_text()), key: value}))
    with pytest.raises(DocumentError, match="write it with: plumbline plan"):
        call("plan", "--plan", str(damaged), "--format", "nagios")


def test_a_service_of_an_unknown_host_is_refused(plan: Path, tmp_path: Path) -> None:
    said = json.loads(plan.read_text())
    said["hosts"] = [host for host in said["hosts"] if host["name"] != "oss2"]
    (tmp_path / "plan.json").write_text(json.dumps(said))
    with pytest.raises(DocumentError, match="services of oss2, whose address it does not give"):
        call("plan", "--plan", str(tmp_path / "plan.json"), "--format", "nagios")


def test_defaults_are_those_of_the_roles() -> None:
    given = {
        name.partition("_")[2]: value
        for role in ("nagios", "icinga")
        for name, value in document(ROOT / f"roles/{role}/defaults/main.yml").items()
        if "{{" not in str(value)
    }
    nrpe = document(ROOT / "roles/nrpe/defaults/main.yml")
    given |= {"nrpe_port": nrpe["nrpe_port"], "tls_directory": nrpe["nrpe_tls_directory"]}
    known = ObjectOptions().model_dump()
    shared = given.keys() & known.keys()
    assert {name: given[name] for name in shared} == {name: known[name] for name in shared}
    assert len(shared) > 10


def test_the_role_asks_for_checks_of_the_services_that_the_package_names() -> None:
    names = document(ROOT / "roles/nagios/vars/main.yml")
    assert names["__nagios_agent_service"] == AGENT_SERVICE
    assert names["__nagios_collection_service"] == COLLECTION_SERVICE
