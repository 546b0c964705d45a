"""A site without a mirror: only what is missing is asked for, and named before anything changes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from plumbline.site.inventory import plan_of, read_inventory
from tests.project.repository import ROOT, document, tracked

HOSTS = """
all:
  vars:
    ansible_connection: local
    ansible_python_interpreter: {python}
  children:
    monitoring: {{}}
    plumbline_nodes:
      hosts: {{client1: , oss1: , oss2: }}
    plumbline_ost:
      hosts: {{client1: }}
    plumbline_raw:
      hosts: {{oss1: , oss2: }}
"""
PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.set_fact:
        os_family: Debian
        distribution_major_version: "13"
        cacheable: true
    - ansible.builtin.include_tasks: {root}/playbooks/tasks/packages.yml
    - ansible.builtin.debug:
        msg: "{{{{ inventory_hostname }}}} goes on"
"""
# Of this machine: what is there, and what no repository has.
THERE = ["dpkg"]
NOWHERE = ["plumbline-no-such-package"]


def check(folder: Path, *words: str, **packages: list[str]) -> str:
    """Return what the play says of these packages; it changes nothing and refreshes nothing."""
    (folder / "hosts.yml").write_text(HOSTS.format(python=sys.executable))
    (folder / "play.yml").write_text(PLAY.format(root=ROOT))
    plan = plan_of(read_inventory(str(ROOT / "inventories/lab"))).to_json()
    given = {
        "agent_plan": json.loads(json.dumps(plan)),
        **{f"__{role}_packages": packages.get(role, THERE) for role in ("agent", "ost_probe")},
        "__raw_probe_packages": packages.get("raw_probe", THERE),
        "__agent_ansible_packages": {"Debian": THERE},
        "__agent_refresh": {"Debian": ["echo", "refreshed"]},
    }
    (folder / "given.json").write_text(json.dumps(given), encoding="utf-8")
    done = subprocess.run(
        [str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(folder / "hosts.yml")]
        + ["-e", f"@{folder}/given.json", "--check", *words, str(folder / "play.yml")],
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 2), done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
def test_where_all_is_installed_nothing_is_fetched(tmp_path: Path) -> None:
    said = check(tmp_path)
    # hosts answer in any order
    assert sorted(re.findall(r"msg: (\w+) goes on", said)) == ["client1", "oss1", "oss2"]
    assert "Fetch the packages" not in re.sub(r"TASK \[[^\n]*\n+(?=TASK|PLAY)", "", said)


@pytest.mark.long
def test_what_cannot_be_had_is_named_once_for_all_hosts_before_anything_changes(
    tmp_path: Path,
) -> None:
    said = check(tmp_path, ost_probe=NOWHERE, raw_probe=[*NOWHERE, *THERE])
    assert "goes on" not in said
    (message,) = re.findall(r"msg: '(These packages.*?)'\n", said, re.S)
    told = " ".join(message.split())
    for host in ("client1", "oss1", "oss2"):
        assert f"{host} lacks plumbline-no-such-package;" in told
    assert "says: E: Unable to locate package plumbline-no-such-package" in told


@pytest.mark.long
def test_a_run_of_some_roles_asks_for_their_packages_alone(tmp_path: Path) -> None:
    said = check(tmp_path, "--tags", "raw_probe,always", ost_probe=NOWHERE)
    assert "These packages" not in said


def test_packages_are_asked_of_the_hosts_that_get_the_role() -> None:
    groups = {
        "plumbline_nodes": "'plumbline_nodes' in group_names",
        "plumbline_fs_clients": "'plumbline_fs_clients' in group_names",
        "monitoring": "'monitoring' in group_names",
    }
    roles = document(ROOT / "playbooks/vars/site.yml")["site_roles"]
    deployed = {}
    for play in document(ROOT / "playbooks/site.yml"):
        for role in play.get("roles", []):
            # a role that has no condition goes to all hosts of its play
            own = f"site_roles.{role['role']} | bool"
            assert role.get("when", own) == own
            deployed[role["role"]] = groups[play["hosts"]] if "when" not in role else ""
    assert set(deployed) == set(roles)
    for role, when in deployed.items():
        assert roles[role] == f"{{{{ {when} }}}}" or not when, role


def test_a_role_of_which_no_packages_are_asked_installs_none() -> None:
    named = document(ROOT / "playbooks/tasks/packages.yml")[1]["vars"]["packages_none"]
    installing = {path.parts[-3] for path in tracked("roles/*/tasks/needs.yml")}
    assert installing == set(document(ROOT / "playbooks/vars/site.yml")["site_roles"]) - set(named)


@pytest.mark.parametrize("path", tracked("roles/*/tasks/*.yml"), ids=str)
def test_a_role_installs_only_what_is_missing(path: Path) -> None:
    role, text = path.parts[-3], path.read_text(encoding="utf-8")
    # the internal role installs for others, which say what they need
    if re.search("tasks_from: (packages|install_masked)", text) and role != "timer_unit":
        assert (path.parent / "needs.yml").exists()
    ready = role == "lab" or path.name in ("remove_packages.yml", "packages.yml")
    assert ready or not re.search(r"ansible\.builtin\.(apt|package):", text)
