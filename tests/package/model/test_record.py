"""Impossible records and measurements are refused."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from plumbline.model.errors import DocumentError, ToolError
from plumbline.model.layers.ost import OST
from plumbline.model.quantity import BYTES_PER_S, SECONDS
from plumbline.model.record import (
    SCHEMA,
    Flag,
    Measurement,
    Operation,
    Outcome,
    Record,
    Scenario,
    Tool,
)

OLD_TIMES = {"mean_s": 0.1, "p50_s": 0.1, "p99_s": 0.2, "max_s": 0.3}


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
        "quantities": {"mean": 0.1, "p50": 0.1, "p99": 0.2, "max": 0.3},
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
    raw["latency"] = {f"{name}_s": time for name, time in raw.pop("quantities").items()}
    assert Record.from_json(json.loads(json.dumps({**raw, "schema": 1}))) == original


@pytest.mark.parametrize("times", ["fast", {"p99_s": 0.2}, [0.1], {**OLD_TIMES, "p50_s": None}])
def test_damaged_times_of_an_older_version_are_refused(times: object) -> None:
    raw = record().to_json()
    del raw["quantities"]
    with pytest.raises(DocumentError, match="is damaged"):
        Record.from_json({**raw, "latency": times, "schema": 2})


def test_a_record_of_an_older_version_may_have_no_times() -> None:
    raw = record().to_json()
    del raw["quantities"]
    assert Record.from_json({**raw, "latency": None, "schema": 2}).quantities == {}


def test_a_quantity_that_is_asked_for_is_a_record_of_the_same_run() -> None:
    run = record(repeats=(190.0, 210.0), retransmits=3, coverage=0.9, profile=(1.0,))
    asked = ("read/single", "read p99/single", "read max/together", "write p99/single")
    (p99,) = run.quantity_records(asked)
    assert (p99.operation, p99.rate, p99.operation.quantity) == ("read p99", 5.0, SECONDS)
    assert (p99.id, p99.run_id, p99.bytes, p99.coverage) == ("1-p99", "r1", 400, 0.9)
    assert (p99.repeats, p99.profile, p99.quantities) == ((), (), {})
    assert Record.from_json(json.loads(json.dumps(p99.to_json()))) == p99
    assert list(p99.quantity_records(asked)) == []


def test_a_quantity_without_a_figure_has_failed() -> None:
    (p99,) = record(quantities={"mean": 0.1}).quantity_records(("read p99/single",))
    assert (p99.outcome, p99.reason, p99.rate) == (Outcome.FAILED, "fio gave no p99", None)


def test_a_quantity_of_a_run_that_failed_has_its_reason() -> None:
    failed = record(outcome=Outcome.HUNG, reason="stuck", rate=None, quantities={})
    (p99,) = failed.quantity_records(("read p99/single",))
    assert (p99.outcome, p99.reason, p99.rate) == (Outcome.HUNG, "stuck", None)


def test_a_quantity_keeps_its_unit_and_its_operation() -> None:
    p99 = Operation("read p99")
    assert p99 in OST.quantities
    assert (p99.of, p99.name, Operation.READ.of) == (Operation.READ, "p99", None)
    assert Operation.READ.define_quantity("p99", SECONDS) is p99
    with pytest.raises(ValueError, match="read p99 is in s already"):
        Operation.READ.define_quantity("p99", BYTES_PER_S)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": SCHEMA + 1}, f"schema {SCHEMA + 1}"),
        ({"operation": "erase"}, "erase"),
        ({"surprise": 1}, "surprise"),
        ({"tool": {"name": "fio"}}, "damaged"),
        ({"run_id": None}, "None, which is no text"),
        ({"id": ["a"]}, "which is no text"),
        ({"partner": {"a": "b"}}, "which is no text"),
        ({"component": "\ud800"}, "which is no Unicode text"),
        ({"quantities": {"\ud800": 1.0}}, "which is no Unicode text"),
        ({"quantities": {"p99": "1"}}, "p99"),
        ({"quantities": [0.1]}, "quantities"),
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
        "quantities": {"mean": 0.1, "p50": 0.1, "p99": 0.2, "max": 0.3},
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
        {"quantities": {"p99": math.inf}},
        {"retransmits": -1},
        {"retransmits": 10**400},
    ],
)
def test_no_detail_is_negative_or_not_a_number(changes: dict[str, Any]) -> None:
    with pytest.raises(ToolError, match="measured detail"):
        measurement(**changes)
