"""Plug-ins for Ansible are documented, tested and thin, and inventories use them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.project.repository import ROOT, document, tracked
from tests.project.test_layers import imported

KINDS = {"inventory": "inventory", "module": "modules", "filter": "filter"}
PLUGINS = [path for folder in KINDS.values() for path in tracked(f"plugins/{folder}/*.py")]
PARTS = tracked("plugins/*.py")

each_plugin = pytest.mark.parametrize("path", PLUGINS, ids=lambda path: path.stem)


def test_the_page_names_each_plugin_with_its_kind() -> None:
    page = (ROOT / "docs/roles.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\w+?)s? ((?:`\w+`(?:, )?)+) \|", page, re.M)
    named = {
        (KINDS[kind], name)
        for kind, names in rows
        if kind in KINDS
        for name in re.findall(r"\w+", names)
    }
    # an action plug-in is documented by the module of its name
    assert named == {(path.parent.name, path.stem) for path in PLUGINS}


@each_plugin
def test_a_plugin_has_tests_for_ansible_test(path: Path) -> None:
    kind, name = path.parent.name, path.stem
    # the module of an action plug-in is its documentation
    units = [ROOT / f"tests/unit/plugins/{folder}/test_{name}.py" for folder in (kind, "action")]
    assert (
        any(unit.is_file() for unit in units)
        or (ROOT / "tests/integration/targets" / name).is_dir()
    )


@pytest.mark.parametrize("path", PARTS, ids=lambda path: path.stem)
def test_no_plugin_imports_the_package(path: Path) -> None:
    assert "plumbline" not in imported(path)


@pytest.mark.parametrize(
    "folder",
    [path.parents[2] for path in tracked("*/group_vars/all/topology.yml")],
    ids=lambda folder: folder.name,
)
def test_each_inventory_has_the_groups_of_its_plan(folder: Path) -> None:
    assert document(folder / "plumbline.yml")["plugin"] == "hpcops.plumbline.plumbline"
    # Ansible reads the files of a folder in the order of their names
    assert max(path.name for path in folder.glob("*.yml")) == "plumbline.yml"


def test_roles_have_no_control_flow_outside_of_templates() -> None:
    files = [
        str(path.relative_to(ROOT))
        for part in ("tasks", "vars", "defaults", "handlers", "meta")
        for path in tracked(f"roles/*/{part}/*.yml")
        if "{%" in path.read_text(encoding="utf-8")
    ]
    assert files == []
