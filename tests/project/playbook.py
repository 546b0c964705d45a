"""Playbooks run by the Ansible of the tests, with the settings of the repository."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Mapping, Optional

from tests.forks import Forks
from tests.lab.lab import FAST
from tests.project.repository import ROOT

PLAYS = ROOT / "tests" / "data" / "plays"
# The strategy of Mitogen and what it needs, which other plays never load.
MITOGEN = ("ansible_mitogen.strategy", "ansible_mitogen.process", "ansible_mitogen.services")


def run_playbook(
    *words: object,
    inventory: object = "localhost,",
    cwd: Optional[Path] = None,
    env: Mapping[str, str] = {},
) -> subprocess.CompletedProcess[str]:
    """Run ansible-playbook in a folder; ``env`` adds variables."""
    settings = {
        "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
        "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
        "LC_ALL": "C.UTF-8",
        **{name: value for name, value in env.items() if name.startswith("ANSIBLE_")},
    }
    call = ["-i", str(inventory), *map(str, words)]
    forks = _ANSIBLE.with_settings(settings)
    fork = forks.start(call, cwd, {**os.environ, **settings, **env})
    out, err = fork.communicate()
    return subprocess.CompletedProcess(call, fork.wait(), out, err)


class _Ansible:
    """A process that has imported Ansible, which reads its settings at that time."""

    def __init__(self) -> None:
        self._settings: Mapping[str, str] = {}
        self._forks: Optional[Forks] = None

    def with_settings(self, settings: Mapping[str, str]) -> Forks:
        """Return the process; one with other settings ends."""
        if self._forks is None or self._settings != settings:
            self.close()
            self._settings = dict(settings)
            self._forks = Forks(
                # like a program, it imports nothing from the current folder
                *(sys.executable, "-P"),
                command="tests.project.ansible_fork",
                modules=[str(ROOT), *(MITOGEN if settings.keys() >= FAST.keys() else ())],
                environment=settings,
            )
        return self._forks

    def close(self) -> None:
        if self._forks is not None:
            self._forks.close()


_ANSIBLE = _Ansible()
atexit.register(_ANSIBLE.close)


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


def succeeded(done: subprocess.CompletedProcess[str]) -> str:
    """Return the output of a playbook, which must have succeeded."""
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
