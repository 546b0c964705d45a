"""A number that a tool has printed is one, or an error of the kind that the reader wants."""

from __future__ import annotations

from typing import Any

import pytest

from plumbline.model.errors import SkipTarget, ToolError
from plumbline.model.validation import real, whole


@pytest.mark.parametrize(
    ("text", "base", "value"), [("42", 10, 42), (" 7\n", 10, 7), ("1f", 16, 31), ("0x1F", 16, 31)]
)
def test_whole_numbers_are_read(text: str, base: int, value: int) -> None:
    assert whole(text, "it", base=base) == value


@pytest.mark.parametrize(
    "text", ["", "-1", "+1", "1.0", "1_0", "²", "٣", "nan", "9" * 19, "9" * 5000, "0x1", "1 2"]
)
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(SkipTarget, match=r"^the index is '.{0,70}', which is no plausible number$"):
        whole(text, "the index", SkipTarget)


def test_a_whole_number_has_a_largest() -> None:
    assert whole("ffff", "it", base=16, most=0xFFFF) == 0xFFFF
    with pytest.raises(ToolError):
        whole("10000", "it", base=16, most=0xFFFF)


@pytest.mark.parametrize(("text", "value"), [("1.5", 1.5), ("-1", -1), ("1e3", 1000), ("2.", 2)])
def test_real_numbers_are_read(text: str, value: Any) -> None:
    assert real(text, "it") == value


@pytest.mark.parametrize(
    "text", ["", "nan", "inf", "-Infinity", "1e19", "1e999", "1.2.3", "1_0", "9" * 5000, "."]
)
def test_what_is_no_real_number_is_refused(text: str) -> None:
    with pytest.raises(ToolError, match=r"^it is '.{0,70}', which is no plausible number$"):
        real(text, "it")
