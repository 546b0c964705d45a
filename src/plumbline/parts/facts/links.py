"""Symptoms of storage and network links: speed and errors, from /sys, which all users may read.

Fibre Channel, InfiniBand and SAS show the same in different files: state, speed and counters of a
port.  A port is compared with its own past: an unused port is no fault, and a slow one may have a
slow partner.

Documentation/ABI/testing/sysfs-class-net-statistics of the kernel describes Ethernet's counters.

A PCIe card in a slot with fewer lanes or of an older generation is no fault: its limit is that of
the port above it.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import Iterator, Mapping, NamedTuple, Optional, Sequence

from plumbline.model.errors import ToolError
from plumbline.model.symptom import Look, Symptom
from plumbline.model.validation import real, whole
from plumbline.parts.facts.node import PCI, Growth, Node
from plumbline.parts.facts.rules import Rule, rules

_MAX_SPEED = 60
"""Limit of a speed in characters; those of the kernel have twenty."""


def _figure(node: Node, path: str, unit: str = "") -> Optional[float]:
    """Return the number at the start of a file, before a unit; None if there is none."""
    match = re.match(rf"(-?[\d.]+)(?: {re.escape(unit)}|$)", node.system.read(path))
    return real(match[1], path) if match else None


class Kind(NamedTuple):
    """A kind of port.

    ``root`` is a folder with ``*`` for names; ``speed`` the file with the speed, a number before
    ``unit``; ``state`` the file with the state and ``up`` its text for a port that is up, empty if
    the speed shows it; ``counters`` are file, words, and least growth; ``parts`` are the topology's
    kinds that the port may belong to; ``one_lane`` and ``fallback`` match the speed of a link with
    only one lane in use, and of one that has not got beyond the speed with which links begin.
    """

    name: str
    root: str
    speed: str
    unit: str
    state: str
    up: str
    counters: tuple[tuple[str, str, int], ...]
    parts: tuple[str, ...]
    one_lane: str = ""
    fallback: str = ""

    @property
    def rules(self) -> dict[str, Rule]:
        """Return the rules of such a port."""
        port = f"{self.name} {{port}}"
        table = f"""
            down | warning | {port} is down
            no_speed | warning | {port} is up, but its speed cannot be read
            slow_link | warning | {port} runs at {{speed:g}} {self.unit}, after {{best:g}} \
                {self.unit} before
        """
        for file, words, _ in self.counters:
            table += f"{_kind(file)} | warning | {{number:.0f}} {words} of {port}\n"
        if self.one_lane:
            table += f"""
            one_lane | warning | {port} uses one of its lanes: {{speed}}
            fallback | warning | {port} stays at its lowest speed: {{speed}}
            """
        return rules(self.name, table)

    def look(self, node: Node) -> Look:
        """Look at all ports; raise ToolError if the kernel has none."""
        ports = tuple(_folders(node, self.root))
        if not ports:
            where = self.root.partition("/*")[0]
            raise ToolError(f"{where} is not there: no such adapter, or no driver for it")
        port_rules = self.rules
        symptoms = (self._port_symptoms(node, folder, port_rules) for folder in ports)
        return Look(self.name, len(ports), tuple(chain.from_iterable(symptoms)))

    def _port_symptoms(
        self, node: Node, folder: str, port_rules: Mapping[str, Rule]
    ) -> Iterator[Symptom]:
        component = node.parts.of_kind(*self.parts)[0]
        port = folder[len(self.root.partition("*")[0]) :].replace("/ports/", " port ")
        speed = self._speed(node, folder)
        best = node.counters.highest(f"{self.name}/{port}/speed", speed)
        if not speed and (best or self._is_linked(node, folder)):
            kind = "no_speed" if self._is_up(node, folder) else "down"
            yield port_rules[kind].symptom(component, port=port)
        elif speed < best:
            yield port_rules["slow_link"].symptom(component, port=port, speed=speed, best=best)
        elif speed and (kind := self._reduced(node, folder)):
            speed_text = node.system.read(f"{folder}/{self.speed}")[:_MAX_SPEED]
            yield port_rules[kind].symptom(component, port=port, speed=speed_text)
        for file, _, least in self.counters:
            value = _count(node.system.read(f"{folder}/{file}"), f"{folder}/{file}")
            growth = node.counters.growth(f"{self.name}/{port}/{file}", value)
            if growth and growth.amount >= least:
                yield port_rules[_kind(file)].symptom(
                    component, growth.since, number=growth.amount, port=port
                )

    def _speed(self, node: Node, folder: str) -> float:
        """Return the speed in the unit of its file, 0 for a port that is not up."""
        if self.state and not self._is_up(node, folder):
            return 0.0
        return _figure(node, f"{folder}/{self.speed}", self.unit) or 0.0

    def _is_up(self, node: Node, folder: str) -> bool:
        """Return whether a port says that it is up; kinds without a state do not."""
        return bool(self.state) and self.up in node.system.read(f"{folder}/{self.state}")

    def _is_linked(self, node: Node, folder: str) -> bool:
        """Return whether a port that is not up has a link: a network without a manager."""
        return "LinkUp" in node.system.read(f"{folder}/phys_state")

    def _reduced(self, node: Node, folder: str) -> str:
        """Return the symptom if lanes or speed are missing; Ethernet with one lane is normal."""
        if not self.one_lane or node.system.read(f"{folder}/link_layer") == "Ethernet":
            return ""
        text = node.system.read(f"{folder}/{self.speed}")
        if re.search(self.one_lane, text):
            return "one_lane"
        return "fallback" if re.search(self.fallback, text) else ""


FIBRE_CHANNEL = Kind(
    name="fibre_channel",
    root="/sys/class/fc_host/*",
    speed="speed",
    unit="Gbit",
    state="port_state",
    up="Online",
    counters=(
        ("statistics/invalid_crc_count", "frames with a wrong checksum", 1),
        ("statistics/link_failure_count", "link failures", 1),
        ("statistics/loss_of_signal_count", "losses of signal", 1),
        ("statistics/loss_of_sync_count", "losses of synchronisation", 1),
    ),
    parts=("hba",),
)

INFINIBAND = Kind(
    name="infiniband",
    root="/sys/class/infiniband/*/ports/*",
    speed="rate",
    unit="Gb/sec",
    state="state",
    up="ACTIVE",
    counters=(
        # InfiniBand allows one wrong bit in 1e12: a handful per day on a healthy fast link
        ("counters/symbol_error", "symbol errors", 100),
        ("counters/port_rcv_errors", "damaged packets", 10),
        ("counters/link_error_recovery", "recoveries of the link", 1),
        ("counters/link_downed", "losses of the link", 1),
    ),
    parts=("nic", "link"),
    one_lane=r"\(1X\b",
    # each link begins with SDR, which old kernels do not name; adapters since 2006 are faster
    fallback=r"\(4X(?: SDR)?\)",
)

SAS = Kind(
    name="sas",
    root="/sys/class/sas_phy/*",
    speed="negotiated_linkrate",
    unit="Gbit",
    state="",
    up="",
    counters=(
        # each reset of a link damages some words: no fault
        ("invalid_dword_count", "damaged words", 100),
        ("running_disparity_error_count", "disparity errors", 100),
        ("loss_of_dword_sync_count", "losses of synchronisation", 10),
        ("phy_reset_problem_count", "failed resets", 1),
    ),
    parts=("hba",),
)


def _kind(file: str) -> str:
    return file.rpartition("/")[2]


def _folders(node: Node, pattern: str) -> Iterator[str]:
    """Yield the folders that match a pattern with ``*`` for whole names."""
    head, star, tail = pattern.partition("/*")
    if not star:
        yield pattern
        return
    for name in node.system.names(head):
        yield from _folders(node, f"{head}/{name}{tail}")


def _count(text: str, path: str) -> Optional[float]:
    """Return a counter; None without one, or if all bits are set, which means unsupported."""
    if text.startswith("0x"):
        return None if set(text[2:].lower()) == {"f"} else float(whole(text, path, base=16))
    return float(whole(text, path)) if text.isdecimal() else None


PORTS = (FIBRE_CHANNEL, INFINIBAND, SAS)

ETHERNET = "ethernet"

NET = "/sys/class/net"
INFINIBAND_TYPE = "32"
"""ARPHRD_INFINIBAND of the kernel's if_arp.h."""
_MBIT_BPS = 125_000.0
_RATED = 0.98
"""Tolerance for rated speeds that were rounded in the topology."""
_MIN_SHARE = 1e-6
"""Least errors per packet: IEEE 802.3 allows one wrong bit in 1e12, about one packet in 1e8."""
_ERRORS = ("statistics/rx_errors", "statistics/tx_errors", "statistics/rx_missed_errors")
_PACKETS = ("statistics/rx_packets", "statistics/tx_packets")

ETHERNET_RULES = rules(
    ETHERNET,
    """
    down | critical | link {link} is down
    slow_link | warning | link {link} runs at {mbit:.0f} Mbit/s, {than}
    errors | warning | {errors:.0f} errors in {packets:.0f} packets of link {link}
    flapping | warning | link {link} went down or up {times:.0f} times
    """,
)


def look_at_ethernet(node: Node) -> Look:
    """Look at the links with the storage address, or at all that are up if it is unknown.

    Raises:
        ToolError: there is no such link.
    """
    storage = node.parts.storage_interfaces()
    links = [name for name in storage or _physical(node) if node.system.names(f"{NET}/{name}")]
    if not links:
        raise ToolError(f"{NET} has no network adapter that is up")
    component, rate_Bps = node.parts.of_kind("nic", "link") if storage else (node.parts.node, None)
    symptoms: list[Symptom] = []
    for number, name in enumerate(links):
        # the first link has the address; the links below it may have a part of the speed
        symptoms += _speed(node, component, name, rate_Bps if number == 0 else None)
        symptoms += _counters(node, component, name)
    return Look(ETHERNET, len(links), tuple(symptoms), tuple(_over_infiniband(node, links)))


def _over_infiniband(node: Node, links: Sequence[str]) -> Iterator[str]:
    """Yield a note if a link carries IP over InfiniBand."""
    names = [name for name in links if node.system.read(f"{NET}/{name}/type") == INFINIBAND_TYPE]
    if names:
        yield (
            f"{names[0]} carries IP over InfiniBand: the layer net measures TCP on it, not the "
            "verbs that LNet's o2ib uses; those are the layer rdma"
        )


def _physical(node: Node) -> Iterator[str]:
    for name in node.system.names(NET):
        folder = f"{NET}/{name}"
        if node.system.names(f"{folder}/device") and node.system.read(f"{folder}/carrier") == "1":
            yield name


def _speed(node: Node, component: str, name: str, rate_Bps: Optional[float]) -> Iterator[Symptom]:
    if node.system.read(f"{NET}/{name}/operstate") in ("down", "lowerlayerdown"):
        yield ETHERNET_RULES["down"].symptom(component, link=name)
        return
    mbit = _figure(node, f"{NET}/{name}/speed")
    if mbit is None or mbit <= 0:
        # virtual links have none
        return
    best = node.counters.highest(f"{ETHERNET}/{name}/speed", mbit)
    if rate_Bps is not None and mbit * _MBIT_BPS < rate_Bps * _RATED:
        words = f"less than the rated speed of {component}"
    elif mbit < best:
        words = f"after {best:.0f} Mbit/s before"
    else:
        return
    yield ETHERNET_RULES["slow_link"].symptom(component, link=name, mbit=mbit, than=words)


def _counters(node: Node, component: str, name: str) -> Iterator[Symptom]:
    packets = _total_growth(node, name, _PACKETS)
    errors = _total_growth(node, name, _ERRORS)
    packet_count = packets.amount if packets else 0.0
    if errors and errors.amount >= _MIN_SHARE * packet_count:
        values = {"errors": errors.amount, "packets": packet_count, "link": name}
        yield ETHERNET_RULES["errors"].symptom(component, errors.since, **values)
    changes = _total_growth(node, name, ("carrier_changes",))
    if changes:
        yield ETHERNET_RULES["flapping"].symptom(
            component, changes.since, link=name, times=changes.amount
        )


def _total_growth(node: Node, link: str, files: tuple[str, ...]) -> Optional[Growth]:
    """Return the total growth of several counters, None if there is none."""
    count, since = 0.0, 0.0
    for file in files:
        value = _figure(node, f"{NET}/{link}/{file}")
        growth = node.counters.growth(f"{ETHERNET}/{link}/{_kind(file)}", value)
        if growth:
            count, since = count + growth.amount, growth.since
    return Growth(count, since) if count else None


PCIE = "pcie"

# mass storage and network, and Fibre Channel, which is a serial bus (pci.ids)
_WATCHED = ("0x01", "0x02", "0x0c04")
_MAX_LANES = 32
"""Functions without their own link show 0, 63 or 255 lanes."""

PCIE_RULES = rules(
    PCIE,
    """
    narrow_link | warning | PCIe link of {device} runs on {lanes} of {most} lanes
    slow_link | warning | PCIe link of {device} runs at {speed} of {most} GT/s
    """,
)


def look_at_pcie(node: Node) -> Look:
    """Look at the PCIe links of disks and adapters; raise ToolError if there are none."""
    devices = [
        name
        for name in node.system.names(PCI)
        if node.system.read(f"{PCI}/{name}/class").startswith(_WATCHED)
    ]
    if not devices:
        raise ToolError(f"{PCI} has no disk or adapter")
    symptoms = tuple(symptom for name in devices for symptom in _pcie_symptoms(node, name))
    return Look(PCIE, len(devices), symptoms)


def _pcie_symptoms(node: Node, device: str) -> Iterator[Symptom]:
    folder = f"{PCI}/{device}"
    above = node.system.real(folder).rpartition("/")[0]
    lanes = _figure(node, f"{folder}/current_link_width")
    most = _figure(node, f"{folder}/max_link_width")
    if lanes and most and lanes < most <= _MAX_LANES:
        limit = min(most, _figure(node, f"{above}/max_link_width") or most)
        if lanes < limit:
            yield PCIE_RULES["narrow_link"].symptom(
                node.parts.of_pci(device), device=device, lanes=f"{lanes:g}", most=f"{limit:g}"
            )
    speed = _figure(node, f"{folder}/current_link_speed", "GT/s")
    fastest = _figure(node, f"{folder}/max_link_speed", "GT/s")
    # if the speed of the port above is unknown, a low speed may be normal there
    limit = min(fastest or 0.0, _figure(node, f"{above}/max_link_speed", "GT/s") or 0.0)
    if speed and speed < limit:
        yield PCIE_RULES["slow_link"].symptom(
            node.parts.of_pci(device), device=device, speed=f"{speed:g}", most=f"{limit:g}"
        )
