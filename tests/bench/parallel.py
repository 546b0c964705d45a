"""Rates of ranks compared with fio (and IOR, if installed), and the cost of their instruments.

All figures of a line come from successive turns on one file, so both tools meet the same target
and the same neighbours; see :mod:`.pairs` for the statistics.

Scaling with ranks is measured in memory, where no disk hides it: the rate of each of several ranks
as a share of that of one, for each tool.

usage: parallel.py [--directory DIR] [--turns N] [--ranks N ...]

    nice -n -5 .cache/venv/bin/python -m tests.bench.parallel --ranks 1 2 4 8 --turns 24
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
from contextlib import ExitStack
from pathlib import Path
from typing import Callable, Iterator, NamedTuple, Sequence

from plumbline.model.codec import compact
from plumbline.model.errors import PlumblineError, ToolError
from plumbline.model.ranks import Method, Place
from plumbline.model.record import Operation
from plumbline.observe.command import SystemRunner
from plumbline.parts.parallel.job import JOB, Job, Result, State
from plumbline.parts.parallel.launch import Launch, Launcher, command, find_launcher
from plumbline.parts.parallel.operation import PosixFile, write_whole
from plumbline.parts.parallel.tally import read_results
from tests.bench.disk import steady_disk
from tests.bench.instruments import instruments, memory_folder, sized
from tests.bench.pairs import Aim, Ratio, compared, together

ROOT = Path(__file__).parents[2]
MIB = 1 << 20
SMALL = 10_000
FAITHFUL = {MIB: (0.97, 1.03), SMALL: (0.95, float("inf"))}
SCALES = {MIB: (0.97, float("inf")), SMALL: (0.95, float("inf"))}
FILE_BYTES = {MIB: 128 * MIB, SMALL: 60_000_000}
IN_MEMORY = 32
"""Times the bytes of a file, all ranks together; long turns vary less on a shared machine."""

IN_ALL = 4
"""Times the bytes of a file: the least that all ranks together move."""

OPERATIONS = (Operation.WRITE, Operation.READ)
LIMIT_S = 300.0

Turn = Callable[[int, int], dict[Operation, float]]
"""From transfer size and number of ranks to bytes per second of all ranks together."""


class Bed(NamedTuple):
    """A folder for comparing tools; a rank's file has ``scale`` times FILE_BYTES."""

    folder: Path
    scale: int
    in_memory: bool = False


def fresh(bed: Bed, transfer: int, ranks: int, name: str = "file.{}") -> int:
    """Create each rank's file anew, of full size, sparse and uncached; return its bytes.

    It is so in a run; pages cached by the other tool would make a tool faster.  Files in memory
    stay, as virtual machines take varying times to allocate memory.
    """
    size = bed.scale * FILE_BYTES[transfer] // transfer * transfer
    for rank in range(ranks):
        path = bed.folder / name.format(rank)
        if not (bed.in_memory and path.exists() and path.stat().st_size == size):
            path.unlink(missing_ok=True)
            sized(path, size)
    os.sync()
    return size


class Ours:
    """The ranks of plumbline."""

    def __init__(self, bed: Bed, api: str, launcher: Launcher) -> None:
        self._bed = bed
        self._api = api
        self._launcher = launcher

    def __call__(self, transfer: int, ranks: int) -> dict[Operation, float]:
        """Write and read once."""
        size = fresh(self._bed, transfer, ranks)
        places = tuple(
            Place(str(rank), str(rank), str(self._bed.folder / f"file.{rank}"))
            for rank in range(ranks)
        )
        method = Method("bench", transfer, self._api)
        with tempfile.TemporaryDirectory() as work:
            job = Job(work, method, OPERATIONS, places, size, LIMIT_S)
            write_whole(Path(work) / JOB, compact(job).encode())
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
    """Return the seconds of the slowest rank since its own first call, like other tools."""
    return max(r.end_s - r.begin_s for r in results if r.operation is operation)


class Fio:
    """fio on the same files with as many jobs as ranks."""

    def __init__(self, bed: Bed) -> None:
        self._bed = bed

    def __call__(self, transfer: int, ranks: int) -> dict[Operation, float]:
        """Write and read once, in the time of the slowest job."""
        size = fresh(self._bed, transfer, ranks)
        rates = {}
        for operation in OPERATIONS:
            files = [
                word
                for rank in range(ranks)
                for word in (f"--name=j{rank}", f"--filename={self._bed.folder}/file.{rank}")
            ]
            argv = ["fio", f"--rw={operation.value}", f"--bs={transfer}", f"--size={size}"]
            argv += ["--ioengine=psync", "--end_fsync=1", "--fallocate=none"]
            argv += ["--allow_file_create=0", "--unlink=0", "--output-format=json"]
            jobs = json.loads(SystemRunner()([*argv, *files], LIMIT_S).stdout)["jobs"]
            slowest = max(job[operation.value]["runtime"] for job in jobs) / 1000
            rates[operation] = size * ranks / slowest
        return rates


class Ior:
    """IOR on files of its own: the same transfer, block and pattern."""

    def __init__(self, bed: Bed, api: str) -> None:
        self._bed = bed
        self._api = {"posix": "POSIX", "mpiio": "MPIIO"}[api]

    def __call__(self, transfer: int, ranks: int) -> dict[Operation, float]:
        """Write and read once, each uncached file by its own rank."""
        size = fresh(self._bed, transfer, ranks, "ior.{:08d}")
        words = ["-a", self._api, "-F", "-e", "-E", "-k", "-g"]
        words += ["-t", str(transfer), "-b", str(size), "-o", str(self._bed.folder / "ior")]
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        launch = ["mpirun", *root, "--map-by", ":OVERSUBSCRIBE", "-np", str(ranks), "ior"]
        rates = {}
        for operation, word in zip(OPERATIONS, ("-w", "-r")):
            for path in self._bed.folder.glob("ior.*"):
                PosixFile(str(path), 0, write=False, direct=False).close()
            out = SystemRunner()([*launch, word, *words], LIMIT_S).stdout
            match = re.search(rf"^{operation.value}\s+([\d.]+)\s", out, re.MULTILINE)
            if match is None:
                raise ToolError(f"IOR says no rate of a {operation.value}: {out[-300:]!r}")
            rates[operation] = float(match[1]) * MIB
        return rates


Pair = tuple[Turn, Turn]

Compare = Callable[[str, int, int, Pair, int], Iterator[tuple[Ratio, bool]]]


def faithful(
    what: str, transfer: int, ranks: int, pair: Pair, turns: int
) -> Iterator[tuple[Ratio, bool]]:
    """Print and yield the ratio of each operation, and whether the aim is certainly missed."""

    def once(turn: Turn) -> dict[str, float]:
        return {operation.value: rate for operation, rate in turn(transfer, ranks).items()}

    ours, other = pair
    aim = FAITHFUL[transfer]
    for operation, result in compared(
        (lambda: once(ours), lambda: once(other)), aim, turns
    ).items():
        mine, theirs = (rate / 1e6 for rate in result.rates)
        print(
            f"{what:14} {transfer:8d} B, {ranks} ranks, {operation:5}: {mine:8.1f} and "
            f"{theirs:8.1f} MB/s, {_shown(result, aim)}",
            flush=True,
        )
        yield result, result.verdict(aim) == "missed"


def scaling(
    what: str, transfer: int, ranks: int, pair: Pair, turns: int
) -> Iterator[tuple[Ratio, bool]]:
    """Do the same with the rate of each of several ranks as a share of that of one."""

    def once(turn: Turn) -> dict[str, float]:
        single, several = turn(transfer, 1), turn(transfer, ranks)
        return {key.value: several[key] / ranks / single[key] for key in single}

    ours, other = pair
    aim = SCALES[transfer]
    for operation, result in compared(
        (lambda: once(ours), lambda: once(other)), aim, turns
    ).items():
        mine, theirs = result.rates
        print(
            f"{what:14} {transfer:8d} B, each of {ranks} ranks, {operation:5}: {mine:7.1%} and "
            f"{theirs:7.1%} of one alone, {_shown(result, aim)}",
            flush=True,
        )
        yield result, result.verdict(aim) == "missed"


def _shown(result: Ratio, aim: Aim) -> str:
    return (
        f"ratio {result.value:.3f}, surely {result.least:.3f} to {result.most:.3f} by "
        f"{len(result.turns)} turns (aim: {aim[0]} to {aim[1]}): {result.verdict(aim)}"
    )


def others(bed: Bed, api: str) -> Iterator[tuple[str, Turn]]:
    """Yield the installed tools to compare with."""
    for name, tool in (("fio", Fio(bed)), ("IOR", Ior(bed, api))):
        if shutil.which(name.lower()):
            yield f"{api} / {name}", tool
        else:
            print(f"{api} / {name}: {name} is not installed")


def all_pairs(compare: Compare, bed: Bed, turns: int, ranks: int) -> bool:
    """Print the comparison of ranks with other tools; return whether no aim is certainly missed.

    Scaling is also printed for all transfers together, as single lines scatter too much.
    """
    launcher = find_launcher(Launch(), SystemRunner())
    good = True
    for api in ("posix", "mpiio"):
        ours = Ours(bed, api, launcher)
        for what, other in others(bed, api):
            results = [
                result
                for transfer in FILE_BYTES
                for result in compare(what, transfer, ranks, (ours, other), turns)
            ]
            good = good and not any(bad for _, bad in results)
            if bed.in_memory and results:
                whole = together([result for result, _ in results])
                print(f"{what:14} all of these: {_shown(whole, SCALES[MIB])}", flush=True)
    return good


def main() -> int:
    """Run both benchmarks; return 1 if an aim is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--directory", help="on the target; without it a disk of a fixed rate")
    parser.add_argument("--turns", type=int, default=12, help="at most, of each tool")
    parser.add_argument("--ranks", type=int, nargs="*", default=[1, 2, 4])
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, _end)
    good = instruments(30)
    if shutil.which("mpirun") is None:
        print("fidelity: mpirun is not installed")
        return 0 if good else 1
    try:
        good = fidelity_on_disk(arguments) and good
        good = scaling_in_memory(arguments) and good
    except (PlumblineError, subprocess.SubprocessError) as error:
        print(f"fidelity: {error}", file=sys.stderr)
        return 1
    return 0 if good else 1


def _end(number: int, _frame: object) -> None:
    """End and leave no disk behind, even after a second signal."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def fidelity_on_disk(arguments: argparse.Namespace) -> bool:
    """Compare with the other tools in the given folder, or on a new disk."""
    with ExitStack() as places:
        place = arguments.directory or places.enter_context(steady_disk())
        if place is None:
            # on a shared disk the comparison is less accurate than 3 %
            place = ROOT / ".cache"
        name = places.enter_context(tempfile.TemporaryDirectory(prefix="bench-", dir=place))
        # move much more than the burst that a throttle allows after a pause
        beds = {ranks: Bed(Path(name), max(1, IN_ALL // ranks)) for ranks in arguments.ranks}
        met = [all_pairs(faithful, bed, arguments.turns, ranks) for ranks, bed in beds.items()]
        return all(met)


def scaling_in_memory(arguments: argparse.Namespace) -> bool:
    """Compare the scaling with more than one rank."""
    several = [number for number in arguments.ranks if number > 1]
    with tempfile.TemporaryDirectory(prefix="plumbline-bench-", dir=memory_folder()) as name:
        beds = {ranks: Bed(Path(name), max(1, IN_MEMORY // ranks), True) for ranks in several}
        met = [all_pairs(scaling, bed, arguments.turns, ranks) for ranks, bed in beds.items()]
        return all(met)


if __name__ == "__main__":
    sys.exit(main())
