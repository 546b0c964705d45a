"""Numbers as tools and kernels print them: the one place where such a text becomes a value.

What a tool prints is not believed: thousands of digits, ``nan`` or ``inf`` are refused before any
calculation meets them.
"""

from __future__ import annotations

import re

from plumbline.errors import PlumblineError, ToolError
from plumbline.units import LARGEST

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
