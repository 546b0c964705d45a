"""Commands that run to their end."""

from __future__ import annotations

import subprocess
import sys
from typing import Any


def run_to_end(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command and return its exit code and texts; options are those of ``subprocess.run``."""
    check = options.pop("check", False)
    return subprocess.run(
        [*map(str, words)], capture_output=True, text=True, check=check, **options
    )


def bare_python(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a Python that has only the standard library."""
    return run_to_end(sys.executable, "-I", "-S", *words, **options)
