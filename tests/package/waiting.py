"""Waiting for processes in tests."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Callable

_WAIT_S = 300.0


def eventually(condition: Callable[[], Any]) -> Any:
    """Return the value of ``condition`` as soon as it is true."""
    deadline = time.monotonic() + _WAIT_S
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError("it did not come about")


def alive(pid: int) -> bool:
    """Return whether a process exists and is no zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text.rpartition(")")[2].split()[0] != "Z"
