"""``plumbline probe ost --directory``: a first comparison of targets, with no inventory at all."""

from __future__ import annotations

import argparse
from functools import partial
from statistics import median
from typing import Iterator, Sequence

from plumbline.cli.directories import named_directories
from plumbline.cli.progress import progress
from plumbline.cli.results import end, print_commands, print_json
from plumbline.layers.ost import OST
from plumbline.model.record import Operation
from plumbline.run.ost import TargetUnit
from plumbline.site.compare import caveat, expected, measure_once, memory_bytes, own_locks
from plumbline.site.measure import Result
from plumbline.units import format_rate


def compare(given: Sequence[str], size_bytes: int, arguments: argparse.Namespace) -> int:
    """Measure directories given as NAME=PATH, print how they compare, and return the exit code."""
    directories = named_directories(given)
    expectations = expected(directories, size_bytes)
    units = [TargetUnit(entry) for entry in expectations.find(OST.name)]
    if arguments.dry_run:
        return print_commands(units)
    said = caveat(directories, size_bytes, memory_bytes())
    if said and not arguments.json:
        print(said, flush=True)
    result = measure_once(
        expectations, units, own_locks(directories), partial(progress, arguments.quiet)
    )
    if arguments.json:
        print_json(result)
    else:
        print_comparison(result)
    return end(result)


def print_comparison(result: Result) -> None:
    """Print each directory's rates, their ratios to the others, and below them the verdicts."""
    from plumbline.output.table import render

    headers = ("directory", "write", "of peers", "read", "of peers", "state")
    rows = [
        (
            verdict.component,
            *_rates(result, verdict.component, Operation.WRITE),
            *_rates(result, verdict.component, Operation.READ),
            verdict.state.name,
        )
        for verdict in result.verdicts
    ]
    print(render(headers, rows))
    # below the table, because a terminal has no room for sentences beside it
    for verdict in result.verdicts:
        print(f"{verdict.state.name} {verdict.sentence}")


def _rates(result: Result, component: str, operation: Operation) -> Iterator[str]:
    """Yield the rate and its ratio to the median of the others."""
    rates = {
        record.component: record.rate_Bps
        for record in result.records
        if record.operation is operation and record.rate_Bps is not None
    }
    own = rates.pop(component, None)
    yield "none" if own is None else format_rate(own)
    yield "" if own is None or not rates else f"{own / median(rates.values()):.0%}"
