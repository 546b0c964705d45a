"""The user of the probes gets private folders; anything else is set aside."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path
from typing import Callable, Sequence

import pytest

from plumbline.measure.own_folders import User, give
from plumbline.model.command import Completed
from tests.package.fakes import Answer, FakeRunner, answer
from tests.package.parts.facts.symptoms_nodes import missing
from tests.processes import may_act_for_others, run_to_end

pytestmark = pytest.mark.skipif(not may_act_for_others(), reason="only root can give folders away")

DAEMON = User("daemon", pwd.getpwnam("daemon").pw_uid, pwd.getpwnam("daemon").pw_gid)
EVE = 65534
FILE = ".plumbline/a/probe.dat"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A file system with a world-writable root."""
    tmp_path.chmod(0o1777)
    return tmp_path


def given(base: Path) -> list[str]:
    return list(give(str(base), DAEMON, FakeRunner({"": missing})))


def is_own(base: Path) -> bool:
    status = (base / ".plumbline").lstat()
    return (status.st_uid, status.st_gid, status.st_mode) == (DAEMON.uid, DAEMON.gid, 0o040700)


def with_file(base: Path, owner: int) -> Path:
    file = base / FILE
    file.parent.mkdir(parents=True, mode=0o700)
    file.write_bytes(b"data")
    for path in (file, file.parent, file.parent.parent):
        os.chown(path, owner, -1)
    file.parent.parent.chmod(0o700)
    return file


def made(argv: Sequence[str]) -> Completed:
    """Make the folder that ``lfs mkdir`` would."""
    Path(argv[-1]).mkdir(mode=int(argv[argv.index("-o") + 1], 8))
    return Completed(tuple(argv), 0, "", "", 0.1)


def aside(base: Path) -> list[Path]:
    return list(base.glob(".plumbline-set-aside-*"))


def test_a_folder_is_made_once_and_then_left_alone(base: Path) -> None:
    assert given(base) == [f"{base}/.plumbline is made for daemon"]
    assert is_own(base)
    assert given(base) == []


def test_on_lustre_the_folder_and_all_in_it_lie_on_the_metadata_target_of_the_mount(
    base: Path,
) -> None:
    run = FakeRunner({"lfs getdirstripe": "11\n", "lfs mkdir": made, "lfs setdirstripe": ""})
    assert list(give(str(base), DAEMON, run)) == [
        f"{base}/.plumbline is made for daemon on MDT000b"
    ]
    assert is_own(base)
    assert run.calls == [
        "lfs getdirstripe -m .",
        "lfs mkdir -i 11 -c 1 -o 700 .plumbline",
        "lfs setdirstripe -D -i 11 -c 1 .",
    ]
    assert list(give(str(base), DAEMON, run)) == []


def test_a_link_in_place_of_the_new_folder_leads_root_nowhere(base: Path) -> None:
    """Where everybody may rename, the name may be exchanged between two calls of lfs."""
    victim = base / "victim"
    victim.mkdir()
    places: list[Path] = []

    def exchanged(argv: Sequence[str]) -> Completed:
        completed = made(argv)
        if not places:
            places.append(Path.cwd())
            Path(argv[-1]).rmdir()
            Path(argv[-1]).symlink_to(victim)
        return completed

    def pinned(argv: Sequence[str]) -> Completed:
        places.append(Path(argv[-1]).resolve())
        return Completed(tuple(argv), 0, "", "", 0.1)

    run = FakeRunner(
        {"lfs getdirstripe": "11\n", "lfs mkdir": exchanged, "lfs setdirstripe": pinned}
    )
    here = Path.cwd()
    assert any("is made for daemon on MDT000b" in line for line in give(str(base), DAEMON, run))
    assert places == [base, base / ".plumbline"]
    assert is_own(base)
    assert (Path.cwd(), victim.stat().st_uid) == (here, os.geteuid())


@pytest.mark.parametrize(
    "answers",
    [
        {"lfs getdirstripe": answer("", "lfs: getdirstripe for '/tmp' failed", 25)},
        {"lfs getdirstripe": "0\n", "lfs mkdir": answer("", "Operation not permitted", 1)},
    ],
    ids=["no Lustre", "refused"],
)
def test_elsewhere_the_folder_is_made_as_before(base: Path, answers: dict[str, Answer]) -> None:
    run = FakeRunner(answers)
    assert list(give(str(base), DAEMON, run)) == [f"{base}/.plumbline is made for daemon"]
    assert is_own(base)


def test_files_of_the_user_stay_and_files_of_root_are_given_to_the_user(base: Path) -> None:
    file = with_file(base, DAEMON.uid)
    assert given(base) == []
    os.chown(file, 0, 0)
    os.chown(base / ".plumbline", 0, 0)
    assert given(base) == [f"{base}/.plumbline: 2 of root's are given to daemon"]
    assert is_own(base)
    assert (file.stat().st_uid, file.read_bytes(), aside(base)) == (DAEMON.uid, b"data", [])


def linked(base: Path) -> None:
    (base / "precious").write_text("precious")
    (base / FILE).unlink()
    os.link(base / "precious", base / FILE)


FOREIGN: dict[str, Callable[[Path], object]] = {
    "of another user": lambda base: os.chown(base / ".plumbline", EVE, EVE),
    "open to all": lambda base: (base / ".plumbline").chmod(0o777),
    "a folder of another user in it": lambda base: os.chown(base / ".plumbline/a", EVE, EVE),
    "a folder open to all in it": lambda base: (base / ".plumbline/a").chmod(0o777),
    "a folder open to a group in it": lambda base: (base / ".plumbline/a").chmod(0o770),
    "a file of another user in it": lambda base: os.chown(base / FILE, EVE, EVE),
    "a hard link in it": linked,
    "a link in it": lambda base: (base / ".plumbline/b").symlink_to("/etc/shadow"),
    "a fifo in it": lambda base: os.mkfifo(base / ".plumbline/b"),
}


@pytest.mark.parametrize("make", FOREIGN.values(), ids=FOREIGN)
def test_a_folder_made_or_writable_by_others_is_set_aside_unchanged(
    base: Path, make: Callable[[Path], object]
) -> None:
    with_file(base, DAEMON.uid)
    make(base)
    before = (base / ".plumbline").lstat()
    reason, made = given(base)
    (moved,) = aside(base)
    assert reason.startswith(
        f"{base}/.plumbline is set aside as {moved.name}, because {base}/.plumb"
    )
    assert made == f"{base}/.plumbline is made for daemon"
    after = moved.lstat()
    assert (after.st_ino, after.st_uid, after.st_mode) == before[1:2] + before[4:5] + before[:1]
    assert is_own(base)
    assert list((base / ".plumbline").iterdir()) == []
    assert given(base) == []


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_link_or_file_in_place_of_the_folder_is_set_aside(base: Path, kind: str) -> None:
    precious = base / "precious"
    precious.mkdir(mode=0o700)
    own = base / ".plumbline"
    own.symlink_to(precious) if kind == "link" else own.touch()
    assert len(given(base)) == 2
    assert is_own(base)
    assert (precious.stat().st_uid, len(aside(base))) == (0, 1)


def test_a_folder_held_open_by_another_user_is_not_used(base: Path) -> None:
    """With an open world-writable folder, its maker could put links into it later."""
    (base / ".plumbline/a").mkdir(parents=True)
    (base / ".plumbline/a").chmod(0o777)
    os.chown(base / ".plumbline", EVE, EVE)
    folder = os.open(base / ".plumbline/a", os.O_RDONLY)
    try:
        given(base)
        as_daemon = ["sh", "-c", f"mkdir {base}/.plumbline/a && echo data > {base}/{FILE}"]
        subprocess.run(as_daemon, user=DAEMON.uid, group=DAEMON.gid, check=False)
        links = f"ln -s /etc/shadow /proc/self/fd/{folder}/probe.dat"
        subprocess.run(["sh", "-c", links], user=EVE, group=EVE, pass_fds=(folder,), check=False)
        assert os.listdir(folder) == ["probe.dat"]
        assert not (base / FILE).is_symlink()
    finally:
        os.close(folder)


def test_the_command_handles_several_folders_and_reports_failures(base: Path) -> None:
    (base / "one").mkdir()
    (base / "link").symlink_to("one")
    words = [sys.executable, "-m", "plumbline.measure.own_folders", "daemon"]
    done = run_to_end(*words, f"{base}/one", f"{base}/link")
    assert (done.returncode, done.stdout) == (1, f"{base}/one/.plumbline is made for daemon\n")
    assert done.stderr.startswith(f"plumbline: {base}/link/.plumbline cannot be given to daemon: ")
    assert "leads over a symbolic link or a file; name the folder itself; make it" in done.stderr


def test_a_renamed_tree_of_root_is_not_given_away(base: Path) -> None:
    base.chmod(0o777)
    kept = base / "backup/2026/passwords"
    kept.parent.mkdir(parents=True)
    kept.write_text("of root")
    kept.chmod(0o600)
    subprocess.run(
        ["setpriv", f"--reuid={EVE}", "--clear-groups", "mv", "backup", ".plumbline"],
        cwd=base,
        check=True,
    )
    reason = given(base)[0]
    assert "belongs to root, and no probe makes such a file or folder" in reason
    assert is_own(base)
    (moved,) = aside(base)
    assert [(moved / name).stat().st_uid for name in (".", "2026", "2026/passwords")] == [0, 0, 0]
