"""Changed conditions, by name, in words for verdicts and reviews."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.conditions import differences, of_baseline, of_record
from plumbline.model.limits import Baseline
from plumbline.model.record import Tool
from plumbline.model.spec import ProbeSpec, terms
from tests.package.records import record

SPEC = ProbeSpec("fio", 1 << 30, 60.0)
BASELINE = Baseline(
    200e6,
    0.01,
    12,
    "2026-11-01",
    "2026-11-20",
    SPEC.hash(),
    {"client": "2.17.0", "checksums": "t10ip4K"},
    "ada",
    "new disks",
    terms(SPEC.to_json()),
    "client1",
    "fio 3.39",
    0.31,
)


def measured(spec: ProbeSpec = SPEC, **changes: Any) -> Any:
    values: dict[str, Any] = {
        "spec": spec.to_json(),
        "spec_hash": spec.hash(),
        "versions": BASELINE.versions,
        "tool": Tool("fio", "3.39", ("fio",)),
        "fill": 0.35,
    }
    return of_record(record(**{**values, **changes}))


def changed(then: Baseline = BASELINE, /, **changes: Any) -> list[str]:
    return [str(item) for item in differences(of_baseline(then), measured(**changes), 0.2)]


def test_the_same_conditions_do_not_differ() -> None:
    assert changed() == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"versions": {**BASELINE.versions, "client": "2.18.0"}}, ["client 2.17.0 -> 2.18.0"]),
        ({"versions": {"client": "2.17.0"}}, ["checksums t10ip4K -> unknown"]),
        (
            {"versions": {**BASELINE.versions, "nid": "10.0.0.1@tcp"}},
            ["nid unknown -> 10.0.0.1@tcp"],
        ),
        ({"host": "client2"}, ["host client1 -> client2"]),
        ({"tool": Tool("fio", "3.40", ())}, ["tool fio 3.39 -> fio 3.40"]),
        ({"fill": 0.52}, ["fill 31 % -> 52 %"]),
        ({"fill": 0.10}, ["fill 31 % -> 10 %"]),
        ({"fill": 0.50}, []),
        ({"fill": None}, []),
        ({"tool": None}, []),
        (
            {"spec": SPEC._replace(transfer_bytes=4 << 20)},
            ["terms transfer 1 MiB -> transfer 4 MiB"],
        ),
        ({"spec": SPEC._replace(direct=False)}, ["terms direct -> not direct"]),
        ({"spec": SPEC._replace(rate_cap_Bps=5e8)}, ["terms without -> at most 500.0 MB/s"]),
        ({"spec": SPEC._replace(repeats=9)}, []),
        ({"spec_hash": "123"}, [f"specification {SPEC.hash()} -> 123"]),
        (
            {"versions": {"client": "2.18.0"}, "fill": 0.9},
            ["checksums t10ip4K -> unknown", "client 2.17.0 -> 2.18.0", "fill 31 % -> 90 %"],
        ),
    ],
)
def test_each_condition_that_changed_is_named(changes: dict[str, Any], expected: list[str]) -> None:
    assert changed(**changes) == expected


def test_conditions_missing_in_an_older_baseline_are_not_compared() -> None:
    assert changed(BASELINE._replace(host="", tool="", fill=None), host="client2", fill=0.9) == []


def test_terms_without_words_are_shown_by_their_hashes() -> None:
    texts = changed(BASELINE._replace(terms="", spec_hash="abc"))
    assert texts == [f"specification abc -> {SPEC.hash()}"]
