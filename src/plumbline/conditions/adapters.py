"""Adapters and their links: firmware, drivers, negotiated width and speed, MTU."""

from __future__ import annotations

import re
from typing import Iterator

from plumbline.conditions.condition import Condition
from plumbline.conditions.disks import pci_address
from plumbline.errors import ToolError
from plumbline.symptoms.system import System, ask

_PCI, _NET = "/sys/bus/pci/devices", "/sys/class/net"
_MOST = 2000
_MOST_INTERFACES = 16
_TIMEOUT_S = 2.0
_STORAGE_OR_NETWORK = re.compile(r"0x(?:01|02|0c04|0c06)")
"""The classes of PCI devices by their codes."""
_HOST_FIRMWARE = ("version_fw", "fw_version", "fwrev", "firmware_revision", "firmware_version")
"""As mpt3sas, qla2xxx, lpfc, smartpqi and others call it."""


def look(system: System) -> Iterator[Condition]:
    """Yield what adapters say of themselves under /sys."""
    yield from _pci(system)
    yield from _infiniband(system)
    yield from _scsi(system)
    yield from _ethernet(system)


def _pci(system: System) -> Iterator[Condition]:
    for address in system.names(_PCI)[:_MOST]:
        folder = f"{_PCI}/{address}"
        if not _STORAGE_OR_NETWORK.match(system.read(f"{folder}/class")):
            continue
        speed = system.read(f"{folder}/current_link_speed")
        width = system.read(f"{folder}/current_link_width")
        # virtual functions and what is built in have none
        if speed and width not in ("", "0"):
            among = f"{system.read(f'{folder}/vendor')}:{system.read(f'{folder}/device')}"
            yield Condition("link", address, "PCIe link", f"{speed} x{width}", among)


def _infiniband(system: System) -> Iterator[Condition]:
    root = "/sys/class/infiniband"
    for name in system.names(root):
        folder = f"{root}/{name}"
        subject = pci_address(system, f"{folder}/device") or name
        among = system.read(f"{folder}/board_id") or system.read(f"{folder}/hca_type")
        firmware = system.read(f"{folder}/fw_ver")
        if firmware:
            yield Condition("firmware", subject, "adapter firmware", firmware, among)
        for port in system.names(f"{folder}/ports"):
            rate = system.read(f"{folder}/ports/{port}/rate")
            # a link that is down is a symptom, no setting
            if "ACTIVE" in system.read(f"{folder}/ports/{port}/state") and rate:
                yield Condition("link", f"{subject} port {port}", "rate", rate, among)


def _scsi(system: System) -> Iterator[Condition]:
    for name in system.names("/sys/class/scsi_host"):
        folder = f"/sys/class/scsi_host/{name}"
        subject, among = pci_address(system, folder), system.read(f"{folder}/proc_name")
        for file in _HOST_FIRMWARE if subject else ():
            firmware = system.read(f"{folder}/{file}")
            if firmware:
                yield Condition("firmware", subject, "adapter firmware", firmware, among)
    for name in system.names("/sys/class/fc_host"):
        folder = f"/sys/class/fc_host/{name}"
        speed = system.read(f"{folder}/speed")
        if "Gbit" in speed:
            port = system.read(f"{folder}/port_name")
            yield Condition("link", port, "Fibre Channel speed", speed, "Fibre Channel")
    for name in system.names("/sys/class/sas_phy")[:_MOST]:
        folder = f"/sys/class/sas_phy/{name}"
        rate = system.read(f"{folder}/negotiated_linkrate")
        if "Gbit" in rate:
            address = system.read(f"{folder}/sas_address")
            phy = f"{address} phy {system.read(f'{folder}/phy_identifier')}"
            yield Condition("link", phy, "SAS speed", rate, "SAS")


def _ethernet(system: System) -> Iterator[Condition]:
    for name in system.names(_NET):
        folder = f"{_NET}/{name}"
        names = system.names(folder)
        if "device" not in names and not any(one.startswith("lower_") for one in names):
            continue
        said = {"MTU": system.read(f"{folder}/mtu")}
        speed = system.read(f"{folder}/speed")
        if speed.isdigit():
            said["speed"] = f"{speed} Mbit/s {system.read(f'{folder}/duplex')} duplex"
        for setting, value in said.items():
            if value:
                yield Condition("link", name, setting, value, name)


def look_at_interfaces(system: System) -> Iterator[Condition]:
    """Yield driver and firmware of network interfaces; raise ToolError without ethtool."""
    names = [one for one in system.names(_NET) if "device" in system.names(f"{_NET}/{one}")]
    for name in names[:_MOST_INTERFACES]:
        said = _driver(system, name)
        among = said.get("driver", "")
        for key, label in (("firmware-version", "adapter firmware"), ("version", "driver version")):
            value = said.get(key, "")
            if value and value != "N/A":
                yield Condition("firmware", name, label, value, among)


def _driver(system: System, name: str) -> dict[str, str]:
    try:
        text = ask(system, ["ethtool", "-i", name], _TIMEOUT_S)
    except ToolError as error:
        if "not installed" in str(error):
            raise
        return {}
    pairs = (line.partition(":") for line in text.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}
