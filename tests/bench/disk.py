"""A disk of a fixed rate, so that two tools can be compared on a machine that others use as well.

An image in memory behind a loop device, held to its rate by the kernel as the lab's disks are.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Iterator, Optional

MEMORY = "/dev/shm"
BLKIO = Path("/sys/fs/cgroup/blkio")
RATE_BPS = 200_000_000
SIZE_BYTES = 2 << 30


@contextmanager
def steady_disk(rate_Bps: int = RATE_BPS, size_bytes: int = SIZE_BYTES) -> Iterator[Optional[Path]]:
    """Give a folder on such a disk; None where only root, or another kernel, could make one."""
    if os.geteuid() != 0 or not (BLKIO / "blkio.throttle.read_bps_device").exists():
        yield None
        return
    with ExitStack() as undo:
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory(dir=MEMORY)))
        image, mount = folder / "image", folder / "disk"
        # all of its memory is there before the clock starts: no turn pays for new pages
        with image.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size_bytes)
        device = _said("losetup", "--find", "--show", str(image))
        undo.callback(_said, "losetup", "--detach", device)
        _said("mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", device)
        mount.mkdir()
        _said("mount", "-o", "noatime", device, str(mount))
        undo.callback(_said, "umount", str(mount))
        undo.callback(_hold, device, 0)
        _hold(device, rate_Bps)
        yield mount


def _hold(device: str, rate_Bps: int) -> None:
    number = os.stat(device).st_rdev
    for direction in ("read", "write"):
        limit = BLKIO / f"blkio.throttle.{direction}_bps_device"
        limit.write_text(f"{os.major(number)}:{os.minor(number)} {rate_Bps}", encoding="utf-8")


def _said(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()
