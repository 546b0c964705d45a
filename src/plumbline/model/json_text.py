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


_HUGE = (r"[eE]\+?0*[1-9][0-9]{2}", r"[0-9]{309}")
_HUGE_TEXT = tuple(re.compile(form) for form in _HUGE)
_HUGE_BYTES = tuple(re.compile(form.encode()) for form in _HUGE)
"""What a number looks like that may be infinite as a float, as 1e999 is: two searches of one form
each take half the time of one search of both."""


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text:.20} is too large a number")
    return value


def read_json(text: Union[str, bytes]) -> Any:
    """Return what a JSON document says.

    Raises:
        ValueError: it is none, so deep that nobody has written it, or has a number without bound.
    """
    if isinstance(text, str):
        huge = any(form.search(text) for form in _HUGE_TEXT)
    else:
        huge = any(form.search(text) for form in _HUGE_BYTES)
    # a function of Python for every number would take as long as all else
    strict = _finite if huge else None
    try:
        return json.loads(text, parse_constant=refuse_constant, parse_float=strict)
    except RecursionError as error:
        raise ValueError("its values lie too deep in one another") from error
