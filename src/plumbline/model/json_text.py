"""JSON becomes values: the one place that reads it, whoever wrote it."""

from __future__ import annotations

import json
import re

from plumbline.model.named_tuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, NoReturn, Union


def refuse_constant(name: str) -> NoReturn:
    """Raise ValueError: JSON knows neither NaN nor Infinity, and no rate is either."""
    raise ValueError(f"{name} is no number")


_HUGE = (r"e(?<=[0-9]e)\+?0*[1-9][0-9]{2}", r"E(?<=[0-9]E)\+?0*[1-9][0-9]{2}", r"[0-9]{16}")
_HUGE_BYTES = tuple(form.encode() for form in _HUGE)
"""What a number looks like that may be infinite as a float: 1e999, 1E999, or 309 digits, of which
every 19th character shows 16 in a row (a list of numbers repeats itself, but not after 19).  To
hold every character of a document against a class of characters takes as long as to read it; a
search for one letter does not."""


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text:.20} is too large a number")
    return value


def may_be_infinite(text: Union[str, bytes]) -> bool:
    """Return whether a document may hold a number that is infinite as a float."""
    forms: tuple[Any, ...] = _HUGE if isinstance(text, str) else _HUGE_BYTES
    parts = (text, text, text[::19])
    return any(re.search(form, part) for form, part in zip(forms, parts))


def read_json(text: Union[str, bytes]) -> Any:
    """Return what a JSON document says.

    Raises:
        ValueError: it is none, so deep that nobody has written it, or has a number without bound.
    """
    # a function of Python for every number would take as long as all else
    strict = _finite if may_be_infinite(text) else None
    try:
        return json.loads(text, parse_constant=refuse_constant, parse_float=strict)
    except RecursionError as error:
        raise ValueError("its values lie too deep in one another") from error
