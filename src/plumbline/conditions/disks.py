"""Block devices: queue settings and firmware, by names that do not change at a boot."""

from __future__ import annotations

import re
from typing import Iterator

from plumbline.conditions.condition import Condition
from plumbline.conditions.settings import chosen
from plumbline.symptoms.system import System

_ROOT = "/sys/block"
_MOST = 4000
_NOT_STORAGE = re.compile(r"(?:loop|ram|zram|sr|fd|nbd)[0-9]+")
_QUEUE = (
    *("scheduler", "nr_requests", "read_ahead_kb", "max_sectors_kb", "write_cache"),
    *("wbt_lat_usec", "rq_affinity", "nomerges"),
)
_SCSI = re.compile(r"/[0-9]+:([0-9]+:[0-9]+:[0-9]+)/block/")
"""A disk's channel, target and LUN, after its host."""
_PCI = re.compile(r"[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def look(system: System) -> Iterator[Condition]:
    """Yield queue settings and firmware of all block devices but those without storage."""
    disks = [name for name in system.names(_ROOT) if not _NOT_STORAGE.fullmatch(name)]
    for name in disks[:_MOST]:
        folder = f"{_ROOT}/{name}"
        subject, among = _identity(system, name)
        for setting in _QUEUE:
            value = chosen(system.read(f"{folder}/queue/{setting}"))
            if value:
                yield Condition("disk", subject, setting, value, among)
        depth = system.read(f"{folder}/device/queue_depth")
        if depth:
            yield Condition("disk", subject, "queue depth", depth, among)
        for file in ("rev", "firmware_rev"):
            firmware = system.read(f"{folder}/device/{file}")
            if firmware:
                yield Condition("firmware", subject, "disk firmware", firmware, among)


def _identity(system: System, name: str) -> tuple[str, str]:
    """Return what a block device is called at every boot, and its class.

    The paths of one disk have the same name.
    """
    folder = f"{_ROOT}/{name}"
    mapped = system.read(f"{folder}/dm/name")
    if mapped:
        return mapped, f"{system.read(f'{folder}/dm/uuid').partition('-')[0]} devices"
    level = system.read(f"{folder}/md/level")
    if level:
        return name, f"{level} arrays"
    among = system.read(f"{folder}/device/model") or re.sub(r"[0-9]+$|(?<=[hsv]d)[a-z]+$", "", name)
    for file in ("wwid", "device/wwid", "serial", "device/serial"):
        said = " ".join(system.read(f"{folder}/{file}").split())
        if said:
            return said, among
    return _serial(system, folder) or _place(system, folder) or name, among


def _serial(system: System, folder: str) -> str:
    """Return the serial number of a SCSI disk's page 0x80: four bytes of head, then text."""
    text = system.read(f"{folder}/device/vpd_pg80")[4:]
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _place(system: System, folder: str) -> str:
    """Return adapter and SCSI address of a disk without any number of its own.

    The number of the SCSI host is no part of it: hosts are counted anew at every boot.
    """
    adapter, scsi = pci_address(system, folder), _SCSI.search(system.real(folder))
    return f"{adapter} disk {scsi[1]}" if adapter and scsi else adapter


def pci_address(system: System, path: str) -> str:
    """Return the address of the last adapter on the way to a device, empty where there is none."""
    found: list[str] = _PCI.findall(system.real(path))
    return found[-1] if found else ""
