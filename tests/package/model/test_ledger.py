"""Ledger of a node: what counts as a change of a condition, and how long it is kept."""

from __future__ import annotations

import itertools
import json
from typing import Any, Mapping

import pytest
import yaml

from plumbline.model.codec import read_document, write
from plumbline.model.errors import DocumentError
from plumbline.model.ledger import Change, Ledger
from plumbline.model.units import DAY_S
from tests.package.model.ledgers import NOW, bill, condition, ledger
from tests.package.recorded import data

# the loader in C refuses half of a character
FILE = yaml.safe_load(data("conditions/changes.yml"))
OLD, NEW = condition("kernel", "4.18"), condition("kernel", "5.14")


@pytest.mark.parametrize("case", FILE["ledgers"], ids=lambda case: case["case"])
def test_another_value_of_a_condition_is_a_change(case: Mapping[str, Any]) -> None:
    node_ledger = ledger(
        *(
            bill(*itertools.starmap(condition, values.items()), day=day)
            for day, values in case["looks"]
        )
    )
    changes = [
        [change.name, change.then, change.now, *days_of(change)] for change in node_ledger.changes
    ]
    assert (changes, node_ledger.missing) == (case["changes"], ())


def days_of(change: Change) -> tuple[float, float]:
    return (change.before - NOW) / DAY_S, (change.at - NOW) / DAY_S


def test_a_value_that_always_changes_is_no_setting() -> None:
    bills = [bill(condition("queue depth", str(number)), day=number / 24) for number in range(12)]
    node_ledger = ledger(*bills)
    assert len(node_ledger.changes) == 4
    assert node_ledger.notes == (
        "software queue depth changes too often for a setting: its changes are not listed",
    )


def test_a_value_that_changes_every_few_days_is_no_setting() -> None:
    bills = [bill(condition("queue depth", str(number)), day=number) for number in range(25)]
    assert len(ledger(*bills).changes) == 12


def test_changes_are_kept_in_limited_number() -> None:
    bills = [
        bill(*(condition(f"p{name}", str(day)) for name in range(100)), day=3 * day)
        for day in range(30)
    ]
    assert len(ledger(*bills).changes) == 2000


def test_a_ledger_is_read_back_as_it_was_written() -> None:
    node_ledger = ledger(bill(OLD, condition("OFED", "24")), bill(NEW, day=1))
    assert read_document(Ledger, json.loads(json.dumps(write(node_ledger)))) == node_ledger


def test_a_copy_keeps_the_changes_that_the_node_lost() -> None:
    older = ledger(bill(OLD), bill(NEW, day=1))
    again = ledger(bill(NEW, day=3), bill(condition("kernel", "6.1"), day=4))
    merged = again.succeeding(older)
    assert [(change.then, change.now) for change in merged.changes] == [
        ("4.18", "5.14"),
        ("5.14", "6.1"),
    ]
    assert merged.since == NOW
    assert again.succeeding(merged).changes == merged.changes


def test_a_reinstalled_node_has_changed_since_the_copy() -> None:
    older = ledger(bill(OLD), bill(OLD, day=1))
    (change,) = bill(NEW, day=3).succeeding(older).changes
    assert (change.before, change.at, change.now) == (NOW + DAY_S, NOW + 3 * DAY_S, "5.14")


def test_the_same_ledger_again_adds_nothing() -> None:
    node_ledger = ledger(bill(OLD), bill(NEW, day=1))
    assert node_ledger.succeeding(node_ledger) == node_ledger


@pytest.mark.parametrize("damage", FILE["damages"], ids=str)
def test_a_damaged_ledger_is_refused(damage: Mapping[str, Any]) -> None:
    with pytest.raises(DocumentError, match="ledger of conditions"):
        read_document(Ledger, {**write(bill(OLD)), **damage})


def test_an_endless_ledger_is_refused() -> None:
    endless = {"conditions": [["software", "", "k", "1", "node"]] * 10_001}
    with pytest.raises(DocumentError, match="ledger of conditions"):
        read_document(Ledger, {**write(bill(OLD)), **endless})
