"""A written document says what was meant, keeps what people wrote, and is there or not there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from plumbline.model.errors import DocumentError, StoreError
from plumbline.site.inventory import read_document, write_document

SAYING = "Written here."
NOTES = {"a": {"z": "1 MB/s", "b": "yes", "none": {}}}
TEXT = "---\n# Written here.\na:\n  z: 1 MB/s\n  b: 'yes'\n  none: {}\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "notes.yml"


def written(path: Path, before: str, document: dict[str, Any] = NOTES) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text(before, encoding="utf-8")
    write_document(path, document, SAYING)
    return path.read_text(encoding="utf-8")


def test_a_document_is_written_as_it_is_read(path: Path) -> None:
    assert write_document(path, NOTES, SAYING)
    assert path.read_text(encoding="utf-8") == TEXT
    assert read_document(path, "a") == NOTES["a"]
    assert os.listdir(path.parent) == ["notes.yml"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_document_that_says_it_already_is_not_touched(path: Path) -> None:
    write_document(path, NOTES, SAYING)
    before = path.stat()
    assert not write_document(path, NOTES, SAYING)
    assert path.stat().st_ino == before.st_ino


@pytest.mark.slow
@given(
    st.recursive(
        st.text(st.characters(exclude_categories=["Cs"])) | st.integers(),
        lambda inner: st.dictionaries(st.text("ab #:'\"\n-", min_size=1), inner),
    )
)
@example("0- ''#")
def test_any_text_comes_back_as_it_was(tmp_path_factory: Any, value: Any) -> None:
    path = tmp_path_factory.mktemp("any") / "notes.yml"
    write_document(path, {"a": value}, SAYING)
    text = path.read_text(encoding="utf-8")
    assert yaml.safe_load(text) == {"a": value}
    assert not write_document(path, {"a": value}, SAYING)


def test_one_value_takes_one_line_however_long(path: Path) -> None:
    write_document(path, {"a": {"reason": "because of " * 100, "b": "two\nlines"}}, SAYING)
    assert len(path.read_text(encoding="utf-8").splitlines()) == 5


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# Ask ada first.\n---\na: {}\n", TEXT.replace("---\n", "---\n# Ask ada first.\n")),
        (
            "---\n\n# Ask ada.\n# Or bob.\na: {}\n",
            TEXT.replace("---\n", "---\n# Ask ada.\n# Or bob.\n"),
        ),
        ("", TEXT),
        (TEXT.replace("1 MB/s", "'ticket #12'"), TEXT),
        ('---\na: {b: "c # d"}\n', TEXT),
        ("---\na: {b: c#d}\n", TEXT),
    ],
)
def test_comments_before_the_document_stay(path: Path, before: str, after: str) -> None:
    assert written(path, before) == after
    assert written(path, after) == after


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ("---\na:\n  # a slow disk\n  b: c\n", 3),
        ("---\n# kept\na:\n  b: 'c'  # a slow disk\n", 4),
        ("---\na: {}\n# the end\n", 3),
        ("---\na: it's  # 'slow\n", 2),
        ("---\na: it's 'slow # it's'\n", 2),
    ],
)
def test_a_comment_that_would_be_lost_is_refused(path: Path, before: str, line: int) -> None:
    with pytest.raises(DocumentError, match=rf"notes\.yml line {line} has a comment that would"):
        written(path, before)
    assert path.read_text(encoding="utf-8") == before


def test_a_document_keeps_its_mode(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("old", encoding="utf-8")
    path.chmod(0o640)
    write_document(path, NOTES, SAYING)
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone makes what belongs to others")
def test_a_document_of_root_belongs_to_the_owner_of_its_folder(path: Path) -> None:
    path.parent.mkdir()
    os.chown(path.parent, 64001, 64002)
    write_document(path, NOTES, SAYING)
    assert (path.stat().st_uid, path.stat().st_gid) == (64001, 64002)


def test_a_link_stays_a_link(path: Path) -> None:
    path.parent.mkdir()
    elsewhere = path.parent / "elsewhere.yml"
    path.symlink_to(elsewhere.name)
    write_document(path, NOTES, SAYING)
    assert path.is_symlink()
    assert elsewhere.read_text(encoding="utf-8") == TEXT


def test_a_document_that_cannot_be_replaced_stays(path: Path) -> None:
    (path / "kept").mkdir(parents=True)
    with pytest.raises(StoreError, match=r"notes\.yml cannot be written: .*; nothing changed"):
        write_document(path, NOTES, SAYING)
    assert os.listdir(path.parent) == ["notes.yml"]
    assert (path / "kept").is_dir()
