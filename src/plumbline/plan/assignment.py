"""One measurement of a plan, before its references are known."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

from plumbline.model.limits import Limits
from plumbline.model.spec import ProbeSpec
from plumbline.plan.places import Step


class Assignment(NamedTuple):
    """One component in one layer: an expectation before its references are known.

    ``node`` measures, ``host`` has the part that is judged; ``steps`` are in measuring order.
    """

    layer: str
    component: str
    node: str
    host: str
    group: str
    target: Mapping[str, Any]
    path: tuple[str, ...]
    steps: tuple[Step, ...]
    spec: ProbeSpec
    limits: Limits
