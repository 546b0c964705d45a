"""A site without a mirror: only missing packages are needed, and named before any change."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Iterator

import pytest

from tests.project.playbook import run_play
from tests.project.repository import ROOT, document, tracked
from tests.project.test_nagios_objects import plan

# A package that this machine has, and one that no repository has.
INSTALLED = ["dpkg"]
UNAVAILABLE = ["plumbline-no-such-package"]


def check(folder: Path, *words: str, **packages: list[str]) -> str:
    """Return the output of the play for these packages; it changes and refreshes nothing."""
    variables = {
        "agent_plan": plan("lab"),
        **{f"__{role}_packages": packages.get(role, INSTALLED) for role in ("agent", "ost_probe")},
        "__raw_probe_packages": packages.get("raw_probe", INSTALLED),
        "__agent_ansible_packages": {"Debian": INSTALLED},
        "__agent_refresh": {"Debian": ["echo", "refreshed"]},
    }
    done = run_play(folder, "packages", variables, "--check", *words)
    assert done.returncode in (0, 2), done.stdout + done.stderr
    return done.stdout


@pytest.mark.long
def test_nothing_is_fetched_if_everything_is_installed(tmp_path: Path) -> None:
    output = check(tmp_path)
    # the order of hosts varies
    assert sorted(re.findall(r"msg: (\w+) goes on", output)) == ["client1", "oss1", "oss2"]
    assert "Fetch the packages" not in re.sub(r"TASK \[[^\n]*\n+(?=TASK|PLAY)", "", output)


@pytest.mark.long
def test_unavailable_packages_are_named_once_for_all_hosts_before_any_change(
    tmp_path: Path,
) -> None:
    output = check(tmp_path, ost_probe=UNAVAILABLE, raw_probe=[*UNAVAILABLE, *INSTALLED])
    assert "goes on" not in output
    (message,) = re.findall(r"msg: '(These packages.*?)'\n", output, re.S)
    line = " ".join(message.split())
    for host in ("client1", "oss1", "oss2"):
        assert f"{host} lacks plumbline-no-such-package;" in line
    assert "says: E: Unable to locate package plumbline-no-such-package" in line


@pytest.mark.long
def test_a_run_of_some_roles_needs_only_their_packages(tmp_path: Path) -> None:
    output = check(tmp_path, "--tags", "raw_probe,always", ost_probe=UNAVAILABLE)
    assert "These packages" not in output


def deployments(play: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the roles of a play with their entries, and those that its tasks include whole."""
    for role in play.get("roles", ()):
        yield role["role"], role
    for task in play.get("tasks", ()):
        included = task.get("ansible.builtin.include_role", {"tasks_from": ""})
        if "tasks_from" not in included:
            yield included["name"], task


def test_packages_are_checked_on_the_hosts_of_the_role() -> None:
    groups = {
        "plumbline_nodes": "'plumbline_nodes' in group_names",
        "plumbline_fs_clients": "'plumbline_fs_clients' in group_names",
        "monitoring": "'monitoring' in group_names",
    }
    roles = document(ROOT / "playbooks/vars/site.yml")["site_roles"]
    deployed = {}
    for play in document(ROOT / "playbooks/site.yml"):
        for name, role in deployments(play):
            # a role without a condition goes to all hosts of its play
            own = f"site_roles.{name} | bool"
            assert role.get("when", own) == own
            deployed[name] = groups[play["hosts"]] if "when" not in role else ""
    assert set(deployed) == set(roles)
    for name, when in deployed.items():
        assert roles[name] == f"{{{{ {when} }}}}" or not when, name


def test_a_role_without_checked_packages_installs_none() -> None:
    named = document(ROOT / "playbooks/tasks/packages.yml")[1]["vars"]["packages_none"]
    installing = {path.parts[-3] for path in tracked("roles/*/tasks/needs.yml")}
    assert installing == set(document(ROOT / "playbooks/vars/site.yml")["site_roles"]) - set(named)


def test_a_role_installs_only_missing_packages() -> None:
    for path in tracked("roles/*/tasks/*.yml"):
        role, text = path.parts[-3], path.read_text(encoding="utf-8")
        # the internal role installs for others, which list their packages
        if re.search("tasks_from: (packages|install_masked)", text) and role != "timer_unit":
            assert (path.parent / "needs.yml").exists()
        exempt = role == "lab" or path.name in ("remove_packages.yml", "install_missing.yml")
        assert exempt or not re.search(r"ansible\.builtin\.(apt|package):", text), path
