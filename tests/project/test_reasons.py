"""The tables of docs/verdicts.md have all reasons, in the order of the rules."""

from __future__ import annotations

import re

from plumbline.judge.absence import WITHOUT_RATE
from plumbline.judge.rules import RULES
from plumbline.model.verdict import Reason
from tests.project.repository import ROOT


def documented() -> list[list[str]]:
    """Return the reasons of each table that begins with them, without duplicates."""
    text = (ROOT / "docs" / "verdicts.md").read_text(encoding="utf-8")
    tables = re.findall(r"^\| reason \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    return [
        list(dict.fromkeys(re.findall(r"^\| `(\w+)` \|", rows, re.MULTILINE))) for rows in tables
    ]


def test_the_table_of_rules_has_the_order_of_the_rules() -> None:
    before = [Reason.HANGS, Reason.NEVER_MEASURED, Reason.AHEAD, Reason.STALE, *WITHOUT_RATE]
    assert documented()[0] == [
        reason.value for reason in (*before, *(rule.reason for rule in RULES))
    ]


def test_each_reason_is_in_one_of_the_tables() -> None:
    named = [name for table in documented() for name in table]
    assert named == [reason.value for reason in Reason]
