"""A check runs each minute on each host, so it loads few modules at its start."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.processes import bare_python
from tests.project.repository import ROOT, tracked

SLOW = {
    "argparse",
    "asyncio",
    "dataclasses",
    "inspect",
    "logging",
    "pathlib",
    "pydantic",
    "rich",
    "sqlite3",
    "subprocess",
    "typing",
    "yaml",
}
# Avoids runpy, which itself loads some of them.
LOAD = """
import sys
path = sys.argv[1]
exec(compile(open(path).read(), path, "exec"), {"__name__": "check", "__file__": path})
print(*sys.modules)
"""


# Loaded by a check if a run has not ended or its verdict is missing.
AT_NEED = ("plumbline.doors.unfinished", "plumbline.doors.unfinished", "plumbline.measure.process")


def loaded(check: Path, *more: str) -> set[str]:
    """Return the modules that a check and ``more`` load."""
    code = LOAD.replace("print", "".join(f"import {name}\n" for name in more) + "print")
    return set(bare_python("-c", code, check, check=True).stdout.split())


@pytest.mark.parametrize("check", tracked("checks/check_*"), ids=lambda path: path.name)
def test_a_check_loads_no_slow_module(check: Path) -> None:
    names = loaded(check)
    assert "plumbline.doors.runtime" in names
    assert sorted(SLOW & names) == []


def test_only_modules_of_checks_avoid_typing() -> None:
    checked = {name for path in tracked("checks/check_*") for name in loaded(path, *AT_NEED)}
    without = {
        ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        for path in tracked("src/plumbline/*.py")
        if "from plumbline.model.named_tuple import" in path.read_text(encoding="utf-8")
    }
    assert without <= checked


@pytest.mark.parametrize("check", tracked("checks/check_*"), ids=lambda path: path.name)
def test_a_check_can_be_started(check: Path) -> None:
    assert check.stat().st_mode & 0o111 == 0o111
    assert check.read_text(encoding="utf-8").startswith("#!/usr/bin/env python3\n")
