"""Contract of the part facts with the core and other parts; see ``docs/parts.md``."""

from __future__ import annotations

from typing import Mapping

from plumbline.model.expectation import Expectations
from plumbline.observe.command import LocalSystem, SystemRunner
from plumbline.parts.facts.kernel_messages import EVENTS
from plumbline.parts.facts.node import Parts
from plumbline.parts.facts.site_changes import changes_between, condition_changes, differing
from plumbline.parts.facts.slow_stages import stages_of_slow_targets
from plumbline.parts.facts.usage import jobs_on_slow_targets

__all__ = [
    "EVENTS",
    "changes_between",
    "condition_changes",
    "device_names",
    "differing",
    "jobs_on_slow_targets",
    "stages_of_slow_targets",
]


def device_names(expectations: Expectations) -> Mapping[str, str]:
    """Return the kernel's names of the device components of this node.

    Raises:
        DocumentError: the expectations are damaged.
    """
    return Parts(expectations, LocalSystem(SystemRunner())).disks
