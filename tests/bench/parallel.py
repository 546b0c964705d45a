"""Whether ranks are as fast as fio (and IOR, where it is), and what their instruments cost.

All figures of one line come from turns that follow one another on one file, so that each tool meets
the same target and the same neighbours; see :mod:`.pairs` for what is made of them.

How a rank's rate holds as ranks are added is measured in memory, where no disk hides it: of each
tool the part of one rank's rate that each of several has, in one turn, and how these compare.

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

from plumbline.model.errors import PlumblineError, ToolError
from plumbline.model.record import Operation
from plumbline.observe.command import SystemRunner
from plumbline.parallel.job import JOB, Job, Result, State, encoded, write_whole
from plumbline.parallel.launch import Launch, Launcher, command, find_launcher
from plumbline.parallel.operation import PosixFile
from plumbline.parallel.tally import read_results
from plumbline.parallel.terms import Method, Place
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
"""Times the bytes of a file, all ranks together: a turn lasts a second, in which a machine that
others use as well is more alike than in a tenth of it."""

IN_ALL = 4
"""Times the bytes of a file: what all ranks together move at least."""

OPERATIONS = (Operation.WRITE, Operation.READ)
LIMIT_S = 300.0

Turn = Callable[[int, int], dict[Operation, float]]
"""Takes bytes of a transfer and number of ranks, gives bytes per second of all ranks together."""


class Bed(NamedTuple):
    """Where tools are compared; a rank's file has ``scale`` times FILE_BYTES."""

    folder: Path
    scale: int
    in_memory: bool = False


def fresh(bed: Bed, transfer: int, ranks: int, name: str = "file.{}") -> int:
    """Make each rank's file again and return its bytes: full size, nothing in it, nothing cached.

    So it is in a run; a tool that found the other's pages in the cache would be faster by them.
    What is in memory stays, for to get memory again takes a virtual machine as it pleases.
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

    def __init__(self, bed: Bed) -> None:
        self._bed = bed

    def __call__(self, transfer: int, ranks: int) -> dict[Operation, float]:
        """Write and read once; the time is that of the slowest job."""
        size = fresh(self._bed, transfer, ranks)
        found = {}
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
            found[operation] = size * ranks / slowest
        return found


class Ior:
    """IOR on files of its own: the same transfer, block and pattern."""

    def __init__(self, bed: Bed, api: str) -> None:
        self._bed = bed
        self._api = {"posix": "POSIX", "mpiio": "MPIIO"}[api]

    def __call__(self, transfer: int, ranks: int) -> dict[Operation, float]:
        """Write and read once, each file by its own rank, which does not find it in memory."""
        size = fresh(self._bed, transfer, ranks, "ior.{:08d}")
        words = ["-a", self._api, "-F", "-e", "-E", "-k", "-g"]
        words += ["-t", str(transfer), "-b", str(size), "-o", str(self._bed.folder / "ior")]
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        launch = ["mpirun", *root, "--map-by", ":OVERSUBSCRIBE", "-np", str(ranks), "ior"]
        found = {}
        for operation, word in zip(OPERATIONS, ("-w", "-r")):
            for path in self._bed.folder.glob("ior.*"):
                PosixFile(str(path), 0, write=False, direct=False).close()
            out = SystemRunner()([*launch, word, *words], LIMIT_S).stdout
            match = re.search(rf"^{operation.value}\s+([\d.]+)\s", out, re.MULTILINE)
            if match is None:
                raise ToolError(f"IOR says no rate of a {operation.value}: {out[-300:]!r}")
            found[operation] = float(match[1]) * MIB
        return found


Pair = tuple[Turn, Turn]

Compare = Callable[[str, int, int, Pair, int], Iterator[tuple[Ratio, bool]]]


def faithful(
    what: str, transfer: int, ranks: int, pair: Pair, turns: int
) -> Iterator[tuple[Ratio, bool]]:
    """Print and yield how rates compare in each operation, and whether they surely should not."""

    def once(turn: Turn) -> dict[str, float]:
        return {each.value: rate for each, rate in turn(transfer, ranks).items()}

    ours, other = pair
    aim = FAITHFUL[transfer]
    for operation, found in compared((lambda: once(ours), lambda: once(other)), aim, turns).items():
        mine, theirs = (rate / 1e6 for rate in found.rates)
        print(
            f"{what:14} {transfer:8d} B, {ranks} ranks, {operation:5}: {mine:8.1f} and "
            f"{theirs:8.1f} MB/s, {_said(found, aim)}",
            flush=True,
        )
        yield found, found.verdict(aim) == "missed"


def scaling(
    what: str, transfer: int, ranks: int, pair: Pair, turns: int
) -> Iterator[tuple[Ratio, bool]]:
    """Do the same with what each of several ranks has left of one rank's rate."""

    def once(turn: Turn) -> dict[str, float]:
        one, several = turn(transfer, 1), turn(transfer, ranks)
        return {each.value: several[each] / ranks / one[each] for each in one}

    ours, other = pair
    aim = SCALES[transfer]
    for operation, found in compared((lambda: once(ours), lambda: once(other)), aim, turns).items():
        mine, theirs = found.rates
        print(
            f"{what:14} {transfer:8d} B, each of {ranks} ranks, {operation:5}: {mine:7.1%} and "
            f"{theirs:7.1%} of one alone, {_said(found, aim)}",
            flush=True,
        )
        yield found, found.verdict(aim) == "missed"


def _said(found: Ratio, aim: Aim) -> str:
    return (
        f"ratio {found.value:.3f}, surely {found.least:.3f} to {found.most:.3f} by "
        f"{len(found.turns)} turns (aim: {aim[0]} to {aim[1]}): {found.verdict(aim)}"
    )


def others(bed: Bed, api: str) -> Iterator[tuple[str, Turn]]:
    """Yield the tools that are there to compare with."""
    for name, tool in (("fio", Fio(bed)), ("IOR", Ior(bed, api))):
        if shutil.which(name.lower()):
            yield f"{api} / {name}", tool
        else:
            print(f"{api} / {name}: {name} is not installed")


def all_pairs(compare: Compare, bed: Bed, turns: int, ranks: int) -> bool:
    """Print how ranks compare with other tools; return whether no aim is certainly missed.

    How they scale is also told of all transfers together: single lines scatter too much for it.
    """
    launcher = find_launcher(Launch(), SystemRunner())
    good = True
    for api in ("posix", "mpiio"):
        ours = Ours(bed, api, launcher)
        for what, other in others(bed, api):
            found = [
                one
                for transfer in FILE_BYTES
                for one in compare(what, transfer, ranks, (ours, other), turns)
            ]
            good = good and not any(bad for _, bad in found)
            if bed.in_memory and found:
                whole = together([one for one, _ in found])
                print(f"{what:14} all of these: {_said(whole, SCALES[MIB])}", flush=True)
    return good


def main() -> int:
    """Run both benchmarks; return 1 when an aim is missed."""
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
    """End, and leave no disk behind, also when asked to end twice."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def fidelity_on_disk(arguments: argparse.Namespace) -> bool:
    """Compare with the other tools in the folder given, or on a disk made for it."""
    with ExitStack() as places:
        place = arguments.directory or places.enter_context(steady_disk())
        if place is None:
            # a disk that others use as well shows whether the tools agree, but not within 3 %
            place = ROOT / ".cache"
        name = places.enter_context(tempfile.TemporaryDirectory(prefix="bench-", dir=place))
        # what a throttle lets through at once after a pause must be little of what is moved
        beds = {ranks: Bed(Path(name), max(1, IN_ALL // ranks)) for ranks in arguments.ranks}
        met = [all_pairs(faithful, bed, arguments.turns, ranks) for ranks, bed in beds.items()]
        return all(met)


def scaling_in_memory(arguments: argparse.Namespace) -> bool:
    """Compare what more ranks than one make of a rank's rate."""
    several = [number for number in arguments.ranks if number > 1]
    with tempfile.TemporaryDirectory(prefix="plumbline-bench-", dir=memory_folder()) as name:
        beds = {ranks: Bed(Path(name), max(1, IN_MEMORY // ranks), True) for ranks in several}
        met = [all_pairs(scaling, bed, arguments.turns, ranks) for ranks, bed in beds.items()]
        return all(met)


if __name__ == "__main__":
    sys.exit(main())
