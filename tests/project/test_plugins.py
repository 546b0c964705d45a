"""Each Ansible plug-in has its unit test, which ansible-test runs."""

from __future__ import annotations

from tests.project.repository import ROOT, tracked


def test_each_plugin_has_a_unit_test() -> None:
    plugins = [
        path.relative_to(ROOT / "plugins")
        for path in tracked("plugins/*/*.py")
        if path.name != "__init__.py"
    ]
    missing = [
        str(path)
        for path in plugins
        if not (ROOT / "tests/unit/plugins" / path.parent / f"test_{path.name}").is_file()
    ]
    assert missing == []
