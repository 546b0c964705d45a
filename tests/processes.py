"""Commands that run to their end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

# linux/capability.h
CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_KILL = 0, 1, 3, 5
CAP_SETGID, CAP_SETUID, CAP_SYS_ADMIN, CAP_SETFCAP = 6, 7, 21, 31


def run_to_end(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command and return its exit code and texts; options are those of ``subprocess.run``."""
    check = options.pop("check", False)
    return subprocess.run(
        [*map(str, words)], capture_output=True, text=True, check=check, **options
    )


def may_act_for_others() -> bool:
    """Tell whether this process is root with the rights over other users' files and processes.

    A container may take them from root; CAP_SETFCAP makes namespaces in which root is root.
    """
    rights = CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_KILL, CAP_SETGID, CAP_SETUID, CAP_SETFCAP
    return os.geteuid() == 0 and _has(*rights)


def is_powerless_root() -> bool:
    """Tell whether this process is root, and may not act for other users."""
    return os.geteuid() == 0 and not may_act_for_others()


def can_mount() -> bool:
    """Tell whether this process has CAP_SYS_ADMIN, which root in a container may lack."""
    return _has(CAP_SYS_ADMIN)


def _has(*capabilities: int) -> bool:
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    effective = int(status.partition("CapEff:")[2].split()[0], 16)
    return all(effective >> number & 1 for number in capabilities)


def bare_python(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a Python that has only the standard library."""
    return run_to_end(sys.executable, "-I", "-S", *words, **options)
