"""Another user replaces file or folder just as a tool begins: many times, in vain."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

import pytest

from plumbline.measure.ost import TargetUnit
from plumbline.model.command import Within
from plumbline.model.errors import SkipTarget
from plumbline.model.record import Outcome
from plumbline.model.spec import ProbeSpec
from plumbline.observe.command import SystemClock, SystemRunner
from tests.package.measure.units import expectation, measured
from tests.processes import may_act_for_others

ROUNDS = 25
"""tests.bench.attacks has hundreds."""
SIZE = 64 << 10
PRECIOUS = b"precious" * 512
NOBODY = 65534
RUN = SystemRunner()
FILE = ".plumbline/a/probe.dat"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not may_act_for_others(), reason="an attack by another user needs root"),
]

ATTACKER = """
import os, sys, time
what, home = sys.argv[1:]
os.chdir(home)

def forge(base):
    os.makedirs(f"{base}/.plumbline/a")
    os.symlink(f"{home}/precious", f"{base}/.plumbline/a/probe.dat")

def exchange():
    if what == "file":
        os.rename("above/scratch/.plumbline/a/probe.dat", "above/scratch/.plumbline/a/old")
        os.symlink(f"{home}/precious", "above/scratch/.plumbline/a/probe.dat")
    elif what == "folder":
        os.rename("above/scratch/.plumbline", "above/scratch/away")
        forge("above/scratch")
    elif what == "component":
        os.rename("above/scratch/.plumbline/a", "above/scratch/.plumbline/away")
        os.symlink(f"{home}/forged/.plumbline/a", "above/scratch/.plumbline/a")
    elif what == "parent":
        os.rename("above/scratch", "above/away")
        os.symlink(f"{home}/forged", "above/scratch")

def put(folder):
    global made
    while True:
        try:
            return os.rename(folder, "above/scratch/.plumbline")
        except OSError:
            # the run has made its folder again meanwhile
            made += 1
            os.rename("above/scratch/.plumbline", f"above/scratch/made{made}")

forge("forged")
made = 0
while what == "all the time":
    os.rename("above/scratch/.plumbline", "above/scratch/away")
    put("forged/.plumbline")
    os.rename("above/scratch/.plumbline", "forged/.plumbline")
    put("above/scratch/away")
while True:
    while not os.path.exists("signs/begun"):
        time.sleep(0.0005)
    exchange()
    os.rename("signs/begun", "signs/exchanged")
"""

TOOL = """
import os, sys, time
home, words = sys.argv[1:]
open(f"{home}/signs/begun", "w").close()
while not os.path.exists(f"{home}/signs/exchanged"):
    time.sleep(0.0005)
os.unlink(f"{home}/signs/exchanged")
with open("/proc/self/fd/0", "r+b") as file:
    file.write(words.encode())
"""


class Site:
    """A world-writable file system in a world-writable folder, and a file of root."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.precious = home / "precious"
        self.base = home / "above/scratch"
        self.precious.write_bytes(PRECIOUS)
        self.precious.chmod(0o600)
        for folder in (home / "forged", home / "signs", home / "above", self.base):
            folder.mkdir()
            folder.chmod(0o777)

    def reset(self) -> None:
        """Restore the folders to their state before the attack."""
        for base in (self.base, self.home / "above/away"):
            shutil.rmtree(base, ignore_errors=True)
        self.base.unlink(missing_ok=True)
        self.base.mkdir()
        self.base.chmod(0o777)

    def placed(self) -> tuple[Within, int]:
        """Make the probe file in a folder of the caller alone; return where a tool finds it."""
        folder = self.base / ".plumbline/a"
        folder.mkdir(parents=True, mode=0o700)
        folder.parent.chmod(0o700)
        (self.base / FILE).write_bytes(bytes(SIZE))
        inode = (self.base / FILE).stat().st_ino
        names = (".plumbline", "a")
        within = Within(str(self.base), names, file="probe.dat", opened=True, inode=inode)
        return within, os.open(self.base / FILE, os.O_RDONLY)

    @contextmanager
    def attacked(self, what: str, user: int) -> Iterator[None]:
        words = ["/usr/bin/python3", "-IS", "-c", ATTACKER, what, str(self.home)]
        with subprocess.Popen(words, user=user, group=user) as attacker:
            try:
                yield
                assert attacker.poll() is None
            finally:
                attacker.kill()


@pytest.fixture
def site(open_path: Path) -> Site:
    return Site(open_path)


@pytest.mark.parametrize(
    ("what", "user"),
    # only root can replace anything in a private folder of the caller
    [("file", 0), ("component", 0), ("folder", NOBODY), ("parent", NOBODY)],
)
def test_a_tool_writes_to_the_opened_file_even_if_its_path_is_replaced(
    site: Site, what: str, user: int
) -> None:
    with site.attacked(what, user):
        for number in range(ROUNDS):
            within, file = site.placed()
            words = f"round {number}"
            tool = ["/usr/bin/python3", "-IS", "-c", TOOL, str(site.home), words]
            assert RUN(tool, 300, within).ok
            assert (site.base / FILE).is_symlink()
            assert os.pread(file, len(words), 0) == words.encode()
            os.close(file)
            with pytest.raises(SkipTarget):
                RUN(["true"], 300, within)
            assert site.precious.read_bytes() == PRECIOUS
            site.reset()


def refusal(within: Within) -> str:
    """Return the reason of a refusal, empty after a write or if the folder was missing."""
    try:
        done = RUN(["sh", "-c", "echo >> probe.dat; echo > other"], 300, within)
    except SkipTarget as error:
        return str(error)
    assert done.ok or done.stderr.endswith("No such file or directory\n"), done.stderr
    return ""


def test_folders_replaced_all_the_time_are_refused_or_belong_to_the_caller(site: Site) -> None:
    within, file = site.placed()
    os.close(file)
    within = within._replace(opened=False)
    with site.attacked("all the time", NOBODY):
        refused = [refusal(within) for _ in range(ROUNDS)]
    assert {"belongs to nobody" in reason for reason in refused if reason} <= {True}
    for written in site.home.rglob("other"):
        assert (written.stat().st_uid, written.parent.stat().st_uid) == (0, 0)
    assert site.precious.read_bytes() == PRECIOUS


def test_fio_under_attack_writes_no_file_of_others(site: Site) -> None:
    """A whole measurement with the real tool."""
    target = {"kind": "directory", "directory": str(site.base)}
    entry = expectation("a", target=target, spec=ProbeSpec("fio", 1 << 20, 2.0, repeats=2))
    folder = site.base / ".plumbline/a"
    folder.mkdir(parents=True)
    os.chown(folder.parent, NOBODY, NOBODY)
    for record in measured(TargetUnit(entry), RUN, SystemClock()):
        assert record.outcome is Outcome.SKIPPED
        assert "belongs to nobody" in record.reason
    shutil.rmtree(folder.parent)
    for record in measured(TargetUnit(entry), RUN, SystemClock()):
        assert record.outcome is Outcome.OK, record.reason
    with site.attacked("all the time", NOBODY):
        for record in measured(TargetUnit(entry), RUN, SystemClock()):
            # a folder is missing between two renames
            missing = record.reason.endswith(": No such file or directory")
            assert missing or record.outcome in (Outcome.OK, Outcome.SKIPPED), record.reason
    assert site.precious.read_bytes() == PRECIOUS
