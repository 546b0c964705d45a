"""Run other programs; all commands of the lab go through this module."""

from __future__ import annotations

import subprocess
from typing import Sequence

from plumbline_lab.errors import LabError


def run(argv: Sequence[str], timeout_s: float = 60) -> str:
    """Run a program and return its output; raise LabError unless it succeeds."""
    try:
        done = subprocess.run(
            list(argv),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError as error:
        raise LabError(f"The program {argv[0]} is not installed.") from error
    except subprocess.TimeoutExpired as error:
        raise LabError(f"`{' '.join(argv)}` did not end within {timeout_s:.0f} s.") from error
    if done.returncode != 0:
        reason = (
            done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}"
        ).splitlines()[-1]
        raise LabError(f"`{' '.join(argv)}` failed: {reason}")
    return done.stdout


def succeeds(argv: Sequence[str], timeout_s: float = 60) -> bool:
    """Return True if the program succeeds."""
    try:
        run(argv, timeout_s)
    except LabError:
        return False
    return True
