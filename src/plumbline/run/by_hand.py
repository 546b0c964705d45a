"""Whether a unit of systemd runs this command, with the privileges that the roles give it."""

from __future__ import annotations

import os

UNIT = "PLUMBLINE_UNIT"
"""The environment of every unit has its name, see the role agent."""


def by_hand() -> bool:
    """Return whether a person or another program started this, and no unit."""
    return UNIT not in os.environ
