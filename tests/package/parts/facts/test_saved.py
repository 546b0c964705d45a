"""The last look at symptoms is replaced as a whole, and damage is one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.symptom import Look, Report
from plumbline.parts.facts.node import EarlierLook, Past
from plumbline.parts.facts.saved import SavedLook, load_symptoms, save_symptoms

SAVED = SavedLook(
    Report("oss1", 100.0, (Look("md", 2), Look("zfs", 0, unavailable="zpool is missing"))),
    Past(None, EarlierLook(100.0, {"errors": 3.0}), {"link": 1000.0}),
)


def test_a_saved_look_is_read_back_and_not_world_readable(tmp_path: Path) -> None:
    path = tmp_path / "symptoms.json"
    save_symptoms(path, SAVED)
    assert load_symptoms(str(path)) == SAVED
    assert path.stat().st_mode & 0o777 == 0o640
    assert [file.name for file in tmp_path.iterdir()] == ["symptoms.json"]


@pytest.mark.parametrize("cut", [0, 1, 40, 100])
def test_a_truncated_file_is_one_sentence(tmp_path: Path, cut: int) -> None:
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


def test_saving_into_a_missing_folder_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="belongs to the user that runs this"):
        save_symptoms(tmp_path / "missing" / "symptoms.json", SAVED)
