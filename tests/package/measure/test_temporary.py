"""The next run removes the temporary folders of killed runs and nothing else."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from socket import gethostname

import pytest

from plumbline.measure.temporary import temporary_folder
from plumbline.model.errors import StoreError
from tests.processes import may_act_for_others

HOLD = """
import sys, time
from plumbline.measure.temporary import temporary_folder
with temporary_folder() as folder:
    (folder / "history.sqlite").write_text("data")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def another_run() -> tuple[subprocess.Popen[str], Path]:
    """Start another process with a folder; return both."""
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    return process, Path(process.stdout.readline().strip())


def test_a_temporary_folder_is_private_and_removed_afterwards(base: Path) -> None:
    with temporary_folder() as folder:
        assert folder.parent == base
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "file").touch()
    assert list(base.iterdir()) == []


def test_folders_of_killed_runs_are_removed_and_of_living_runs_kept(base: Path) -> None:
    killed, abandoned = another_run()
    living, kept = another_run()
    killed.kill()
    killed.communicate()
    try:
        assert abandoned.is_dir()
        with temporary_folder() as own:
            assert sorted(base.iterdir()) == sorted([kept, own])
            assert (kept / "history.sqlite").read_text() == "data"
    finally:
        living.kill()
        living.communicate()


def test_folders_recreated_by_ranks_of_a_killed_run_are_removed_too(base: Path) -> None:
    living, kept = another_run()
    killed, abandoned = another_run()
    killed.kill()
    killed.communicate()
    try:
        for folder in (abandoned, kept):
            (folder / "held.lock").unlink()
        with temporary_folder() as own:
            assert sorted(base.iterdir()) == sorted([kept, own])
    finally:
        living.kill()
        living.communicate()


def test_other_files_and_folders_stay(base: Path) -> None:
    kept = base / "kept"
    kept.mkdir()
    (base / "plumbline-report").mkdir()
    (base / "plumbline-1000").mkdir()
    # in a folder shared by hosts the processes of other hosts are unknown
    (base / "plumbline-another.host-4194399-abcdefgh").mkdir()
    (base / f"plumbline-{gethostname()}-4194399-abcdefgh").symlink_to(kept)
    (base / f"plumbline-{gethostname()}-4194398-abcdefgh").write_text("a file")
    before = sorted(base.iterdir())
    with temporary_folder():
        pass
    assert sorted(base.iterdir()) == before


@pytest.mark.skipif(not may_act_for_others(), reason="only root can give a folder to another user")
def test_the_folder_of_another_user_stays(base: Path) -> None:
    other = base / f"plumbline-{gethostname()}-4194399-abcdefgh"
    other.mkdir()
    os.chown(other, 65534, 65534)
    with temporary_folder():
        pass
    assert list(base.iterdir()) == [other]


def test_a_temporary_folder_that_cannot_be_made_is_one_sentence(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(base / "gone"))
    with (
        pytest.raises(StoreError, match=r"can be made: No such file or directory: .*gone/.*; make"),
        temporary_folder(),
    ):
        pass


@pytest.mark.parametrize(("living", "remaining"), [(True, 1), (False, 0)])
def test_without_file_locks_the_process_id_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, living: bool, remaining: int
) -> None:
    folder = tmp_path / f"plumbline-{gethostname()}-{os.getpid() if living else 4194399}-abcdefgh"
    folder.mkdir()
    (folder / "held.lock").touch()

    def without(_descriptor: int, _operation: int) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", without)
    with temporary_folder(str(tmp_path)) as own:
        assert own.parent == tmp_path
    assert len(list(tmp_path.iterdir())) == remaining


def test_a_named_place_below_a_world_writable_folder_is_refused(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    place = shared / "mine"
    place.mkdir(parents=True, mode=0o700)
    shared.chmod(0o777)
    with pytest.raises(StoreError, match="may be written by others"), temporary_folder(str(place)):
        pass
    shared.chmod(0o1777)
    with temporary_folder(str(place)) as folder:
        assert folder.parent == place
