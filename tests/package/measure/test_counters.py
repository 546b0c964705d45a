"""Counters of the kernel and of Lustre, recorded on a PC and a Lustre 2.15 server."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Mapping

import pytest

from plumbline.measure.sample import (
    DISKSTATS,
    NEEDS_DEBUGFS,
    Counter,
    Devices,
    Targets,
    closed,
    device_number,
    diskstats,
    unwatched,
)
from plumbline.measure.sample import LUSTRE_STATS as LUSTRE
from plumbline.model.errors import DocumentError, ToolError
from plumbline.model.record import Operation
from plumbline.observe.command import LocalSystem, SystemRunner
from plumbline.observe.coverage import REQUESTS
from tests.package.observe.lustre_server import OST_STATS
from tests.package.recorded import data
from tests.processes import may_act_for_others, run_to_end
from tests.project.repository import ROOT

DISKS = data("diskstats/kernel.txt")
READ, WRITE = Operation.READ, Operation.WRITE


class FakeFiles:
    """Files as a dictionary."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = dict(texts)

    def read(self, path: str, most_bytes: int = 1 << 20) -> str:
        return self.texts.get(path, "")[:most_bytes]

    def names(self, folder: str) -> tuple[str, ...]:
        below = [path[len(folder) + 1 :] for path in self.texts if path.startswith(f"{folder}/")]
        return tuple(dict.fromkeys(path.split("/")[0] for path in below))


def test_a_sector_has_512_bytes_on_every_device() -> None:
    moved = diskstats(DISKS)
    assert len(moved) == len(DISKS.splitlines())
    # vda: 268155178 sectors read, 286791120 written
    assert moved[254, 0] == (268155178 * 512, 286791120 * 512)


def test_diskstats_of_this_kernel_match_its_devices() -> None:
    moved = diskstats(LocalSystem(SystemRunner()).read(DISKSTATS))
    for stat in Path("/sys/block").glob("*/stat"):
        number = tuple(map(int, (stat.parent / "dev").read_text().split(":")))
        sectors = int(stat.read_text().split()[2])
        assert sectors * 512 >= moved[number[0], number[1]][0]


def test_a_missing_device_has_no_counter() -> None:
    moved = Devices({"disk1": (7, 7), "gone": (9, 9)}, FakeFiles({DISKSTATS: DISKS})).read()
    assert moved == {
        Counter("disk1", READ, "diskstats"): 3934674 * 512,
        Counter("disk1", WRITE, "diskstats"): 806888 * 512,
    }


@pytest.mark.parametrize("text", ["7 0 loop0 1 2", "7 0 loop0 1 2 x 4 5 6 7"])
def test_invalid_lines_are_reported(text: str) -> None:
    with pytest.raises(ToolError, match=r"/proc/diskstats is not understood"):
        diskstats(text)


@pytest.mark.parametrize("folder", LUSTRE)
def test_targets_are_found_in_the_folder_of_each_lustre_release(folder: str) -> None:
    path = f"{folder}/scratch-OST0000/stats"
    files = FakeFiles({path: OST_STATS, f"{folder}/num_refs": "3"})
    targets = Targets(files)
    assert list(targets.names) == ["scratch-OST0000"]
    assert targets.read()[Counter("scratch-OST0000", WRITE, "lustre")] == 747634688
    del files.texts[path]
    assert targets.read() == {}


def test_metadata_targets_count_their_requests_and_no_bytes() -> None:
    folder, counted = "/sys/fs/lustre/mdt", "/proc/fs/lustre/mdt/scratch-MDT0000/md_stats"
    files = FakeFiles({f"{folder}/scratch-MDT0000/uuid": "x", f"{folder}/num_refs": "3"})
    targets = Targets(files)
    assert targets.metadata == ("scratch-MDT0000",)
    assert (targets.names, targets.closed, targets.read()) == ({}, (), {})
    files.texts[counted] = data("lustre/md_stats_rename.txt")
    # a rename counts once, although md_stats has it by kind as well
    assert Targets(files).read() == {Counter("scratch-MDT0000", REQUESTS, "lustre"): 5071}


SERVED = "/sys/fs/lustre/obdfilter/scratch-OST{:04x}/uuid"
STATISTICS = "/sys/kernel/debug/lustre/obdfilter/scratch-OST{:04x}/stats"


@pytest.mark.parametrize(
    ("readable", "sentences"),
    [
        ((), [f"none of 4 OSTs watched: {NEEDS_DEBUGFS}"]),
        ((0, 2), [f"2 of 4 OSTs watched: {NEEDS_DEBUGFS}"]),
        ((0, 1, 2, 3), []),
    ],
)
def test_targets_unreadable_for_this_user_are_reported(
    readable: tuple[int, ...], sentences: list[str]
) -> None:
    texts = {SERVED.format(n): "" for n in range(4)}
    files = FakeFiles({**texts, **{STATISTICS.format(n): OST_STATS for n in readable}})
    targets = Targets(files)
    names = [f"scratch-OST{n:04x}" for n in range(4)]
    assert sorted([*targets.names, *targets.closed]) == names
    assert list(unwatched(targets, names)) == sentences
    assert {(counter.component, counter.operation) for counter in closed(targets)} == {
        (name, operation) for name in targets.closed for operation in (READ, WRITE)
    }


def test_targets_on_another_server_than_in_the_topology_are_reported() -> None:
    files = FakeFiles({SERVED.format(0): "", STATISTICS.format(0): OST_STATS})
    (sentence,) = unwatched(Targets(files), ["scratch-OST0000", "scratch-OST0001"])
    assert sentence.startswith("scratch-OST0001 not watched: this server does not have")
    assert list(unwatched(Targets(FakeFiles({})), [])) == []


LOOK = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from plumbline.observe.command import SystemRunner
from plumbline.measure.sample import Targets
from plumbline.observe.command import LocalSystem
targets = Targets(LocalSystem(SystemRunner(), Path(sys.argv[2])))
print(*targets.names, "not", *targets.closed, "of", sum(targets.read().values()))
"""


@pytest.mark.skipif(not may_act_for_others(), reason="only root can become another user")
@pytest.mark.parametrize(
    ("capabilities", "output"),
    [
        ("-all", "not scratch-OST0000 of 0"),
        ("-all,+dac_read_search", "scratch-OST0000 not of 1225785344"),
    ],
)
def test_one_capability_lets_any_user_read_debugfs(
    open_path: Path, capabilities: str, output: str
) -> None:
    shutil.copytree(ROOT / "src", open_path / "package")
    for path, text in ((SERVED, ""), (STATISTICS, OST_STATS)):
        file = open_path / path.format(0).lstrip("/")
        file.parent.mkdir(parents=True)
        file.write_text(text, encoding="utf-8")
    # like systemd's mount
    (open_path / "sys/kernel/debug").chmod(0o700)
    options = [f"--{kind}={capabilities}" for kind in ("inh-caps", "ambient-caps", "bounding-set")]
    done = run_to_end(
        *("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs"),
        *(*options, "/usr/bin/python3", "-B", "-c", LOOK, open_path / "package", open_path),
    )
    assert (done.stdout.strip(), done.stderr) == (output, "")


def test_a_link_gives_the_number_of_its_device(tmp_path: Path) -> None:
    devices = [path for path in Path("/dev").iterdir() if path.is_block_device()]
    if not devices:
        pytest.skip("this machine shows no block device")
    link = tmp_path / "by-id"
    link.symlink_to(devices[0])
    number = os.stat(devices[0]).st_rdev
    assert device_number("disk1", str(link)) == (os.major(number), os.minor(number))


@pytest.mark.parametrize(
    ("path", "words"), [("none", "cannot be found"), (".", "is no block device")]
)
def test_a_path_that_is_no_device_is_reported(path: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=f"disk1: .*{words}"):
        device_number("disk1", str(tmp_path / path))
