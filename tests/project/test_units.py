"""Units: their arguments, and rights that the common hardening does not override."""

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
    """Return the keys that a unit file sets."""
    return set(re.findall(r"^(\w+)=", text, re.MULTILINE))


def test_the_common_hardening_does_not_override_settings_of_units() -> None:
    common = (ROOT / "roles/agent/templates/hardening.conf.j2").read_text(encoding="utf-8")
    assert keys(common).isdisjoint(OWN)


@pytest.mark.parametrize("unit", HARDENED, ids=lambda path: path.stem)
def test_each_unit_bounds_its_memory_and_capabilities(unit: Path) -> None:
    assert keys(unit.read_text(encoding="utf-8")) >= set(OWN)


@pytest.mark.parametrize(
    "role", ["fs_probe", "mdt_probe", "oss_probe", "ost_probe", "raw_probe", "shared_probe"]
)
def test_a_unit_with_tools_that_can_hang_does_not_wait_for_them(role: str) -> None:
    """An unkillable process would delay a stop for four times its limit (systemd.kill)."""
    (unit,) = (ROOT / "roles" / role).glob("templates/plumbline-*.service.j2")
    assert "\nKillMode=process\n" in unit.read_text(encoding="utf-8")


def test_an_instance_unit_has_the_unescaped_component_name() -> None:
    """``%I`` would turn each ``-`` into a ``/`` unless the name is escaped."""
    described = [*tracked("roles/*/tasks/*.yml"), *HARDENED]
    assert [path for path in described if "%I" in path.read_text(encoding="utf-8")] == []
    starting = [*tracked("playbooks/*.yml"), *tracked("docs/*.md"), ROOT / "README.md"]
    text = "".join(path.read_text(encoding="utf-8") for path in starting)
    assert "systemd-escape" not in text


def test_any_component_name_is_a_valid_unit_instance() -> None:
    """Instances may have the characters of systemd.unit(5), without the escaping backslash."""
    allowed = set(string.ascii_letters + string.digits + ":_.-@")
    used = {chr(code) for code in range(128) if re.fullmatch(NAME.pattern, f"a{chr(code)}")}
    assert used <= allowed
