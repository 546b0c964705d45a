"""Feed every reader with mutations of good inputs; count what is none of plumbline's own errors.

    python -m tests.bench.mutations --count 1000000 --processes 2
    python -m tests.bench.mutations --large 1000000

The first mutates, each mutation by its own seed; the second feeds inputs of so many bytes that ask
most of whoever reads them, and shows the slowest in seconds of the processor.  What was found is
kept in --keep, one file each, to be put into tests/data/mutations.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random
from typing import Iterator, NamedTuple, Optional, Sequence

from tests.mutations.mutate import mutate, stretched
from tests.mutations.registry import READERS, trouble

LIMIT_S = 2.0
"""Of the processor, for an input of 1 MB."""

ENDLESS_S = 30.0
SHOWN = 10
_PART = 500
_TOLD_EVERY = 10_000


class Found(NamedTuple):
    """An input with what came of it: an exception that nobody foresaw, or the seconds it took."""

    reader: str
    what: str
    seconds: float
    data: bytes
    error: str = ""


class EndlessError(Exception):
    """A reader has not come to an end."""


def _ring(*_: object) -> None:
    raise EndlessError(f"no end in {ENDLESS_S:g} s of the processor")


def fed(reader: str, what: str, data: bytes, folder: Path) -> Found:
    """Feed one input and take the time."""
    signal.signal(signal.SIGVTALRM, _ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, ENDLESS_S)
    begun = time.process_time()
    error: Optional[Exception] = trouble(READERS[reader], data, folder)
    taken = time.process_time() - begun
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return Found(reader, what, taken, data, f"{error!r:.200} {_place(error)}" if error else "")


def _place(error: Exception) -> str:
    """Return the file and line that raised."""
    trace, place = error.__traceback__, ""
    while trace:
        place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def mutations(task: tuple[str, int, int]) -> tuple[int, list[Found]]:
    """Feed a reader with mutations of some seeds; return their number and what was bad."""
    name, first, count = task
    bad: list[Found] = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            chance = Random(f"{name} {seed}")
            data = mutate(chance.choice(READERS[name].samples), chance)
            found = fed(name, f"seed {seed}", data, Path(folder))
            if found.error or found.seconds > LIMIT_S:
                bad.append(found)
    return count, bad


def large(task: tuple[str, int]) -> tuple[int, list[Found]]:
    """Feed a reader with inputs of some size; return their number, the bad and the slowest."""
    name, size = task
    every: list[Found] = []
    with tempfile.TemporaryDirectory() as folder:
        for sample in READERS[name].samples:
            for what, data in stretched(sample, size):
                found = fed(name, what, data, Path(folder))
                kept = found.data if found.error or found.seconds > LIMIT_S else b""
                every.append(found._replace(data=kept))
    every.sort(key=lambda one: (not one.error, -one.seconds))
    return len(every), [one for one in every if _kind(one)] or every[:1]


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run what is asked, print what was found, and return 1 if anything was bad."""
    arguments = _arguments(argv)
    names = [name for name in READERS if re.search(arguments.only, name)]
    total, shown = 0, list[Found]()
    bad: Counter[tuple[str, str]] = Counter()
    for count, found in _results(arguments, names):
        if total // _TOLD_EVERY < (total + count) // _TOLD_EVERY:
            print(f"{total + count} inputs", file=sys.stderr, flush=True)
        total += count
        shown += found
        for one in found:
            kind = _kind(one)
            if kind and not bad[one.reader, kind]:
                print(f"{one.reader}, {one.what}: {one.seconds:.2f} s {one.error}", flush=True)
                _keep(arguments.keep, one)
            if kind:
                bad[one.reader, kind] += 1
    for one in sorted(shown, key=lambda one: -one.seconds)[:SHOWN]:
        print(f"{one.seconds:6.2f} s  {one.reader}, {one.what}")
    slow = sum(count for (_, kind), count in bad.items() if kind == _SLOW)
    print(f"{total} inputs for {len(names)} readers: {sum(bad.values()) - slow} foreign exceptions")
    print(f"{slow} took more than {LIMIT_S:g} s of the processor")
    return 1 if bad else 0


_SLOW = "slow"


def _kind(one: Found) -> str:
    """Return what makes an input bad: the line that raised, or that it took too long."""
    if one.error:
        return one.error.rpartition(" ")[2]
    return _SLOW if one.seconds > LIMIT_S else ""


def _results(
    arguments: argparse.Namespace, names: Sequence[str]
) -> Iterator[tuple[int, list[Found]]]:
    with ProcessPoolExecutor(arguments.processes) as pool:
        if arguments.large:
            yield from pool.map(large, [(name, arguments.large) for name in names])
            return
        end = arguments.seed + -(-arguments.count // len(names))
        tasks = [
            (name, first, min(_PART, end - first))
            for first in range(arguments.seed, end, _PART)
            for name in names
        ]
        yield from pool.map(mutations, tasks)


def _keep(folder: Optional[Path], one: Found) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        plain = re.sub(r"[^A-Za-z0-9]+", "-", f"{one.reader} {one.what}").strip("-")
        (folder / plain).write_bytes(one.data)


def _arguments(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="mutations (default: 100000)")
    parser.add_argument("--large", type=int, metavar="BYTES", help="large inputs instead")
    parser.add_argument("--only", default="", metavar="PATTERN", help="readers (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--processes", type=int, default=1, help="default: 1")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep what was found here")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
