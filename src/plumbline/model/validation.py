"""Values read from JSON and printed text, refused with one sentence where they are wrong.

A named tuple takes anything; without this a damaged file would show as a fault of whoever
calculates with it.  All functions raise TypeError, which the documents turn into their own error.

What a tool prints is not believed: thousands of digits, ``nan`` or ``inf`` are refused before any
calculation meets them.
"""

from __future__ import annotations

import json
import re

from plumbline.model.errors import DocumentError, PlumblineError, ToolError
from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.model.units import LARGEST

if TYPE_CHECKING:
    from typing import Any, Iterable, Mapping, NoReturn, Union


LEAST_RATE = 1e-9
"""Bytes per second: no measurement is slower, and no quotient of two rates becomes zero."""

LATEST = 253402300800.0
"""Seconds since the epoch at the end of the year 9999, after which there are no dates."""


def numbers(**values: Any) -> None:
    """Refuse what is no number, is not finite, or is beyond all measure."""
    for name, value in values.items():
        if type(value) not in (int, float) or not -LARGEST <= value <= LARGEST:
            raise TypeError(f"{name} is {value!r:.60}, which is no plausible number")


def within(least: float, most: float, **values: Any) -> None:
    """Refuse what is no number from ``least`` to ``most``."""
    for name, value in values.items():
        if type(value) not in (int, float) or not least <= value <= most:
            numbers(**{name: value})
            raise TypeError(f"{name} is {value!r:.60}, which is not from {least:g} to {most:g}")


def all_within(least: float, most: float, name: str, values: Iterable[Any]) -> None:
    """Refuse the same of many values at once, in less time."""
    for value in values:
        if type(value) not in (int, float) or not least <= value <= most:
            within(least, most, **{name: value})


def counts(**values: Any) -> None:
    """Refuse what is no whole number, or below zero."""
    within(0, LARGEST, **values)
    for name, value in values.items():
        if type(value) is not int:
            raise TypeError(f"{name} is {value!r}, which is no whole number")


def rates(**values: Any) -> None:
    """Refuse what is no positive number."""
    for name, value in values.items():
        if type(value) not in (int, float) or not LEAST_RATE <= value <= LARGEST:
            numbers(**{name: value})
            raise TypeError(f"{name} is {value!r}, which is no rate")


def rates_or_none(**values: Any) -> None:
    """Refuse the same, but not None."""
    for name, value in values.items():
        if value is not None:
            rates(**{name: value})


def times(**values: Any) -> None:
    """Refuse what is no time in seconds since the epoch."""
    numbers(**values)
    for name, value in values.items():
        if not 0 <= value < LATEST:
            raise TypeError(f"{name} is {value!r:.60}, which is no time")


def same_schema(raw: Mapping[str, Any], schema: int, what: str, remedy: str) -> None:
    """Refuse a document of another schema than ``schema``; raise DocumentError, or KeyError."""
    if raw["schema"] != schema:
        raise DocumentError(
            f"{what} has schema {raw['schema']!r}, this version reads {schema}; {remedy}"
        )


def texts(name: str, values: Iterable[Any]) -> None:
    """Refuse what is no text among ``values``."""
    for value in values:
        if type(value) is not str:
            raise TypeError(f"{name} has {value!r:.60}, which is no text")


def names(name: str, values: Iterable[Any]) -> None:
    """Refuse the same, and halves of characters: JSON may hold them, no file or database does."""
    given = tuple(values)
    texts(name, given)
    try:
        "".join(given).encode()
    except UnicodeEncodeError as error:
        raise TypeError(f"{name} has {error.object!r:.60}, which is no Unicode text") from error


def unicode_text(**values: Any) -> None:
    """Refuse the same of single values."""
    for name, value in values.items():
        names(name, (value,))


def whole_text(text: str) -> str:
    """Return a text of somebody else that can be kept and printed: no halves of characters."""
    return text.encode("utf-8", "replace").decode()


def refuse_constant(name: str) -> NoReturn:
    """Raise ValueError: JSON knows neither NaN nor Infinity, and no rate is either."""
    raise ValueError(f"{name} is no number")


_HUGE = (r"e(?<=[0-9]e)\+?0*[1-9][0-9]{2}", r"E(?<=[0-9]E)\+?0*[1-9][0-9]{2}", r"[0-9]{16}")
_HUGE_BYTES = tuple(form.encode() for form in _HUGE)
"""Pattern of a number that may be infinite as a float: 1e999, 1E999, or 309 digits, of which
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


_LONGEST = 64
"""Characters of a number; a counter of 64 bits has 20."""

_WHOLE = {8: r"[0-7]+", 10: r"[0-9]+", 16: r"(?:0[xX])?[0-9a-fA-F]+"}
_REAL = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"


def whole(
    text: str, what: str, error: type[PlumblineError] = ToolError, base: int = 10, most: float = 0
) -> int:
    """Return a whole number of zero or more, at most ``most`` (0: LARGEST).

    Raises:
        PlumblineError: it is none; of the kind ``error``, and naming ``what`` it should have been.
    """
    body = text.strip() if len(text) <= _LONGEST else ""
    if not re.fullmatch(_WHOLE[base], body) or int(body, base) > (most or LARGEST):
        raise _refusal(text, what, error)
    return int(body, base)


def real(text: str, what: str, error: type[PlumblineError] = ToolError) -> float:
    """Return a finite number, negative ones too; raise as ``whole`` does."""
    body = text.strip() if len(text) <= _LONGEST else ""
    if not re.fullmatch(_REAL, body) or not abs(float(body)) <= LARGEST:
        raise _refusal(text, what, error)
    return float(body)


def _refusal(text: str, what: str, error: type[PlumblineError]) -> PlumblineError:
    return error(f"{what} is {text[:_LONGEST]!r}, which is no plausible number")
