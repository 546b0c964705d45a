"""The generated tables of docs/ and CONTRIBUTING.md are up to date."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.project.generated import PAGES, TABLES, generated


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_has_the_tables_of_the_source(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text == generated(text), "write them again with python -m tests.project.generated"


def test_each_table_is_on_a_page() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    assert [name for name in TABLES if f"<!-- generated: {name} -->" not in text] == []
