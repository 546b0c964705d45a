"""The ledger of a node survives what may happen to its file; a console loses no change."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.model.errors import DocumentError, StoreError
from plumbline.observe.changes import FILE, begun
from plumbline.store.facts import (
    collected_at,
    collected_ledgers,
    keep_bill,
    keep_collected,
    load_ledger,
)
from tests.package.observe.nodes import NOW, bill, condition, ledger

OLD, NEW = condition("kernel", "4.18"), condition("kernel", "5.14")


def test_bills_become_the_ledger_of_a_node(tmp_path: Path) -> None:
    assert keep_bill(tmp_path, bill(OLD)) == ""
    assert keep_bill(tmp_path, bill(NEW, day=1)) == ""
    assert load_ledger(str(tmp_path / FILE)) == ledger(bill(OLD), bill(NEW, day=1))
    assert (tmp_path / FILE).stat().st_mode & 0o007 == 0


def test_a_damaged_ledger_is_said_and_kept_under_another_name(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"schema": 1', encoding="utf-8")
    said = keep_bill(tmp_path, bill(OLD))
    assert "conditions.json is damaged" in said
    assert "conditions.json.damaged" in said
    assert (tmp_path / f"{FILE}.damaged").read_text(encoding="utf-8") == '{"schema": 1'
    assert load_ledger(str(tmp_path / FILE)) == begun(bill(OLD))


def test_a_link_of_a_stranger_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("precious", encoding="utf-8")
    (tmp_path / FILE).symlink_to(tmp_path / "elsewhere")
    assert "symbolic link" in keep_bill(tmp_path, bill(OLD))
    assert (tmp_path / "elsewhere").read_text(encoding="utf-8") == "precious"


def test_a_ledger_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        keep_bill(tmp_path / "gone", bill(OLD))


def test_a_console_keeps_what_a_node_that_begins_again_has_lost(tmp_path: Path) -> None:
    history = tmp_path / "history.sqlite"
    keep_collected(history, "oss1", ledger(bill(OLD), bill(NEW, day=1)).to_json())
    assert collected_at(history, "oss1") == NOW + 86400
    keep_collected(history, "oss1", begun(bill(condition("kernel", "6.1"), day=3)).to_json())
    ((found,), damaged) = collected_ledgers(history, ["oss1", "oss2"])
    assert [one.now for one in found.changes] == ["5.14", "6.1"]
    assert damaged == ()


@pytest.mark.parametrize(
    "sent", [None, [], {}, {"schema": 1}, begun(bill(OLD, node="x")).to_json()]
)
def test_what_is_no_ledger_of_the_node_replaces_nothing(tmp_path: Path, sent: object) -> None:
    history = tmp_path / "history.sqlite"
    keep_collected(history, "oss1", begun(bill(OLD)).to_json())
    with pytest.raises(DocumentError, match="ledger of conditions"):
        keep_collected(history, "oss1", sent)
    assert collected_ledgers(history, ["oss1", "oss2"])[0] == (begun(bill(OLD)),)


def test_a_damaged_copy_is_told_beside_the_others(tmp_path: Path) -> None:
    history = tmp_path / "history.sqlite"
    keep_collected(history, "oss1", begun(bill(OLD)).to_json())
    (tmp_path / "conditions" / "oss2.json").write_text("[]", encoding="utf-8")
    found, (damaged,) = collected_ledgers(history, ["oss1", "oss2"])
    assert [one.node for one in found] == ["oss1"]
    assert "oss2.json" in damaged
    keep_collected(history, "oss2", begun(bill(OLD, node="oss2")).to_json())
    assert len(collected_ledgers(history, ["oss1", "oss2"])[0]) == 2
    assert (tmp_path / "conditions" / "oss2.json.damaged").read_text(encoding="utf-8") == "[]"
