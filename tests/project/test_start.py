"""A check runs each minute on each host, so it loads few modules at its start."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.processes import bare_python, run_to_end
from tests.project.repository import tracked

LIGHT = {
    "plumbline",
    "plumbline.doors",
    "plumbline.doors.call",
    "plumbline.doors.check",
    "plumbline.doors.plugin",
    "plumbline.doors.published_file",
    "plumbline.model",
    "plumbline.model.ages",
    "plumbline.model.verdict_files",
}
SLOW = {"enum", "json", "re", "signal", "typing"}
# Avoids runpy, which itself loads some of them.
LOAD = """
import sys
path = sys.argv[1]
exec(compile(open(path).read(), path, "exec"), {"__name__": "check", "__file__": path})
print(*sys.modules)
"""

CALL = """
import sys
from plumbline.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    print(*sys.modules)
"""


def loaded(check: Path) -> set[str]:
    """Return the modules that a check loads."""
    return set(bare_python("-c", LOAD, check, check=True).stdout.split())


@pytest.mark.parametrize("check", tracked("checks/check_*"), ids=lambda path: path.name)
def test_a_check_loads_no_slow_module(check: Path) -> None:
    names = loaded(check)
    assert {name for name in names if name.partition(".")[0] == "plumbline"} == LIGHT
    assert sorted(SLOW & names) == []


@pytest.mark.parametrize("check", tracked("checks/check_*"), ids=lambda path: path.name)
def test_a_check_can_be_started(check: Path) -> None:
    assert check.stat().st_mode & 0o111 == 0o111
    assert check.read_text(encoding="utf-8").startswith("#!/usr/bin/env python3\n")


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_version_and_help_of_all_verbs_load_no_part(word: str) -> None:
    done = run_to_end(sys.executable, "-c", CALL, word, check=True)
    names = done.stdout.split()
    assert "plumbline.cli" in names
    assert not [name for name in names if name.startswith("plumbline.parts.")]
