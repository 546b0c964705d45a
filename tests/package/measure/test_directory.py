"""A directory is measured on the intended file system; with real files if possible."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from plumbline.measure.targets import target_for
from plumbline.model.errors import SkipTarget
from plumbline.observe.command import SystemRunner
from tests.package.fakes import FakeRunner, file_status
from tests.processes import can_mount, run_to_end


def target(directory: object, limit: float = 0.99, **keys: Any) -> Any:
    return target_for({"kind": "directory", "directory": str(directory), **keys}, "a:1", limit)


@pytest.mark.slow
def test_a_file_is_made_verified_kept_and_removed_without_a_trace(tmp_path: Path) -> None:
    run = SystemRunner()
    measured_target = target(tmp_path)
    state = measured_target.state(run)
    assert 0 < state.fill < 1
    path = measured_target.place(run, 1 << 20)
    assert path == f"{tmp_path}/.plumbline/a%3A1/probe.dat"
    first = Path(path).stat()
    assert first.st_size == 1 << 20
    measured_target.verify(run, path)
    again = target(tmp_path)
    again.state(run)
    again.place(run, 1 << 20)
    assert Path(path).stat().st_ino == first.st_ino
    assert len(measured_target.leftovers(run)) == 3
    measured_target.remove(run)
    assert list(tmp_path.iterdir()) == []
    measured_target.remove(run)


def test_a_file_of_another_size_is_made_anew(tmp_path: Path) -> None:
    run = SystemRunner()
    measured_target = target(tmp_path)
    measured_target.state(run)
    measured_target.place(run, 4096)
    path = measured_target.place(run, 8192)
    assert Path(path).stat().st_size == 8192
    Path(path).write_bytes(b"cut")
    with pytest.raises(SkipTarget, match="has 3 bytes instead of 8192"):
        measured_target.verify(run, path)


def test_the_folder_of_another_target_is_left_alone(tmp_path: Path) -> None:
    run = SystemRunner()
    other = tmp_path / ".plumbline/other/probe.dat"
    other.parent.mkdir(parents=True)
    other.touch()
    measured_target = target(tmp_path)
    measured_target.state(run)
    measured_target.place(run, 4096)
    measured_target.remove(run)
    assert other.exists()
    assert not (tmp_path / ".plumbline/a%3A1").exists()


@pytest.mark.parametrize("where", [".plumbline", ".plumbline/a%3A1", ".plumbline/a%3A1/probe.dat"])
def test_a_symbolic_link_is_never_followed(tmp_path: Path, where: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    base = tmp_path / "base"
    link = base / where
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    measured_target = target(base)
    measured_target.state(SystemRunner())
    with pytest.raises(SkipTarget, match="remove it"):
        measured_target.place(SystemRunner(), 4096)
    assert link.is_symlink()
    assert list(elsewhere.iterdir()) == []


IN_AN_OVERLAY = """
mount -t tmpfs plumbline-test "$1/upper" && mkdir "$1/upper/files" "$1/upper/work" &&
mount -t overlay -o "lowerdir=$1/lower,upperdir=$1/upper/files,workdir=$1/upper/work,xino=off" \\
  plumbline-test "$1/here" && exec "$2" -c "$3" "$1/here"
"""
PLACE_AND_REMOVE = """
import os, sys
from plumbline.observe.command import SystemRunner
from plumbline.measure.targets import target_for
target = target_for({"kind": "directory", "directory": sys.argv[1]}, "a", 0.99)
run = SystemRunner()
target.state(run)
path = target.place(run, 4096)
print(os.stat(path).st_dev != os.stat(sys.argv[1]).st_dev)
target.verify(run, path)
target.remove(run)
print(os.listdir(sys.argv[1]))
"""


@pytest.mark.skipif(not can_mount(), reason="mounting needs CAP_SYS_ADMIN")
def test_an_overlay_is_a_directory_like_any_other(tmp_path: Path) -> None:
    for name in ("lower", "upper", "here"):
        (tmp_path / name).mkdir()
    # in a mount namespace that ends with the process
    words = ("unshare", "--mount", "sh", "-c", IN_AN_OVERLAY, "sh", tmp_path, sys.executable)
    ended = run_to_end(*words, PLACE_AND_REMOVE)
    if "mount:" in ended.stderr:
        pytest.skip(f"no overlay can be mounted here: {ended.stderr}")
    assert (ended.stdout, ended.stderr) == ("True\n[]\n", "")


def test_a_directory_behind_a_link_is_refused_with_its_real_path(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(SkipTarget, match=r"leads to .*/real over a symbolic link"):
        target(tmp_path / "link").state(SystemRunner())


def test_a_missing_directory_is_skipped(tmp_path: Path) -> None:
    with pytest.raises(SkipTarget, match="No such file"):
        target(tmp_path / "nosuch").state(SystemRunner())


def test_a_file_larger_than_the_free_space_is_not_made(tmp_path: Path) -> None:
    measured_target = target(tmp_path)
    measured_target.state(SystemRunner())
    with pytest.raises(SkipTarget, match="more are needed"):
        measured_target.place(SystemRunner(), 1 << 60)
    assert list(tmp_path.iterdir()) == []


def test_another_mount_over_the_directory_voids_the_run(tmp_path: Path) -> None:
    run = SystemRunner()
    measured_target = target(tmp_path)
    measured_target.state(run)
    path = measured_target.place(run, 4096)
    changed = FakeRunner(
        {
            "stat": file_status(4096, 0, inode=Path(path).stat().st_ino),
            "cat /proc/self/mountinfo": "90 24 9:99 / / rw - xfs /dev/sdz rw\n",
        }
    )
    with pytest.raises(SkipTarget, match="mounted again"):
        measured_target.verify(changed, path)
