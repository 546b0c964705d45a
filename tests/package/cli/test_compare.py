"""What is said before directories are compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.cli.options import named_directories
from plumbline.model.errors import UsageError
from plumbline.site.measure import caveat

GIB = 1 << 30


@pytest.fixture
def directories(tmp_path: Path) -> dict[str, str]:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    return {name: str(tmp_path / name) for name in ("a", "b")}


def test_directories_of_one_device_are_named(directories: dict[str, str]) -> None:
    said = caveat(directories, 4 * GIB, 2 * GIB)
    assert said.startswith("a, b lie on one device: a difference is noise")
    assert "page cache" not in said


def test_a_small_run_is_worth_what_memory_gives(directories: dict[str, str]) -> None:
    said = caveat({"a": directories["a"], "b": "/proc"}, GIB // 4, 3 * GIB)
    assert said.startswith("256 MiB fit into the page cache")
    assert "--bytes 6GiB" in said


def test_a_large_run_on_two_devices_needs_no_word(directories: dict[str, str]) -> None:
    assert caveat({"a": directories["a"], "b": "/proc"}, 4 * GIB, 2 * GIB) == ""


def test_many_files_of_a_host_fill_its_memory_together(directories: dict[str, str]) -> None:
    said = caveat({"a": directories["a"], "b": "/proc"}, GIB // 4, 3 * GIB, files=4)
    assert said.startswith("1 GiB fit into the page cache")
    assert "--bytes 2GiB" in said


@pytest.mark.parametrize(
    ("second", "sentence"),
    [
        ("{}/b", "--directory a and b are the same folder"),
        ("{}/nowhere", "nowhere: No such file or directory; name a directory that is there"),
        ("{}/a/file", "file: Not a directory; name a directory that is there"),
    ],
)
def test_what_is_no_second_directory_is_refused_at_once(
    tmp_path: Path, second: str, sentence: str
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").touch()
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(UsageError, match=sentence) as refused:
        named_directories([f"a={tmp_path}/a", f"b={second.format(tmp_path)}"])
    assert "realpath" not in str(refused.value)
