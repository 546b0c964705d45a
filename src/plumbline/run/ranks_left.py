"""The ranks of a run that are still on this host when it is over: stopped, or without a parent.

A launcher that was killed, or whose ranks are in sessions of their own, does not end them.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

from plumbline.run.launch_command import MODULE


def end_ranks(job: str) -> None:
    """Kill what was started to work on a job and is still there."""
    words = b"\0".join(word.encode() for word in ("-m", MODULE, job, ""))
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (process / "cmdline").read_bytes().endswith(b"\0" + words):
                os.kill(int(process.name), signal.SIGKILL)
