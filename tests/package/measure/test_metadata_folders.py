"""Root makes the probe's folder on each metadata target, and gives it to the probe's user."""

from __future__ import annotations

import os
import pwd
import sys
from pathlib import Path
from typing import Mapping, Sequence

import pytest

from plumbline.measure.metadata_folders import RefusedError, give
from plumbline.measure.own_folders import User
from plumbline.model.command import Completed
from plumbline.model.errors import DocumentError, ToolError
from tests.package.fakes import Answer, FakeRunner, answer
from tests.package.parts.facts.symptoms_nodes import missing
from tests.package.recorded import data
from tests.processes import may_act_for_others, run_to_end

pytestmark = pytest.mark.skipif(not may_act_for_others(), reason="only root can give folders away")

DAEMON = User("daemon", pwd.getpwnam("daemon").pw_uid, pwd.getpwnam("daemon").pw_gid)
EVE = 65534
NAME = "scratch-MDT000b"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The folder of the probe's user on a file system."""
    own = tmp_path / ".plumbline"
    own.mkdir(mode=0o700)
    os.chown(own, DAEMON.uid, DAEMON.gid)
    return own


def made(argv: Sequence[str]) -> Completed:
    """Make a folder as ``lfs mkdir`` does, in the working folder."""
    Path(argv[-1]).mkdir(mode=int(argv[argv.index("-o") + 1], 8))
    return answer()


def lustre(changes: Mapping[str, Answer] = {}, index: int = 11, stripes: int = 0) -> FakeRunner:
    """Return a client of Lustre on which the folder lies on an MDT."""
    placement = f"lmv_stripe_count: {stripes} lmv_stripe_offset: {index} lmv_hash_type: none\n"
    answers: dict[str, Answer] = {
        "lfs getdirstripe": placement,
        "lfs mkdir": made,
        "lfs setdirstripe": "",
        "lfs setstripe": "",
    }
    return FakeRunner({**answers, **{f"lfs {name}": value for name, value in changes.items()}})


def given(own: Path, run: FakeRunner) -> list[str]:
    return [line.replace(f"{own}/{NAME}", "F") for line in give(f"{own}/{NAME}", DAEMON, run)]


def is_given(own: Path) -> bool:
    status = (own / NAME).lstat()
    return (status.st_uid, status.st_gid, status.st_mode) == (DAEMON.uid, DAEMON.gid, 0o040700)


def test_a_folder_is_made_once_on_its_mdt_and_pins_what_is_created_in_it(own: Path) -> None:
    run = lustre()
    assert given(own, run) == ["F is made for daemon on MDT000b"]
    assert is_given(own)
    assert run.calls == [
        f"lfs mkdir -i 11 -c 1 -o 700 {NAME}",
        "lfs setdirstripe -D -i 11 -c 1 .",
        "lfs setstripe -c 1 .",
    ]
    assert given(own, run) == []
    assert run.calls[3:] == [f"lfs getdirstripe {NAME}"]


@pytest.mark.parametrize("run", [lustre(index=0), lustre(stripes=2)])
def test_an_empty_folder_elsewhere_is_replaced_and_a_full_one_is_not(
    own: Path, run: FakeRunner
) -> None:
    given(own, lustre())
    assert given(own, run) == [
        "F lay on another metadata target and is removed",
        "F is made for daemon on MDT000b",
    ]
    (own / NAME / "run-client1-5").mkdir()
    with pytest.raises(RefusedError, match="lies on another metadata target, and is not empty"):
        given(own, run)
    assert is_given(own)


def test_what_an_interrupted_deployment_left_is_made_again(own: Path) -> None:
    (own / NAME).mkdir(mode=0o700)
    assert given(own, lustre()) == ["F is made for daemon on MDT000b"]
    assert is_given(own)


REFUSALS = {
    "an index that does not exist": (
        {"mkdir": answer("", data("lustre/lfs_mkdir_i7.err"), 19)},
        "No such device",
    ),
    "root squash": (
        {"mkdir": answer("", data("lustre/lfs_mkdir_nobody.err"), 1)},
        "Operation not permitted",
    ),
    "no Lustre": (
        {"mkdir": answer("", data("lustre/lfs_getdirstripe_notlustre.err"), 25)},
        "Inappropriate ioctl for device",
    ),
    "a layout that is refused": ({"setstripe": answer("", "lfs: no\n", 1)}, "lfs: no"),
}


@pytest.mark.parametrize(("changes", "words"), REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_of_lfs_is_told_and_nothing_is_given_away(
    own: Path, changes: dict[str, Answer], words: str
) -> None:
    with pytest.raises(RefusedError, match=words):
        given(own, lustre(changes))
    left = own / NAME
    assert not left.exists() or left.stat().st_uid == 0


def test_a_host_without_lfs_says_so(own: Path) -> None:
    with pytest.raises(ToolError):
        given(own, FakeRunner({"": missing}))


def test_what_the_user_puts_in_the_way_is_not_followed(own: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir(mode=0o700)
    (own / NAME).symlink_to(precious)
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        given(own, lustre())
    assert precious.stat().st_uid == 0

    def exchanged(argv: Sequence[str]) -> Completed:
        (own / NAME).symlink_to(precious)
        return made([*argv[:-1], "elsewhere"])

    (own / NAME).unlink()
    with pytest.raises(OSError, match=r"Not a directory|Too many levels"):
        given(own, lustre({"mkdir": exchanged}))
    assert precious.stat().st_uid == 0


def test_a_folder_that_was_filled_or_exchanged_is_not_given_away(own: Path) -> None:
    def filled(argv: Sequence[str]) -> Completed:
        done = made(argv)
        (own / NAME / "passwords").touch()
        return done

    with pytest.raises(RefusedError, match="exchanged while it was made"):
        given(own, lustre({"mkdir": filled}))
    assert (own / NAME).stat().st_uid == 0


def test_a_folder_of_somebody_else_is_refused(own: Path) -> None:
    (own / NAME).mkdir()
    os.chown(own / NAME, EVE, EVE)
    with pytest.raises(RefusedError, match="it belongs to somebody else"):
        given(own, lustre())
    os.chown(own, EVE, EVE)
    with pytest.raises(RefusedError, match="is not daemon's own"):
        given(own, lustre())


def test_only_an_mdt_has_such_a_folder(own: Path) -> None:
    with pytest.raises(DocumentError, match="is not the name of an MDT"):
        list(give(f"{own}/scratch-OST0000", DAEMON, lustre()))


def test_the_command_makes_several_folders_and_reports_failures(own: Path, tmp_path: Path) -> None:
    tool = tmp_path / "bin" / "lfs"
    tool.parent.mkdir()
    tool.write_text(
        "#!/bin/sh\n"
        'case "$*" in *-i\\ 7\\ *-o*) echo "lfs mkdir: No such device" >&2; exit 19;; '
        '*-o*) for name; do :; done; mkdir "$name";; esac\n'
    )
    tool.chmod(0o755)
    words = [sys.executable, "-m", "plumbline.measure.metadata_folders", "daemon"]
    folders = [own / "scratch-MDT0007", own / NAME]
    environment = {**os.environ, "PATH": f"{tool.parent}:{os.environ['PATH']}"}
    done = run_to_end(*words, *folders, env=environment)
    assert (done.returncode, done.stdout) == (1, f"{own}/{NAME} is made for daemon on MDT000b\n")
    assert "scratch-MDT0007 cannot be made for daemon: lfs mkdir -i 7" in done.stderr
    assert done.stderr.endswith("No such device\n")
    assert is_given(own)
