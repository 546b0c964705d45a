"""What is said before directories are compared."""

from __future__ import annotations

from pathlib import Path

import pytest

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
