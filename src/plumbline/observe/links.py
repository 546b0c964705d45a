"""Links of storage and its networks: their speed and their errors, in /sys, open to anybody.

Fibre Channel, InfiniBand and SAS tell the same in different files: whether a port is up, how fast
it runs, and what it counts.  A port is judged by what it has been before: one that was never used
is no fault, and a slow one may have a slow partner.

Documentation/ABI/testing/sysfs-class-net-statistics of the kernel describes Ethernet's counters.

A PCIe card in a slot of fewer lanes or of an older generation is as it was built: the port above it
tells.
"""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple, Optional

from plumbline.model.errors import ToolError
from plumbline.model.validation import real, whole
from plumbline.model.verdict import State
from plumbline.observe.node import PCI, Growth, Node
from plumbline.observe.symptom import Look, Rule, Symptom

_LONGEST = 60
"""Characters of a speed; those of the kernel have twenty."""


def _figure(node: Node, path: str, unit: str = "") -> Optional[float]:
    """Return the number that a file begins with, before a unit; None where there is none."""
    match = re.match(rf"(-?[\d.]+)(?: {re.escape(unit)}|$)", node.system.read(path))
    return real(match[1], path) if match else None


class Kind(NamedTuple):
    """One kind of ports.

    ``root`` is a folder with ``*`` for names; ``speed`` the file with the speed, a number before
    ``unit``; ``state`` the file and ``up`` what it says of a port that is up, empty where
    the speed says it; ``counters`` are file, words, and the growth from which it counts; ``parts``
    are the kinds of the topology that such a port may belong to; ``one_lane`` is in the speed of a
    port of which one lane alone is in use.
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

    @property
    def rules(self) -> dict[str, Rule]:
        """Return what is known of such a port."""
        port = f"{self.name} {{port}}"
        rules = [
            Rule("down", State.WARNING, f"{port} is down"),
            Rule(
                "slow_link",
                State.WARNING,
                f"{port} runs at {{speed:g}} {self.unit}, after {{best:g}} {self.unit} before",
            ),
            *(
                Rule(_kind(file), State.WARNING, f"{{number:.0f}} {words} of {port}")
                for file, words, _ in self.counters
            ),
        ]
        if self.one_lane:
            rules.append(
                Rule("one_lane", State.WARNING, f"{port} uses one of its lanes: {{speed}}")
            )
        return {rule.kind: rule for rule in rules}

    def look(self, node: Node) -> Look:
        """Look at all ports; raise ToolError where the kernel knows none."""
        ports = tuple(_folders(node, self.root))
        if not ports:
            where = self.root.partition("/*")[0]
            raise ToolError(f"{where} is not there: no such adapter, or no driver for it")
        symptoms = tuple(symptom for port in ports for symptom in self._of_port(node, port))
        return Look(self.name, len(ports), symptoms)

    def _of_port(self, node: Node, folder: str) -> Iterator[Symptom]:
        component, rules = node.parts.of_kind(*self.parts)[0], self.rules
        port = folder[len(self.root.partition("*")[0]) :].replace("/ports/", " port ")
        speed = self._speed(node, folder)
        best = node.counters.highest(f"{self.name}/{port}/speed", speed)
        if not speed and (best or self._is_linked(node, folder)):
            yield rules["down"].symptom(self.name, component, port=port)
        elif speed < best:
            yield rules["slow_link"].symptom(
                self.name, component, port=port, speed=speed, best=best
            )
        elif speed and self._has_one_lane(node, folder):
            shown = node.system.read(f"{folder}/{self.speed}")[:_LONGEST]
            yield rules["one_lane"].symptom(self.name, component, port=port, speed=shown)
        for file, _, least in self.counters:
            value = _count(node.system.read(f"{folder}/{file}"), f"{folder}/{file}")
            grown = node.counters.growth(f"{self.name}/{port}/{file}", value)
            if grown and grown.amount >= least:
                yield rules[_kind(file)].symptom(
                    self.name, component, grown.since, number=grown.amount, port=port
                )

    def _speed(self, node: Node, folder: str) -> float:
        """Return the speed in the file's own unit, 0 for a port that is not up."""
        if self.state and self.up not in node.system.read(f"{folder}/{self.state}"):
            return 0.0
        return _figure(node, f"{folder}/{self.speed}", self.unit) or 0.0

    def _is_linked(self, node: Node, folder: str) -> bool:
        """Return whether a port that is not up has a link: nobody manages its network."""
        return "LinkUp" in node.system.read(f"{folder}/phys_state")

    def _has_one_lane(self, node: Node, folder: str) -> bool:
        """Return whether lanes are missing; Ethernet of one lane is as it was built."""
        if not self.one_lane or node.system.read(f"{folder}/link_layer") == "Ethernet":
            return False
        return self.one_lane in node.system.read(f"{folder}/{self.speed}")


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
        # InfiniBand allows one wrong bit in 1e12: a handful a day on a fast link that is in order
        ("counters/symbol_error", "symbol errors", 100),
        ("counters/port_rcv_errors", "damaged packets", 10),
        ("counters/link_error_recovery", "recoveries of the link", 1),
        ("counters/link_downed", "losses of the link", 1),
    ),
    parts=("nic", "link"),
    one_lane="(1X ",
)

SAS = Kind(
    name="sas",
    root="/sys/class/sas_phy/*",
    speed="negotiated_linkrate",
    unit="Gbit",
    state="",
    up="",
    counters=(
        # each reset of a link damages some words, which is no fault
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
    """Yield the folders that a pattern with ``*`` for whole names stands for."""
    head, star, tail = pattern.partition("/*")
    if not star:
        yield pattern
        return
    for name in node.system.names(head):
        yield from _folders(node, f"{head}/{name}{tail}")


def _count(text: str, path: str) -> Optional[float]:
    """Return a counter; None for none, and for all bits set, which says that it is not kept."""
    if text.startswith("0x"):
        return None if set(text[2:].lower()) == {"f"} else float(whole(text, path, base=16))
    return float(whole(text, path)) if text.isdecimal() else None


PORTS = (FIBRE_CHANNEL, INFINIBAND, SAS)

ETHERNET = "ethernet"

_NET = "/sys/class/net"
_MBIT_BPS = 125_000.0
_RATED = 0.98
"""A rated speed that was typed rounded is no slow link."""
_LEAST_SHARE = 1e-6
"""Errors per packet that count: IEEE 802.3 allows one bit in 1e12, which is one packet in 1e8."""
_ERRORS = ("statistics/rx_errors", "statistics/tx_errors", "statistics/rx_missed_errors")
_PACKETS = ("statistics/rx_packets", "statistics/tx_packets")

ETHERNET_RULES = {
    "down": Rule("down", State.CRITICAL, "link {link} is down"),
    "slow": Rule("slow_link", State.WARNING, "link {link} runs at {mbit:.0f} Mbit/s, {than}"),
    "errors": Rule(
        "errors", State.WARNING, "{errors:.0f} errors in {packets:.0f} packets of link {link}"
    ),
    "flapping": Rule("flapping", State.WARNING, "link {link} went down or up {times:.0f} times"),
}


def look_at_ethernet(node: Node) -> Look:
    """Look at the links that carry the storage address, at all that are up where it is not known.

    Raises:
        ToolError: there is no such link.
    """
    storage = node.parts.storage_interfaces()
    links = [name for name in storage or _physical(node) if node.system.names(f"{_NET}/{name}")]
    if not links:
        raise ToolError(f"{_NET} has no network adapter that is up")
    component, rate_Bps = node.parts.of_kind("nic", "link") if storage else (node.parts.node, None)
    symptoms: list[Symptom] = []
    for number, name in enumerate(links):
        # the first has the address; what lies below it may have a part of the speed
        symptoms += _speed(node, component, name, rate_Bps if number == 0 else None)
        symptoms += _counters(node, component, name)
    return Look(ETHERNET, len(links), tuple(symptoms))


def _physical(node: Node) -> Iterator[str]:
    for name in node.system.names(_NET):
        folder = f"{_NET}/{name}"
        if node.system.names(f"{folder}/device") and node.system.read(f"{folder}/carrier") == "1":
            yield name


def _speed(node: Node, component: str, name: str, rate_Bps: Optional[float]) -> Iterator[Symptom]:
    if node.system.read(f"{_NET}/{name}/operstate") in ("down", "lowerlayerdown"):
        yield ETHERNET_RULES["down"].symptom(ETHERNET, component, link=name)
        return
    mbit = _figure(node, f"{_NET}/{name}/speed")
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
    yield ETHERNET_RULES["slow"].symptom(ETHERNET, component, link=name, mbit=mbit, than=words)


def _counters(node: Node, component: str, name: str) -> Iterator[Symptom]:
    packets = _grown(node, name, _PACKETS)
    errors = _grown(node, name, _ERRORS)
    moved = packets.amount if packets else 0.0
    if errors and errors.amount >= _LEAST_SHARE * moved:
        values = {"errors": errors.amount, "packets": moved, "link": name}
        yield ETHERNET_RULES["errors"].symptom(ETHERNET, component, errors.since, **values)
    lost = _grown(node, name, ("carrier_changes",))
    if lost:
        yield ETHERNET_RULES["flapping"].symptom(
            ETHERNET, component, lost.since, link=name, times=lost.amount
        )


def _grown(node: Node, link: str, files: tuple[str, ...]) -> Optional[Growth]:
    """Return the growth of several counters together."""
    count, since = 0.0, 0.0
    for file in files:
        value = _figure(node, f"{_NET}/{link}/{file}")
        grown = node.counters.growth(f"{ETHERNET}/{link}/{_kind(file)}", value)
        if grown:
            count, since = count + grown.amount, grown.since
    return Growth(count, since) if count else None


PCIE = "pcie"

# mass storage and network, and Fibre Channel, which is a serial bus (pci.ids)
_WATCHED = ("0x01", "0x02", "0x0c04")
_MOST_LANES = 32
"""Functions without a link of their own tell 0, 63 or 255 lanes."""

PCIE_RULES = {
    "width": Rule(
        "narrow_link", State.WARNING, "PCIe link of {device} runs on {lanes} of {most} lanes"
    ),
    "speed": Rule(
        "slow_link", State.WARNING, "PCIe link of {device} runs at {speed} of {most} GT/s"
    ),
}


def look_at_pcie(node: Node) -> Look:
    """Look at the links of disks and adapters; raise ToolError where the kernel shows none."""
    devices = [
        name
        for name in node.system.names(PCI)
        if node.system.read(f"{PCI}/{name}/class").startswith(_WATCHED)
    ]
    if not devices:
        raise ToolError(f"{PCI} has no disk or adapter")
    symptoms = tuple(symptom for name in devices for symptom in _of_link(node, name))
    return Look(PCIE, len(devices), symptoms)


def _of_link(node: Node, device: str) -> Iterator[Symptom]:
    folder = f"{PCI}/{device}"
    above = node.system.real(folder).rpartition("/")[0]
    lanes = _figure(node, f"{folder}/current_link_width")
    most = _figure(node, f"{folder}/max_link_width")
    if lanes and most and lanes < most <= _MOST_LANES:
        can = min(most, _figure(node, f"{above}/max_link_width") or most)
        if lanes < can:
            yield PCIE_RULES["width"].symptom(
                PCIE, node.parts.of_pci(device), device=device, lanes=f"{lanes:g}", most=f"{can:g}"
            )
    speed = _figure(node, f"{folder}/current_link_speed", "GT/s")
    fastest = _figure(node, f"{folder}/max_link_speed", "GT/s")
    # of a port that is not known the speed may be the one of its generation
    can = min(fastest or 0.0, _figure(node, f"{above}/max_link_speed", "GT/s") or 0.0)
    if speed and speed < can:
        yield PCIE_RULES["speed"].symptom(
            PCIE, node.parts.of_pci(device), device=device, speed=f"{speed:g}", most=f"{can:g}"
        )
