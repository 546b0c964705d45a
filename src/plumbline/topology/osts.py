"""Names of Lustre's targets: their indices are hexadecimal, which everybody forgets once."""

from __future__ import annotations

import re
from typing import Sequence

from plumbline.errors import DocumentError
from plumbline.model.allowed import OST

_RANGE = re.compile(r"(.*-OST)\[([0-9]{1,5})-([0-9]{1,5})\]")
_INDEX = re.compile(r"(.*-OST)([0-9a-fA-F]{1,4})")
_HIGHEST = 0xFFFF


def refuse_no_ost(text: str, names: Sequence[str]) -> None:
    """Refuse names that Lustre never gives; ``text`` is how the document writes all of ``names``.

    Raises:
        DocumentError: one of them is none; the message shows how it is written.
    """
    wrong = next((name for name in names if not re.fullmatch(OST.pattern, name)), None)
    if wrong is None:
        return
    remedy = _as_range(text) or _as_name(wrong)
    if not remedy:
        OST.refuse("the target", wrong)
    raise DocumentError(
        f"{text[:80]!r} is no name of Lustre: an index is hexadecimal of four digits; {remedy}"
    )


def _as_range(text: str) -> str:
    match = _RANGE.fullmatch(text)
    if not match or not int(match[2]) <= int(match[3]) <= _HIGHEST:
        return ""
    first, last = int(match[2]), int(match[3])
    return f"write {match[1]}[{first:04x}-{last:04x}] for the indices {first} to {last}"


def _as_name(name: str) -> str:
    match = _INDEX.fullmatch(name)
    if not match:
        return ""
    decimal = f" ({int(match[2]):04x} if {match[2]} is decimal)" if _is_two_things(match[2]) else ""
    return f"write {match[1]}{match[2].lower():0>4}{decimal}"


def _is_two_things(digits: str) -> bool:
    """Return whether digits mean one index in decimal and another one in hexadecimal."""
    return digits.isdecimal() and int(digits) != int(digits, 16)
