"""Samples stand beside the median of their peers, with what else older records show."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.model.record import Flag, Operation
from plumbline.model.series import SAMPLES, Running
from plumbline.model.trend import SERVER
from plumbline.parallel.profile import form
from plumbline.store import recent as past
from plumbline.store.database import Selection
from plumbline.store.history import History, SeriesKey
from plumbline.store.recent import Member, PastHistory, Rates, Recent, apart, retransmitted
from tests.package.parallel.curves import declining, flat
from tests.package.records import failed, record

DAY_S = 86400.0
NOW = 100 * DAY_S
MEMBERS = {("ost", name): Member("scratch", 0.9) for name in "abc"}

# few values, so that equal ones are frequent
RATES = st.dictionaries(st.sampled_from("abcdefg"), st.sampled_from([1.0, 2.0, 3.0, 5.0, 9.0]))


@given(RATES, st.sampled_from("abcdefgh"))
def test_the_peers_of_a_component_are_all_others(rates: dict[str, float], name: str) -> None:
    others = [rate for other, rate in rates.items() if other != name]
    expected: tuple[Optional[float], int] = (median(others) if others else None, len(others))
    assert Rates(rates).beside(name) == expected


def test_a_peer_that_was_measured_more_often_since_still_counts(history: History) -> None:
    for name, rate in (("a", 100e6), ("b", 300e6), ("c", 200e6)):
        history.save(record(component=name, rate=rate, run_id="night"))
    for number in range(SAMPLES):
        history.save(record(component="b", rate=1e6, run_id=f"again{number}"))
    (series,) = Recent(history, MEMBERS).of("ost", "a")
    assert (series.samples[0].peers_rate, series.samples[0].peers) == (250e6, 2)


def test_a_component_without_a_rate_has_all_others_as_peers(history: History) -> None:
    history.save(failed(component="a"))
    for name, rate in (("b", 300e6), ("c", 200e6)):
        history.save(record(component=name, rate=rate))
    (series,) = Recent(history, MEMBERS).of("ost", "a")
    assert (series.samples[0].peers_rate, series.samples[0].peers) == (250e6, 2)


@pytest.mark.parametrize(
    ("flags", "excluded"),
    [
        ((), False),
        ((Flag.SHORT,), False),
        ((Flag.DEGRADED,), True),
        ((Flag.SHORT, Flag.FAILED_OVER), True),
    ],
)
def test_a_sample_of_a_known_state_is_excluded(
    history: History, flags: tuple[Flag, ...], excluded: bool
) -> None:
    history.save(record(component="a", flags=flags))
    (series,) = Recent(history, MEMBERS).of("ost", "a")
    assert [one.excluded for one in series.samples] == [excluded]


def test_operations_are_not_mixed(history: History) -> None:
    for name in "ab":
        history.save(record(component=name, rate=100e6))
        history.save(record(component=name, rate=300e6, operation=Operation.WRITE))
    read, write = Recent(history, MEMBERS).of("ost", "a")
    assert (read.samples[0].peers_rate, write.samples[0].peers_rate) == (100e6, 300e6)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "history.sqlite"
    with History(found) as history:
        for at in (1000.0, 2000.0, 3000.0):
            history.save(record(id=f"{at}", started_at=at, rate=at))
        history.save(failed()._replace(id="failed", started_at=2100.0))
        history.save(record(id="server", layer=SERVER, started_at=2000.0))
        history.begin("run-9", Running("ost", "later", 2900.0, None))
    return found


def test_what_came_later_is_not_there_yet(path: Path) -> None:
    with PastHistory(path, 2500.0) as kept:
        (key, *_) = kept.series("ost", record().component)
        assert kept.latest(key).started_at <= 2500.0
        assert all(point.started_at <= 2500.0 for point in kept.points(key, 9))
        assert kept.running() == ()
    with History(path) as history:
        assert len(list(history.records(Selection()))) == 5
        assert len(history.running()) == 1


def test_the_measurements_since_a_moment_are_those_of_components(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PastHistory(path, 2500.0) as kept:
        found = kept.since(1500.0)
        assert [(one.started_at, one.rate) for one in found] == [(2000.0, 2e3), (2100.0, None)]
        monkeypatch.setattr(past, "MOST_RUNS", 1)
        assert kept.since(1500.0) == found[:1]


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
def test_an_old_record_that_is_damaged_says_nothing(history: History, body: str) -> None:
    history.save(record(component="a", details={"form": STEEP}))
    history.change("UPDATE records SET body = ?", (body,))
    assert apart(history, WHOLE, FLAT) == [None]
    assert retransmitted(history, WHOLE) == [None]
