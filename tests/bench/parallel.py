"""What a rank's instruments cost, and whether ranks are as fast as fio (and IOR, where it is).

All figures of one line come from turns that follow one another on one file, so that each tool meets
the same target and the same neighbours; see :mod:`.pairs` for what is made of them.

The instruments are timed in CPU seconds of one process: what they add to a call, with and without
them on /dev/null, as a part of a call on a file in memory, which is as short as a call can be.

usage: parallel.py [--directory DIR] [--turns N] [--ranks N ...]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Callable, Iterator, Optional, Sequence

from plumbline.errors import PlumblineError
from plumbline.model.record import Operation
from plumbline.profile.calls import Calls
from plumbline.ranks.job import JOB, Job, Result, State, encoded, write_whole
from plumbline.ranks.layout import Place
from plumbline.ranks.loops import Notes, Sum, bare, recorded
from plumbline.ranks.posix import PosixFile
from plumbline.ranks.tests import Method
from plumbline.run.command import SystemRunner
from plumbline.run.launch import Launch
from plumbline.run.launch_command import command
from plumbline.run.launcher import Launcher, find_launcher
from plumbline.run.tally import read_results
from tests.bench.disk import MEMORY, steady_disk
from tests.bench.pairs import compared

ROOT = Path(__file__).parents[2]
MIB = 1 << 20
SMALL = 10_000
OVERHEAD = {MIB: 0.01, SMALL: 0.05}
FAITHFUL = {MIB: (0.97, 1.03), SMALL: (0.95, float("inf"))}
FILE_BYTES = {MIB: 128 * MIB, SMALL: 60_000_000}
OPERATIONS = (Operation.WRITE, Operation.READ)
FOREVER = float("inf")
LIMIT_S = 300.0

Turn = Callable[[int, int], dict[Operation, float]]
"""Takes bytes of a transfer and number of ranks, gives bytes per second of all ranks together."""


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


def fresh(folder: Path, transfer: int, ranks: int) -> int:
    """Make each rank's file anew and return its bytes: full size, nothing in it, nothing cached.

    So it is in a run; a tool that found the other's pages in the cache would be faster by them.
    """
    size = FILE_BYTES[transfer] // transfer * transfer
    for rank in range(ranks):
        path = folder / f"file.{rank}"
        path.unlink(missing_ok=True)
        sized(path, size)
    os.sync()
    return size


def sized(path: Path, size: int) -> Path:
    """Make a file of full size, as a target's file is."""
    path.touch()
    os.truncate(path, size)
    return path


class Ours:
    """The ranks of plumbline."""

    def __init__(self, folder: Path, api: str, launcher: Launcher) -> None:
        self._folder = folder
        self._api = api
        self._launcher = launcher

    def __call__(self, transfer: int, ranks: int) -> dict[Operation, float]:
        """Write and read once."""
        size = fresh(self._folder, transfer, ranks)
        places = tuple(
            Place(str(rank), str(rank), str(self._folder / f"file.{rank}")) for rank in range(ranks)
        )
        method = Method("bench", transfer, self._api)
        with tempfile.TemporaryDirectory() as work:
            job = Job(work, method, OPERATIONS, places, size, LIMIT_S)
            write_whole(Path(work) / JOB, encoded(job.to_json()))
            done = SystemRunner()(
                command(Launch(), self._launcher, ranks, f"{work}/{JOB}"), 2 * LIMIT_S
            )
            results = tuple(read_results(Path(work)))
        if not done.ok or {result.state for result in results} != {State.DONE}:
            raise SystemExit(f"ranks failed: {done.stderr} {[one.reason for one in results]}")
        return {
            operation: size * ranks / _slowest_s(results, operation) for operation in OPERATIONS
        }


def _slowest_s(results: Sequence[Result], operation: Operation) -> float:
    """Return the seconds of the slowest rank since its own first call, as other tools count."""
    return max(one.end_s - one.begin_s for one in results if one.operation is operation)


class Fio:
    """fio on the same files, as many jobs as ranks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, transfer: int, ranks: int) -> dict[Operation, float]:
        """Write and read once; the time is that of the slowest job."""
        size = fresh(self._folder, transfer, ranks)
        found = {}
        for operation in OPERATIONS:
            files = [
                word
                for rank in range(ranks)
                for word in (f"--name=j{rank}", f"--filename={self._folder}/file.{rank}")
            ]
            argv = ["fio", f"--rw={operation.value}", f"--bs={transfer}", f"--size={size}"]
            argv += ["--ioengine=psync", "--end_fsync=1", "--fallocate=none"]
            argv += ["--allow_file_create=0", "--unlink=0", "--output-format=json"]
            jobs = json.loads(SystemRunner()([*argv, *files], LIMIT_S).stdout)["jobs"]
            slowest = max(job[operation.value]["runtime"] for job in jobs) / 1000
            found[operation] = size * ranks / slowest
        return found


class Ior:
    """IOR on the same files: the same transfer, block and pattern."""

    def __init__(self, folder: Path, api: str) -> None:
        self._folder = folder
        self._api = {"posix": "POSIX", "mpiio": "MPIIO"}[api]

    def __call__(self, transfer: int, ranks: int) -> dict[Operation, float]:
        """Write and read once, each file by its own rank."""
        size = fresh(self._folder, transfer, ranks)
        words = ["-a", self._api, "-F", "-e", "-w", "-r", "-E", "-k", "-C", "-g"]
        words += ["-t", str(transfer), "-b", str(size), "-o", str(self._folder / "ior")]
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        launch = ["mpirun", *root, "--map-by", ":OVERSUBSCRIBE", "-np", str(ranks)]
        out = SystemRunner()([*launch, "ior", *words], LIMIT_S).stdout
        return {
            operation: float(match[1]) * MIB
            for operation in OPERATIONS
            for match in [re.search(rf"Max {operation.value.title()}:\s+([\d.]+) MiB/sec", out)]
            if match
        }


def faithful(
    what: str, transfer: int, ranks: int, pair: tuple[Turn, Turn], turns: int
) -> Iterator[tuple[str, bool]]:
    """Yield a line for each operation, and whether its ratio is surely not as it should be."""

    def once(turn: Turn) -> dict[str, float]:
        return {each.value: rate for each, rate in turn(transfer, ranks).items()}

    ours, other = pair
    low, high = FAITHFUL[transfer]
    for operation, found in compared((lambda: once(ours), lambda: once(other)), turns).items():
        mine, theirs = (rate / 1e6 for rate in found.rates_Bps)
        verdict = found.verdict(low, high)
        yield (
            (
                f"{what:14} {transfer:8d} B, {ranks} ranks, {operation:5}: {mine:8.1f} and "
                f"{theirs:8.1f} MB/s, ratio {found.value:.3f}, steady to {found.apart:.1%} in "
                f"{found.turns} turns (aim: {low} to {high}): {verdict}"
            ),
            verdict == "missed",
        )


def instruments(turns: int) -> bool:
    """Print what the instruments cost; return whether that is little enough."""
    folder = MEMORY if os.access(MEMORY, os.W_OK) else None
    good = True
    with tempfile.TemporaryDirectory(prefix="plumbline-bench-", dir=folder) as name:
        more = added(turns)
        for transfer, aim in OVERHEAD.items():
            call = unnoted(Path(name), transfer, turns)
            good = good and more < aim * call
            print(
                f"instruments    {transfer:8d} B: {more * 1e6:.2f} us more on a call of "
                f"{call * 1e6:.2f} us CPU time: {more / call:.2%} (aim: below {aim:.0%})"
            )
    return good


def fidelity(folder: Path, turns: int, ranks: list[int]) -> bool:
    """Print ratios to the other tools; return whether none is certainly as it should not be."""
    launcher = find_launcher(Launch(), SystemRunner())
    good = True
    for api in ("posix", "mpiio"):
        others: list[tuple[str, Optional[Turn]]] = [
            ("fio", Fio(folder) if shutil.which("fio") else None),
            ("IOR", Ior(folder, api) if shutil.which("ior") else None),
        ]
        for name, other in others:
            if other is None:
                print(f"{api} and {name}: {name} is not installed")
                continue
            for transfer in FILE_BYTES:
                for number in ranks:
                    pair = (Ours(folder, api, launcher), other)
                    for line, bad in faithful(f"{api} / {name}", transfer, number, pair, turns):
                        print(line, flush=True)
                        good = good and not bad
    return good


def main() -> int:
    """Run both benchmarks; return 1 when an aim is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--directory", help="on the target; without it a disk of a fixed rate")
    parser.add_argument("--turns", type=int, default=12, help="at most, of each tool")
    parser.add_argument("--ranks", type=int, nargs="*", default=[1, 2])
    arguments = parser.parse_args()
    # whoever ends it leaves no disk behind
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    good = instruments(30)
    if shutil.which("mpirun") is None:
        print("fidelity: mpirun is not installed")
        return 0 if good else 1
    try:
        good = fidelity_on_disk(arguments) and good
    except (PlumblineError, subprocess.SubprocessError) as error:
        print(f"fidelity: {error}", file=sys.stderr)
        return 1
    return 0 if good else 1


def fidelity_on_disk(arguments: argparse.Namespace) -> bool:
    """Compare with the other tools in the folder given, or on a disk made for it."""
    with ExitStack() as places:
        place = arguments.directory or places.enter_context(steady_disk())
        if place is None:
            # a disk that others use as well shows whether the tools agree, but not within 3 %
            place = ROOT / ".cache"
        name = places.enter_context(tempfile.TemporaryDirectory(prefix="bench-", dir=place))
        return fidelity(Path(name), arguments.turns, arguments.ranks)


if __name__ == "__main__":
    sys.exit(main())
