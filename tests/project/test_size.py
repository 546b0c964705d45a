"""Files stay short enough to read in one go."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.repository import ROOT, tracked

MODULES = tracked("src/*.py", "plugins/*.py", "roles/*/files/*.py")
CHECKS = tracked("checks/check_*")


def name(path: Path) -> str:
    """Return the path relative to the repository."""
    return str(path.relative_to(ROOT))


def lines(path: Path) -> int:
    """Count the lines of a file."""
    return len(path.read_text(encoding="utf-8").splitlines())


def test_there_are_modules() -> None:
    assert MODULES


@pytest.mark.parametrize("module", MODULES, ids=name)
def test_a_module_has_at_most_600_lines(module: Path) -> None:
    assert lines(module) <= 600


def test_there_are_checks() -> None:
    assert CHECKS


@pytest.mark.parametrize("check", CHECKS, ids=name)
def test_a_check_has_at_most_40_lines(check: Path) -> None:
    assert lines(check) <= 40


@pytest.mark.parametrize("check", CHECKS, ids=name)
def test_a_check_can_be_started(check: Path) -> None:
    assert check.stat().st_mode & 0o111 == 0o111
    assert check.read_text(encoding="utf-8").startswith("#!/usr/bin/env python3\n")
