"""Counters of kernel and Lustre, as this kind of machine and a Lustre 2.15 server have them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Mapping

import pytest

from plumbline.errors import DocumentError, ToolError
from plumbline.model.record import Operation
from plumbline.run.command import SystemRunner
from plumbline.run.counters import (
    DISKSTATS,
    LUSTRE,
    Counter,
    Devices,
    Targets,
    device_number,
    diskstats,
    lustre_stats,
)
from plumbline.run.system import LocalSystem
from tests.project.repository import ROOT

DATA = ROOT / "tests" / "data"
DISKS = (DATA / "diskstats" / "kernel.txt").read_text(encoding="utf-8")
STATS = (DATA / "lustre" / "lctl_obdfilter_n_stats.txt").read_text(encoding="utf-8")
OST0 = "snapshot_time" + STATS.split("snapshot_time")[1]
READ, WRITE = Operation.READ, Operation.WRITE


class FakeFiles:
    """Files as a dictionary."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = dict(texts)

    def read(self, path: str) -> str:
        return self.texts.get(path, "")

    def names(self, folder: str) -> tuple[str, ...]:
        below = [path[len(folder) + 1 :] for path in self.texts if path.startswith(f"{folder}/")]
        return tuple(dict.fromkeys(path.split("/")[0] for path in below))


def test_a_sector_has_512_bytes_on_every_device() -> None:
    found = diskstats(DISKS)
    assert len(found) == len(DISKS.splitlines())
    # vda: 268155178 sectors read, 286791120 written
    assert found[254, 0] == (268155178 * 512, 286791120 * 512)


def test_what_this_kernel_counts_is_what_it_counts_of_each_device() -> None:
    found = diskstats(LocalSystem(SystemRunner()).read(DISKSTATS))
    for stat in Path("/sys/block").glob("*/stat"):
        number = tuple(map(int, (stat.parent / "dev").read_text().split(":")))
        sectors = int(stat.read_text().split()[2])
        assert sectors * 512 >= found[number[0], number[1]][0]


def test_a_device_that_is_gone_has_no_counter() -> None:
    found = Devices({"disk1": (7, 7), "gone": (9, 9)}, FakeFiles({DISKSTATS: DISKS})).read()
    assert found == {
        Counter("disk1", READ, "diskstats"): 3934674 * 512,
        Counter("disk1", WRITE, "diskstats"): 806888 * 512,
    }


@pytest.mark.parametrize("text", ["7 0 loop0 1 2", "7 0 loop0 1 2 x 4 5 6 7"])
def test_lines_that_are_not_understood_are_said(text: str) -> None:
    with pytest.raises(ToolError, match=r"/proc/diskstats is not understood"):
        diskstats(text)


def test_a_target_has_the_sums_of_its_bytes() -> None:
    assert lustre_stats(OST0, "stats") == {READ: 478150656, WRITE: 747634688}


def test_a_target_that_has_moved_nothing_yet_stands_at_zero() -> None:
    fresh = "\n".join(line for line in OST0.splitlines() if "[bytes]" not in line)
    assert lustre_stats(fresh, "stats") == {READ: 0, WRITE: 0}


@pytest.mark.parametrize(
    "text",
    ["", "lctl: error", "snapshot_time 1\nread_bytes 2 samples [bytes] 1 2"],
    ids=["empty", "an error", "without a sum"],
)
def test_text_that_is_no_table_of_a_target_is_said(text: str) -> None:
    with pytest.raises(ToolError, match="stats is not understood"):
        lustre_stats(text, "stats")


@pytest.mark.parametrize("folder", LUSTRE)
def test_targets_are_found_where_a_release_keeps_them(folder: str) -> None:
    path = f"{folder}/scratch-OST0000/stats"
    files = FakeFiles({path: OST0, f"{folder}/num_refs": "3"})
    targets = Targets(files)
    assert list(targets.names) == ["scratch-OST0000"]
    assert targets.read()[Counter("scratch-OST0000", WRITE, "lustre")] == 747634688
    del files.texts[path]
    assert targets.read() == {}


def test_a_link_leads_to_the_number_of_its_device(tmp_path: Path) -> None:
    devices = [each for each in Path("/dev").iterdir() if each.is_block_device()]
    if not devices:
        pytest.skip("this machine shows no block device")
    link = tmp_path / "by-id"
    link.symlink_to(devices[0])
    said = os.stat(devices[0]).st_rdev
    assert device_number("disk1", str(link)) == (os.major(said), os.minor(said))


@pytest.mark.parametrize(
    ("path", "words"), [("none", "cannot be found"), (".", "is no block device")]
)
def test_what_is_no_device_is_said(path: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=f"disk1: .*{words}"):
        device_number("disk1", str(tmp_path / path))
