"""baseline.yml as Ansible runs it, on nodes that have the real plumbline."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.package.cli.test_locate import measured
from tests.project.pretended_site import PretendedSite

pytestmark = pytest.mark.long


def test_it_measures_shows_and_accepts_and_check_mode_shows_the_file(tmp_path: Path) -> None:
    site = PretendedSite(tmp_path, measured({}))
    file = tmp_path / "inventory/group_vars/all/baselines.yml"
    looked = site.play("baseline", {"layer": "raw", "runs": 1, "accept": False})
    assert looked.code == 0, looked.said
    looked.shows("layer  component", "raw    oss1-disk1", "candidates in ")
    assert len(site.units()) == 3
    assert not file.exists()
    words = {"layer": "raw", "runs": 0, "reason": "first"}
    would = site.play("baseline", words, "--check", "--diff")
    assert would.code == 0, would.said
    would.shows(
        "+plumbline_baselines:", "+          reason: first", "12 baselines would be accepted"
    )
    assert not file.exists()
    accepted = site.play("baseline", words)
    assert accepted.code == 0, accepted.said
    accepted.shows("12 baselines accepted in ", "Update the expectations", "changed: [oss")
    assert "reason: first" in file.read_text(encoding="utf-8")
    assert len(site.units()) == 3


def test_a_reason_is_asked_for_and_a_wrong_kind_refused(tmp_path: Path) -> None:
    site = PretendedSite(tmp_path, measured({}))
    ended = site.play("baseline", {"layer": "raw"})
    assert ended.code == 2
    ended.shows("Say why this is the reference")
    ended = site.play("baseline", {"layer": "raw", "reason": "first", "runs": "many"})
    assert ended.code == 2
    ended.shows("Validation of arguments failed", "runs")
    ended = site.play("baseline", {"layer": "raw", "reason": "first", "runs": -1})
    assert ended.code == 2
    ended.shows("There cannot be -1 runs; write -e runs=5")
    assert site.units() == []
