"""Constants of the judge: each one doubled and halved, on the same data and seeds.

    python -m tests.bench.constants kratos-failslow/data --seed 430
    python -m tests.bench.constants kratos-failslow/data --seed 430 --constant recursion._ODD

The data are those of :mod:`tests.bench.held_back`, at five samples a day, of the hosts that have a
labelled disk and of one in eight of the others.  Beside them stand two simulated sites with faults
and one that is rougher than the year's noise.  A row that equals the first one in all figures shows
a constant that need not exist, or data that do not ask for it.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import sys
from contextlib import nullcontext, redirect_stdout
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Iterator, NamedTuple, Optional, Sequence, Union

from tests.bench.mutants import FILES, Mutant, loaded_as, name_of

MODULES = ("recursion", "references", "kinds", "runs", "recurring", "losses", "cases", "confirm")
PER_DAY = 5
ONE_HOST_IN = 8

FAULTS = ("--random-faults", "12", "--loss", "20,30,40,60%")
SITES = (
    ("edison", None, ("--days", "20", *FAULTS)),
    ("example", None, ("--days", "20", *FAULTS)),
    ("edison", 0.15, ("--days", "31")),
)
"""Inventories, the noise of a run if it is not the year's, and what happens there."""

Number = Union[int, float]


class Constant(NamedTuple):
    """A number of a module of the judge, or a change of it."""

    module: str
    name: str
    value: Number

    def __str__(self) -> str:
        return f"{self.module}.{self.name} = {self.value:g}"


def constants(module: str) -> Iterator[Constant]:
    """Yield the numbers that a module has given a name, and those of its values: ``NOISE[2]``."""
    for name, node in _numbers(FILES[module].read_text()):
        yield Constant(module, name, ast.literal_eval(node))


def _numbers(source: str) -> Iterator[tuple[str, ast.Constant]]:
    """Yield the numbers of the assignments of a module, each with its place in the source."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, node.value
            parts = value.args if isinstance(value, ast.Call) else [value]
            for number, part in enumerate(parts):
                if isinstance(part, ast.Constant) and isinstance(part.value, (int, float)):
                    yield name if part is value else f"{name}[{number}]", part


def variants(constant: Constant) -> Iterator[Constant]:
    """Yield the constant doubled and halved; a count stays a count."""
    value = constant.value
    half = max(1, value // 2) if isinstance(value, int) else value / 2
    for changed in (value * 2, half):
        if changed != value:
            yield constant._replace(value=changed)


def install(constant: Constant) -> None:
    """Make the first import of a module find another number; fail if that was before."""
    assert name_of(constant.module) not in sys.modules, constant
    source = FILES[constant.module].read_text()
    lines = source.splitlines(keepends=True)
    place = dict(_numbers(source))[constant.name]
    line = lines[place.lineno - 1]
    before, after = line[: place.col_offset], line[place.end_col_offset :]
    lines[place.lineno - 1] = f"{before}{constant.value!r}{after}"
    sys.meta_path.insert(0, loaded_as(Mutant(constant.module, 0, 1, "", "", "".join(lines))))


def figures(data: Path, seed: int, constant: Optional[Constant]) -> list[str]:
    """Return the cells of a row; for a process of its own, which has not imported the judge."""
    if constant:
        install(constant)
    from tests.bench.held_back import CLUSTERS

    return [
        *(_held_back(data, cluster, seed) for cluster in CLUSTERS),
        *(_simulated(site, run, terms, seed) for site, run, terms in SITES),
    ]


def _held_back(data: Path, cluster: str, seed: int) -> str:
    # they import the judge
    from tests.bench.evidence import Outcome
    from tests.bench.held_back import labelled, thinned

    slow = labelled(data, cluster)
    hosts = sorted(path.name for path in (data / cluster).iterdir())
    chosen = {host for host, _ in slow} | set(hosts[::ONE_HOST_IN])
    samples = [s for s in thinned(data / cluster, PER_DAY, seed) if s.host in chosen]
    first = Outcome.of(samples).first
    days = [first[disk] for disk in slow & set(first)]
    return f"{len(days)} (day {sum(days) / max(1, len(days)):.1f}), {len(set(first) - slow)}"


def _simulated(site: str, run: Optional[float], terms: Sequence[str], seed: int) -> str:
    # they import the judge
    from plumbline.cli import main
    from tests.bench.rough import runs_differ

    printed = io.StringIO()
    words = ["simulate", "-i", f"inventories/{site}", "--json", *terms, "--seed", str(seed)]
    with redirect_stdout(printed), nullcontext() if run is None else runs_differ(run):
        main(words)
    return _cell(json.loads(printed.getvalue()))


def _cell(result: dict[str, Any]) -> str:
    alarms = len(result["false_alarms"])
    rows = result["detection"]
    if not rows:
        return f"{alarms}"
    faults = [fault for fault in result["faults"] if fault["identifiable"]]
    found = [fault["found_days"] for fault in faults if fault["found_days"] is not None]
    day = sum(found) / max(1, len(found))
    return f"{len(found)} of {len(faults)} (day {day:.1f}), {alarms}"


def main() -> int:
    """Print the row of today and those of each constant."""
    # the judge that it imports stays in this process
    from tests.bench.held_back import CLUSTERS

    parser = argparse.ArgumentParser(prog="tests.bench.constants", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--seed", type=int, default=430)
    parser.add_argument("--constant", action="append", default=[], metavar="MODULE.NAME")
    arguments = parser.parse_args()
    chosen = [
        constant
        for module in MODULES
        for constant in constants(module)
        if not arguments.constant or f"{module}.{constant.name}" in arguments.constant
    ]
    rows = [None, *(variant for constant in chosen for variant in variants(constant))]
    sites = [site if run is None else f"{site}, noise {run}" for site, run, _ in SITES]
    print(f"| constant | {' | '.join((*CLUSTERS, *sites))} |", flush=True)
    print("|---|" + "---|" * (len(CLUSTERS) + len(SITES)), flush=True)
    # a process a row: each imports the judge anew
    context = get_context("spawn")
    for row in rows:
        with context.Pool(1) as pool:
            cells = pool.apply(figures, (arguments.data, arguments.seed, row))
        print(f"| {row or 'as it is'} | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
