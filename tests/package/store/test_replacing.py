"""Files that are replaced as a whole, by several processes at once too."""

from __future__ import annotations

import os
import subprocess
import sys
from grp import getgrnam
from pathlib import Path

import pytest

from plumbline.model.errors import StoreError
from plumbline.store.database import Store, keep_owner
from plumbline.store.replacing import begin, replace, replacing

SOURCE = Path(__file__).parents[3] / "src"
WRITE = """
import sys
from pathlib import Path
from plumbline.store.replacing import replace
for _ in range(50):
    replace(Path(sys.argv[1]), sys.argv[2] * 100_000)
"""


def test_of_two_that_write_at_once_one_file_stays_whole(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    both = [
        subprocess.Popen(
            [sys.executable, "-c", WRITE, str(path), letter],
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            stderr=subprocess.PIPE,
        )
        for letter in "ab"
    ]
    assert [one.communicate()[1] for one in both] == [b"", b""]
    assert path.read_text() in ("a" * 100_000, "b" * 100_000)
    assert list(tmp_path.iterdir()) == [path]


def test_after_an_error_the_old_file_stands_alone(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    replace(path, "old")
    with pytest.raises(UnicodeEncodeError):
        replace(path, "\udc80")
    assert [one.name for one in tmp_path.iterdir()] == ["state.json"]
    assert path.read_text() == "old"


@pytest.mark.parametrize("name", ["daemon", "a group that is not there"])
def test_a_file_is_given_to_those_who_check_where_that_is_possible(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / "state.json"
    before = path.parent.stat().st_gid
    replace(path, "{}", group=name)
    known = name == "daemon" and os.geteuid() == 0
    assert path.stat().st_gid == (getgrnam(name).gr_gid if known else before)
    assert path.stat().st_mode & 0o777 == 0o640


def test_what_a_killed_process_has_left_is_removed_and_that_of_a_living_one_is_not(
    tmp_path: Path,
) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    for process in (gone.pid, os.getppid()):
        (tmp_path / f".a.json.{process}.new").touch()
    (tmp_path / ".b.json.1.new").touch()
    with replacing(tmp_path / "a.json") as new:
        new.touch()
    left = {one.name for one in tmp_path.iterdir()}
    assert left == {"a.json", f".a.json.{os.getppid()}.new", ".b.json.1.new"}


def test_what_somebody_has_put_in_the_place_of_the_new_file_is_not_written_to(
    tmp_path: Path,
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("of root")
    with replacing(tmp_path / "page.html") as new:
        new.symlink_to(precious)
        with pytest.raises(FileExistsError):
            begin(new, 0o640)
        new.unlink()
        os.link(precious, new)
        with pytest.raises(FileExistsError):
            begin(new, 0o640)
        new.unlink()
        os.close(begin(new, 0o640))
    assert precious.read_text() == "of root"


def test_what_lies_there_before_is_replaced_and_not_followed(tmp_path: Path) -> None:
    precious, path = tmp_path / "precious", tmp_path / "page.html"
    precious.write_text("of root")
    (tmp_path / f".page.html.{os.getpid()}.new").symlink_to(precious)
    replace(path, "page")
    assert (precious.read_text(), path.read_text()) == ("of root", "page")


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone gives files away")
@pytest.mark.parametrize("kind", ["link", "hard link"])
def test_root_gives_no_file_away_that_was_put_in_the_place_of_its_own(
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


@pytest.mark.skipif(os.geteuid() != 0, reason="what root would follow")
def test_root_begins_no_history_where_the_link_of_another_user_leads(tmp_path: Path) -> None:
    elsewhere, own = tmp_path / "elsewhere", tmp_path / "own"
    own.mkdir()
    path = own / "history.sqlite"
    path.symlink_to(elsewhere)
    os.chown(path, 65534, 65534, follow_symlinks=False)
    with pytest.raises(StoreError, match="symbolic link that root has not made"):
        Store(path)
    assert not elsewhere.exists()


@pytest.mark.parametrize("kind", ["pipe", "link to a pipe", "folder", "root"])
def test_what_is_no_plain_file_is_never_replaced(kind: str, tmp_path: Path) -> None:
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
