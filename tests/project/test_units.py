"""Units: what they are called with, and rights that what holds for all does not take back."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest

from plumbline.model.names import NAME
from tests.project.repository import ROOT, tracked

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


@pytest.mark.parametrize("role", ["fs_probe", "ost_probe", "raw_probe"])
def test_a_unit_whose_tools_may_hang_in_the_kernel_waits_for_none_of_them(role: str) -> None:
    """A process that no signal ends would hold a stop for four times its limit (systemd.kill)."""
    (unit,) = (ROOT / "roles" / role).glob("templates/plumbline-*.service.j2")
    assert "\nKillMode=process\n" in unit.read_text(encoding="utf-8")


def test_a_unit_of_one_component_has_its_name_as_it_is() -> None:
    """``%I`` would turn each ``-`` into a ``/`` unless whoever starts it escapes the name."""
    described = [*tracked("roles/*/tasks/*.yml"), *HARDENED]
    assert [path for path in described if "%I" in path.read_text(encoding="utf-8")] == []
    starting = [*tracked("playbooks/*.yml"), *tracked("docs/*.md"), ROOT / "README.md"]
    text = "".join(path.read_text(encoding="utf-8") for path in starting)
    assert "systemd-escape" not in text


def test_every_name_of_a_component_can_be_that_of_a_unit() -> None:
    """The characters of an instance are those of systemd.unit(5); escaping is the backslash's."""
    allowed = set(string.ascii_letters + string.digits + ":_.-@")
    named = {chr(code) for code in range(128) if re.fullmatch(NAME.pattern, f"a{chr(code)}")}
    assert named <= allowed
