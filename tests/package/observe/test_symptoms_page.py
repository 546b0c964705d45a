"""The page of the symptoms shows the rules of all collectors."""

from __future__ import annotations

from plumbline.observe.gather import COLLECTORS
from tests.package.observe.symptoms_page import PAGE, RULES, table


def test_the_page_has_the_table_of_the_rules() -> None:
    assert table() in PAGE.read_text(encoding="utf-8"), (
        "write it by: python -m tests.package.observe.symptoms_page"
    )


def test_each_collector_has_rules() -> None:
    assert set(RULES) == set(COLLECTORS)
