"""No write goes into a folder or file that another user could have put there."""

from __future__ import annotations

import errno
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Callable, NamedTuple, Optional

import pytest

from plumbline.measure.lock import name_of
from plumbline.measure.targets import target_for
from plumbline.model.command import Within
from plumbline.model.errors import SkipTarget
from plumbline.observe import folders
from plumbline.observe.command import SystemRunner
from plumbline.observe.folders import UnsafeError, enter, open_base, open_file
from plumbline.observe.query import QUESTIONS
from plumbline.observe.starter import Helper, request_of
from tests.package.waiting import eventually
from tests.processes import may_act_for_others

RUN = SystemRunner()
NOBODY = 65534
SIZE = 4096
PRECIOUS = b"precious" * 512

as_root = pytest.mark.skipif(
    not may_act_for_others(), reason="only root can create files of other users"
)


@pytest.fixture
def base(open_path: Path) -> Path:
    """A file system with a world-writable root."""
    (open_path / "precious").write_bytes(PRECIOUS)
    scratch = open_path / "scratch"
    scratch.mkdir()
    scratch.chmod(0o777)
    return scratch


def place(base: Path) -> str:
    target = target_for({"kind": "directory", "directory": str(base)}, "a", 1.0)
    target.state(RUN)
    return target.place(RUN, SIZE)


def folder_of(base: Path) -> Path:
    folder = base / ".plumbline/a"
    folder.mkdir(parents=True)
    return folder


Attack = Callable[[Path, Path], object]

STATIC: dict[str, Attack] = {
    "link": lambda file, precious: file.symlink_to(precious),
    "dangling link": lambda file, precious: file.symlink_to(precious.parent / "new"),
    "hard link": lambda file, precious: os.link(precious, file),
    "fifo": lambda file, precious: os.mkfifo(file),
    "directory": lambda file, precious: file.mkdir(),
    "socket": lambda file, precious: bound(file),
    "device": lambda file, precious: os.mknod(file, 0o020600, os.makedev(1, 3)),
    "foreign file": lambda file, precious: foreign(file),
}


def foreign(file: Path) -> None:
    file.write_bytes(bytes(SIZE))
    os.chown(file, 1, 1)


def bound(file: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        # the path itself may be too long for a socket's address
        above = os.open(file.parent, os.O_PATH)
        made.bind(f"/proc/self/fd/{above}/{file.name}")
        os.close(above)


@as_root
@pytest.mark.parametrize("attack", STATIC.values(), ids=STATIC)
def test_anything_but_the_probe_file_in_its_place_is_neither_followed_nor_removed(
    base: Path, attack: Attack
) -> None:
    file, precious = folder_of(base) / "probe.dat", base.parent / "precious"
    attack(file, precious)
    before = file.lstat()
    with pytest.raises(SkipTarget, match=f"^{file} .*: remove it"):
        place(base)
    with pytest.raises(UnsafeError, match=f"^{file} "):
        open_file(str(file), os.O_WRONLY)
    assert os.path.samestat(before, file.lstat())
    assert precious.read_bytes() == PRECIOUS
    assert not (base.parent / "new").exists()


@pytest.mark.parametrize("which", [".plumbline", ".plumbline/a"])
@pytest.mark.parametrize("mode", [0o770, 0o702, 0o1777])
def test_a_folder_writable_by_others_is_refused_with_name_owner_and_mode(
    base: Path, which: str, mode: int
) -> None:
    file = folder_of(base) / "probe.dat"
    (base / which).chmod(mode)
    with pytest.raises(SkipTarget, match=rf"^{base / which} of [\w-]+ \(mode {mode:04o}\) .*chmod"):
        place(base)
    with pytest.raises(UnsafeError, match="may be written by others"):
        open_file(str(file), os.O_WRONLY)
    assert not file.exists()


@as_root
@pytest.mark.parametrize("which", [".plumbline", ".plumbline/a"])
def test_a_folder_of_another_user_is_refused_with_name_owner_and_mode(
    base: Path, which: str
) -> None:
    folder_of(base)
    os.chown(base / which, NOBODY, NOBODY)
    (base / which).chmod(0o700)
    with pytest.raises(
        SkipTarget, match=rf"^{base / which} belongs to nobody \(mode 0700\) and not to root:"
    ):
        place(base)


@pytest.mark.parametrize("which", [".plumbline", ".plumbline/a"])
@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_link_or_file_in_place_of_a_folder_is_refused(base: Path, which: str, kind: str) -> None:
    elsewhere = base.parent / "elsewhere"
    elsewhere.mkdir()
    (base / which).parent.mkdir(exist_ok=True)
    (base / which).symlink_to(elsewhere) if kind == "link" else (base / which).touch()
    with pytest.raises(SkipTarget, match=f"^{base / which} is not a folder; .* remove it"):
        place(base)
    assert list(elsewhere.iterdir()) == []


def test_a_parent_folder_replaced_by_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real/scratch").mkdir(parents=True)
    (tmp_path / "parent").symlink_to("real")
    with pytest.raises(SkipTarget, match="leads over a symbolic link or a file"):
        RUN(["touch", "x"], 20, Within(f"{tmp_path}/parent/scratch"))
    assert list((tmp_path / "real/scratch").iterdir()) == []


@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_below_a_world_writable_root_folders_are_private_to_the_caller(
    base: Path, mode: int
) -> None:
    base.chmod(mode)
    file = Path(place(base))
    assert file.stat().st_size == SIZE
    for folder in (file.parent, file.parent.parent):
        assert (folder.stat().st_uid, folder.stat().st_mode & 0o7777) == (os.geteuid(), 0o700)
    assert place(base) == str(file)


@as_root
def test_a_user_works_in_a_folder_of_root_but_not_of_another_user(base: Path) -> None:
    file = folder_of(base) / "probe.dat"
    os.chown(file.parent, NOBODY, NOBODY)
    where = Within(str(base), (".plumbline", "a"), make=True)
    done = as_user(NOBODY, where, "touch", "probe.dat")
    assert (done.returncode, done.stderr, file.stat().st_uid) == (0, "", NOBODY)
    os.chown(file.parent, 1, 1)
    done = as_user(NOBODY, where, "touch", "other")
    assert done.returncode == folders.REFUSED
    assert f"{file.parent} belongs to daemon (mode 0755) and not to nobody:" in done.stderr


@as_root
def test_a_user_who_cannot_make_the_folder_learns_which_role_does(base: Path) -> None:
    base.chmod(0o755)
    done = as_user(NOBODY, Within(str(base), (".plumbline", "a"), make=True), "true")
    assert done.returncode == folders.REFUSED
    reason = "cannot be made: Permission denied; the role ost_probe makes .plumbline for its user"
    assert reason in done.stderr
    assert f"install -d -o nobody -m 0700 {base}/.plumbline" in done.stderr


def as_user(user: int, within: Within, *command: str) -> Ended:
    # a copy that any user can read
    copy = Path(within.base).parent / "folders.py"
    copy.write_bytes(Path(folders.__file__).read_bytes())
    rights = ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups")
    helper = Helper((*rights, "/usr/bin/python3", "-IS", str(copy)))
    try:
        return ended(helper, within, *command)
    finally:
        helper.close()


class Ended(NamedTuple):
    """Exit code and errors of a command."""

    returncode: Optional[int]
    stderr: str


def ended(helper: Helper, within: Within, *command: str) -> Ended:
    reader, writer = os.pipe()
    begin(helper, within, writer, *command)
    os.close(writer)
    with open(reader, encoding="utf-8") as errors:
        return Ended(helper.exit_code(None), errors.read())


def begin(helper: Helper, within: Within, output: int, *command: str) -> int:
    """Start a command by a helper; return its process."""
    request = request_of(["/usr/bin/env", *command], os.environ, within)
    folder = os.open("/", os.O_PATH)
    try:
        return helper.begin(request, (output, output, folder))
    finally:
        os.close(folder)


def test_a_command_finds_the_checked_file_as_its_standard_input(base: Path) -> None:
    file = Path(place(base))
    within = Within(str(base), (".plumbline", "a"), file="probe.dat", opened=True)
    text = "import os; print(os.getcwd(), os.path.realpath('/proc/self/fd/0'))"
    done = RUN([sys.executable, "-c", text], 20, within)
    assert done.stdout.split() == [str(file.parent), str(file)]
    write = "open('/proc/self/fd/0', 'r+b').write(b'here')"
    assert RUN([sys.executable, "-c", write], 20, within).ok
    assert file.read_bytes()[:4] == b"here"


def test_a_replaced_file_is_refused(base: Path) -> None:
    file = Path(place(base))
    within = Within(str(base), (".plumbline", "a"), file="probe.dat", opened=True)
    inode = file.stat().st_ino
    assert RUN(["true"], 20, within._replace(inode=inode)).ok
    with pytest.raises(SkipTarget, match="is another file than before"):
        RUN(["true"], 20, within._replace(inode=inode + 1))


@pytest.mark.parametrize("opened", [True, False])
def test_a_missing_folder_or_file_is_an_exit_code(base: Path, opened: bool) -> None:
    within = Within(str(base), (".plumbline", "a"), file="probe.dat", opened=opened)
    done = RUN(["true"], 20, within)
    assert (done.exit_code, done.stderr) == (1, f"{base}/.plumbline: No such file or directory\n")
    folder_of(base)
    done = RUN(["true"], 20, within)
    missing = f"{base}/.plumbline/a/probe.dat: No such file or directory\n"
    assert (done.exit_code, done.stderr) == ((1, missing) if opened else (0, ""))


def test_a_command_keeps_its_exit_code_and_errors(base: Path) -> None:
    done = RUN(["sh", "-c", f"echo word >&2; exit {folders.REFUSED}"], 20, Within(str(base)))
    assert (done.exit_code, done.stderr) == (folders.REFUSED, "word\n")
    assert done.argv[0] == "sh"


def test_a_command_in_a_folder_inherits_the_lock_of_its_target(base: Path) -> None:
    reader, writer = os.pipe()
    try:
        run = SystemRunner(keep_open=(reader,))
        done = run(["ls", "-l", "/proc/self/fd"], 20, Within(str(base)))
        assert f"pipe:[{os.fstat(reader).st_ino}]" in done.stdout
    finally:
        os.close(reader)
        os.close(writer)


def test_a_rank_opens_the_file_made_for_it(base: Path) -> None:
    file = place(base)
    descriptor: Optional[int] = open_file(file, os.O_RDWR)
    assert descriptor is not None
    assert os.path.samestat(os.fstat(descriptor), os.stat(file))
    assert not os.get_inheritable(descriptor)
    os.close(descriptor)
    with pytest.raises(FileNotFoundError, match="nosuch"):
        open_file(f"{os.path.dirname(file)}/nosuch", os.O_RDONLY)


def test_an_existing_folder_is_used_if_mkdir_fails(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GlusterFS refuses mkdir like this while a brick of the folder is down."""

    def refuse(path: str, mode: int, *, dir_fd: int) -> None:
        raise OSError(errno.ENOTCONN, os.strerror(errno.ENOTCONN))

    folder = base / ".plumbline"
    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(OSError, match="Transport endpoint is not connected"):
        enter(open_base(str(base)), str(folder), make=True)
    monkeypatch.undo()
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(os, "mkdir", refuse)
    os.close(enter(open_base(str(base)), str(folder), make=True))


@pytest.mark.slow
def test_the_process_name_shows_whether_opening_the_folder_or_the_tool_hangs(base: Path) -> None:
    """The path has so many folders that opening them takes long enough to see."""
    where = Within(str(base), (".",) * 25000)
    base.chmod(0o700)
    helper = Helper()

    def names() -> set[str]:
        seen: set[str] = set()
        with open(os.devnull, "wb") as null:
            process = begin(helper, where, null.fileno(), "sleep", "60")
        while "sleep" not in seen:
            seen.add(name_of(process))
        os.kill(process, signal.SIGKILL)
        assert helper.exit_code(None) == -signal.SIGKILL
        return seen

    # on a busy machine a single try may miss the moment
    try:
        eventually(lambda: {folders.PROGRAM, "sleep"} <= names())
    finally:
        helper.close()
    assert folders.PROGRAM in QUESTIONS
