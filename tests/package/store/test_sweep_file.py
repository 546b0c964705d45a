"""The file of a sweep."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.model.errors import DocumentError, StoreError
from plumbline.parallel.sweep import Ledger, Point
from plumbline.store.sweep_file import SweepFile
from tests.package.parallel.points import MIB, done


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    file = SweepFile(tmp_path / "state" / "sweep.json")
    with pytest.raises(FileNotFoundError):
        file.load()
    ledger = Ledger({"test": "ost"}, 10**9, (done(Point(2, MIB), 100, 200),), 5, 20.0)
    file.save(ledger)
    assert file.load() == ledger
    assert [path.name for path in file.path.parent.iterdir()] == ["sweep.json"]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"schema": 1}'])
def test_a_damaged_file_is_named_with_the_remedy(tmp_path: Path, text: str) -> None:
    path = tmp_path / "sweep.json"
    path.write_text(text)
    with pytest.raises(DocumentError, match=r"sweep\.json: .*--again"):
        SweepFile(path).load()


def test_a_state_that_cannot_be_kept_is_said(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("no folder")
    with pytest.raises(StoreError, match="cannot be written"):
        SweepFile(tmp_path / "state" / "sweep.json").save(Ledger({}, 1))
