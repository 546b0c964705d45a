"""Files that are replaced as a whole, by several processes at once too."""

from __future__ import annotations

import os
import subprocess
import sys
from grp import getgrnam
from pathlib import Path

import pytest

from plumbline.store.replacing import replace, replacing

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
