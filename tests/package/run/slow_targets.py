#!/usr/bin/python3
"""A Python for ranks, in which reading takes its time: each target has a course that it keeps to.

Everything else of the ranks is as it is.  The courses do not depend on what the machine does
besides: a call that comes late is followed by faster ones.
"""

from __future__ import annotations

import os
import runpy
import sys
import time
from math import sqrt
from pathlib import Path
from typing import Any, Callable

LASTS_S = 10.4
LATE_S = 1.5
CALLS = 400


def flat(part: float) -> float:
    """Return when a part of the bytes has been read, in seconds since the first call."""
    return part * LASTS_S


def declining(part: float) -> float:
    """From 1.8 times the mean rate steadily to 0.2 of it: the first kind of Edison's figure 7."""
    return LASTS_S * (1.8 - sqrt(3.24 - 3.2 * part)) / 1.6


def dropping(part: float) -> float:
    """Twice the mean rate in the first 5 % of the time, then flat: the second kind."""
    return LASTS_S * (part / 2 if part < 0.1 else 0.05 + (part - 0.1) * 0.95 / 0.9)


def late(part: float) -> float:
    """As flat, but nothing comes at first: the first kind of straggler of BlueGene/L's figure 5."""
    return LATE_S + flat(part)


def slow(part: float) -> float:
    """Slower all the time: the second kind of straggler."""
    return part * (LASTS_S + LATE_S)


def trailing(part: float) -> float:
    """As flat, but the last quarter takes longer."""
    return flat(part) + max(0.0, part - 0.75) / 0.25 * LATE_S


COURSES = {
    **dict.fromkeys("abcd", flat),
    "e": declining,
    "f": dropping,
    "g": late,
    "h": slow,
    "i": trailing,
}


class Reading:
    """One file that is being read: the n-th call ends when its bytes are due."""

    def __init__(self, descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        # TARGET/.plumbline/TARGET.fs-0/probe.dat
        self._course = COURSES[path.parents[2].name]
        self._began = time.monotonic()
        self._calls = 0

    def wait(self) -> None:
        self._calls += 1
        due = self._began + self._course(min(1.0, self._calls / CALLS))
        time.sleep(max(0.0, due - time.monotonic()))


def slowed(readv: Callable[[int, Any], int]) -> Callable[[int, Any], int]:
    readings: dict[int, Reading] = {}

    def wait_and_read(descriptor: int, buffers: Any) -> int:
        if descriptor not in readings:
            readings[descriptor] = Reading(descriptor)
        readings[descriptor].wait()
        return readv(descriptor, buffers)

    return wait_and_read


def main() -> None:
    option, what, *sys.argv[1:] = sys.argv[1:]
    if option == "-c":
        exec(what)
        return
    os.readv = slowed(os.readv)
    runpy.run_module(what, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
