"""Numbers that are infinite as floats are refused, wherever in a document they stand."""

from __future__ import annotations

import json

import pytest

from plumbline.model.validation import may_be_infinite, read_json


@pytest.mark.parametrize("number", ["1e999", "1E999", "1e+0400", "-2.5E+400", "9" * 309 + ".0"])
@pytest.mark.parametrize("before", [*range(41), 1000])
def test_an_infinite_number_is_refused(number: str, before: int) -> None:
    text = f'["{"x" * before}", {number}]'
    for form in (text, text.encode()):
        with pytest.raises(ValueError, match="is too large a number"):
            read_json(form)


@pytest.mark.parametrize("number", ["1e308", "1E-999", "123456789012345678901234567890"])
def test_other_numbers_are_read(number: str) -> None:
    assert read_json(f"[{number}]") == [pytest.approx(float(number))]


@pytest.mark.parametrize(
    "document", [list(range(3000)), ["node101", "1E5"] * 99, [0.1234567891] * 99]
)
def test_names_and_lists_of_numbers_take_no_second_look(document: list[object]) -> None:
    assert not may_be_infinite(json.dumps(document))
