"""Disks: image files in memory with loop devices, a rate, and a device node in their server.

A disk is two loop devices, one on top of the other, and the lower one has the rate: the kernel does
not count the time that a request waits for the throttle of its own device, so a slow disk would
have the latency of a fast one in /proc/diskstats.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from pathlib import Path
from typing import Optional

from plumbline_lab import cgroups, hosts, services, state
from plumbline_lab.command import run, succeeds
from plumbline_lab.document import Disk, Lab
from plumbline_lab.errors import LabError

LOOP_MAJOR = 7
LOOP_CTL_GET_FREE = 0x4C82  # linux/loop.h
# ext4's structures and journal are packed into the head of the disk, so unreadable data after it
# (see breakage.py) causes errors of reads and writes, not of the entire file system.
HEAD_BYTES = 24 * 2**20
MKFS = [
    "mkfs.ext4",
    "-q",
    "-F",
    "-m",
    "0",
    "-N",
    "16384",
    "-J",
    "size=8",
    "-E",
    "packed_meta_blocks=1,nodiscard",
]
SLACK_BYTES = 8 * 2**20  # size of the tmpfs beyond the image


def folder(run_dir: Path, name: str) -> Path:
    """Return the folder of a disk's image, a separate tmpfs that can be filled separately."""
    return run_dir / "disks" / name


def image(run_dir: Path, name: str) -> Path:
    """Return the image file of a disk."""
    return folder(run_dir, name) / "image"


def up(lab: Lab) -> list[str]:
    """Create missing disks, set their rates and attach them to their hosts."""
    done: list[str] = []
    for disk in lab.disks.values():
        if _ensure_image(lab, disk):
            done.append(f"disk {disk.name}")
        number = ensure_loop(lab, disk)
        set_rate(lab, disk, current_rate(lab, disk.name))
        if _attach(disk, number):
            done.append(f"/dev/disk/by-id/plumbline-{disk.name} in {disk.host}, /dev/loop{number}")
    return done


def _ensure_image(lab: Lab, disk: Disk) -> bool:
    place, path = folder(lab.run_dir, disk.name), image(lab.run_dir, disk.name)
    if path.exists():
        return False
    place.mkdir(parents=True, exist_ok=True)
    if not os.path.ismount(place):
        run(
            [
                "mount",
                "-t",
                "tmpfs",
                "-o",
                f"mode=700,size={lab.disk_size + SLACK_BYTES}",
                "tmpfs",
                str(place),
            ]
        )
    fresh = place / "image.new"
    with fresh.open("wb") as stream:
        stream.truncate(lab.disk_size)
    run([*MKFS, "-L", disk.name[:16], str(fresh)])
    fresh.rename(path)
    return True


def _loops() -> dict[str, int]:
    """Return the numbers of the loop devices in use, by their backing file or loop device."""
    numbers = {}
    for block in Path("/sys/block").glob("loop*"):
        with contextlib.suppress(OSError):  # not in use
            backing = (block / "loop/backing_file").read_text(encoding="utf-8").strip()
            numbers[backing] = int(block.name[4:])
    return numbers


def loop_of(run_dir: Path, name: str) -> Optional[int]:
    """Return the number of a disk's loop device, the upper one."""
    loops = _loops()
    lower = loops.get(str(image(run_dir, name)))
    return None if lower is None else loops.get(f"/dev/loop{lower}")


def ensure_loop(lab: Lab, disk: Disk) -> int:
    """Return the number of a disk's loop device; create it if missing."""
    lower = _ensure_loop(disk, str(image(lab.run_dir, disk.name)))
    # bypass the cache, which has no rate
    return _ensure_loop(disk, f"/dev/loop{lower}", "--direct-io=on")


def _ensure_loop(disk: Disk, under: str, *options: str) -> int:
    number = _loops().get(under)
    for _attempt in range(10):
        if number is not None:
            return number
        # another program may have been faster
        succeeds(["losetup", *options, f"/dev/loop{_free_loop()}", under])
        number = _loops().get(under)
    raise LabError(
        f"No loop device could be had for {disk.name}: does `losetup --find --show {under}` work?"
    )


def _free_loop() -> int:
    """Ask the kernel for an unused loop device; it adds one when all are taken."""
    with open("/dev/loop-control", "rb") as control:
        number = fcntl.ioctl(control, LOOP_CTL_GET_FREE)
    node = Path(f"/dev/loop{number}")
    if not node.exists():  # /dev is not the kernel's own
        os.mknod(node, stat.S_IFBLK | 0o660, os.makedev(LOOP_MAJOR, number))
    return number


def _attach(disk: Disk, number: int) -> bool:
    mode = stat.S_IFBLK | 0o660
    added = hosts.add_device(disk.host, f"loop{number}", mode, (LOOP_MAJOR, number), "disk")
    hosts.add_link(disk.host, f"disk/by-id/plumbline-{disk.name}", f"../../loop{number}")
    return added


def current_rate(lab: Lab, name: str) -> int:
    """Return the current rate of a disk in bytes per second: healthy, or broken."""
    return int(state.load(lab.run_dir)["disks"].get(name, {}).get("rate_Bps", lab.disk_rate_Bps))


def set_rate(lab: Lab, disk: Disk, rate_Bps: int) -> None:
    """Limit the disk's reads and writes to a rate each."""
    number = _loops().get(str(image(lab.run_dir, disk.name)))
    if number is None:
        raise LabError(f"Disk {disk.name} has no loop device; run playbooks/lab_up.yml.")
    device = f"{LOOP_MAJOR}:{number}"
    blkio = cgroups.blkio_root()
    if blkio is not None:
        for direction in ("read", "write"):
            throttle = blkio / f"blkio.throttle.{direction}_bps_device"
            throttle.write_text(f"{device} {rate_Bps}", encoding="utf-8")
        return
    group = services.group(hosts.SERVICE + disk.host)
    if group is None:
        raise LabError(f"Host {disk.host} is not running; run playbooks/lab_up.yml.")
    (group / "io.max").write_text(f"{device} rbps={rate_Bps} wbps={rate_Bps}", encoding="utf-8")


def down(run_dir: Path) -> list[str]:
    """Free the loop devices of the lab's images, also after a crash."""
    done: list[str] = []
    blkio, loops = cgroups.blkio_root(), _loops()
    lower = sorted(number for under, number in loops.items() if under.startswith(f"{run_dir}/"))
    upper = [loops[under] for number in lower if (under := f"/dev/loop{number}") in loops]
    for number in lower:
        _forget_rate(blkio, number)
    for number in (*upper, *lower):
        run(["losetup", "--detach", f"/dev/loop{number}"])
        done.append(f"/dev/loop{number} freed")
    return done


def _forget_rate(blkio: Optional[Path], number: int) -> None:
    if blkio is None:
        return
    for direction in ("read", "write"):
        throttle = blkio / f"blkio.throttle.{direction}_bps_device"
        throttle.write_text(f"{LOOP_MAJOR}:{number} 0", encoding="utf-8")
