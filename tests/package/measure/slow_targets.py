#!/usr/bin/python3
"""A Python for ranks in which each target has its own course of read times.

The ranks are otherwise real.  From the common start on, a rank's clock advances only when it moves
bytes, so that the courses do not depend on the load of this machine.
"""

from __future__ import annotations

import os
import runpy
import sys
import time
from importlib import import_module
from math import sqrt
from pathlib import Path
from typing import Any, Callable, Optional

LASTS_S = 10.4
LATE_S = 1.5
CALLS = 400


def flat(part: float) -> float:
    """Return the time at which a part of the bytes has been read, in seconds since the start."""
    return part * LASTS_S


def declining(part: float) -> float:
    """Decline from 1.8 to 0.2 times the mean rate: the first kind of Edison's figure 7."""
    return LASTS_S * (1.8 - sqrt(3.24 - 3.2 * part)) / 1.6


def dropping(part: float) -> float:
    """Begin with twice the mean rate for 5 % of the time, then flat: the second kind."""
    return LASTS_S * (part / 2 if part < 0.1 else 0.05 + (part - 0.1) * 0.95 / 0.9)


def late(part: float) -> float:
    """Start late, then flat: the first kind of straggler in BlueGene/L's figure 5."""
    return LATE_S + flat(part)


def slow(part: float) -> float:
    """Be slower all the time: the second kind of straggler."""
    return part * (LASTS_S + LATE_S)


def trailing(part: float) -> float:
    """Be flat, but slower in the last quarter."""
    return flat(part) + max(0.0, part - 0.75) / 0.25 * LATE_S


COURSES = {
    **dict.fromkeys("abcd", flat),
    "e": declining,
    "f": dropping,
    "g": late,
    "h": slow,
    "i": trailing,
}


class Rank:
    """The clock of a rank and its calls, which end when their bytes are due."""

    def __init__(self) -> None:
        self._now, self._write, self._readv = time.monotonic, os.write, os.readv
        self._at: Optional[float] = None
        self._began = 0.0
        self._reads = 0

    def started(self, together: Callable[[Any], float]) -> Callable[[Any], float]:
        def start_together(world: Any) -> float:
            self._at = None
            self._at = self._began = together(world)
            self._reads = 0
            return self._began

        return start_together

    def monotonic(self) -> float:
        return self._now() if self._at is None else self._at

    def write(self, descriptor: int, data: Any) -> int:
        if self._at is not None and file_of(descriptor).name == "probe.dat":
            self._at += LASTS_S / CALLS
        return self._write(descriptor, data)

    def readv(self, descriptor: int, buffers: Any) -> int:
        self._reads += 1
        # TARGET/.plumbline/TARGET.fs-0/probe.dat
        course = COURSES[file_of(descriptor).parents[2].name]
        self._at = self._began + course(min(1.0, self._reads / CALLS))
        return self._readv(descriptor, buffers)


def file_of(descriptor: int) -> Path:
    return Path(os.readlink(f"/proc/self/fd/{descriptor}"))


def main() -> None:
    option, program, *sys.argv[1:] = sys.argv[1:]
    if option == "-c":
        exec(program)
        return
    rank = Rank()
    time.monotonic, os.write, os.readv = rank.monotonic, rank.write, rank.readv
    # only now, as ranks import the clock by name
    world: Any = import_module("plumbline.parts.parallel.mpi")
    world.World.start_together = rank.started(world.World.start_together)
    runpy.run_module(program, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
