"""Control groups, versions 1 and 2: for the lab's processes and the rates of disks.

The processes are in a cgroup2 tree, even if the machine has its controllers in version 1, so all of
a host's processes, and no others, can be listed and ended by the group.  Rates of disks are set in
version 1 in the throttle of the ROOT group, which includes all hosts: buffered writes would escape
a host's own group, since the kernel's writeback belongs to the root.  In version 2 they are set in
io.max of each host's group.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Optional

from plumbline_lab import naming
from plumbline_lab.command import run
from plumbline_lab.errors import LabError

OWN_MOUNT = "cgroup2"  # below the run directory, on a machine that has no cgroup2 mounted


def blkio_root() -> Optional[Path]:
    """Return the root group of the version 1 blkio controller, if it is in use."""
    for target, kind, options in _mounts():
        if kind == "cgroup" and "blkio" in options.split(","):
            return Path(target)
    return None


def unified_root() -> Optional[Path]:
    """Return the mount point of cgroup2."""
    for target, kind, _ in _mounts():
        if kind == "cgroup2":
            return Path(target)
    return None


def _mounts() -> list[list[str]]:
    lines = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
    return [line.split()[1:4] for line in lines]


def has_io_v2() -> bool:
    """Return True if the version 2 io controller exists."""
    root = unified_root()
    return (
        root is not None
        and "io" in (root / "cgroup.controllers").read_text(encoding="utf-8").split()
    )


def ensure_unified(run_dir: Path) -> Path:
    """Return the mount point of cgroup2; mount it below the run directory if there is none."""
    root = unified_root()
    if root is None:
        root = run_dir / OWN_MOUNT
        root.mkdir(exist_ok=True)
        run(["mount", "-t", "cgroup2", "cgroup2", str(root)])
    return root


def ensure_group(run_dir: Path, name: str) -> Path:
    """Return the group of a host or service; create it if needed."""
    parent = ensure_unified(run_dir) / naming.group()
    parent.mkdir(exist_ok=True)
    if blkio_root() is None:
        for group in (parent.parent, parent):
            _enable(group, "io")
            _enable(
                group, "memory"
            )  # io.max covers buffered writes only if memory is accounted too
    group = parent / name
    group.mkdir(exist_ok=True)
    return group


def _enable(group: Path, controller: str) -> None:
    if controller not in (group / "cgroup.controllers").read_text(encoding="utf-8").split():
        return  # kernel.py has reported this if it matters
    if controller in (group / "cgroup.subtree_control").read_text(encoding="utf-8").split():
        return
    try:
        (group / "cgroup.subtree_control").write_text(f"+{controller}", encoding="utf-8")
    except OSError as error:
        raise LabError(
            f"The cgroup controller '{controller}' cannot be switched on in {group} "
            f"({error.strerror}); "
            "run the lab on the machine itself, or give its container a delegated cgroup."
        ) from error


def pids(group: Path) -> list[int]:
    """Return all processes in a group and in the groups below it."""
    numbers: list[int] = []
    for folder, _, _ in os.walk(group):
        with contextlib.suppress(OSError):  # the group may have ended
            lines = (Path(folder) / "cgroup.procs").read_text(encoding="utf-8").split()
            numbers += [int(line) for line in lines]
    return numbers


def wait_empty(group: Path, timeout_s: float) -> bool:
    """Wait until the group has no processes; return False after the timeout."""
    end = time.monotonic() + timeout_s
    while pids(group):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def kill(group: Path) -> None:
    """Kill all processes in the group and below; the lab has started them all."""
    switch = group / "cgroup.kill"
    if switch.exists():
        switch.write_text("1", encoding="utf-8")
        return
    for pid in pids(group):  # kernels before 5.14
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def remove(group: Path) -> None:
    """Remove a group and the groups below it; they must be empty."""
    for _attempt in range(40):
        for folder, _, _ in os.walk(group, topdown=False):
            with contextlib.suppress(OSError):  # the last process may be ending
                Path(folder).rmdir()
        if not group.exists():
            return
        time.sleep(0.05)
    raise LabError(f"The control group {group} cannot be removed: it has processes {pids(group)}.")
