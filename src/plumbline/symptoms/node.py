"""What a collector is given: a node, its parts, and what it counted before."""

from __future__ import annotations

from typing import NamedTuple

from plumbline.symptoms.counters import Counters
from plumbline.symptoms.parts import Parts
from plumbline.symptoms.system import System


class Node(NamedTuple):
    """A node at the moment ``now``, in seconds since the epoch."""

    system: System
    parts: Parts
    counters: Counters
    now: float
