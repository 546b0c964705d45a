"""Playbooks run by the Ansible of the tests, with the settings of the repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.processes import run_to_end
from tests.project.repository import ROOT

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


def playbook_output(*words: object, **options: Any) -> str:
    """Run ansible-playbook, which must succeed, and return its output."""
    done = run_playbook(*words, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
