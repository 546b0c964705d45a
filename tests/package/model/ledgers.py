"""Ledgers of conditions, made of single looks."""

from __future__ import annotations

from plumbline.model.ledger import Condition, Ledger
from plumbline.model.units import DAY_S

NOW = 1_795_243_788.0
"""2026-11-21 06:49:48 UTC."""


def condition(
    name: str, value: str, area: str = "software", subject: str = "", among: str = "node"
) -> Condition:
    return Condition(area, subject, name, value, among)


def look_at(node: str, at: float, *conditions: Condition) -> Ledger:
    return Ledger(node, at, at, conditions=conditions)


def bill(*conditions: Condition, day: float = 0.0, node: str = "oss1") -> Ledger:
    """Return the ledger of a single look, on a day counted from the first."""
    return look_at(node, NOW + day * DAY_S, *conditions)


def ledger(*bills: Ledger) -> Ledger:
    """Return the ledger of a node with these bills."""
    node_ledger = bills[0]
    for later in bills[1:]:
        node_ledger = later.after(node_ledger)
    return node_ledger
