"""What a sweep remembers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plumbline.model.errors import DocumentError
from plumbline.parallel.sweep import Grid, Ledger, Point
from tests.package.parallel.points import MIB, done

POINTS = Grid((1, 2, 4), (MIB,)).points()
PLANNED = 2 * 10**9


def test_a_ledger_survives_its_document() -> None:
    ledger = Ledger({"test": "ost"}, PLANNED).ended(done(POINTS[0], 100, 200))
    assert Ledger.from_json(json.loads(json.dumps(ledger.to_json()))) == ledger


def test_what_was_measured_is_not_left_and_what_failed_is() -> None:
    ledger = Ledger({}, PLANNED)
    for point in (done(POINTS[0], 100, 200), done(POINTS[1], None, reason="full")):
        ledger = ledger.ended(point)
    assert ledger.remaining(POINTS) == POINTS[1:]
    again = ledger.ended(done(POINTS[1], 50, 50))
    assert again.remaining(POINTS) == POINTS[2:]
    assert len(again.done) == 2


def test_a_point_counts_as_it_was_expected_until_it_is_over() -> None:
    ledger = Ledger({}, PLANNED)
    assert ledger.begun(60.0)[2:] == ((), PLANNED, 60.0)
    assert ledger.ended(done(POINTS[0], 100, written=10**9))[3:] == (10**9, 20.0)


DAMAGES: list[dict[str, Any]] = [
    {"schema": 2},
    {"done": None},
    {"done": [{}]},
    {"written": "much"},
    {"seconds": float("nan")},
]


@pytest.mark.parametrize("damage", DAMAGES, ids=str)
def test_a_damaged_document_is_refused_with_the_remedy(damage: dict[str, Any]) -> None:
    with pytest.raises(DocumentError, match="begin it with --again"):
        Ledger.from_json({**Ledger({}, PLANNED).to_json(), **damage})


def test_a_negative_rate_is_refused() -> None:
    raw = Ledger({}, PLANNED, (done(Point(1, MIB), -1.0),)).to_json()
    with pytest.raises(DocumentError, match="no rate"):
        Ledger.from_json(raw)
