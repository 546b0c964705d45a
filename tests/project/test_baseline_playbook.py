"""baseline.yml run by Ansible on fake nodes with the real plumbline."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.package.parts.locate.test_verb_locate import measured
from tests.project.pretended_site import FakeSite

pytestmark = pytest.mark.long

# a third server costs seconds and shows no more
LIMIT = ("--limit", "oss1,oss2")


def test_baseline_measures_and_shows_then_accepts_and_shows_the_file(tmp_path: Path) -> None:
    site = FakeSite(tmp_path, measured({}))
    file = tmp_path / "inventory/group_vars/all/baselines.yml"
    measured_run = site.play("baseline", {"layer": "raw", "runs": 1, "accept": False}, *LIMIT)
    assert measured_run.code == 0, measured_run.output
    measured_run.shows("layer  component", "raw    oss1-disk1", "candidates in ")
    assert len(site.units()) == 2
    assert not file.exists()
    words = {"layer": "raw", "runs": 0, "reason": "first"}
    accepted = site.play("baseline", words, "--diff", *LIMIT)
    assert accepted.code == 0, accepted.output
    accepted.shows(
        *("+plumbline_baselines:", "+          reason: first", "8 baselines accepted in "),
        *("Update the expectations", "changed: [oss"),
    )
    assert "reason: first" in file.read_text(encoding="utf-8")
    assert len(site.units()) == 2


def test_baseline_needs_a_reason_and_refuses_wrong_types(tmp_path: Path) -> None:
    site = FakeSite(tmp_path, measured({}))
    for variables, texts in (
        ({}, ["Say why this is the reference"]),
        ({"reason": "first", "runs": "many"}, ["Validation of arguments failed", "runs"]),
        ({"reason": "first", "runs": -1}, ["There cannot be -1 runs; write -e runs=5"]),
    ):
        run = site.play("baseline", {"layer": "raw", **variables})
        assert run.code == 2
        run.shows(*texts)
    assert site.units() == []
