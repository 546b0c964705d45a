"""Restore an unreadable disk, its file system and its brick."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Callable

from plumbline_lab import disks, hosts
from plumbline_lab.command import run
from plumbline_lab.document import Disk, Lab
from plumbline_lab.errors import LabError

CHUNK = 4 * 2**20


def saved_image(run_dir: Path, name: str) -> Path:
    """Return the path of the saved image of an unreadable disk."""
    return run_dir / "saved" / name / "image"


def restore(lab: Lab, disk: Disk) -> None:
    """Stop the brick, unmount, restore the tail, check the file system, mount, start the brick.

    Data written to the head since then stays; failed writes to the tail are lost.  Each step may be
    repeated, so the next repair completes a killed one.
    """
    mount_point = f"/data/{disk.label}"
    _stop_brick(disk)
    _retry(
        lambda: _unmount(disk, mount_point),
        f"{mount_point} in {disk.host} cannot be unmounted: something uses it",
    )
    _restore_tail(lab, disk)
    _check(lab, disk)
    device = f"/dev/disk/by-id/plumbline-{disk.name}"
    hosts.inside(disk.host, ["mount", "-o", "noatime", device, mount_point])
    _start_brick(disk)


def _bricks(disk: Disk) -> list[int]:
    """Return the brick daemons of this disk, by the host's PIDs."""
    numbers = []
    root = Path(f"/proc/{hosts.require_init(disk.host)}/root/proc")
    for entry in root.glob("[0-9]*"):
        try:
            argv = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if argv[0].endswith(b"glusterfsd") and f"/data/{disk.label}/brick".encode() in argv:
            numbers.append(int(entry.name))
    return numbers


def _stop_brick(disk: Disk) -> None:
    for pid in _bricks(disk):
        hosts.inside(disk.host, ["kill", "-KILL", str(pid)])
    _retry(lambda: _none_left(disk), f"The brick of {disk.name} does not end")


def _none_left(disk: Disk) -> None:
    if _bricks(disk):
        raise LabError("still there")


def _start_brick(disk: Disk) -> None:
    """Start the stopped bricks of all volumes with `start force`."""
    if Path(f"/proc/{hosts.require_init(disk.host)}/root/usr/sbin/gluster").exists():
        for volume in hosts.inside(disk.host, ["gluster", "volume", "list"]).split():
            hosts.inside(
                disk.host, ["gluster", "--mode=script", "volume", "start", volume, "force"]
            )


def _unmount(disk: Disk, mount_point: str) -> None:
    mounts = Path(f"/proc/{hosts.require_init(disk.host)}/mounts").read_text(encoding="utf-8")
    if f" {mount_point} " in mounts:
        hosts.inside(disk.host, ["umount", mount_point])


def _retry(action: Callable[[], None], complaint: str, seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(LabError):
            action()
            return
        time.sleep(0.2)
    try:
        action()
    except LabError as error:
        raise LabError(f"{complaint} ({error}).") from error


def _restore_tail(lab: Lab, disk: Disk) -> None:
    room = lab.disk_size + disks.SLACK_BYTES
    run(["mount", "-o", f"remount,size={room}", str(disks.folder(lab.run_dir, disk.name))])
    saved = saved_image(lab.run_dir, disk.name)
    with open(saved, "rb") as source, open(disks.image(lab.run_dir, disk.name), "r+b") as sink:
        sink.truncate(lab.disk_size)
        position = disks.HEAD_BYTES
        while True:
            try:  # go to the next data: holes stay holes
                position = os.lseek(source.fileno(), position, os.SEEK_DATA)
            except OSError:
                break
            end = os.lseek(source.fileno(), position, os.SEEK_HOLE)
            while position < end:
                data = os.pread(source.fileno(), min(CHUNK, end - position), position)
                position += os.pwrite(sink.fileno(), data, position)


def _check(lab: Lab, disk: Disk) -> None:
    number = disks.loop_of(lab.run_dir, disk.name)
    run(["blockdev", "--flushbufs", f"/dev/loop{number}"])
    # e2fsck(8): 1 means that it corrected errors, as intended.
    run(["sh", "-c", 'e2fsck -f -y "$0" || [ $? -eq 1 ]', f"/dev/loop{number}"], timeout_s=120)
