"""A batch of root in a folder of another user: that user gains nothing by exchanging files."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Iterator

import pytest

from plumbline.model.errors import StoreError, ToolError
from plumbline.site.command_pipe import hand_over
from tests.processes import may_act_for_others

NOBODY = 65534
ROUNDS = 25

pytestmark = pytest.mark.skipif(
    not may_act_for_others(), reason="an attack by another user needs root"
)

# Reads the pipe as Nagios does, and puts a link in the place of each batch.
ATTACKER = """
import os, sys
folder, precious = sys.argv[1:]
os.chdir(folder)
pipe = os.open("nagios.cmd", os.O_RDONLY | os.O_NONBLOCK)
print("ready", flush=True)
while True:
    for name in os.listdir("."):
        if name.startswith("plumbline-batch-"):
            try:
                os.symlink(precious, "link")
                os.rename("link", name)
            except FileExistsError:
                os.unlink("link")
"""

DAEMON = """
import os, sys
os.chdir(sys.argv[1])
pipe = os.open("nagios.cmd", os.O_RDONLY | os.O_NONBLOCK)
os.set_blocking(pipe, True)
print("ready", flush=True)
while not (line := os.read(pipe, 4096)):
    pass
file = line.decode().split(";")[1]
status = os.stat(file)
print(status.st_uid, oct(status.st_mode)[2:], open(file).read(), end="", flush=True)
os.unlink(file)
"""


class Site:
    """The folder of a daemon's user with its pipe, and a file of root."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "rw"
        self.precious = home / "precious"
        self.pipe = self.folder / "nagios.cmd"
        self.precious.write_text("of root")
        self.precious.chmod(0o600)
        self.folder.mkdir()
        os.mkfifo(self.pipe)
        for path in (self.folder, self.pipe):
            os.chown(path, NOBODY, NOBODY)

    def owner(self) -> tuple[int, int]:
        """Return owner and permissions of root's file."""
        status = self.precious.stat()
        return status.st_uid, stat.S_IMODE(status.st_mode)


@pytest.fixture
def site(open_path: Path) -> Site:
    return Site(open_path)


@contextmanager
def acting(program: str, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Run a program as another user once it is ready."""
    command = [sys.executable, "-c", program, *words]
    process = subprocess.Popen(
        command, user=NOBODY, group=NOBODY, extra_groups=[], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_a_link_in_place_of_the_batch_gives_no_file_of_root_away(site: Site) -> None:
    with acting(ATTACKER, str(site.folder), str(site.precious)) as attacker:
        for _ in range(ROUNDS):
            with suppress(ToolError):
                hand_over("command\n" * 100, site.pipe, site.folder, 0.05)
            assert site.owner() == (0, 0o600)
            assert site.precious.read_text() == "of root"
        assert attacker.poll() is None
    assert (os.geteuid(), os.getegid()) == (0, 0)


def test_a_folder_of_root_behind_a_link_is_not_written_to(site: Site) -> None:
    configuration = site.folder.parent / "configuration"
    configuration.mkdir(mode=0o755)
    (site.folder / "spool").symlink_to(configuration)
    reader = os.open(site.pipe, os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(StoreError, match=r"no batch can be written to .*spool: Permission denied"):
        hand_over("command\n", site.pipe, site.folder / "spool", 0.05)
    os.close(reader)
    assert list(configuration.iterdir()) == []


def test_the_daemon_deletes_the_batch_even_in_a_folder_of_all(site: Site) -> None:
    os.chown(site.folder, 0, 0)
    site.folder.chmod(0o1777)
    with acting(DAEMON, str(site.folder)) as daemon:
        hand_over("command\n", site.pipe, site.folder, 10)
        assert daemon.stdout
        assert daemon.stdout.readline() == f"{NOBODY} 100644 command\n"
    assert [path.name for path in site.folder.iterdir()] == ["nagios.cmd"]
