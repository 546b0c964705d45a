"""Impossible records and measurements are refused."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from plumbline.model.errors import DocumentError, ToolError
from plumbline.model.record import (
    Flag,
    Latency,
    Measurement,
    Operation,
    Outcome,
    Record,
    Scenario,
    Tool,
)


def record(**changes: Any) -> Record:
    values: dict[str, Any] = {
        "id": "1",
        "run_id": "r1",
        "layer": "ost",
        "component": "scratch-OST0003",
        "operation": Operation.READ,
        "scenario": Scenario.SINGLE,
        "outcome": Outcome.OK,
        "host": "client1",
        "started_at": 1.0,
        "finished_at": 3.0,
        "seconds": 2.0,
        "bytes": 400,
        "rate": 200.0,
        "path": ("client1", "scratch-OST0003"),
        "latency": Latency(0.1, 0.1, 0.2, 0.3),
        "tool": Tool("fio", "3.39", ("fio", "--direct=1")),
        "flags": (Flag.DEGRADED,),
        "versions": {"client": "2.17.57"},
    }
    return Record(**{**values, **changes})


@pytest.mark.parametrize("rate", [None, math.nan, math.inf, 0.0, -1.0])
def test_an_ok_record_without_a_valid_rate_is_refused(rate: float) -> None:
    with pytest.raises(DocumentError, match=r"scratch-OST0003 read: rate"):
        record(rate=rate)


def test_a_failed_record_carries_a_reason_and_no_rate() -> None:
    with pytest.raises(DocumentError, match="must not carry a rate"):
        record(outcome=Outcome.FAILED, reason="fio: no")
    with pytest.raises(DocumentError, match="needs a reason"):
        record(outcome=Outcome.SKIPPED, rate=None)


def test_a_record_survives_writing_and_reading() -> None:
    original = record()
    assert Record.from_json(json.loads(json.dumps(original.to_json()))) == original


def test_a_record_of_an_older_version_is_read_by_its_old_keys() -> None:
    original = record(repeats=(190.0, 200.0), profile=(180.0, 220.0))
    raw = original.to_json()
    for key in ("rate", "repeats", "profile"):
        raw[f"{key}_Bps"] = raw.pop(key)
    assert Record.from_json(json.loads(json.dumps(raw))) == original


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 3}, "schema 3"),
        ({"operation": "erase"}, "erase"),
        ({"surprise": 1}, "surprise"),
        ({"tool": {"name": "fio"}}, "damaged"),
        ({"run_id": None}, "None, which is no text"),
        ({"id": ["a"]}, "which is no text"),
        ({"partner": {"a": "b"}}, "which is no text"),
        ({"component": "\ud800"}, "which is no Unicode text"),
    ],
)
def test_a_document_that_is_not_a_record_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        Record.from_json({**record().to_json(), **change})


def measurement(**changes: Any) -> Measurement:
    values: dict[str, Any] = {
        "bytes": 400,
        "seconds": 2.0,
        "rate": 200.0,
        "profile": (190.0, 210.0),
        "latency": Latency(0.1, 0.1, 0.2, 0.3),
        "retransmits": 3,
    }
    return Measurement(**{**values, **changes})


def test_a_valid_measurement_keeps_its_values() -> None:
    sound = measurement()
    assert (sound.rate, sound.retransmits, sound.flags) == (200.0, 3, ())


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e19, 0.0, -1.0])
@pytest.mark.parametrize("key", ["seconds", "rate"])
def test_seconds_and_rate_are_positive_numbers(key: str, value: float) -> None:
    with pytest.raises(ToolError, match=rf"measured {key} .* not a positive"):
        measurement(**{key: value})


@pytest.mark.parametrize(
    "changes",
    [
        {"bytes": -1},
        {"bytes": math.nan},
        {"bytes": math.inf},
        {"bytes": 1e19},
        {"profile": (1.0, -1.0)},
        {"profile": (math.nan,)},
        {"latency": Latency(0.1, math.inf, 0.2, 0.3)},
        {"retransmits": -1},
        {"retransmits": 10**400},
    ],
)
def test_no_detail_is_negative_or_not_a_number(changes: dict[str, Any]) -> None:
    with pytest.raises(ToolError, match="measured detail"):
        measurement(**changes)
