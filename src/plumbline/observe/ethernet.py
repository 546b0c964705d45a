"""Ethernet links: speed and error counters under /sys/class/net, which anybody may read.

The kernel describes the counters in Documentation/ABI/testing/sysfs-class-net-statistics.
"""

from __future__ import annotations

from typing import Iterator, Optional

from plumbline.model.errors import ToolError
from plumbline.model.validation import real
from plumbline.model.verdict import State
from plumbline.observe.node import Growth, Node
from plumbline.observe.symptom import Look, Rule, Symptom

NAME = "ethernet"

_ROOT = "/sys/class/net"
_MBIT_BPS = 125_000.0
_RATED = 0.98
"""A rated speed that was typed rounded is no slow link."""
_LEAST_SHARE = 1e-6
"""Errors per packet that count: IEEE 802.3 allows one bit in 1e12, which is one packet in 1e8."""
_ERRORS = ("rx_errors", "tx_errors", "rx_missed_errors")
_PACKETS = ("rx_packets", "tx_packets")

RULES = {
    "down": Rule("down", State.CRITICAL, "link {link} is down"),
    "slow": Rule("slow_link", State.WARNING, "link {link} runs at {mbit:.0f} Mbit/s, {than}"),
    "errors": Rule(
        "errors", State.WARNING, "{errors:.0f} errors in {packets:.0f} packets of link {link}"
    ),
    "flapping": Rule("flapping", State.WARNING, "link {link} went down or up {times:.0f} times"),
}


def look(node: Node) -> Look:
    """Look at the links that carry the storage address, at all that are up where it is not known.

    Raises:
        ToolError: there is no such link.
    """
    known = node.parts.storage_interfaces()
    links = [name for name in known or _physical(node) if node.system.names(f"{_ROOT}/{name}")]
    if not links:
        raise ToolError(f"{_ROOT} has no network adapter that is up")
    component, rate_Bps = node.parts.of_kind("nic", "link") if known else (node.parts.node, None)
    symptoms: list[Symptom] = []
    for number, name in enumerate(links):
        # the first has the address; what lies below it may have a part of the speed
        symptoms += _speed(node, component, name, rate_Bps if number == 0 else None)
        symptoms += _counters(node, component, name)
    return Look(NAME, len(links), tuple(symptoms))


def _physical(node: Node) -> Iterator[str]:
    for name in node.system.names(_ROOT):
        folder = f"{_ROOT}/{name}"
        if node.system.names(f"{folder}/device") and node.system.read(f"{folder}/carrier") == "1":
            yield name


def _speed(node: Node, component: str, name: str, rate_Bps: Optional[float]) -> Iterator[Symptom]:
    if node.system.read(f"{_ROOT}/{name}/operstate") in ("down", "lowerlayerdown"):
        yield RULES["down"].symptom(NAME, component, link=name)
        return
    mbit = _number(node, f"{_ROOT}/{name}/speed")
    if mbit is None or mbit <= 0:
        # virtual links have none
        return
    best = node.counters.highest(f"{NAME}/{name}/speed", mbit)
    if rate_Bps is not None and mbit * _MBIT_BPS < rate_Bps * _RATED:
        words = f"less than the rated speed of {component}"
    elif mbit < best:
        words = f"after {best:.0f} Mbit/s before"
    else:
        return
    yield RULES["slow"].symptom(NAME, component, link=name, mbit=mbit, than=words)


def _counters(node: Node, component: str, name: str) -> Iterator[Symptom]:
    packets = _grown(node, name, _PACKETS)
    errors = _grown(node, name, _ERRORS)
    moved = packets.amount if packets else 0.0
    if errors and errors.amount >= _LEAST_SHARE * moved:
        values = {"errors": errors.amount, "packets": moved, "link": name}
        yield RULES["errors"].symptom(NAME, component, errors.since, **values)
    value = _number(node, f"{_ROOT}/{name}/carrier_changes")
    lost = value is not None and node.counters.growth(f"{NAME}/{name}/carrier_changes", value)
    if lost:
        times = lost.amount
        yield RULES["flapping"].symptom(NAME, component, lost.since, link=name, times=times)


def _grown(node: Node, link: str, names: tuple[str, ...]) -> Optional[Growth]:
    """Return the growth of several counters together."""
    count, since = 0.0, 0.0
    for name in names:
        value = _number(node, f"{_ROOT}/{link}/statistics/{name}")
        grown = None if value is None else node.counters.growth(f"{NAME}/{link}/{name}", value)
        if grown:
            count, since = count + grown.amount, grown.since
    return Growth(count, since) if count else None


def _number(node: Node, path: str) -> Optional[float]:
    text = node.system.read(path)
    return real(text, path) if text.lstrip("-").isdecimal() else None
