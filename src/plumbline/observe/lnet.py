"""Interfaces of LNet that have lost messages: ``lnetctl net show``, which needs CAP_NET_ADMIN.

LNet raises the health of an interface with each of its own pings that comes back, so one below full
health has lost messages a moment ago or loses them still.
"""

from __future__ import annotations

from typing import Iterator

from plumbline.model.command import Completed
from plumbline.model.errors import PlumblineError, PrivilegeError, ToolError
from plumbline.model.verdict import State
from plumbline.observe.lnet_health import (
    FULL,
    INTERFACES,
    MODULE,
    Interface,
    local_interfaces,
    why_nothing,
)
from plumbline.observe.node import QUICK_S, Node
from plumbline.observe.query import complaint
from plumbline.observe.symptom import Look, Rule, Symptom

NAME = "lnet"

RULES = {
    "down": Rule("down", State.WARNING, "the device of LNet interface {nid} has failed"),
    "health": Rule(
        "health", State.WARNING, "LNet interface {nid} has health {health} of {full}{lost}"
    ),
}


def look(node: Node) -> Look:
    """Look at all interfaces of this host.

    Raises:
        ToolError: there is no LNet, or it gives no answer.
        PrivilegeError: it tells its health to others alone.
    """
    if not node.system.names(MODULE):
        raise ToolError(f"{MODULE} is not there: LNet is not loaded")
    shown = node.system.run(INTERFACES, QUICK_S)
    if not shown.ok:
        raise _trouble(shown)
    found = local_interfaces(shown.stdout, " ".join(INTERFACES))
    symptoms = tuple(symptom for one in found for symptom in _of_interface(node, one))
    return Look(NAME, len(found), symptoms)


def _trouble(shown: Completed) -> PlumblineError:
    """Return why lnetctl showed nothing."""
    lost = shown.timed_out or shown.hung
    why = "failed" if lost else why_nothing(shown.stderr + shown.stdout)
    if why == "denied":
        return PrivilegeError(
            f"{' '.join(shown.argv)} is refused to this user; set symptoms_lnet of the role "
            "symptoms, or ask as root where Lustre is older than 2.16"
        )
    return ToolError("LNet has no interface" if why == "absent" else complaint(shown))


def _of_interface(node: Node, seen: Interface) -> Iterator[Symptom]:
    grown = node.counters.growth(f"{NAME}/{seen.nid}/errors", seen.errors)
    component, _ = node.parts.of_kind("nic", "link")
    if seen.has_failed:
        yield RULES["down"].symptom(NAME, component, nid=seen.nid)
    if seen.health < FULL:
        lost = f", {grown.amount:.0f} messages lost" if grown else ""
        values = {"nid": seen.nid, "health": seen.health, "full": FULL, "lost": lost}
        yield RULES["health"].symptom(NAME, component, grown and grown.since, **values)
