"""What a rank's instruments cost, in CPU seconds of one process.

What they add to a call, with and without them on /dev/null, as a part of a call on a file in
memory, which is as short as a call can be.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Optional

from plumbline.parallel.operation import Notes, PosixFile, Sum, bare, recorded
from plumbline.parallel.profile import Calls
from tests.bench.disk import MEMORY

MIB = 1 << 20
SMALL = 10_000
OVERHEAD = {MIB: 0.01, SMALL: 0.05}
FOREVER = float("inf")


def instruments(turns: int) -> bool:
    """Print what the instruments cost; return whether that is little enough."""
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
    """Return the CPU seconds of one call, of ``count`` that are noted or not."""
    file = PosixFile(str(path), 0, write=True, direct=False)
    move, buffers = file.writing(transfer)
    notes = Notes(Calls(count))
    start = time.process_time()
    if noted:
        recorded(move, buffers, count, notes, FOREVER)
    else:
        bare(move, buffers, count, FOREVER, Sum())
    seconds = time.process_time() - start
    file.close()
    return seconds / count


def added(turns: int) -> float:
    """Return the CPU seconds that noting adds to a call, whatever the call is: here almost none."""
    nothing = Path(os.devnull)
    return median(
        spent(nothing, SMALL, 50_000, noted=True) - spent(nothing, SMALL, 50_000, noted=False)
        for _ in range(turns)
    )


def unnoted(folder: Path, transfer: int, turns: int) -> float:
    """Return the CPU seconds of a call on a file in memory that nobody notes."""
    count = 100_000_000 // transfer
    path = sized(folder / "instruments", count * transfer)
    spent(path, transfer, count, noted=False)
    found = median(spent(path, transfer, count, noted=False) for _ in range(turns))
    path.unlink()
    return found


def sized(path: Path, size: int) -> Path:
    """Make a file of full size, as a target's file is."""
    path.touch()
    os.truncate(path, size)
    return path


def memory_folder() -> Optional[str]:
    """Return the folder of files in memory, None where there is none."""
    return MEMORY if os.access(MEMORY, os.W_OK) else None
