"""Check values from JSON and from the output of tools; refuse wrong ones with one sentence.

A named tuple accepts any value; without these checks a damaged file would cause errors in later
calculations.  The checks raise TypeError, which documents turn into their own error.

Output of tools is not trusted: thousands of digits, ``nan`` or ``inf`` are refused before any
calculation uses them.
"""

from __future__ import annotations

import json
import re
from typing import Any, Callable, Iterable, Mapping, NoReturn, Optional, Union

from plumbline.model.errors import DocumentError, PlumblineError, ToolError
from plumbline.model.units import LARGEST

MIN_RATE = 1e-9
"""Lower bound of rates, in bytes per second; no quotient of two rates becomes zero."""

LATEST = 253402300799.0
"""Last second of the year 9999 since the epoch; later times have no date in Python."""


class Within:
    """Check for numbers from ``least`` to ``most``, both included, in the unit of the value."""

    def __init__(self, least: float, most: float, noun: str = "", *, whole: bool = False) -> None:
        """Take both bounds; ``noun`` names the number in messages, ``whole`` refuses fractions."""
        self.least, self.most, self.whole = least, most, whole
        self._refusal = f"no {noun}" if noun else f"not from {least:g} to {most:g}"

    def __call__(self, **values: Any) -> None:
        """Raise TypeError with the name of a value that fails the check."""
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
rates = Within(MIN_RATE, LARGEST, "rate")
times = Within(0, LATEST, "time")


def same_schema(raw: Mapping[str, Any], schema: int, what: str, remedy: str) -> None:
    """Raise DocumentError for a document of another schema, KeyError for one without."""
    if raw["schema"] != schema:
        raise DocumentError(
            f"{what} has schema {raw['schema']!r}, this version reads {schema}; {remedy}"
        )


def texts(name: str, values: Iterable[Any]) -> None:
    """Raise TypeError unless all values are texts."""
    for value in values:
        if type(value) is not str:
            raise TypeError(f"{name} has {value!r:.60}, which is no text")


def names(name: str, values: Iterable[Any]) -> None:
    """Raise TypeError unless all values are texts without surrogates.

    JSON may contain lone surrogates, which neither files nor databases can store.
    """
    texts_given = tuple(values)
    texts(name, texts_given)
    try:
        "".join(texts_given).encode()
    except UnicodeEncodeError as error:
        raise TypeError(f"{name} has {error.object!r:.60}, which is no Unicode text") from error


def unicode_text(**values: Any) -> None:
    """Check single values as ``names`` does."""
    for name, value in values.items():
        if type(value) is not str or not value.isascii():
            names(name, (value,))


def storable(text: str) -> str:
    """Replace lone surrogates in a foreign text, so it can be stored and printed."""
    return text.encode("utf-8", "replace").decode()


def refuse_constant(name: str) -> NoReturn:
    """Raise ValueError: JSON has neither NaN nor Infinity, and no rate has such a value."""
    raise ValueError(f"{name} is no number")


_EXPONENT = r'\+?0*[1-9][0-9]{2,}(?![0-9A-Za-z"])'
"""Exponent of a number; in a hash such as 1e999a it would make reading a document slow."""
_HUGE = (f"e(?<=[0-9]e){_EXPONENT}", f"E(?<=[0-9]E){_EXPONENT}", "[0-9]{16}")
_HUGE_BYTES = tuple(form.encode() for form in _HUGE)
"""Patterns of numbers that may be infinite as floats: 1e999, 1E999, or 309 digits, found as 16
successive digits among every 19th character (lists of numbers repeat, but not with period 19).
Matching every character of a document against a character class takes as long as parsing it; the
search for a single letter is much faster."""


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{text:.20} is too large a number")
    return value


# made once: json.loads makes one for each document; a call for each number would double the time
_FAST = json.JSONDecoder(parse_constant=refuse_constant)
_STRICT = json.JSONDecoder(parse_constant=refuse_constant, parse_float=_finite)


def may_be_infinite(text: Union[str, bytes]) -> bool:
    """Return True if a document may contain a number that is infinite as a float."""
    forms: tuple[Any, ...] = _HUGE if isinstance(text, str) else _HUGE_BYTES
    parts = (text, text, text[::19])
    return any(re.search(form, part) for form, part in zip(forms, parts))


Each = Callable[[dict[str, Any]], dict[str, Any]]
"""Gets each object of a document once it is parsed, and returns what stands for it."""


def read_json(text: Union[str, bytes], each: Optional[Each] = None) -> Any:
    """Parse a JSON document; ``each`` gets the objects in it, the innermost first.

    Raises:
        ValueError: it is not valid JSON, too deeply nested, or contains an infinite number.
    """
    decoder = _STRICT if may_be_infinite(text) else _FAST
    if each:
        decoder = json.JSONDecoder(
            object_hook=each, parse_constant=refuse_constant, parse_float=decoder.parse_float
        )
    if isinstance(text, bytes):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    try:
        return decoder.decode(text)
    except RecursionError as error:
        raise ValueError("its values lie too deep in one another") from error


_MAX_CHARACTERS = 64
"""Most characters of a number; a 64-bit counter has 20."""

_WHOLE = {8: r"[0-7]+", 10: r"[0-9]+", 16: r"(?:0[xX])?[0-9a-fA-F]+"}
_REAL = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"


def whole(
    text: str, what: str, error: type[PlumblineError] = ToolError, base: int = 10, most: float = 0
) -> int:
    """Parse a whole number from 0 to ``most`` (0: LARGEST).

    Raises:
        PlumblineError: the text is no such number; the class is ``error``, the message has
            ``what``.
    """
    body = text.strip() if len(text) <= _MAX_CHARACTERS else ""
    if not re.fullmatch(_WHOLE[base], body) or int(body, base) > (most or LARGEST):
        raise _refusal(text, what, error)
    return int(body, base)


def real(text: str, what: str, error: type[PlumblineError] = ToolError) -> float:
    """Parse a finite number, which may be negative; raise as ``whole`` does."""
    body = text.strip() if len(text) <= _MAX_CHARACTERS else ""
    if not re.fullmatch(_REAL, body) or not abs(float(body)) <= LARGEST:
        raise _refusal(text, what, error)
    return float(body)


def _refusal(text: str, what: str, error: type[PlumblineError]) -> PlumblineError:
    return error(f"{what} is {text[:_MAX_CHARACTERS]!r}, which is no plausible number")
