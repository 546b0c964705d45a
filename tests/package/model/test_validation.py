"""Values of the wrong type are refused, in documents and in the output of tools."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from plumbline.model.errors import SkipTarget, ToolError
from plumbline.model.units import LARGEST
from plumbline.model.validation import (
    Within,
    counts,
    may_be_infinite,
    numbers,
    rates,
    read_json,
    real,
    texts,
    times,
    whole,
)


@pytest.mark.parametrize("value", [None, "1", True, [], math.nan, math.inf, 2 * LARGEST, 10**400])
def test_implausible_numbers_are_refused(value: Any) -> None:
    with pytest.raises(TypeError, match=r"^rate is .*, which is no plausible number$"):
        numbers(size=3, rate=value)


def test_plausible_numbers_are_accepted() -> None:
    numbers(size=3, rate=-2.5, share=0)


@pytest.mark.parametrize("value", [-1, 1.0, True, "1", 10**19])
def test_invalid_counts_are_refused(value: Any) -> None:
    counts(runs=3)
    with pytest.raises(TypeError, match="runs is"):
        counts(runs=value)


@pytest.mark.parametrize("value", [-0.1, 1.1, None])
def test_values_beyond_their_bounds_are_refused(value: Any) -> None:
    share = Within(0, 1)
    share(share=1)
    with pytest.raises(TypeError, match="share is"):
        share(share=value)


@pytest.mark.parametrize("value", [0, -1.0, 5e-324])
def test_invalid_rates_are_refused(value: Any) -> None:
    rates(own=1e6)
    with pytest.raises(TypeError, match="which is no rate"):
        rates(peers=value)


@pytest.mark.parametrize("value", [-1, 1e15, "now"])
def test_invalid_times_are_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="since is"):
        times(since=value)


def test_lists_of_texts_have_only_texts() -> None:
    texts("path", ("a", "b"))
    with pytest.raises(TypeError, match="path has 3, which is no text"):
        texts("path", ("a", 3))


@pytest.mark.parametrize(
    ("text", "base", "value"), [("42", 10, 42), (" 7\n", 10, 7), ("1f", 16, 31), ("0x1F", 16, 31)]
)
def test_whole_numbers_are_read(text: str, base: int, value: int) -> None:
    assert whole(text, "it", base=base) == value


@pytest.mark.parametrize(
    "text", ["", "-1", "+1", "1.0", "1_0", "²", "٣", "nan", "9" * 19, "9" * 5000, "0x1", "1 2"]
)
def test_invalid_whole_numbers_are_refused(text: str) -> None:
    with pytest.raises(SkipTarget, match=r"^the index is '.{0,70}', which is no plausible number$"):
        whole(text, "the index", SkipTarget)


def test_a_whole_number_has_a_maximum() -> None:
    assert whole("ffff", "it", base=16, most=0xFFFF) == 0xFFFF
    with pytest.raises(ToolError):
        whole("10000", "it", base=16, most=0xFFFF)


@pytest.mark.parametrize(("text", "value"), [("1.5", 1.5), ("-1", -1), ("1e3", 1000), ("2.", 2)])
def test_real_numbers_are_read(text: str, value: Any) -> None:
    assert real(text, "it") == value


@pytest.mark.parametrize(
    "text", ["", "nan", "inf", "-Infinity", "1e19", "1e999", "1.2.3", "1_0", "9" * 5000, "."]
)
def test_invalid_real_numbers_are_refused(text: str) -> None:
    with pytest.raises(ToolError, match=r"^it is '.{0,70}', which is no plausible number$"):
        real(text, "it")


@pytest.mark.parametrize("number", ["1e999", "1E999", "1e+0400", "-2.5E+400", "9" * 309 + ".0"])
def test_an_infinite_number_is_refused(number: str) -> None:
    for before in (*range(41), 1000):
        text = f'["{"x" * before}", {number}]'
        for form in (text, text.encode()):
            with pytest.raises(ValueError, match="is too large a number"):
                read_json(form)


@pytest.mark.parametrize("number", ["1e308", "1E-999", "123456789012345678901234567890"])
def test_other_numbers_are_read(number: str) -> None:
    assert read_json(f"[{number}]") == [pytest.approx(float(number))]


@pytest.mark.parametrize(
    "document", [list(range(3000)), ["node101", "1E5", "31e999a", "7e303"], [0.1234567891] * 99]
)
def test_names_and_lists_of_numbers_skip_the_slow_check(document: list[object]) -> None:
    assert not may_be_infinite(json.dumps(document))
