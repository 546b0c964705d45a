"""Commands that run to their end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

# linux/capability.h
CAP_SYS_ADMIN = 21


def run_to_end(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command and return its exit code and texts; options are those of ``subprocess.run``."""
    check = options.pop("check", False)
    return subprocess.run(
        [*map(str, words)], capture_output=True, text=True, check=check, **options
    )


def can_mount() -> bool:
    """Tell whether this process has CAP_SYS_ADMIN, which root in a container may lack."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    effective = int(status.partition("CapEff:")[2].split()[0], 16)
    return bool(effective >> CAP_SYS_ADMIN & 1)


def bare_python(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a Python that has only the standard library."""
    return run_to_end(sys.executable, "-I", "-S", *words, **options)
