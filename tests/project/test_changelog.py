"""Changelog fragments are valid for the next release."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.processes import run_to_end
from tests.project.repository import ROOT


@pytest.mark.slow
def test_the_changelog_tool_accepts_all_fragments() -> None:
    lint = run_to_end(Path(sys.executable).with_name("antsibull-changelog"), "lint", cwd=ROOT)
    assert lint.returncode == 0, lint.stdout + lint.stderr
