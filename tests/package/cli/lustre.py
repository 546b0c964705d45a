"""A replayed client of Lustre: lfs and lctl answer with what a real one printed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

import pytest

from tests.package.cli.driver import finish
from tests.package.recorded import DATA

TOOLS = Path(__file__).parent / "tools"
OSTS = (0, 1, 2, 3, 0x1A)
"""Indices can be sparse, and are hexadecimal in names."""


def ost(index: int) -> str:
    return f"lustre-OST{index:04x}"


def mdt(index: int) -> str:
    return f"lustre-MDT{index:04x}"


class Client(NamedTuple):
    """A client with its mount, its tools and the state of its targets."""

    home: Path

    @property
    def mount(self) -> Path:
        return self.home / "scratch"

    def become(self, **state: Any) -> None:
        document = {"mount": str(self.mount), "osts": OSTS, **state}
        (self.home / "client.json").write_text(json.dumps(document))
        if document.get("hidden"):
            (self.home / "bin" / "stat").symlink_to(TOOLS / "lustre_stat")

    def variables(self, rates: Mapping[int, Any]) -> dict[str, str]:
        """Return the environment with the rates of OSTs in MB/s, or what their fio does."""
        return {
            "PATH": f"{self.home}/bin:{os.environ['PATH']}",
            "CLIENT": str(self.home / "client.json"),
            "RECORDED": str(DATA / "lustre"),
            "LUSTRE_MOUNT": str(self.mount),
            "FAKE_LOG": str(self.home / "fio.log"),
            **{f"FAKE_{ost(index)}": str(rate) for index, rate in rates.items()},
        }

    def call(
        self, *words: str, rates: Mapping[int, Any] = {}, inside: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[str]:
        return finish(self.home, *words, inside=inside, **self.variables(rates))

    def files(self) -> list[Path]:
        """Return what a survey left on the mount or as a lock."""
        return [*self.mount.rglob("*"), *(self.home / "tmp").iterdir()]

    @classmethod
    def at(cls, home: Path) -> Client:
        """Return a client whose tools and mount lie in an empty folder."""
        (home / "bin").mkdir()
        tools = {"lfs": "lustre_client", "lctl": "lustre_client", "cat": "lustre_cat", "fio": "fio"}
        for name, tool in tools.items():
            (home / "bin" / name).symlink_to(TOOLS / tool)
        (home / "scratch").mkdir()
        client = cls(home)
        client.become()
        return client


FROZEN = """
mkfs.ext4 -q image && mount -o loop image frozen && fsfreeze --freeze frozen || exit
echo ready
read -r _
fsfreeze --unfreeze frozen && umount --lazy frozen
"""
"""Stops all who write to a file system, beyond SIGKILL, until its standard input ends."""


@contextmanager
def frozen(home: Path) -> Iterator[int]:
    """Yield a process whose namespace has a frozen file system in a client's home."""
    if os.geteuid() != 0 or not shutil.which("mkfs.ext4"):
        pytest.skip("only root can freeze a file system")
    (home / "frozen").mkdir()
    with (home / "image").open("wb") as image:
        image.truncate(8 << 20)
    words = ("unshare", "--mount", "--propagation", "private", "sh", "-c", FROZEN)
    with subprocess.Popen(
        words, cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdin
        assert holder.stdout
        if holder.stdout.readline() != "ready\n":
            pytest.skip("no file system can be mounted and frozen here")
        yield holder.pid
        holder.stdin.close()
        assert holder.wait(timeout=60) == 0
