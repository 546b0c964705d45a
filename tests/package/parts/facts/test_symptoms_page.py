"""The page of symptoms shows the rules of all collectors, and each collector has a kind."""

from __future__ import annotations

from plumbline.model.symptom import KIND_OF, KINDS
from plumbline.parts.facts.gather import COLLECTORS, DAILY
from tests.package.parts.facts.symptoms_page import PAGE, RULES, table


def test_the_page_has_the_table_of_the_rules() -> None:
    assert table() in PAGE.read_text(encoding="utf-8"), (
        "write it by: python -m tests.package.parts.facts.symptoms_page"
    )


def test_each_collector_has_rules() -> None:
    assert set(RULES) == {*COLLECTORS, *DAILY}


def test_every_collector_has_a_kind_and_every_kind_a_collector() -> None:
    assert set(KIND_OF) == {*COLLECTORS, *DAILY}
    assert tuple(dict.fromkeys(KIND_OF.values())) == KINDS
