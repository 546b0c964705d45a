"""The bill: all conditions of a node at one moment, and what could not be asked."""

from __future__ import annotations

from typing import Callable, Iterator, NamedTuple, Sequence

from plumbline.conditions import adapters, disks, lustre, settings, software
from plumbline.conditions.condition import Condition, merged
from plumbline.errors import PlumblineError
from plumbline.symptoms.system import System

MOST = 10_000
"""Conditions of a node; a client of 2000 targets has as many."""


class Bill(NamedTuple):
    """The conditions of ``node`` at ``taken_at``, seconds since the epoch.

    ``notes`` say what could not be asked.  What is not in the bill is not known: no change.
    """

    node: str
    taken_at: float
    conditions: tuple[Condition, ...]
    notes: tuple[str, ...] = ()


def take(node: str, system: System, parameters: Sequence[str], now: float) -> Bill:
    """Return the bill of a node; ``parameters`` are patterns for ``lctl get_param``."""
    found: list[Condition] = []
    notes: list[str] = []
    collectors: tuple[Callable[[], Iterator[Condition]], ...] = (
        lambda: software.look(system),
        lambda: lustre.look(system, parameters),
        lambda: settings.look(system),
        lambda: disks.look(system),
        lambda: adapters.look(system),
        lambda: adapters.look_at_interfaces(system),
    )
    for look in collectors:
        found += _found(look, notes)
    if len(found) > MOST:
        notes.append(f"{len(found) - MOST} conditions beyond {MOST} were left out")
    return Bill(node, now, tuple(found[:MOST]), tuple(notes))


def _found(look: Callable[[], Iterator[Condition]], notes: list[str]) -> list[Condition]:
    try:
        return list(merged(look()))
    except PlumblineError as error:
        notes.append(str(error))
        return []
