"""Playbooks run by the Ansible of the tests, with the settings of the repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Mapping

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


def run_play(
    folder: Path,
    play: str,
    variables: Mapping[str, Any],
    *words: object,
    hosts: str = "",
    **options: Any,
) -> subprocess.CompletedProcess[str]:
    """Run a play with variables from files in a folder; ``hosts`` is the text of an inventory."""
    texts = {"play.yml": play, "given.json": json.dumps(dict(variables))}
    if hosts:
        texts["hosts.yml"] = hosts
        options["inventory"] = folder / "hosts.yml"
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return run_playbook("-e", f"@{folder}/given.json", *words, folder / "play.yml", **options)


def play_output(
    folder: Path, play: str, variables: Mapping[str, Any], *words: object, **options: Any
) -> str:
    """Run such a play, which must succeed, and return its output."""
    return succeeded(run_play(folder, play, variables, *words, **options))


def playbook_output(*words: object, **options: Any) -> str:
    """Run ansible-playbook, which must succeed, and return its output."""
    return succeeded(run_playbook(*words, **options))


def succeeded(done: subprocess.CompletedProcess[str]) -> str:
    """Return the output of a playbook, which must have succeeded."""
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
