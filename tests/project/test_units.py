"""What a unit says of its own rights is not taken back by what holds for all units."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.project.repository import ROOT

# A drop-in is read after the unit that it adds to, so it wins (systemd.unit(5)).
OWN = ("MemoryMax", "CapabilityBoundingSet", "AmbientCapabilities")
HARDENED = sorted((ROOT / "roles").glob("*/templates/plumbline-*.service.j2"))


def keys(text: str) -> set[str]:
    """Return what a unit file sets."""
    return set(re.findall(r"^(\w+)=", text, re.MULTILINE))


def test_the_common_hardening_leaves_to_the_units_what_they_say_themselves() -> None:
    common = (ROOT / "roles/agent/templates/hardening.conf.j2").read_text(encoding="utf-8")
    assert keys(common).isdisjoint(OWN)


@pytest.mark.parametrize("unit", HARDENED, ids=lambda path: path.stem)
def test_each_unit_bounds_its_memory_and_capabilities(unit: Path) -> None:
    assert keys(unit.read_text(encoding="utf-8")) >= set(OWN)
