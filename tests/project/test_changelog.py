"""Changelog fragments are valid for the next release."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.repository import ROOT


@pytest.mark.slow
def test_the_changelog_tool_accepts_all_fragments() -> None:
    lint = subprocess.run(
        [str(Path(sys.executable).with_name("antsibull-changelog")), "lint"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert lint.returncode == 0, lint.stdout + lint.stderr
