"""What is a change, what is none, and how much of it is kept."""

from __future__ import annotations

import json

import pytest

from plumbline.model.errors import DocumentError
from plumbline.model.units import DAY_S
from plumbline.observe.changes import Ledger, begun
from tests.package.observe.nodes import NOW, bill, condition, ledger

OLD, NEW = condition("kernel", "4.18"), condition("kernel", "5.14")


def test_the_first_bill_changes_nothing() -> None:
    assert begun(bill(OLD)).changes == ()


def test_another_value_is_a_change_with_its_date() -> None:
    (change,) = ledger(bill(OLD), bill(NEW, day=1)).changes
    assert (change.name, change.then, change.now) == ("kernel", "4.18", "5.14")
    assert (change.before, change.at) == (NOW, NOW + DAY_S)


def test_what_comes_or_goes_is_no_change() -> None:
    found = ledger(bill(OLD), bill(day=1), bill(OLD, condition("OFED", "24.10"), day=2))
    assert found.changes == ()


def test_what_was_missing_meanwhile_changed_since_it_was_last_seen() -> None:
    (change,) = ledger(bill(OLD), bill(day=1), bill(day=2), bill(NEW, day=3)).changes
    assert (change.before, change.at) == (NOW, NOW + 3 * DAY_S)


def test_what_was_missing_for_months_is_forgotten() -> None:
    found = ledger(bill(OLD), bill(day=80), bill(day=100), bill(NEW, day=101))
    assert (found.changes, found.missing) == ((), ())


def test_what_changes_all_the_time_is_no_setting() -> None:
    bills = [bill(condition("queue depth", str(number)), day=number / 24) for number in range(12)]
    found = ledger(*bills)
    assert len(found.changes) == 4
    assert found.notes == (
        "software queue depth changes too often for a setting: its changes are not listed",
    )


def test_what_changes_every_few_days_is_no_setting_either() -> None:
    bills = [bill(condition("queue depth", str(number)), day=number) for number in range(25)]
    assert len(ledger(*bills).changes) == 12


def test_changes_are_kept_for_a_limited_time_and_in_limited_number() -> None:
    found = ledger(bill(OLD), bill(NEW, day=1), bill(NEW, day=402))
    assert found.changes == ()
    bills = [
        bill(*(condition(f"p{name}", str(day)) for name in range(100)), day=3 * day)
        for day in range(30)
    ]
    assert len(ledger(*bills).changes) == 2000


def test_a_ledger_is_read_back_as_it_was_written() -> None:
    found = ledger(bill(OLD, condition("OFED", "24")), bill(NEW, day=1))
    assert Ledger.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_a_copy_keeps_the_changes_that_the_node_has_lost() -> None:
    older = ledger(bill(OLD), bill(NEW, day=1))
    again = ledger(bill(NEW, day=3), bill(condition("kernel", "6.1"), day=4))
    found = again.succeeding(older)
    assert [(one.then, one.now) for one in found.changes] == [("4.18", "5.14"), ("5.14", "6.1")]
    assert found.since == NOW
    assert again.succeeding(found).changes == found.changes


def test_a_node_that_was_installed_again_changed_since_the_copy() -> None:
    older = ledger(bill(OLD), bill(OLD, day=1))
    (change,) = begun(bill(NEW, day=3)).succeeding(older).changes
    assert (change.before, change.at, change.now) == (NOW + DAY_S, NOW + 3 * DAY_S, "5.14")


def test_the_same_ledger_again_adds_nothing() -> None:
    found = ledger(bill(OLD), bill(NEW, day=1))
    assert found.succeeding(found) == found


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("schema", 2),
        ("node", 7),
        ("taken_at", "now"),
        ("changes", {}),
        ("changes", [[1, 2, "software", "", "kernel", "4", "5"]]),
        ("changes", [[NOW, NOW, "software", "", "kernel", "4", "\x1b[2J", "node"]]),
        ("changes", [["x", NOW, "software", "", "kernel", "4", "5", "node"]]),
        ("conditions", [["weather", "", "rain", "1", "node"]]),
        ("conditions", [["software", "", "kernel", "x" * 1000, "node"]]),
        ("conditions", [["software", "", "kernel", 5, "node"]]),
        ("conditions", [["software", "", "kernel", "\ud800", "node"]]),
        ("conditions", [["software", "", "k", "1", "node"]] * 10_001),
        ("missing", [[]]),
        ("missing", [["software", "", "kernel", "5", "node"]]),
        ("notes", [1]),
    ],
)
def test_what_no_node_writes_is_refused_in_a_sentence(key: str, value: object) -> None:
    with pytest.raises(DocumentError, match="ledger of conditions"):
        Ledger.from_json({**begun(bill(OLD)).to_json(), key: value})
