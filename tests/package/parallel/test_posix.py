"""A rank opens the file that was made for it and nothing that stands in its place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from plumbline.parallel.operation import PosixFile


@pytest.mark.parametrize("write", [True, False])
def test_a_link_in_the_place_of_the_file_is_not_followed(tmp_path: Path, write: bool) -> None:
    (tmp_path / "precious").write_bytes(b"precious")
    (tmp_path / "probe.dat").symlink_to("precious")
    with pytest.raises(OSError, match="no plain file with one name"):
        PosixFile(str(tmp_path / "probe.dat"), 0, write=write, direct=False)
    assert (tmp_path / "precious").read_bytes() == b"precious"


def test_writing_begins_at_the_offset_and_leaves_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "probe.dat"
    path.write_bytes(b"........")
    file = PosixFile(str(path), 4, write=True, direct=False)
    assert file.put(memoryview(b"abc")) == 3
    file.sync()
    file.close()
    assert path.read_bytes() == b"....abc."
    assert os.listdir(tmp_path) == ["probe.dat"]
