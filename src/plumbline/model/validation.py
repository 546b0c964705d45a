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

LATEST = 253402300799.0
"""Seconds since the epoch in the last second of the year 9999, after which there are no dates."""


class Within:
    """Check of numbers from ``least`` to ``most``, both included, in the unit of the value."""

    def __init__(self, least: float, most: float, noun: str = "", *, whole: bool = False) -> None:
        """Take both bounds; ``noun`` names such a number, ``whole`` refuses fractions."""
        self.least, self.most, self.whole = least, most, whole
        self._refusal = f"no {noun}" if noun else f"not from {least:g} to {most:g}"

    def __call__(self, **values: Any) -> None:
        """Raise TypeError, with its name, for a value that is no such number."""
        for name, value in values.items():
            if type(value) not in (int, float) or not -LARGEST <= value <= LARGEST:
                raise TypeError(f"{name} is {value!r:.60}, which is no plausible number")
            if self.whole and type(value) is not int:
                raise TypeError(f"{name} is {value!r:.60}, which is no whole number")
            if not self.least <= value <= self.most:
                raise TypeError(f"{name} is {value!r:.60}, which is {self._refusal}")


numbers = Within(-LARGEST, LARGEST)
amounts = Within(0, LARGEST)
counts = Within(0, LARGEST, whole=True)
rates = Within(LEAST_RATE, LARGEST, "rate")
times = Within(0, LATEST, "time")


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
        if type(value) is not str or not value.isascii():
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
