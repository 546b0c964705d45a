"""A raw device is looked at, never changed."""

from __future__ import annotations

import pytest

from plumbline.measure.targets import target_for
from plumbline.model.errors import DocumentError, PrivilegeError, SkipTarget
from tests.package.fakes import FakeRunner, answer

DEVICE = {"kind": "device", "device": "/dev/disk/by-id/x", "block_size": 512}


def runner(*kinds: str) -> FakeRunner:
    return FakeRunner(
        {
            "stat --dereference": [answer(kind) for kind in kinds],
            "test -r": "",
            "cat /sys/dev/block/253:10/stat": "1 0 100 5 2 0 200 7 0 0 0\n",
        }
    )


def test_a_device_is_read_where_it_is() -> None:
    run = runner("block special file/fd/a\n")
    device = target_for(DEVICE, "disk1")
    assert device.state(run).fill is None
    path = device.place(run, 1 << 30)
    device.verify(run, path)
    assert (path, device.leftovers(run), device.traffic(run)) == (
        "/dev/disk/by-id/x",
        (),
        300 * 512,
    )
    device.remove(run)
    assert {call.split()[0] for call in run.calls} == {"stat", "test", "cat"}


def test_a_name_that_means_another_device_by_now_voids_the_run() -> None:
    run = runner("block special file/fd/a\n", "block special file/fd/b\n")
    device = target_for(DEVICE, "disk1")
    device.state(run)
    with pytest.raises(SkipTarget, match="not the same device"):
        device.verify(run, "/dev/disk/by-id/x")


@pytest.mark.parametrize("kind", ["regular file/0/0\n", "character special file/1/3\n", ""])
def test_what_is_no_block_device_is_skipped(kind: str) -> None:
    with pytest.raises(SkipTarget, match="not a block device"):
        target_for(DEVICE, "disk1").state(runner(kind))


def test_a_device_that_this_user_may_not_read_is_a_matter_of_privileges() -> None:
    run = FakeRunner(
        {"stat --dereference": "block special file/fd/a\n", "test -r": answer(exit_code=1)}
    )
    with pytest.raises(PrivilegeError, match="may not read /dev/disk/by-id/x"):
        target_for(DEVICE, "disk1").state(run)


@pytest.mark.parametrize("path", ["/etc/passwd", "/dev/../etc/passwd", "sda", "/dev"])
def test_a_path_outside_of_dev_is_refused(path: str) -> None:
    with pytest.raises(DocumentError):
        target_for({"kind": "device", "device": path}, "disk1")
