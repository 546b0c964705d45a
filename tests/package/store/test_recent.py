"""Samples stand beside the median of their peers, whoever was measured how often."""

from __future__ import annotations

from statistics import median
from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.model.record import Flag, Operation
from plumbline.model.series import SAMPLES
from plumbline.store.history import History
from plumbline.store.recent import Member, Rates, Recent
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
    for name, rate_Bps in (("a", 100e6), ("b", 300e6), ("c", 200e6)):
        history.save(record(component=name, rate_Bps=rate_Bps, run_id="night"))
    for number in range(SAMPLES):
        history.save(record(component="b", rate_Bps=1e6, run_id=f"again{number}"))
    (series,) = Recent(history, MEMBERS).of("ost", "a")
    assert (series.samples[0].peers_Bps, series.samples[0].peers) == (250e6, 2)


def test_a_component_without_a_rate_has_all_others_as_peers(history: History) -> None:
    history.save(failed(component="a"))
    for name, rate_Bps in (("b", 300e6), ("c", 200e6)):
        history.save(record(component=name, rate_Bps=rate_Bps))
    (series,) = Recent(history, MEMBERS).of("ost", "a")
    assert (series.samples[0].peers_Bps, series.samples[0].peers) == (250e6, 2)


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
        history.save(record(component=name, rate_Bps=100e6))
        history.save(record(component=name, rate_Bps=300e6, operation=Operation.WRITE))
    read, write = Recent(history, MEMBERS).of("ost", "a")
    assert (read.samples[0].peers_Bps, write.samples[0].peers_Bps) == (100e6, 300e6)
