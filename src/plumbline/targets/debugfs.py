"""Where Lustre keeps what root alone may read: imports, and statistics of servers."""

from __future__ import annotations

from typing import Callable, Sequence

from plumbline.model.command import Completed
from plumbline.targets.query import QUICK_S

NEEDS_DEBUGFS = (
    "Lustre keeps it in debugfs, which this user may not enter; set agent_lustre_capabilities of "
    "the role agent to [CAP_DAC_READ_SEARCH]"
)

# Through the folder: test(1) asks access(2), which leaves capabilities of a user out.
_INSIDE = "/sys/kernel/debug/."


def debugfs_is_closed(run: Callable[[Sequence[str], float], Completed]) -> bool:
    """Return whether this process, with all its capabilities, may not enter debugfs."""
    return "Permission denied" in run(["stat", "--format=%n", _INSIDE], QUICK_S).stderr
