"""Ports of storage networks and adapters, in the folders of /sys that anybody may read.

Fibre Channel, InfiniBand and SAS say the same in different files: whether a port is up, how fast it
runs, and what it counts.  A port is judged by what it has been before: one that was never used is
no fault, and a slow one may have a slow partner.
"""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple, Optional

from plumbline.model.errors import ToolError
from plumbline.model.validation import real, whole
from plumbline.model.verdict import State
from plumbline.observe.node import Node
from plumbline.observe.symptom import Look, Rule, Symptom

_LONGEST = 60
"""Characters of a speed; those of the kernel have twenty."""


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
        if not speed and best:
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
            key = f"{self.name}/{port}/{file}"
            grown = None if value is None else node.counters.growth(key, value)
            if grown and grown.amount >= least:
                yield rules[_kind(file)].symptom(
                    self.name, component, grown.since, number=grown.amount, port=port
                )

    def _speed(self, node: Node, folder: str) -> float:
        """Return the speed in the file's own unit, 0 for a port that is not up."""
        if self.state and self.up not in node.system.read(f"{folder}/{self.state}"):
            return 0.0
        match = re.match(
            r"([\d.]+) " + re.escape(self.unit), node.system.read(f"{folder}/{self.speed}")
        )
        return real(match[1], f"{folder}/{self.speed}") if match else 0.0

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
