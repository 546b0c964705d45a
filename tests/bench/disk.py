"""A disk of a fixed rate, for comparing two tools on a shared machine.

An image in memory behind a loop device, throttled by the kernel like the lab's disks.
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
    """Yield a folder on such a disk; None without root or support by the kernel."""
    if os.geteuid() != 0 or not (BLKIO / "blkio.throttle.read_bps_device").exists():
        yield None
        return
    with ExitStack() as undo:
        folder = Path(undo.enter_context(tempfile.TemporaryDirectory(dir=MEMORY)))
        image, mount = folder / "image", folder / "disk"
        # allocate all memory first, so that no turn pays for new pages
        with image.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size_bytes)
        device = _output("losetup", "--find", "--show", str(image))
        undo.callback(_output, "losetup", "--detach", device)
        _output("mkfs.ext4", "-q", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", device)
        mount.mkdir()
        _output("mount", "-o", "noatime", device, str(mount))
        undo.callback(_output, "umount", str(mount))
        undo.callback(_throttle, device, 0)
        _throttle(device, rate_Bps)
        yield mount


def _throttle(device: str, rate_Bps: int) -> None:
    number = os.stat(device).st_rdev
    for direction in ("read", "write"):
        limit = BLKIO / f"blkio.throttle.{direction}_bps_device"
        limit.write_text(f"{os.major(number)}:{os.minor(number)} {rate_Bps}", encoding="utf-8")


def _output(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()
