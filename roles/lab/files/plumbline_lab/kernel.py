"""Test the kernel features that the lab needs; report missing ones with a remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

from plumbline_lab import cgroups
from plumbline_lab.command import run, succeeds

# A namespace that ends with the command, so the trial leaves nothing.
_IN_NAMESPACE = ["unshare", "--net", "--"]
_PRIVILEGES = Path(__file__).parent.parent / "lab-privileges"
_MODULES = ("loop", "overlay", "fuse", "veth", "bridge", "sch_tbf", "ext4")


def missing() -> list[str]:
    """Return a sentence for each missing feature; a missing privilege makes all trials fail."""
    reason = run([str(_PRIVILEGES)]).strip()
    if reason:
        return [f"The lab needs more than this machine allows: {reason}."]
    for module in _MODULES:
        succeeds(["modprobe", "--quiet", module])  # may be built in, or modprobe missing
    return [
        f"The kernel of this machine has no {feature}: {remedy}."
        for feature, works, remedy in _trials()
        if not works()
    ]


def _trials() -> list[tuple[str, Callable[[], bool], str]]:
    return [
        (
            "overlay file system",
            lambda: _file_system("overlay"),
            "load the module overlay (CONFIG_OVERLAY_FS)",
        ),
        ("ext4 file system", lambda: _file_system("ext4"), "load the module ext4 (CONFIG_EXT4_FS)"),
        (
            "FUSE",
            lambda: _file_system("fuse") and Path("/dev/fuse").exists(),
            "load the module fuse (CONFIG_FUSE_FS), and show /dev/fuse to this container",
        ),
        (
            "loop devices",
            lambda: Path("/dev/loop-control").exists(),
            "load the module loop (CONFIG_BLK_DEV_LOOP), and show /dev/loop-control here",
        ),
        (
            "namespaces to use",
            _namespaces,
            "run as real root, not in an unprivileged container (CONFIG_NAMESPACES)",
        ),
        ("veth links", lambda: _link("veth"), "load the module veth (CONFIG_VETH)"),
        ("network bridge", lambda: _link("bridge"), "load the module bridge (CONFIG_BRIDGE)"),
        ("token bucket filter (tbf)", _tbf, "load the module sch_tbf (CONFIG_NET_SCH_TBF)"),
        (
            "cgroup version 2",
            lambda: _file_system("cgroup2"),
            "use a kernel of version 5 or newer with CONFIG_CGROUPS",
        ),
        (
            "throttle for disks",
            _throttle,
            (
                "it needs CONFIG_BLK_DEV_THROTTLING, and either the version 1 controller blkio "
                "mounted, or the version 2 controller io in cgroup.controllers"
            ),
        ),
    ]


def _file_system(name: str) -> bool:
    return name in Path("/proc/filesystems").read_text(encoding="utf-8").split()


def _namespaces() -> bool:
    return succeeds(
        ["unshare", "--net", "--mount", "--pid", "--uts", "--ipc", "--cgroup", "--fork", "true"]
    )


def _link(kind: str) -> bool:
    return succeeds([*_IN_NAMESPACE, "ip", "link", "add", "trial", "type", kind])


def _tbf() -> bool:
    return succeeds(
        [
            *_IN_NAMESPACE,
            *[
                "tc",
                "qdisc",
                "add",
                "dev",
                "lo",
                "root",
                "tbf",
                "rate",
                "1gbit",
                "burst",
                "256kb",
                "latency",
                "20ms",
            ],
        ]
    )


def _throttle() -> bool:
    blkio = cgroups.blkio_root()
    if blkio is not None:
        return (blkio / "blkio.throttle.read_bps_device").exists()
    return cgroups.has_io_v2()
