"""Playbooks run by the Ansible of the tests, with the settings of the repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Mapping, Optional

from tests.lab.lab import FAST
from tests.processes import run_to_end
from tests.project.repository import ROOT

PLAYS = ROOT / "tests" / "data" / "plays"
PROGRAM = str(Path(sys.executable).with_name("ansible-playbook"))


def run_playbook(
    *words: object, inventory: object = "localhost,", **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run ansible-playbook; options are those of ``subprocess.run``, ``env`` adds variables."""
    given = {
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
        "LC_ALL": "C.UTF-8",
    }
    environment = {**os.environ, **given, **options.pop("env", {})}
    return run_to_end(PROGRAM, "-i", inventory, *words, env=environment, **options)


def run_play(
    folder: Path,
    name: str,
    variables: Mapping[str, Any],
    *words: object,
    hosts: Optional[Mapping[str, Any]] = None,
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """Run a play of tests/data/plays with variables, ``root`` and ``folder``.

    The hosts are those of ``NAME-hosts.yml``, or ``hosts`` with their variables.
    """
    own_hosts = PLAYS / f"{name}-hosts.yml"
    if own_hosts.exists():
        options["inventory"] = own_hosts
    if hosts is not None:
        options["inventory"] = folder / "hosts.yml"
        inventory = {"all": {"hosts": dict(hosts), "vars": {"ansible_connection": "local"}}}
        options["inventory"].write_text(json.dumps(inventory), encoding="utf-8")
    given = folder / "given.json"
    values = {"root": str(ROOT), "folder": str(folder), **variables}
    given.write_text(json.dumps(values), encoding="utf-8")
    # a third of the time; the lab of Debian 12 and ansible-test run without, like a site
    options["env"] = {**FAST, **options.get("env", {})}
    return run_playbook("-e", f"@{given}", *words, PLAYS / f"{name}.yml", **options)


def play_output(
    folder: Path, name: str, variables: Mapping[str, Any], *words: object, **options: Any
) -> str:
    """Run such a play, which must succeed, and return its output."""
    return succeeded(run_play(folder, name, variables, *words, **options))


def playbook_output(*words: object, **options: Any) -> str:
    """Run ansible-playbook, which must succeed, and return its output."""
    return succeeded(run_playbook(*words, **options))


def succeeded(done: subprocess.CompletedProcess[str]) -> str:
    """Return the output of a playbook, which must have succeeded."""
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
