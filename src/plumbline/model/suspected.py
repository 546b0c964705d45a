"""What a console suspects of a component by its latency under load: a name and a date, no figure.

A node takes it for a reason to measure and for nothing else (judge/wanted.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from plumbline.model.allowed import NAME
from plumbline.model.validation import texts, times

MOST = 16
"""Of one node at once: more is no suspicion of single components."""


class Suspected(NamedTuple):
    """A component of a layer, and since when it is suspected, in seconds since the epoch."""

    layer: str
    component: str
    since: float


def read_suspected(raw: Any) -> tuple[Suspected, ...]:
    """Return what a document says.

    Raises:
        TypeError, ValueError: it is no list of at most ``MOST`` suspicions.
        DocumentError: a name has unsafe characters.
    """
    found = tuple(Suspected(layer, component, since) for layer, component, since in raw)
    if len(found) > MOST:
        raise ValueError(f"{len(found)} suspicions are more than {MOST}")
    for one in found:
        texts("suspected", one[:2])
        NAME.refuse("suspected component", one.component)
        times(since=one.since)
    return found
