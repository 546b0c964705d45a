"""Where Lustre keeps what root alone may read: imports, and statistics of servers."""

from __future__ import annotations

from plumbline.model.command import CommandRunner
from plumbline.targets.ask import QUICK_S

NEEDS_DEBUGFS = (
    "Lustre keeps it in debugfs, which this user may not enter; set agent_lustre_capabilities of "
    "the role agent to [CAP_DAC_READ_SEARCH]"
)

_DEBUGFS = "/sys/kernel/debug"


def debugfs_is_closed(run: CommandRunner) -> bool:
    """Return whether this process, with all its capabilities, may not enter debugfs."""
    return run(["test", "-x", _DEBUGFS], QUICK_S).exit_code == 1
