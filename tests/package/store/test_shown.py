"""What older records show beside their rates, read from the history."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Optional

import pytest

from plumbline.model.record import Operation
from plumbline.parallel.profile import form
from plumbline.store.history import History, SeriesKey
from plumbline.store.recent import Member, Recent, apart, retransmitted
from tests.package.parallel.curves import declining, flat
from tests.package.records import failed, record

PAIR = SeriesKey("net", "oss3", "send", "single", "oss1")
WHOLE = SeriesKey("ost", "a", "read", "single", "")
FLAT = form(flat(120))
STEEP = [round(100 * point) for point in form(declining(120))]


def sent(segments: Optional[int]) -> dict[str, Any]:
    return {
        "layer": "net",
        "component": "oss3",
        "operation": Operation.SEND,
        "partner": "oss1",
        "retransmits": segments,
        "bytes": 1_448_000_000,
    }


def test_the_share_of_segments_of_each_run_is_known_newest_first(history: History) -> None:
    for segments in (20_000, None, 0):
        history.save(record(**sent(segments)))
    assert retransmitted(history, PAIR) == [0.0, None, 0.02]
    (series,) = Recent(history, {("net", "oss3"): Member("servers", 0.9)}).of("net", "oss3")
    assert [sample.retransmitted for sample in series.samples] == [0.0, None, 0.02]


def test_how_far_each_profile_is_from_the_baselines_is_known(history: History) -> None:
    history.save(record(component="a", details={"form": STEEP}))
    history.save(failed(component="a"))
    history.save(record(component="a", details={"form": [100] * 20}))
    last, none, first = apart(history, WHOLE, FLAT)
    assert last == pytest.approx(0, abs=0.04)
    assert none is None
    assert first == pytest.approx(0.15, abs=0.03)
    members = {("ost", "a"): Member("scratch", 0.9, {"read/single": FLAT})}
    (series,) = Recent(history, members).of("ost", "a")
    assert [sample.apart for sample in series.samples] == [last, none, first]
    (series,) = Recent(history, {("ost", "a"): Member("scratch", 0.9)}).of("ost", "a")
    assert {sample.apart for sample in series.samples} == {None}


def test_a_difference_within_the_curves_own_scatter_is_none(history: History) -> None:
    history.save(record(component="a", details={"form": [10, 190, 190, 10, 190, 10]}))
    assert apart(history, WHOLE, FLAT) == [0.0]


@pytest.mark.parametrize(
    "body",
    ["{", "7", '{"details": {"form": "x"}}', '{"details": {"form": [-1, 2]}}', '{"details": 3}'],
)
def test_an_old_record_that_is_damaged_says_nothing(
    history: History, tmp_path: Path, body: str
) -> None:
    history.save(record(component="a", details={"form": STEEP}))
    with closing(sqlite3.connect(tmp_path / "history.sqlite")) as database, database:
        database.execute("UPDATE records SET body = ?", (body,))
    assert apart(history, WHOLE, FLAT) == [None]
    assert retransmitted(history, WHOLE) == [None]
