"""A look is kept whole, or the one before stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.trend import NodeClock
from plumbline.observe.node import EarlierLook, Past
from plumbline.observe.symptom import Look, Report, SiteSymptoms
from plumbline.store.collection import ConsoleHistory as Collection
from plumbline.store.facts import Saved, collected_symptoms, load_symptoms, save_symptoms

SAVED = Saved(
    Report("oss1", 100.0, (Look("md", 2), Look("zfs", 0, unavailable="zpool is missing"))),
    Past(None, EarlierLook(100.0, {"errors": 3.0}), {"link": 1000.0}),
)


def test_what_was_saved_is_read_back_and_not_open_to_all(tmp_path: Path) -> None:
    path = tmp_path / "symptoms.json"
    save_symptoms(path, SAVED)
    assert load_symptoms(str(path)) == SAVED
    assert path.stat().st_mode & 0o777 == 0o640
    assert [file.name for file in tmp_path.iterdir()] == ["symptoms.json"]


@pytest.mark.parametrize("cut", [0, 1, 40, 100])
def test_a_file_that_was_cut_is_one_sentence(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "symptoms.json"
    save_symptoms(path, SAVED)
    path.write_text(path.read_text(encoding="utf-8")[:cut], encoding="utf-8")
    with pytest.raises(DocumentError, match="look again with: plumbline symptoms --save"):
        load_symptoms(str(path))


def test_a_file_without_its_past_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "symptoms.json"
    path.write_text('{"schema": 1, "node": "oss1", "looked_at": 1, "looks": []}', encoding="utf-8")
    with pytest.raises(DocumentError, match="damaged"):
        load_symptoms(str(path))


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="belongs to the user that runs this"):
        save_symptoms(tmp_path / "missing" / "symptoms.json", SAVED)


def test_a_look_that_was_collected_is_as_old_as_the_clock_of_its_node_says(tmp_path: Path) -> None:
    history = tmp_path / "history.sqlite"
    folder = tmp_path / "symptoms"
    folder.mkdir()
    for node in ("oss1", "oss2"):
        text = json.dumps({**SAVED.report.to_json(), "looked_at": 1000.0})
        (folder / f"{node}.json").write_text(text, encoding="utf-8")
    with Collection(history) as collection:
        collection.clock(NodeClock("oss1", 1e5, -99_000.0, 1.0))
    found = collected_symptoms(history, ("oss1", "oss2"), 1e5)
    assert found.left_out == ("oss2 (its last look is 28 h old)",)


def test_without_any_look_nothing_is_opened(tmp_path: Path) -> None:
    assert collected_symptoms(tmp_path / "history.sqlite", (), 1e5) == SiteSymptoms()
    assert list(tmp_path.iterdir()) == []
