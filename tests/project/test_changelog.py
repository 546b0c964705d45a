"""Changelog fragments are valid for the next release."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.repository import ROOT, document, tracked

FRAGMENTS = tracked("changelogs/fragments/*")
SECTIONS = {name for name, _ in document(ROOT / "changelogs" / "config.yaml")["sections"]}


def test_there_is_a_fragment_or_a_release() -> None:
    assert FRAGMENTS or document(ROOT / "changelogs" / "changelog.yaml")["releases"]


@pytest.mark.parametrize("fragment", FRAGMENTS, ids=lambda path: path.name)
def test_a_fragment_has_known_sections_only(fragment: Path) -> None:
    sections = document(fragment)
    assert fragment.suffix == ".yml"
    assert sections
    assert set(sections) <= SECTIONS | {"release_summary", "trivial"}


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
