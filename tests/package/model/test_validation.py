"""What is of the wrong kind is named and refused."""

from __future__ import annotations

import math
from typing import Any

import pytest

from plumbline.model.units import LARGEST
from plumbline.model.validation import Within, counts, numbers, rates, texts, times


@pytest.mark.parametrize("value", [None, "1", True, [], math.nan, math.inf, 2 * LARGEST, 10**400])
def test_what_is_no_plausible_number_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^rate is .*, which is no plausible number$"):
        numbers(size=3, rate=value)


def test_numbers_are_numbers() -> None:
    numbers(size=3, rate=-2.5, share=0)


@pytest.mark.parametrize("value", [-1, 1.0, True, "1", 10**19])
def test_what_is_no_count_is_refused(value: Any) -> None:
    counts(runs=3)
    with pytest.raises(TypeError, match="runs is"):
        counts(runs=value)


@pytest.mark.parametrize("value", [-0.1, 1.1, None])
def test_what_is_beyond_its_bounds_is_refused(value: Any) -> None:
    share = Within(0, 1)
    share(share=1)
    with pytest.raises(TypeError, match="share is"):
        share(share=value)


@pytest.mark.parametrize("value", [0, -1.0, 5e-324])
def test_what_is_no_rate_is_refused(value: Any) -> None:
    rates(own=1e6)
    with pytest.raises(TypeError, match="which is no rate"):
        rates(peers=value)


@pytest.mark.parametrize("value", [-1, 1e15, "now"])
def test_what_is_no_time_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="since is"):
        times(since=value)


def test_texts_are_texts() -> None:
    texts("path", ("a", "b"))
    with pytest.raises(TypeError, match="path has 3, which is no text"):
        texts("path", ("a", 3))
