"""Text of others in the language of Nagios Core 4.

A semicolon begins a comment, an exclamation mark parts the arguments of a check, a dollar sign
begins a macro: each is escaped where it stands.
"""

from __future__ import annotations

import shlex
from typing import Iterable

from plumbline.errors import DocumentError

Line = tuple[str, str]
"""Name and value; of a comment the name is a hash, of what is left out the value is empty."""


def one_line(value: object) -> str:
    """Return a value as one line that Nagios reads back as it is."""
    text = str(value)
    if not text.isprintable() or text.endswith("\\"):
        raise DocumentError(
            f"{text!r:.80} cannot be written for Nagios, which reads one line; "
            "remove line breaks, control characters and a backslash at its end"
        )
    return text.replace(";", "\\;")


def argument(text: str) -> str:
    """Return one argument of a check command."""
    return text.replace("\\", "\\\\").replace("!", "\\!").replace("$", "$$")


def shell_word(path: str) -> str:
    """Return a path as one word of the shell that Nagios starts."""
    return shlex.quote(path).replace("$", "$$")


def define(kind: str, lines: Iterable[Line], why: str = "") -> str:
    """Return an object with its lines, below the reason for it as a comment."""
    kept = [(name, value) for name, value in lines if value]
    width = max(len(name) for name, _ in kept if name != "#") + 2
    body = [
        f"# {value}" if name == "#" else f"{name:{width}}{one_line(value)}" for name, value in kept
    ]
    inside = "".join(f"    {line}\n" for line in body)
    comment = "".join(f"# {line}\n" for line in why.splitlines())
    return f"{comment}define {kind} {{\n{inside}}}\n"


def states_text(states: Iterable[str]) -> str:
    """Return states of notifications as Nagios lists them; n for none."""
    return ",".join(states) or "n"
