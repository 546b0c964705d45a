"""Cost of a rank's instruments, in CPU seconds of a process.

Their addition to a call, from calls on /dev/null with and without them, as a share of a call on a
file in memory, the shortest real call.
"""

from __future__ import annotations

import os
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import Optional

from plumbline.model.profile import Calls
from plumbline.parts.parallel.operation import Notes, recorded, sources, unrecorded
from tests.bench.disk import MEMORY

MIB = 1 << 20
SMALL = 10_000
OVERHEAD = {MIB: 0.01, SMALL: 0.05}
FOREVER = float("inf")


def instruments(turns: int) -> bool:
    """Print the cost of the instruments; return whether the aims are met."""
    good = True
    with tempfile.TemporaryDirectory(prefix="plumbline-bench-", dir=memory_folder()) as name:
        more = added(turns)
        for transfer, aim in OVERHEAD.items():
            call = unnoted(Path(name), transfer, turns)
            good = good and more < aim * call
            print(
                f"instruments    {transfer:8d} B: {more * 1e6:.2f} us more on a call of "
                f"{call * 1e6:.2f} us CPU time: {more / call:.2%} (aim: below {aim:.0%})"
            )
    return good


def spent(path: Path, transfer: int, count: int, noted: bool) -> float:
    """Return the CPU seconds of a call, the mean of ``count`` recorded or unrecorded ones."""
    # as a rank's file does it, which neither /dev/null nor a path in memory may be
    descriptor = os.open(path, os.O_WRONLY)
    move, buffers = partial(os.write, descriptor), sources(transfer, direct=False)
    notes = Notes(Calls(count))
    start = time.process_time()
    if noted:
        recorded(move, buffers, count, notes, FOREVER)
    else:
        unrecorded(move, buffers, count, FOREVER)
    seconds = time.process_time() - start
    os.close(descriptor)
    return seconds / count


def added(turns: int) -> float:
    """Return the CPU seconds that recording adds to a call, measured with nearly empty calls."""
    nothing = Path(os.devnull)
    return median(
        spent(nothing, SMALL, 50_000, noted=True) - spent(nothing, SMALL, 50_000, noted=False)
        for _ in range(turns)
    )


def unnoted(folder: Path, transfer: int, turns: int) -> float:
    """Return the CPU seconds of an unrecorded call on a file in memory."""
    count = 100_000_000 // transfer
    path = sized(folder / "instruments", count * transfer)
    spent(path, transfer, count, noted=False)
    seconds = median(spent(path, transfer, count, noted=False) for _ in range(turns))
    path.unlink()
    return seconds


def sized(path: Path, size: int) -> Path:
    """Create a file of full size, like a target's file."""
    path.touch()
    os.truncate(path, size)
    return path


def memory_folder() -> Optional[str]:
    """Return the folder for files in memory, None if there is none."""
    return MEMORY if os.access(MEMORY, os.W_OK) else None
