"""Text of others in the language of Icinga 2.

It is a quoted string; a dollar sign in a custom variable begins a macro and is doubled.
"""

from __future__ import annotations

import json
from typing import Iterable

from plumbline.errors import DocumentError


def printable(text: str) -> str:
    """Return a text that is one line; raise DocumentError for another."""
    if not text.isprintable():
        raise DocumentError(
            f"{text!r:.80} cannot be written for Icinga; remove line breaks and control characters"
        )
    return text


def quoted(text: str) -> str:
    """Return a text as a string of the language."""
    return json.dumps(printable(text), ensure_ascii=False)


def literal(text: str) -> str:
    """Return a text that stands for itself where Icinga looks for macros."""
    return quoted(text.replace("$", "$$"))


def listed(words: Iterable[str]) -> str:
    """Return an array of what is written already."""
    return f"[ {', '.join(words)} ]"


def block(head: str, lines: Iterable[str], why: str = "") -> str:
    """Return an object with its lines, below the reason for it as a comment."""
    body = "".join(f"  {line}\n" for line in lines)
    comment = "".join(f"// {line}\n" for line in why.splitlines())
    return f"{comment}{head} {{\n{body}}}\n"
