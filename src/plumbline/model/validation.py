"""Refuse values of the wrong kind where documents become values.

A named tuple takes anything; without this a damaged file would show as a fault of whoever
calculates with it.  All functions raise TypeError, which the documents turn into their own error.
"""

from __future__ import annotations

from plumbline.errors import DocumentError
from plumbline.model.named_tuple import TYPE_CHECKING
from plumbline.units import LARGEST

if TYPE_CHECKING:
    from typing import Any, Iterable, Mapping

LEAST_RATE = 1e-9
"""Bytes per second: no measurement is slower, and no quotient of two rates becomes zero."""

LATEST = 253402300800.0
"""Seconds since the epoch at the end of the year 9999, after which there are no dates."""


def numbers(**values: Any) -> None:
    """Refuse what is no number, is not finite, or is beyond all measure."""
    for name, value in values.items():
        if type(value) not in (int, float) or not -LARGEST <= value <= LARGEST:
            raise TypeError(f"{name} is {value!r:.60}, which is no plausible number")


def numbers_or_none(**values: Any) -> None:
    """Refuse the same, but not None."""
    for name, value in values.items():
        if value is not None:
            numbers(**{name: value})


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


def same_schema(raw: Mapping[str, Any], known: int, what: str, remedy: str) -> None:
    """Refuse a document of another schema than ``known``; raise DocumentError, or KeyError."""
    if raw["schema"] != known:
        raise DocumentError(
            f"{what} has schema {raw['schema']!r}, this version reads {known}; {remedy}"
        )


def texts(name: str, values: Iterable[Any]) -> None:
    """Refuse what is no text among ``values``."""
    for value in values:
        if type(value) is not str:
            raise TypeError(f"{name} has {value!r:.60}, which is no text")


def names(name: str, values: Iterable[Any]) -> None:
    """Refuse the same, and halves of characters: JSON may hold them, no file or database does."""
    found = tuple(values)
    texts(name, found)
    try:
        "".join(found).encode()
    except UnicodeEncodeError as error:
        raise TypeError(f"{name} has {error.object!r:.60}, which is no Unicode text") from error


def whole(text: str) -> str:
    """Return a text of somebody else that can be kept and printed: no halves of characters."""
    return text.encode("utf-8", "replace").decode()
