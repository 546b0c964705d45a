"""``plumbline history``: records of this node, as a table or as JSON lines for baselines."""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import datetime, timezone
from itertools import starmap
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Optional

from plumbline.cli.options import common, option
from plumbline.model.errors import StoreError
from plumbline.model.layers import LAYERS
from plumbline.model.units import format_rate, parse_duration
from plumbline.store.files import DATABASE

if TYPE_CHECKING:
    from plumbline.model.record import Record
    from plumbline.store.database import Day
    from plumbline.store.history import SeriesKey


HELP = "show the records of this node"
DESCRIPTION = "Print what this node has measured, the oldest first."
EPILOG = "For example: plumbline history scratch-OST0003 --since 30d"


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("component", nargs="?", help="only this component")
    option(parser, "--layer", "only this layer", choices=(*LAYERS, "sweep", "server"))
    option(parser, "--since TIME", "only records since then, such as 30d (default: all)")
    common(parser, "--state")
    option(parser, "--json", "print whole records, one per line")


def run(arguments: argparse.Namespace) -> int:
    """Print the selected records, oldest first, and return 0.

    To a program a node that has not measured yet has no records, which is no error.
    """
    from plumbline.store.history import History, Selection

    path = Path(arguments.state) / DATABASE
    if not path.exists():
        sentence = f"history {path}: nothing was measured here yet; run plumbline probe"
        if not (arguments.json and path.parent.is_dir()):
            raise StoreError(sentence)
        print(f"plumbline: {sentence}", file=sys.stderr)
        return 0
    since = _since(arguments.since)
    selection = Selection(layer=arguments.layer, component=arguments.component, since=since)
    with History(path) as history:
        every = history.days(arguments.layer, arguments.component)
        days = [day for day in every if since is None or day[1].at >= since]
        if arguments.json:
            for record in history.records(selection):
                print(json.dumps(record.to_json(), allow_nan=False))
            if days:
                print(f"plumbline: daily figures, no records: {len(days)}", file=sys.stderr)
        else:
            old = sorted(starmap(_day_row, days))
            _print([*old, *(_row(record) for record in history.records(selection))])
    return 0


def _since(age: Optional[str]) -> Optional[float]:
    return None if age is None else time.time() - parse_duration(age)


def _print(rows: list[tuple[str, ...]]) -> None:
    from plumbline.doors.table import render

    headers = ("started", "layer", "component", "operation", "with", "rate", "coverage", "outcome")
    print(render(headers, rows))


def _day_row(key: SeriesKey, day: Day) -> tuple[str, ...]:
    return (
        datetime.fromtimestamp(day.at, timezone.utc).strftime("%Y-%m-%d"),
        key.layer,
        key.component,
        _step(key.operation, key.scenario),
        key.partner,
        "" if isnan(day.rate_Bps) else format_rate(day.rate_Bps),
        "",
        f"daily figure, runs: {day.runs:.0f}",
    )


def _step(operation: str, scenario: str) -> str:
    return operation if scenario == "single" else f"{operation} {scenario}"


def _row(record: Record) -> tuple[str, ...]:
    started = datetime.fromtimestamp(record.started_at, timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")
    return (
        started,
        record.layer,
        record.component,
        _step(record.operation.value, record.scenario.value),
        record.partner or "",
        "" if record.rate_Bps is None else format_rate(record.rate_Bps),
        "" if record.coverage is None else f"{record.coverage:.0%}",
        f"{record.outcome.value} {record.reason}".strip(),
    )
