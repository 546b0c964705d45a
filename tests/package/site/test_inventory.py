"""Documents of an inventory: read strictly, written with one value per line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from plumbline.model.errors import DocumentError, StoreError
from plumbline.site.inventory import (
    plan_of,
    read_document,
    read_inventory,
    read_yaml,
    write_document,
)
from tests.package.cli.driver import SOURCE, inventory
from tests.package.recorded import table
from tests.processes import may_act_for_others, run_to_end

FILE = table("inventory.yml")

# --- Reading and refusing documents of an inventory.


def test_a_folder_and_its_hosts_file_are_the_same_inventory(tmp_path: Path) -> None:
    folder = inventory(tmp_path)
    assert read_inventory(folder) == read_inventory(f"{folder}/hosts.yml")
    assert read_inventory(folder).topology["site"] == "lab"


def test_policy_and_baselines_may_be_missing(tmp_path: Path) -> None:
    documents = read_inventory(inventory(tmp_path))
    assert (documents.policy, documents.baselines) == ({}, {})
    assert plan_of(documents).site == "lab"


def test_an_inventory_without_topology_is_refused_with_the_expected_path(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"no group_vars/all/topology\.yml; describe"):
        read_inventory(str(tmp_path))


def test_a_missing_inventory_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"there is no inventory .*nowhere; give its folder"):
        read_inventory(str(tmp_path / "nowhere"))


LARGE = [
    (f"a: {'9' * 5000}\n", r"line 1 is no valid YAML: '9{63} is no whole number"),
    (f"a: {'[' * 150}\n", r"line 1 is no valid YAML: it is more than 100 levels deep"),
    # libyaml 0.2.6 has a limit of its own, which it meets first
    (f"a: {'[' * 200_000}\n", r"line 1 is no valid YAML: .*(more than 100 levels|nesting depth)"),
]


@pytest.mark.parametrize(
    ("text", "message"), [*FILE["damaged"], *LARGE], ids=lambda text: text[:40]
)
def test_a_damaged_file_is_named_with_the_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "notes.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DocumentError, match=message):
        read_document(path, "a")


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.yml"
    path.write_bytes(b"a: \xff\xfe\n")
    with pytest.raises(DocumentError, match="is no UTF-8 text"):
        read_document(path, "a")


def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"cannot be read: Is a directory"):
        read_document(tmp_path, "a")


def test_a_mapping_as_a_key_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.yml"
    path.write_text("a:\n  ? {x: 1}\n  : 2\n", encoding="utf-8")
    with pytest.raises(DocumentError, match="line 2 is no valid YAML: found unhashable key"):
        read_document(path, "a")


def plan_without_site_packages(folder: Path, *path: Path) -> subprocess.CompletedProcess[str]:
    """Run ``plumbline plan`` on a Python with only the standard library and ``path``."""
    return run_to_end(
        *(sys.executable, "-S", "-m", "plumbline.cli", "plan", "-i", inventory(folder)),
        env={"PYTHONPATH": os.pathsep.join(map(str, (SOURCE, *path)))},
    )


def test_an_old_pydantic_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pydantic.py").write_text("VERSION = '1.10.4'\n", encoding="utf-8")
    (tmp_path / "yaml").symlink_to(Path(yaml.__file__).parent)
    ended = plan_without_site_packages(tmp_path / "site", tmp_path)
    assert ended.returncode == 69
    assert "pydantic is too old on this host; plumbline plan needs" in ended.stderr


@pytest.mark.parametrize(
    "text",
    ["a: b", "- i", "", "a: {b: [1, 2.5, yes, ~]}", "a: &b {c: 1}\nd: {<<: *b}", "? a\n: b"],
    ids=repr,
)
def test_usual_documents_are_read(text: str) -> None:
    assert read_yaml(text) == yaml.safe_load(text)


# --- Writing a document keeps comments, and replaces the file completely or not at all.


HEADER = "Written here."
NOTES = {"a": {"z": "1 MB/s", "b": "yes", "none": {}}}
TEXT = "---\n# Written here.\na:\n  z: 1 MB/s\n  b: 'yes'\n  none: {}\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "notes.yml"


def rewrite(path: Path, before: str, document: dict[str, Any] = NOTES) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text(before, encoding="utf-8")
    write_document(path, document, HEADER)
    return path.read_text(encoding="utf-8")


def test_an_unchanged_document_is_not_rewritten(path: Path) -> None:
    write_document(path, NOTES, HEADER)
    before = path.stat()
    assert not write_document(path, NOTES, HEADER)
    assert path.stat().st_ino == before.st_ino


@pytest.mark.slow
@given(
    st.recursive(
        st.text(st.characters(exclude_categories=["Cs"])) | st.integers(),
        lambda inner: st.dictionaries(st.text("ab #:'\"\n-", min_size=1), inner),
    )
)
@example("0- ''#")
def test_any_text_survives_a_round_trip(tmp_path_factory: Any, value: Any) -> None:
    path = tmp_path_factory.mktemp("any") / "notes.yml"
    write_document(path, {"a": value}, HEADER)
    text = path.read_text(encoding="utf-8")
    assert yaml.safe_load(text) == {"a": value}
    assert not write_document(path, {"a": value}, HEADER)


def test_each_value_takes_one_line(path: Path) -> None:
    write_document(path, {"a": {"reason": "because of " * 100, "b": "two\nlines"}}, HEADER)
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
    assert rewrite(path, before) == after
    assert rewrite(path, after) == after


@pytest.mark.parametrize(("before", "line"), FILE["lost"])
def test_a_comment_that_would_be_lost_is_refused(path: Path, before: str, line: int) -> None:
    with pytest.raises(DocumentError, match=rf"notes\.yml line {line} has a comment that would"):
        rewrite(path, before)
    assert path.read_text(encoding="utf-8") == before


def test_a_document_keeps_its_mode(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("old", encoding="utf-8")
    path.chmod(0o640)
    write_document(path, NOTES, HEADER)
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not may_act_for_others(), reason="root alone makes what belongs to others")
def test_a_document_written_by_root_belongs_to_the_owner_of_its_folder(path: Path) -> None:
    path.parent.mkdir()
    os.chown(path.parent, 64001, 64002)
    write_document(path, NOTES, HEADER)
    assert (path.stat().st_uid, path.stat().st_gid) == (64001, 64002)


def test_a_link_stays_a_link(path: Path) -> None:
    path.parent.mkdir()
    elsewhere = path.parent / "elsewhere.yml"
    path.symlink_to(elsewhere.name)
    write_document(path, NOTES, HEADER)
    assert path.is_symlink()
    assert elsewhere.read_text(encoding="utf-8") == TEXT


def test_a_document_that_cannot_be_replaced_is_unchanged(path: Path) -> None:
    (path / "kept").mkdir(parents=True)
    with pytest.raises(
        StoreError, match=r"notes\.yml cannot be read: Is a directory; nothing changed"
    ):
        write_document(path, NOTES, HEADER)
    assert os.listdir(path.parent) == ["notes.yml"]
    assert (path / "kept").is_dir()


def test_an_inventory_named_by_another_file_is_refused_under_that_name(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text("", encoding="utf-8")
    with pytest.raises(DocumentError, match=r"README\.md has no group_vars/all/topology\.yml"):
        read_inventory(str(path))
