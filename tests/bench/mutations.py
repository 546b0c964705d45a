"""Feed all readers with mutations of valid inputs; count exceptions that are not plumbline's own.

    python -m tests.bench.mutations --count 1000000 --processes 2
    python -m tests.bench.mutations --large 1000000

The first mutates, each time with its own seed; the second feeds inputs of this size that are hard
to parse, and shows the slowest in CPU seconds.  --keep keeps each finding as a file for
tests/data/mutations.
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
"""CPU seconds for an input of 1 MB."""

ENDLESS_S = 30.0
SHOWN = 10
_PART = 500
_TOLD_EVERY = 10_000


class Finding(NamedTuple):
    """An input with its result: an unforeseen exception, or the CPU seconds."""

    reader: str
    what: str
    seconds: float
    data: bytes
    error: str = ""


class EndlessError(Exception):
    """A reader did not end in time."""


def _ring(*_: object) -> None:
    raise EndlessError(f"no end in {ENDLESS_S:g} s of the processor")


def fed(reader: str, what: str, data: bytes, folder: Path) -> Finding:
    """Feed an input and measure the time."""
    signal.signal(signal.SIGVTALRM, _ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, ENDLESS_S)
    start = time.process_time()
    error: Optional[Exception] = trouble(READERS[reader], data, folder)
    seconds = time.process_time() - start
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return Finding(reader, what, seconds, data, f"{error!r:.200} {_place(error)}" if error else "")


def _place(error: Exception) -> str:
    """Return the file and line that raised."""
    trace, place = error.__traceback__, ""
    while trace:
        place = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def mutations(task: tuple[str, int, int]) -> tuple[int, list[Finding]]:
    """Feed a reader with mutations of some seeds; return their number and the bad findings."""
    name, first, count = task
    bad: list[Finding] = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            chance = Random(f"{name} {seed}")
            data = mutate(chance.choice(READERS[name].samples), chance)
            finding = fed(name, f"seed {seed}", data, Path(folder))
            if finding.error or finding.seconds > LIMIT_S:
                bad.append(finding)
    return count, bad


def large(task: tuple[str, int]) -> tuple[int, list[Finding]]:
    """Feed a reader with inputs of some size; return their number, and the bad or the slowest."""
    name, size = task
    findings: list[Finding] = []
    with tempfile.TemporaryDirectory() as folder:
        for sample in READERS[name].samples:
            for what, data in stretched(sample, size):
                finding = fed(name, what, data, Path(folder))
                kept = finding.data if finding.error or finding.seconds > LIMIT_S else b""
                findings.append(finding._replace(data=kept))
    findings.sort(key=lambda finding: (not finding.error, -finding.seconds))
    return len(findings), [finding for finding in findings if _kind(finding)] or findings[:1]


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run the requested inputs, print the findings, and return 1 if any was bad."""
    arguments = _arguments(argv)
    names = [name for name in READERS if re.search(arguments.only, name)]
    total, shown = 0, list[Finding]()
    bad: Counter[tuple[str, str]] = Counter()
    for count, findings in _results(arguments, names):
        if total // _TOLD_EVERY < (total + count) // _TOLD_EVERY:
            print(f"{total + count} inputs", file=sys.stderr, flush=True)
        total += count
        shown += findings
        for finding in findings:
            kind = _kind(finding)
            if kind and not bad[finding.reader, kind]:
                print(
                    f"{finding.reader}, {finding.what}: {finding.seconds:.2f} s {finding.error}",
                    flush=True,
                )
                _keep(arguments.keep, finding)
            if kind:
                bad[finding.reader, kind] += 1
    for finding in sorted(shown, key=lambda finding: -finding.seconds)[:SHOWN]:
        print(f"{finding.seconds:6.2f} s  {finding.reader}, {finding.what}")
    slow = sum(count for (_, kind), count in bad.items() if kind == _SLOW)
    print(f"{total} inputs for {len(names)} readers: {sum(bad.values()) - slow} foreign exceptions")
    print(f"{slow} took more than {LIMIT_S:g} s of the processor")
    return 1 if bad else 0


_SLOW = "slow"


def _kind(finding: Finding) -> str:
    """Return what makes an input bad: the line that raised, or that it took too long."""
    if finding.error:
        return finding.error.rpartition(" ")[2]
    return _SLOW if finding.seconds > LIMIT_S else ""


def _results(
    arguments: argparse.Namespace, names: Sequence[str]
) -> Iterator[tuple[int, list[Finding]]]:
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


def _keep(folder: Optional[Path], finding: Finding) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        plain = re.sub(r"[^A-Za-z0-9]+", "-", f"{finding.reader} {finding.what}").strip("-")
        (folder / plain).write_bytes(finding.data)


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
