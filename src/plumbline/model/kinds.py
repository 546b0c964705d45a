"""Refuse values of the wrong kind where documents become values.

A named tuple takes anything; without this a damaged file would show as a fault of whoever
calculates with it.  All functions raise TypeError, which the documents turn into their own error.
"""

from __future__ import annotations

from plumbline.errors import DocumentError
from plumbline.model.named_tuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Iterable, Mapping

LARGEST = 1e18
"""No rate, size or duration is larger, an exabyte a second; with it no calculation overflows."""

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


def rates_or_none(**values: Any) -> None:
    """Refuse what is neither None nor a positive number."""
    numbers_or_none(**values)
    for name, value in values.items():
        if value is not None and value <= 0:
            raise TypeError(f"{name} is {value!r}, which is no rate")


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
