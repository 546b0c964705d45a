"""Records of this node and notes of a site: history, where, note, export."""

from __future__ import annotations

import argparse
import os
import time
from datetime import datetime, timezone
from itertools import chain, groupby, starmap
from math import isnan
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping

from plumbline.cli.options import nothing_deployed, parse_date
from plumbline.cli.output import print_json, remark, say, show
from plumbline.doors.table import render, stream
from plumbline.judge.phrases import date_of
from plumbline.measure.targets.interface import Holder
from plumbline.measure.targets.whereabouts import whereabouts
from plumbline.model.command import lines
from plumbline.model.errors import (
    DocumentError,
    PlumblineError,
    SkipTarget,
    StoreError,
    ToolError,
    UsageError,
)
from plumbline.model.layers.ost import OST
from plumbline.model.record import Operation, Record, step_name
from plumbline.model.trend import Note
from plumbline.observe.command import SystemRunner
from plumbline.site.answers import answer
from plumbline.store.collection import add_note, read_notes
from plumbline.store.database import Day, Selection, month_of
from plumbline.store.files import DATABASE, HISTORY, STATE
from plumbline.store.history import History, SeriesKey
from plumbline.store.snapshot import load_expectations


def history(arguments: argparse.Namespace) -> int:
    """Print the selected records, oldest first, and return 0.

    On a console that is no node they are those of the whole site.  With ``--json`` a node that has
    not measured yet prints no records, which is no error.
    """
    path = Path(arguments.state) / DATABASE
    if not path.exists() and arguments.state == STATE and os.path.exists(HISTORY):
        path = Path(HISTORY)
    if not path.exists():
        sentence = f"history {path}: nothing was measured here yet; run plumbline probe"
        if not (arguments.json and path.parent.is_dir()):
            raise StoreError(sentence)
        remark(sentence)
        return 0
    since = None if arguments.since is None else time.time() - arguments.since
    selection = Selection(layer=arguments.layer, component=arguments.component, since=since)
    with History(path) as history:
        all_days = history.days(arguments.layer, arguments.component)
        days = (day for day in all_days if since is None or day[1].at >= since)
        if arguments.json:
            for record in history.records(selection):
                print_json(record)
            if number := sum(1 for _ in days):
                remark(f"daily figures, no records: {number}")
        else:
            # a site has millions of rows, so only a month of daily figures is in memory
            rows = chain(_day_rows(days), map(_row, history.records(selection)))
            first = next(rows, None)
            if arguments.component and first is None:
                raise DocumentError(
                    f"nothing is recorded of {arguments.component} in this selection; correct the "
                    "name or the options: plumbline history shows all records"
                )
            headers = ("started", "layer", "component", "operation", "with", "rate", "coverage")
            for part in stream((*headers, "outcome"), chain([first] if first else (), rows)):
                say(part)
    return 0


def _day_rows(days: Iterable[tuple[SeriesKey, Day]]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of daily figures, which come month by month, in the order of time."""
    for _, month in groupby(days, key=lambda day: month_of(day[1].at)):
        yield from sorted(starmap(_day_row, month))


def _day_row(key: SeriesKey, day: Day) -> tuple[str, ...]:
    return (
        date_of(day.at),
        key.layer,
        key.component,
        step_name(key.operation, key.scenario),
        key.partner,
        "" if isnan(day.rate) else Operation(key.operation).quantity.format(day.rate),
        "",
        f"daily figure, runs: {day.runs:.0f}",
    )


def _row(record: Record) -> tuple[str, ...]:
    started = datetime.fromtimestamp(record.started_at, timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")
    return (
        started,
        record.layer,
        record.component,
        step_name(record.operation.value, record.scenario.value),
        record.partner or "",
        "" if record.rate is None else record.operation.quantity.format(record.rate),
        "" if record.coverage is None else f"{record.coverage:.0%}",
        f"{record.outcome.value} {record.reason}".strip(),
    )


def where(arguments: argparse.Namespace) -> int:
    """Print the targets and return 0."""
    bare = nothing_deployed(arguments)
    targets: Mapping[str, Any] = {}
    if not bare:
        entries = load_expectations(arguments.expectations).find(OST.name)
        targets = {expectation.component: expectation.target for expectation in entries}
    try:
        layout = whereabouts(SystemRunner(), arguments.path, None if bare else targets)
    except SkipTarget as trouble:
        raise ToolError(str(trouble)) from trouble
    show(arguments, {"schema": 1, **layout._asdict()}, map(_holder, layout.holders))
    return 0


def _holder(holder: Holder) -> str:
    name = holder.component or f"{holder.name} (not measured by this host)"
    return f"{name} on {holder.server}" if holder.server else name


_MAX_NOTE = 500


def note(arguments: argparse.Namespace) -> int:
    """Keep the note, or print all of them, and return 0."""
    path = Path(arguments.history)
    if arguments.text is not None:
        text = " ".join(" ".join(lines(arguments.text)).split())
        if not text or len(text) > _MAX_NOTE:
            raise UsageError(f"a note has between 1 and {_MAX_NOTE} characters; shorten it")
        # a time without a zone is in this host's zone
        at = parse_date(arguments.at, "--at").timestamp() if arguments.at else time.time()
        add_note(path, Note(at, text))
        if not arguments.json:
            return 0
    elif arguments.at:
        raise UsageError('--at needs the text of the note, for example "Lustre 2.15.8"')
    notes = read_notes(path)
    rows = [
        (datetime.fromtimestamp(note.at, timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ"), note.text)
        for note in notes
    ]
    show(arguments, notes, [render(("at", "note"), rows)])
    return 0


def export(arguments: argparse.Namespace) -> int:
    """Answer requests until their end, and return 0; send an error as an answer."""
    try:
        answer(Path(arguments.state), arguments.wait)
    except PlumblineError as error:
        print_json({"error": str(error)})
        return error.exit_code
    return 0
