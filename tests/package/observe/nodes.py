"""A node of files whose bill is taken, and ledgers of many such nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Mapping

from plumbline.model.units import DAY_S
from plumbline.observe.changes import Ledger, begun
from plumbline.observe.conditions import Bill, Condition
from plumbline.observe.gather import LocalSystem
from plumbline.observe.node import System
from tests.package.fakes import Answer, FakeRunner
from tests.package.observe.symptoms_nodes import missing

NOW = 1_795_243_788.0
"""2026-11-21 06:49:48 UTC."""

HBA = "/sys/devices/pci0000:00/0000:00:01.0/0000:3b:00.0"
DISK = f"{HBA}/host1/target1:0:0/1:0:0:0"
FILES = {
    "/proc/sys/kernel/osrelease": "5.14.0-427.el9.x86_64",
    "/proc/cmdline": "BOOT_IMAGE=/vmlinuz root=UUID=1 mitigations=off rd.iscsi.password=hunter2",
    "/etc/os-release": 'NAME="Rocky Linux"\nPRETTY_NAME="Rocky Linux 9.4 (Blue Onyx)"\n',
    "/sys/fs/lustre/version": "2.15.5",
    "/sys/module/obdclass/version": "2.15.5",
    "/sys/module/mpt3sas/version": "43.100.00.00",
    "/sys/module/mpt3sas/parameters/max_queue_depth": "-1",
    "/sys/module/ptlrpc/parameters/gss_shared_key": "hunter2",
    "/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t33554432",
    "/proc/sys/vm/swappiness": "10",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance",
    "/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "powersave",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    f"{DISK}/model": "ST16000NM004J   ",
    f"{DISK}/rev": "E004",
    f"{DISK}/wwid": "naa.5000c500d8f1a2b3",
    f"{DISK}/queue_depth": "32",
    f"{DISK}/block/sda/queue/scheduler": "[mq-deadline] kyber bfq none",
    f"{DISK}/block/sda/queue/read_ahead_kb": "4096",
    f"{HBA}/class": "0x010700",
    f"{HBA}/vendor": "0x1000",
    f"{HBA}/device": "0x00e6",
    f"{HBA}/current_link_speed": "8.0 GT/s PCIe",
    f"{HBA}/current_link_width": "8",
    f"{HBA}/host1/scsi_host/host1/version_fw": "16.00.12.00",
    f"{HBA}/host1/scsi_host/host1/proc_name": "mpt3sas",
    "/sys/class/net/ens1f0/mtu": "9000",
    "/sys/class/net/ens1f0/speed": "25000",
    "/sys/class/net/ens1f0/duplex": "full",
    "/sys/class/net/ens1f0/device/vendor": "0x15b3",
    "/sys/class/net/lo/mtu": "65536",
    "/sys/class/infiniband/mlx5_0/fw_ver": "20.39.2048",
    "/sys/class/infiniband/mlx5_0/board_id": "MT_0000000223",
    "/sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE",
    "/sys/class/infiniband/mlx5_0/ports/1/rate": "200 Gb/sec (4X HDR)",
}
LINKS = {
    "/sys/block/sda": f"../..{DISK}/block/sda",
    f"{DISK}/block/sda/device": "../..",
    "/sys/bus/pci/devices/0000:3b:00.0": f"../../../..{HBA}",
    "/sys/class/scsi_host/host1": f"../../..{HBA}/host1/scsi_host/host1",
}


def system(
    root: Path,
    files: Mapping[str, str] = {},
    answers: Mapping[str, Answer] = {},
    links: Mapping[str, str] = {},
) -> System:
    """Return a node whose files lie under ``root``; a command without an answer is missing."""
    for path, text in {**FILES, **files}.items():
        file = root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    for path, goal in {**LINKS, **links}.items():
        link = root / path.lstrip("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(goal)
    return LocalSystem(FakeRunner({"": missing, **answers}), root)


def condition(
    name: str, value: str, area: str = "software", subject: str = "", among: str = "node"
) -> Condition:
    return Condition(area, subject, name, value, among)


def bill(*conditions: Condition, day: float = 0.0, node: str = "oss1") -> Bill:
    """Return the bill of some day after the first."""
    return Bill(node, NOW + day * DAY_S, conditions)


def ledger(*bills: Bill) -> Ledger:
    """Return the ledger of a node with these bills."""
    found = begun(bills[0])
    for one in bills[1:]:
        found = found.after(one)
    return found
