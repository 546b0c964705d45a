"""Files that are replaced as a whole, and facts of nodes in them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from grp import getgrnam
from pathlib import Path

import pytest

from plumbline.model.codec import write
from plumbline.model.errors import DocumentError, StoreError
from plumbline.model.ledger import FILE
from plumbline.model.symptom import Look, Report, SiteSymptoms
from plumbline.model.trend import NodeClock
from plumbline.store.collection import ConsoleHistory as Collection
from plumbline.store.database import Store, keep_owner
from plumbline.store.facts import (
    collected_at,
    collected_ledgers,
    collected_symptoms,
    keep_collected,
    keep_conditions,
    load_ledger,
)
from plumbline.store.replacing import make_folder, replace, replacing
from tests.package.model.ledgers import NOW, bill, condition, ledger
from tests.processes import may_act_for_others

# --- Replacing files as a whole, even by several processes at once.


SOURCE = Path(__file__).parents[3] / "src"
WRITE = """
import sys
from pathlib import Path
from plumbline.store.replacing import replace
for _ in range(50):
    replace(Path(sys.argv[1]), sys.argv[2] * 100_000)
"""


def test_of_two_simultaneous_writes_one_remains_whole(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITE, str(path), letter],
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            stderr=subprocess.PIPE,
        )
        for letter in "ab"
    ]
    assert [writer.communicate()[1] for writer in writers] == [b"", b""]
    assert path.read_text() in ("a" * 100_000, "b" * 100_000)
    assert list(tmp_path.iterdir()) == [path]


def test_after_an_error_only_the_old_file_is_left(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    replace(path, "old")
    with pytest.raises(UnicodeEncodeError):
        replace(path, "\udc80")
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]
    assert path.read_text() == "old"


@pytest.mark.parametrize("name", ["daemon", "a missing group"])
def test_a_file_is_given_to_the_group_of_the_checks_if_possible(tmp_path: Path, name: str) -> None:
    path = tmp_path / "state.json"
    before = path.parent.stat().st_gid
    replace(path, "{}", group=name)
    possible = name == "daemon" and may_act_for_others()
    assert path.stat().st_gid == (getgrnam(name).gr_gid if possible else before)
    assert path.stat().st_mode & 0o777 == 0o640


def test_temporary_files_of_dead_processes_are_removed_and_of_living_ones_kept(
    tmp_path: Path,
) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    for process in (dead.pid, os.getppid()):
        (tmp_path / f".a.json.{process}.new").touch()
    (tmp_path / ".b.json.1.new").touch()
    with replacing(tmp_path / "a.json"):
        pass
    names = {file.name for file in tmp_path.iterdir()}
    assert names == {"a.json", f".a.json.{os.getppid()}.new", ".b.json.1.new"}


def test_what_is_put_in_place_of_the_new_file_is_not_written_to(tmp_path: Path) -> None:
    precious, path = tmp_path / "precious", tmp_path / "page.html"
    precious.write_text("of root")
    for put in (os.symlink, os.link):
        with replacing(path) as descriptor:
            (new,) = tmp_path.glob(".page.html.*")
            new.unlink()
            put(precious, new)
            os.write(descriptor, b"page")
        assert (os.stat(precious).st_ino, precious.read_text()) == (path.stat().st_ino, "of root")
        path.unlink()


needs_root = pytest.mark.skipif(not may_act_for_others(), reason="only root can give files away")


@needs_root
def test_the_new_file_of_root_has_its_owner_before_its_name(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    with replacing(tmp_path / "page.html") as descriptor:
        assert os.fstat(descriptor).st_uid == 65534
        assert not (tmp_path / "page.html").exists()
    assert (tmp_path / "page.html").stat().st_gid == 65534


@needs_root
def test_root_writes_no_file_into_a_folder_behind_a_link_of_another_user(tmp_path: Path) -> None:
    elsewhere, link = tmp_path / "elsewhere", tmp_path / "conditions"
    elsewhere.mkdir()
    link.symlink_to(elsewhere)
    replace(link / "oss1.json", "of root's own link")
    os.chown(link, 65534, 65534, follow_symlinks=False)
    with pytest.raises(NotADirectoryError):
        replace(link / "oss2.json", "text")
    assert [file.name for file in elsewhere.iterdir()] == ["oss1.json"]


@needs_root
def test_a_folder_that_root_makes_belongs_to_the_owner_of_the_one_above(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, 65534)
    for _ in range(2):
        make_folder(tmp_path / "conditions")
        assert (tmp_path / "conditions").stat().st_uid == 65534


def test_an_existing_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    precious, path = tmp_path / "precious", tmp_path / "page.html"
    precious.write_text("of root")
    (tmp_path / f".page.html.{os.getpid()}.new").symlink_to(precious)
    replace(path, "page")
    assert (precious.read_text(), path.read_text()) == ("of root", "page")


@needs_root
@pytest.mark.parametrize("kind", ["link", "hard link"])
def test_root_does_not_give_away_a_foreign_file_in_place_of_its_own(
    tmp_path: Path, kind: str
) -> None:
    precious, own = tmp_path / "precious", tmp_path / "own"
    precious.write_text("of root")
    precious.chmod(0o600)
    own.mkdir()
    os.chown(own, 65534, 65534)
    new = own / "history.sqlite"
    if kind == "link":
        new.symlink_to(precious)
    else:
        os.link(precious, new)
    with pytest.raises(OSError, match="no plain file with one name"):
        keep_owner(new, 0o640)
    assert (precious.stat().st_uid, precious.stat().st_mode & 0o777) == (0, 0o600)


@pytest.mark.skipif(not may_act_for_others(), reason="only root would follow the link")
def test_root_creates_no_history_through_a_link_of_another_user(tmp_path: Path) -> None:
    elsewhere, own = tmp_path / "elsewhere", tmp_path / "own"
    own.mkdir()
    path = own / "history.sqlite"
    path.symlink_to(elsewhere)
    os.chown(path, 65534, 65534, follow_symlinks=False)
    with pytest.raises(StoreError, match="symbolic link that root has not made"):
        Store(path)
    assert not elsewhere.exists()


@pytest.mark.parametrize("kind", ["pipe", "link to a pipe", "folder", "root"])
def test_only_plain_files_are_replaced(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "there"
    if kind == "folder":
        path.mkdir()
    elif kind == "root":
        path = Path("/")
    else:
        os.mkfifo(tmp_path / "pipe")
        path.symlink_to(tmp_path / "pipe")
        path = path if kind == "link to a pipe" else tmp_path / "pipe"
    before = path.lstat().st_mode
    with pytest.raises(StoreError, match="is no plain file; nothing changed"):
        replace(path, "text")
    assert path.lstat().st_mode == before


# --- Looks and ledgers of nodes survive damage to their files.


OLD, NEW = condition("kernel", "4.18"), condition("kernel", "5.14")


def test_bills_form_the_ledger_of_a_node(tmp_path: Path) -> None:
    assert keep_conditions(tmp_path, bill(OLD)) == ""
    assert keep_conditions(tmp_path, bill(NEW, day=1)) == ""
    assert load_ledger(str(tmp_path / FILE)) == ledger(bill(OLD), bill(NEW, day=1))
    assert (tmp_path / FILE).stat().st_mode & 0o007 == 0


def test_a_damaged_ledger_is_reported_and_kept_under_another_name(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('{"schema": 1', encoding="utf-8")
    sentence = keep_conditions(tmp_path, bill(OLD))
    assert "conditions.json is damaged" in sentence
    assert "conditions.json.damaged" in sentence
    assert (tmp_path / f"{FILE}.damaged").read_text(encoding="utf-8") == '{"schema": 1'
    assert load_ledger(str(tmp_path / FILE)) == bill(OLD)


def test_a_foreign_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("precious", encoding="utf-8")
    (tmp_path / FILE).symlink_to(tmp_path / "elsewhere")
    assert "symbolic link" in keep_conditions(tmp_path, bill(OLD))
    assert (tmp_path / "elsewhere").read_text(encoding="utf-8") == "precious"


def test_a_ledger_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        keep_conditions(tmp_path / "gone", bill(OLD))


def test_a_console_keeps_the_changes_of_a_node_that_starts_anew(tmp_path: Path) -> None:
    history = tmp_path / "history.sqlite"
    keep_collected(history, "oss1", write(ledger(bill(OLD), bill(NEW, day=1))))
    assert collected_at(history, "oss1") == NOW + 86400
    keep_collected(history, "oss1", write(bill(condition("kernel", "6.1"), day=3)))
    ((node_ledger,), damaged) = collected_ledgers(history, ["oss1", "oss2"])
    assert [change.now for change in node_ledger.changes] == ["5.14", "6.1"]
    assert damaged == ()


@pytest.mark.parametrize("sent", [None, [], {}, {"schema": 1}, write(bill(OLD, node="x"))])
def test_an_invalid_ledger_of_a_node_replaces_nothing(tmp_path: Path, sent: object) -> None:
    history = tmp_path / "history.sqlite"
    keep_collected(history, "oss1", write(bill(OLD)))
    with pytest.raises(DocumentError, match="ledger of conditions"):
        keep_collected(history, "oss1", sent)
    assert collected_ledgers(history, ["oss1", "oss2"])[0] == (bill(OLD),)


def test_a_damaged_copy_is_reported_with_the_others(tmp_path: Path) -> None:
    history = tmp_path / "history.sqlite"
    keep_collected(history, "oss1", write(bill(OLD)))
    (tmp_path / "conditions" / "oss2.json").write_text("[]", encoding="utf-8")
    ledgers, (damaged,) = collected_ledgers(history, ["oss1", "oss2"])
    assert [node_ledger.node for node_ledger in ledgers] == ["oss1"]
    assert "oss2.json" in damaged
    keep_collected(history, "oss2", write(bill(OLD, node="oss2")))
    assert len(collected_ledgers(history, ["oss1", "oss2"])[0]) == 2
    assert (tmp_path / "conditions" / "oss2.json.damaged").read_text(encoding="utf-8") == "[]"


REPORT = Report("oss1", 100.0, (Look("md", 2),))


def test_the_age_of_a_collected_look_follows_the_clock_of_its_node(tmp_path: Path) -> None:
    history = tmp_path / "history.sqlite"
    folder = tmp_path / "symptoms"
    folder.mkdir()
    for node in ("oss1", "oss2"):
        text = json.dumps({**write(REPORT), "node": node, "looked_at": 1000.0})
        (folder / f"{node}.json").write_text(text, encoding="utf-8")
    with Collection(history) as collection:
        collection.clock(NodeClock("oss1", 1e5, -99_000.0, 1.0))
    symptoms = collected_symptoms(history, ("oss1", "oss2"), 1e5)
    assert symptoms.left_out == ("oss2 (its last look is 28 h old)",)


def test_without_looks_no_history_is_opened(tmp_path: Path) -> None:
    assert collected_symptoms(tmp_path / "history.sqlite", (), 1e5) == SiteSymptoms()
    assert list(tmp_path.iterdir()) == []
