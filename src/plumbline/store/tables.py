"""How records and notes of what runs stand in the tables of a history."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

from plumbline.errors import DocumentError
from plumbline.model.json_text import read_json
from plumbline.model.process import Process
from plumbline.model.record import Record
from plumbline.model.series import Running
from plumbline.store.deflated import inflated

RECORD = (
    "INTO records (id, run_id, layer, component, operation, scenario, partner, "
    "outcome, started_at, rate_Bps, coverage, flags, body) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
"""What follows the word INSERT, for the values of :func:`row`."""


RUNNING = (
    "SELECT layer, component, since, process, interrupted FROM running ORDER BY layer, component"
)
"""Rows for :func:`running`."""


def compact(document: dict[str, Any]) -> str:
    """Return a document as JSON without blanks."""
    return json.dumps(document, separators=(",", ":"))


def series_of(record: Record) -> tuple[str, str, str, str, str]:
    """Return what tells the series of a record, as the tables have it."""
    step = record.operation.value, record.scenario.value
    return (record.layer, record.component, *step, record.partner or "")


def row(record: Record, kept: Callable[[str], object] = str) -> tuple[object, ...]:
    """Return the values of a record for the statement ``RECORD``; ``kept`` is how its text is."""
    return (
        record.id,
        record.run_id,
        *series_of(record),
        record.outcome.value,
        record.started_at,
        record.rate_Bps,
        record.coverage,
        " ".join(flag.value for flag in record.flags),
        kept(compact(record.to_json())),
    )


def read_record(body: object, history: Path) -> Record:
    """Return the record that stands in a history; raise DocumentError when it is damaged."""
    try:
        return Record.from_json(read_json(inflated(body)))
    except (ValueError, DocumentError) as error:
        raise DocumentError(
            f"history {history} holds a damaged record: {error}; measure again to have a sound one "
            "after it"
        ) from error


def running(row: tuple[Any, ...]) -> Running:
    """Return what a row of the query ``RUNNING`` says; raise DocumentError when it is damaged."""
    layer, component, since, process, interrupted = row
    try:
        carried_out_by = Process.from_json(read_json(str(process)))
    except (ValueError, TypeError) as error:
        raise DocumentError(
            f"the history's note of a run of {layer} {component} is damaged: {error}; probe it "
            "again to replace it"
        ) from error
    return Running(layer, component, since, carried_out_by, bool(interrupted))
