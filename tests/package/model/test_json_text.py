"""Numbers that are infinite as floats are refused, wherever in a document they stand."""

from __future__ import annotations

import pytest

from plumbline.model.json_text import read_json


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
