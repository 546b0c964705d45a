"""A user's file is led back to its targets from its layout alone, and what has none is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plumbline.measure.targets.interface import Holder
from plumbline.measure.targets.whereabouts import whereabouts
from plumbline.model.command import Completed
from plumbline.model.errors import SkipTarget, UsageError
from tests.package.fakes import HANGING, Answer, FakeRunner, answer

DATA = Path(__file__).parents[2] / "data"
MOUNTS = (
    "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
    "2 1 0:40 / /mnt/lustre rw - lustre 10.0.0.1@tcp:/lustre rw\n"
    "3 1 0:41 / /other rw - lustre 10.0.0.9@tcp:/other rw\n"
    "4 1 8:17 / /data/disk1 rw - ext4 /dev/sdb1 rw\n"
)
LUSTRE: dict[str, Any] = {
    f"lustre-OST000{index}": {"kind": "lustre", "mount": "/mnt/lustre"} for index in range(4)
}
GRAPH = "/mnt/scratch/.meta/graphs/active"


def lustre(name: str) -> str:
    return (DATA / "lustre" / name).read_text()


def gluster(name: str) -> str:
    return (DATA / "glusterfs" / name).read_text()


def runner(layout: Answer, path: str = "/mnt/lustre/u/f", mounts: str = MOUNTS) -> FakeRunner:
    return FakeRunner(
        {
            "realpath": f"{path}\0",
            "cat /proc/self/mountinfo": mounts,
            "lfs getstripe -d -y": layout,
            "getfattr": layout,
            f"cat {GRAPH}/scratch-client-2/options/remote-host": "oss2\n",
            f"cat {GRAPH}/scratch-client-2/options/remote-subvolume": "/data/disk1/brick\n",
            f"cat {GRAPH}/scratch-client-3/options/remote-host": "oss2\n",
            f"cat {GRAPH}/scratch-client-3/options/remote-subvolume": "/data/disk2/brick\n",
        }
    )


@pytest.mark.parametrize(
    ("capture", "indices"),
    [
        ("lfs_getstripe_y.txt", [2]),
        ("lfs_getstripe_y_wide.txt", [0, 1, 2, 3]),
        ("lfs_getstripe_y_pfl.txt", [0, 2, 3, 1]),
    ],
)
def test_each_ost_of_a_layout_is_named_once(capture: str, indices: list[int]) -> None:
    run = runner(lustre(capture))
    place = whereabouts(run, "/mnt/lustre/u/f", LUSTRE)
    assert [holder.component for holder in place.holders] == [f"lustre-OST000{i}" for i in indices]
    assert (place.kind, place.mount) == ("lustre", "/mnt/lustre")
    assert not run.called("stat")


def test_a_name_of_the_site_and_one_that_this_host_does_not_measure() -> None:
    known = {"first": {"kind": "lustre", "mount": "/mnt/lustre", "ost": "lustre-OST0000"}}
    place = whereabouts(runner(lustre("lfs_getstripe_y_wide.txt")), "/l/f", known)
    assert place.holders[:2] == (Holder("lustre-OST0000", "first"), Holder("lustre-OST0001", ""))


def test_an_ost_has_a_hexadecimal_index() -> None:
    layout = lustre("lfs_getstripe_y.txt").replace("l_ost_idx: 2", "l_ost_idx: 26")
    assert whereabouts(runner(layout), "/l/f", LUSTRE).holders[0].name == "lustre-OST001a"


ONE = "lfs_getstripe_y.txt"


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        (lustre("lfs_getstripe_dy_dir3.txt"), "is a directory"),
        (lustre(ONE).replace("raid0", "raid0,released"), "bring it back with lfs hsm_restore"),
        (lustre(ONE).replace("raid0", "80000001"), "is released"),
        (lustre(ONE).partition("lmm_objects")[0], "has no data on any OST"),
        (lustre(ONE).partition("lmm_objects")[0].replace("raid0", "mdt"), "with its metadata"),
    ],
)
def test_what_lies_on_no_target_is_said(layout: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        whereabouts(runner(layout), "/mnt/lustre/u/f", LUSTRE)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("No such file or directory", "is not there"),
        ("Not a directory", "one of its folders is a file"),
        ("Permission denied", "ask as its owner"),
        ("File name too long", "longer than this file system takes"),
        ("Too many levels of symbolic links", "a link that leads in a circle"),
    ],
)
def test_a_path_that_leads_nowhere_is_one_sentence(said: str, words: str) -> None:
    run = FakeRunner({"realpath": answer(stderr=f"realpath: /x: {said}\n", exit_code=1)})
    with pytest.raises(UsageError, match=words):
        whereabouts(run, "/x", LUSTRE)


@pytest.mark.parametrize("path", ["/etc/hosts", "/other/f"])
def test_a_file_elsewhere_names_the_file_system(path: str) -> None:
    with pytest.raises(UsageError, match=r"lies on .* which holds no target"):
        whereabouts(runner("", path), path, LUSTRE)


def test_a_sentence_stays_one_line_whatever_a_file_is_called() -> None:
    path = "/mnt/lustre/u/a\nb"
    with pytest.raises(UsageError, match=r"^'/mnt/lustre/u/a\\nb' is a directory"):
        whereabouts(runner(lustre("lfs_getstripe_dy_dir3.txt"), path), path, LUSTRE)


def test_a_name_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(UsageError, match="is not UTF-8"):
        whereabouts(runner("", "/mnt/lustre/u/\N{REPLACEMENT CHARACTER}"), "/mnt/l", LUSTRE)


def test_a_relative_path_is_refused() -> None:
    with pytest.raises(UsageError, match="no absolute path"):
        whereabouts(FakeRunner({}), "u/f", LUSTRE)


@pytest.mark.parametrize("trouble", [HANGING, answer("nonsense\n"), answer(exit_code=1)])
def test_a_tool_that_does_not_answer_is_no_layout(trouble: Completed) -> None:
    with pytest.raises(SkipTarget):
        whereabouts(runner(trouble), "/mnt/lustre/u/f", LUSTRE)


def test_a_hanging_look_up_ends() -> None:
    with pytest.raises(SkipTarget, match="gave no answer"):
        whereabouts(FakeRunner({"realpath": HANGING}), "/mnt/lustre/f", LUSTRE)


def test_a_file_of_glusterfs_lies_on_the_brick_that_its_pathinfo_names() -> None:
    known = {
        f"scratch-OST000{index}": {
            "kind": "glusterfs",
            "mount": "/mnt/scratch",
            "subvolume": f"scratch-client-{index}",
        }
        for index in (2, 3)
    }
    run = runner(gluster("pathinfo.txt"), "/mnt/scratch/f", gluster("mountinfo.txt"))
    place = whereabouts(run, "/mnt/scratch/f", known)
    assert place.holders == (Holder("oss2:/data/disk2/brick", "scratch-OST0003"),)
    folder = gluster("pathinfo.txt") + "(scratch-dht-layout (scratch-client-0 0 4294967295))"
    with pytest.raises(UsageError, match="is a directory"):
        whereabouts(runner(folder, "/mnt/scratch", gluster("mountinfo.txt")), "/mnt/scratch", known)


def test_a_directory_target_holds_all_of_its_mount() -> None:
    known = {
        "disk1": {"kind": "directory", "directory": "/data/disk1/plumbline"},
        "disk2": {"kind": "directory", "directory": "/data/disk2"},
    }
    place = whereabouts(runner("", "/data/disk1/u/f"), "/data/disk1/u/f", known)
    assert place.holders == (Holder("disk1", "disk1"),)
