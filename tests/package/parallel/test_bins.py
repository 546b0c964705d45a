from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.parallel.profile import Calls, added, per_second, whole_seconds


def calls_of(*calls: tuple[float, float, int]) -> Calls:
    kept = Calls(len(calls))
    for call in calls:
        kept.add(*call)
    return kept


@pytest.mark.parametrize(
    ("calls", "curve"),
    [
        ([], ()),
        ([(0.0, 0.5, 100)], (100.0,)),
        ([(0.5, 1.0, 100)], (50.0, 50.0)),
        ([(0.75, 2.0, 800)], (100.0, 400.0, 300.0)),
        ([(2.25, 0.25, 7)], (0.0, 0.0, 7.0)),
        ([(0.0, 0.5, 10), (0.5, 3.0, 0)], (10.0, 0.0, 0.0, 0.0)),
        ([(1.0, 0.0, 5)], (0.0, 5.0)),
    ],
)
def test_a_call_counts_in_each_second_by_its_time_there(
    calls: list[tuple[float, float, int]], curve: tuple[float, ...]
) -> None:
    assert per_second(calls_of(*calls)) == pytest.approx(curve)


@given(
    st.lists(
        st.tuples(st.floats(0, 50), st.floats(0, 20, width=32), st.integers(0, 2**32 - 1)),
        max_size=30,
    )
)
def test_no_byte_is_lost_or_counted_twice(calls: list[tuple[float, float, int]]) -> None:
    assert sum(per_second(calls_of(*calls))) == pytest.approx(sum(call[2] for call in calls))


def test_curves_add_up_second_by_second() -> None:
    assert added([(1.0, 2.0), (10.0,), ()]) == (11.0, 2.0)


def test_the_second_in_which_a_run_ends_is_no_rate() -> None:
    assert whole_seconds((5.0, 5.0, 1.0), 2.2) == (5.0, 5.0)
    assert whole_seconds((5.0,), 0.4) == ()
